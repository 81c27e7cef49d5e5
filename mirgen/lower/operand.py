"""Operands: ``copy``, ``move`` and constants become values; loading and storing values of every form."""

from __future__ import annotations

from llvmlite import ir
from llvmlite.ir.values import ArgumentAttributes

from mirgen.layout.data import Layout, ReprPair, ReprScalar
from mirgen.layout.data import Scalar as ScalarLayout
from mirgen.lower import types
from mirgen.lower.context import FunctionContext
from mirgen.lower.value import Memory, Pair, Scalar, Value, is_zst
from mirgen.mir.place import Constant, Copy, Move, Operand, RuntimeChecks
from mirgen.mir.ty import BoolTy, Ty


def zst(layout: Layout) -> Memory:
    """The value of a zero-sized type."""
    return Memory(dangling(layout.align), layout, layout.align)


def dangling(align: int) -> ir.Constant:
    """A pointer that is aligned and never read."""
    return types.usize(align).inttoptr(types.PTR)


def to_memory(fx: FunctionContext, immediate: ir.Value, scalar: ScalarLayout) -> ir.Value:
    """An immediate as it is stored: ``i1`` widened to ``i8``."""
    return fx.b.zext(immediate, types.I8) if scalar.is_bool else immediate


def to_immediate(fx: FunctionContext, stored: ir.Value, scalar: ScalarLayout) -> ir.Value:
    """A stored scalar as an immediate: ``i8`` of a ``bool`` narrowed to ``i1``."""
    return fx.b.trunc(stored, types.I1) if scalar.is_bool else stored


def load_scalar(fx: FunctionContext, ptr: ir.Value, scalar: ScalarLayout, align: int) -> ir.Value:
    """Loads one scalar as an immediate."""
    return to_immediate(fx, fx.load(ptr, types.llvm_memory(scalar), align), scalar)


def store_scalar(fx: FunctionContext, value: ir.Value, ptr: ir.Value, scalar: ScalarLayout, align: int) -> None:
    """Stores one immediate."""
    fx.store(to_memory(fx, value, scalar), ptr, align)


def offset_align(align: int, offset: int) -> int:
    """The alignment known at ``offset`` bytes past something aligned to ``align``."""
    return align if offset == 0 else min(align, offset & -offset)


def load_value(fx: FunctionContext, ptr: ir.Value, layout: Layout, align: int) -> Value:
    """Reads a value from memory.  An aggregate stays where it is: the caller may not write there while it uses it."""
    if is_zst(layout):
        return zst(layout)
    match layout.repr:
        case ReprScalar(scalar):
            return Scalar(load_scalar(fx, ptr, scalar, align), layout)
        case ReprPair(first, second, at):
            one = load_scalar(fx, ptr, first, align)
            two = load_scalar(fx, fx.offset(ptr, at), second, offset_align(align, at))
            return Pair(one, two, layout)
        case _:
            return Memory(ptr, layout, align)


def store_value(fx: FunctionContext, value: Value, ptr: ir.Value, align: int) -> None:
    """Writes a value of any form to memory aligned to ``align``."""
    layout = value.layout
    if is_zst(layout):
        return
    match value, layout.repr:
        case Scalar(immediate), ReprScalar(scalar):
            store_scalar(fx, immediate, ptr, scalar, align)
        case Pair(one, two), ReprPair(first, second, at):
            store_scalar(fx, one, ptr, first, align)
            store_scalar(fx, two, fx.offset(ptr, at), second, offset_align(align, at))
        case Memory(source, _, source_align), _:
            copy_bytes(fx, ptr, source, layout.size, align, source_align)
        case _:
            raise fx.internal(f"a {type(value).__name__} has the representation {layout.repr}")


def spill(fx: FunctionContext, value: Value) -> Memory:
    """The value in memory: where it lies, or a fresh stack slot."""
    if isinstance(value, Memory):
        return value
    slot = fx.alloca(value.layout.size, value.layout.align)
    store_value(fx, value, slot, value.layout.align)
    return Memory(slot, value.layout, value.layout.align)


def copy_bytes(fx: FunctionContext, dst: ir.Value, src: ir.Value, size: int, dst_align: int, src_align: int) -> None:
    """``memcpy`` of a constant number of bytes."""
    if size == 0 or dst is src:
        return
    copy_bytes_dynamic(fx, dst, src, types.usize(size), dst_align, src_align)


def copy_bytes_dynamic(
    fx: FunctionContext, dst: ir.Value, src: ir.Value, size: ir.Value, dst_align: int, src_align: int, *,
    overlapping: bool = False, volatile: bool = False,
) -> None:  # fmt: skip
    """``memcpy`` (``memmove`` where ``overlapping``) of ``size`` (``i64``) bytes."""
    name = "llvm.memmove.p0i8.p0i8.i64" if overlapping else "llvm.memcpy.p0i8.p0i8.i64"
    function = fx.cx.declare(name, types.VOID, (types.PTR, types.PTR, types.I64, types.I1))
    call = fx.b.call(function, [dst, src, size, types.const_int(types.I1, int(volatile))])
    for index, align in ((0, dst_align), (1, src_align)):
        call.arg_attributes[index] = attributes = ArgumentAttributes()
        attributes.align = align


# ---- MIR operands --------------------------------------------------------------------------------------------


def lower_operand(fx: FunctionContext, operand: Operand) -> Value:
    """The value of an operand.  An aggregate is not copied (see ``place.read_place``)."""
    match operand:
        case Copy(place) | Move(place):
            from mirgen.lower.place import read_place

            return read_place(fx, place)
        case Constant(const):
            from mirgen.lower.constant import lower_const

            return lower_const(fx, const)
        case RuntimeChecks(check):
            return Scalar(types.const_int(types.I1, _runtime_check(fx, check)), fx.layout(operand_ty(fx, operand)))


def operand_ty(fx: FunctionContext, operand: Operand) -> Ty:
    """The type of an operand."""
    match operand:
        case Copy(place) | Move(place):
            from mirgen.lower.place import place_ty

            return place_ty(fx, place)
        case Constant(const):
            if const.ty is not None:
                return const.ty
            from mirgen.lower.constant import evaluated

            return operand_ty(fx, evaluated(fx, const))
        case RuntimeChecks():
            return BoolTy("bool", fx.body.crate)


def _runtime_check(fx: FunctionContext, check: str) -> int:
    """rustc's own precondition checks are off on the device, as in a release build of the standard library."""
    if check in ("UbChecks", "ContractChecks"):
        return 0
    raise fx.unsupported("MG0320", f"the value of `{check}` is not in rustc's text")


def scalar_operand(fx: FunctionContext, operand: Operand) -> ir.Value:
    """The immediate of an operand that must be a scalar."""
    value = lower_operand(fx, operand)
    if not isinstance(value, Scalar):
        raise fx.internal(f"{operand_ty(fx, operand).text} is not a scalar")
    return value.value
