"""Types of places and operands, through their projections."""

from __future__ import annotations

from collections.abc import Sequence

from mirgen.errors import InvalidInputError
from mirgen.mir import place as p
from mirgen.mir import ty as t
from mirgen.mir.body import Local
from mirgen.mir.format import format_place
from mirgen.mir.names import usize_argument


def place_ty(locals_: Sequence[Local], place: p.Place) -> t.Ty:
    """The place's type.  A downcast has its enum's type (the variant is the projection's business).

    Raises :class:`InvalidInputError` where a projection does not fit what it is applied to.
    """
    ty = locals_[place.local].ty
    for i, proj in enumerate(place.proj):
        projected = project_ty(ty, proj)
        if projected is None:
            shown = format_place(p.Place(place.local, place.proj[: i + 1]))
            raise InvalidInputError(f"`{shown}`: no such projection of `{ty.text}`")
        ty = projected
    return ty


def project_ty(ty: t.Ty, proj: p.Projection) -> t.Ty | None:
    """The type after one projection; ``None`` where ``ty`` has no such projection."""
    match proj, ty:
        case p.Deref(), t.PointerTy(pointee=pointee):
            return pointee
        case p.Field(_, field_ty), _:
            return field_ty
        case p.Downcast(), t.AdtTy() | t.CoroutineTy() | t.UnsupportedTy():
            return ty
        case p.Index() | p.ConstantIndex(), t.ArrayTy(elem=elem) | t.SliceTy(elem=elem):
            return elem
        case p.Subslice(), t.SliceTy():
            return ty
        case p.Subslice(from_, to, from_end), t.ArrayTy(elem=elem, length=length):
            if from_end and length is None:
                return None
            count = (length or 0) - from_ - to if from_end else to - from_
            return array_of(elem, count) if count >= 0 else None
        case p.OpaqueCast(_, cast_ty), _:
            return cast_ty
        case _:
            return None


def array_of(elem: t.Ty, length: int) -> t.ArrayTy:
    """The type of an array, spelled as rustc does (``usize`` of 8 bytes)."""
    return t.ArrayTy(f"[{elem.text}; {usize_argument(length)}]", elem.crate, elem, length)


def operand_ty(locals_: Sequence[Local], operand: p.Operand) -> t.Ty | None:
    """The operand's type; ``None`` where rustc's text does not give it (unevaluated constants)."""
    match operand:
        case p.Copy(place) | p.Move(place):
            return place_ty(locals_, place)
        case p.Constant(const):
            return const.ty
        case p.RuntimeChecks():
            return t.BoolTy("bool", locals_[0].ty.crate)
