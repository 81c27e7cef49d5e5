"""What the checks share: types of places and operands, and comparing types."""

from __future__ import annotations

import re
from functools import lru_cache

from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir import ty as t
from mirgen.mir.format import format_place
from mirgen.mir.names import erase_regions
from mirgen.mir.statement import SourceInfo
from mirgen.mir.tyof import project_ty

_STANDARD = re.compile(r"(?<![\w:>])(?:core|alloc)::")


class Fault(Exception):
    """A definite fault of the statement at hand."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@lru_cache(maxsize=1 << 14)
def is_open(ty: t.Ty) -> bool:
    """Whether the type holds something that rustc has not resolved (parameters, projections, unknown lengths)."""
    seen = {ty}
    todo = [ty]
    while todo:
        part = todo.pop()
        if _open_itself(part):
            return True
        fresh = [x for x in t.parts(part) if x not in seen]
        seen.update(fresh)
        todo += fresh
    return False


def _open_itself(ty: t.Ty) -> bool:
    match ty:
        case t.UnsupportedTy():
            return True
        case t.ArrayTy(length=length):
            return length is None
        case t.AdtTy(path=path, const_args=consts):
            # A path like `<impl Fn(u8) as FnOnce<(u8,)>>::Output` may be a projection or a type inside an impl.
            return path.startswith("<") or any("/#" in c for c in consts)
        case t.FnDefTy(path=path):
            return "/#" in path
        case t.DynTy(text=text):  # `dyn Tr<Out = <(dyn Tr<Out = u8>) as Tr>::Out>`
            return " as " in text
        case _:
            return False


def equal(a: t.Ty, b: t.Ty) -> bool:
    """Whether two types are one, lifetimes aside; open types equal anything."""
    return a is b or _plain(a.text) == _plain(b.text) or is_open(a) or is_open(b)


@lru_cache(maxsize=1 << 14)
def _plain(text: str) -> str:
    """A type's text without lifetimes, as a crate prints it that knows the standard library by its one name.

    An instance holds texts of the crates behind ``std``, which name their items by their own names.
    """
    return _STANDARD.sub("std::", erase_regions(text))


class Context:
    """One body under check."""

    def __init__(self, body: m.Body) -> None:
        self.body = body

    # ---- indices

    def local(self, index: int) -> m.Local:
        if not 0 <= index < len(self.body.locals):
            raise Fault(f"there is no local _{index}")
        return self.body.locals[index]

    def scope(self, source: SourceInfo) -> None:
        if source.scope is not None and not 0 <= source.scope < len(self.body.scopes):
            raise Fault(f"there is no scope {source.scope}")

    # ---- types

    def place(self, place: p.Place) -> t.Ty:
        """The place's type, its projections checked one by one."""
        ty = self.local(place.local).ty
        variant: p.Downcast | None = None
        for i, proj in enumerate(place.proj):
            shown = format_place(p.Place(place.local, place.proj[: i + 1]))
            if variant is not None and not isinstance(proj, p.Field):
                raise Fault(f"`{shown}`: only a field can follow a downcast")
            self._projection(ty, proj, shown, variant)
            variant = proj if isinstance(proj, p.Downcast) else None
            projected = project_ty(ty, proj)
            if projected is None:
                raise Fault(f"`{shown}`: no such projection of `{ty.text}`")
            ty = projected
        return ty

    def _projection(self, ty: t.Ty, proj: p.Projection, shown: str, variant: p.Downcast | None) -> None:
        match proj, ty:
            case p.Field(index), t.CoroutineTy() if variant is not None:
                if index < 0:
                    raise Fault(f"`{shown}`: negative field")
            case p.Field(index, field_ty), (
                t.TupleTy(elems=parts) | t.ClosureTy(upvars=parts) | t.CoroutineTy(upvars=parts)
            ):
                if not 0 <= index < len(parts):
                    raise Fault(f"`{shown}`: `{ty.text}` has {len(parts)} fields")
                self.same(parts[index], field_ty, f"`{shown}` is and is said to be")
            case p.Field(index), t.AdtTy() | t.UnsupportedTy():
                if index < 0:
                    raise Fault(f"`{shown}`: negative field")
            case p.Field(), _:
                raise Fault(f"`{shown}`: `{ty.text}` has no fields")
            case p.Index(local), _:
                self.need_usize(self.local(local).ty, f"the index of `{shown}`")
            case p.ConstantIndex(offset, _, from_end), t.ArrayTy(length=int() as length):
                if not (1 <= offset <= length if from_end else 0 <= offset < length):
                    raise Fault(f"`{shown}`: the array has {length} elements")
            case p.Subslice(from_, to, from_end), t.ArrayTy(length=int() as length):
                if not (from_ >= 0 and from_ + to <= length if from_end else 0 <= from_ <= to <= length):
                    raise Fault(f"`{shown}`: the array has {length} elements")
            case _:
                pass

    def operand(self, operand: p.Operand) -> t.Ty | None:
        """The operand's type; ``None`` where the text does not give it."""
        match operand:
            case p.Copy(place) | p.Move(place):
                return self.place(place)
            case p.Constant(const):
                check_const(const)
                return const.ty
            case p.RuntimeChecks():
                return t.BoolTy("bool", self.body.crate)

    # ---- requirements

    def same(self, a: t.Ty | None, b: t.Ty | None, what: str) -> None:
        """``what`` is followed by the two types."""
        if a is not None and b is not None and not equal(a, b):
            raise Fault(f"{what} `{a.text}` and `{b.text}`")

    def need_bool(self, ty: t.Ty | None, what: str) -> None:
        if ty is not None and not isinstance(ty, t.BoolTy) and not is_open(ty):
            raise Fault(f"{what} needs a bool, not `{ty.text}`")

    def need_usize(self, ty: t.Ty | None, what: str) -> None:
        if ty is not None and ty.text != "usize" and not is_open(ty):
            raise Fault(f"{what} must be a usize, not `{ty.text}`")

    def need_enum(self, ty: t.Ty, what: str) -> None:
        if not isinstance(ty, t.AdtTy | t.CoroutineTy | t.UnsupportedTy):
            raise Fault(f"{what} needs an enum, not `{ty.text}`")

    def pointee(self, ty: t.Ty | None, what: str) -> t.Ty | None:
        """What a pointer operand points to."""
        if ty is None or (is_open(ty) and not isinstance(ty, t.PointerTy)):
            return None
        if not isinstance(ty, t.PointerTy):
            raise Fault(f"{what} must be a pointer, not `{ty.text}`")
        return ty.pointee


def check_const(const: p.Const) -> None:
    """Whether the value fits its type."""
    match const:
        case p.ScalarConst(ty, bits, size):
            want = _scalar_size(ty)
            if want is not None and size != want:
                raise Fault(f"a constant of {size} bytes for `{ty.text}`")
            if bits < 0 or bits >> (8 * size):
                raise Fault(f"a constant of more than {size} bytes")
        case p.ZstConst(ty):
            if _scalar_size(ty) is not None or isinstance(ty, t.SliceTy | t.StrTy | t.DynTy | t.NeverTy):
                raise Fault(f"`{ty.text}` is not zero-sized")
        case p.SliceConst(ty):
            wide = t.SliceTy | t.StrTy | t.AdtTy | t.UnsupportedTy  # a struct's tail may be a slice: `CStr`
            if not isinstance(ty, t.PointerTy) or not isinstance(ty.pointee, wide):
                raise Fault(f"`{ty.text}` is not a slice's reference")
        case p.PointerConst(ty):
            if isinstance(ty, t.IntTy | t.FloatTy | t.BoolTy | t.CharTy | t.TupleTy | t.ArrayTy | t.FnDefTy):
                raise Fault(f"a pointer as a constant of `{ty.text}`")
        case p.IndirectConst() | p.UnevaluatedConst() | p.TyConst():
            pass


def _scalar_size(ty: t.Ty) -> int | None:
    match ty:
        case t.IntTy(bits=bits) | t.FloatTy(bits=bits):
            return bits // 8
        case t.BoolTy():
            return 1
        case t.CharTy():
            return 4
        case t.FnPtrTy():
            return 8
        case t.PointerTy(pointee=pointee):
            return None if isinstance(pointee, t.SliceTy | t.StrTy | t.DynTy) or is_open(pointee) else _thin(pointee)
        case _:
            return None


def _thin(pointee: t.Ty) -> int | None:
    """8 where a pointer to ``pointee`` surely has no metadata (an ADT's last field may be unsized)."""
    return None if isinstance(pointee, t.AdtTy | t.TupleTy) else 8
