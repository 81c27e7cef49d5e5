"""Right-hand sides: dispatch to the file that knows the construct."""

from __future__ import annotations

from mirgen.layout.data import Layout
from mirgen.lower.aggregate import lower_aggregate, lower_repeat
from mirgen.lower.context import FunctionContext
from mirgen.lower.discriminant import lower_discriminant
from mirgen.lower.operand import lower_operand, operand_ty, zst
from mirgen.lower.place import address_of, lower_place, place_ty, read_place, write_place
from mirgen.lower.value import Memory, Pair, Place, Scalar, Value, is_zst
from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir.ty import Ty


def lower_assign(fx: FunctionContext, place: p.Place, rvalue: r.Rvalue) -> None:
    """``place = rvalue``."""
    ty = place_ty(fx, place)
    if is_zst(fx.layout(ty)) and not _has_effect(rvalue):
        return
    in_ssa = not place.proj and place.local in fx.ssa_locals
    match rvalue:
        case (
            r.ArrayAggregate() | r.TupleAggregate() | r.AdtAggregate() | r.ClosureAggregate() | r.RawPtrAggregate()
        ):  # fmt: skip
            dest = None if in_ssa else lower_place(fx, place)
            value = lower_aggregate(fx, rvalue, ty, dest)
            if value is not None:
                write_place(fx, place, value)
        case r.Repeat():
            lower_repeat(fx, rvalue, ty, _repeat_dest(fx, place, in_ssa))
        case _:
            write_place(fx, place, lower_rvalue(fx, rvalue, ty))


def _repeat_dest(fx: FunctionContext, place: p.Place, in_ssa: bool) -> Place:
    if in_ssa:
        raise fx.internal("an array in an SSA local")
    return lower_place(fx, place)


def _has_effect(rvalue: r.Rvalue) -> bool:
    """Whether lowering a zero-sized result could still refuse something (casts and operations check their input)."""
    return isinstance(rvalue, r.Cast | r.BinaryOp | r.UnaryOp | r.ThreadLocalRef)


def lower_rvalue(fx: FunctionContext, rvalue: r.Rvalue, ty: Ty) -> Value:
    """The value of a right-hand side that is no aggregate; ``ty`` is its type."""
    match rvalue:
        case r.Use(operand) | r.WrapBinder(operand, _):
            return lower_operand(fx, operand)
        case r.CopyForDeref(place):
            return read_place(fx, place)
        case r.Ref(_, place) | r.RawPtr(_, place):
            return address_of(fx, place, fx.layout(ty))
        case r.Cast(cast, operand, to_ty):
            from mirgen.lower.cast import lower_cast

            return lower_cast(fx, cast, lower_operand(fx, operand), operand_ty(fx, operand), to_ty)
        case r.BinaryOp(op, left, right):
            from mirgen.lower.arith import lower_binary

            return lower_binary(
                fx, op, lower_operand(fx, left), lower_operand(fx, right),
                operand_ty(fx, left), operand_ty(fx, right), fx.layout(ty),
            )  # fmt: skip
        case r.UnaryOp("PtrMetadata", operand):
            return _pointer_metadata(fx, lower_operand(fx, operand), fx.layout(ty))
        case r.UnaryOp(op, operand):
            from mirgen.lower.arith import lower_unary

            return lower_unary(fx, op, lower_operand(fx, operand), operand_ty(fx, operand), fx.layout(ty))
        case r.Discriminant(place):
            return _discriminant(fx, place, fx.layout(ty))
        case r.ThreadLocalRef(path):
            raise fx.unsupported("MG0331", f"the thread-local static `{path}` does not exist on the device")
        case (
            r.Repeat() | r.ArrayAggregate() | r.TupleAggregate() | r.AdtAggregate() | r.ClosureAggregate()
            | r.RawPtrAggregate()
        ):  # fmt: skip
            raise fx.internal(f"{type(rvalue).__name__} is lowered by lower_assign")


def _pointer_metadata(fx: FunctionContext, pointer: Value, result: Layout) -> Value:
    match pointer:
        case Pair(_, meta):
            return Scalar(meta, result)
        case Scalar() if is_zst(result):
            return zst(result)
        case _:
            raise fx.internal("PtrMetadata of something that is no pointer")


def _discriminant(fx: FunctionContext, place: p.Place, result: Layout) -> Value:
    ty = place_ty(fx, place)
    if place.local in fx.ssa and not any(isinstance(proj, p.Deref) for proj in place.proj):
        return lower_discriminant(fx, read_place(fx, place), ty, result)
    at = lower_place(fx, place)
    return lower_discriminant(fx, Memory(at.ptr, at.layout, at.align), ty, result)
