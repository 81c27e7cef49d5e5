"""Memory: copies, fills, comparisons, volatile accesses, swaps."""

from __future__ import annotations

from llvmlite import ir
from llvmlite.ir.values import ArgumentAttributes

from mirgen.intrinsics.registry import Intrinsic, Table
from mirgen.intrinsics.support import address, argument, immediate, pointee, scalar
from mirgen.lower import types
from mirgen.lower.arith import scaled
from mirgen.lower.callsite import CallSite, Handler
from mirgen.lower.context import FunctionContext
from mirgen.lower.operand import copy_bytes, copy_bytes_dynamic, load_value, store_value
from mirgen.lower.ops import emit, volatile
from mirgen.lower.ops.memcmp import memcmp
from mirgen.lower.value import Memory, Pair, Scalar, Value, is_zst
from mirgen.mir.ty import Ty


def _bytes(fx: FunctionContext, count: ir.Value, size: int) -> ir.Value:
    return scaled(fx.b, count, size, signed=False)


def _copier(*, dst: int, src: int, overlapping: bool, is_volatile: bool = False) -> Handler:
    """``copy`` and its kin: pointers at argument numbers ``dst`` and ``src``, the count last."""

    def handler(fx: FunctionContext, call: CallSite) -> Value | None:
        layout = fx.layout(pointee(fx, call, src))
        if is_zst(layout):
            return None
        copy_bytes_dynamic(
            fx, address(fx, call, dst), address(fx, call, src), _bytes(fx, immediate(fx, call, 2), layout.size),
            layout.align, layout.align, overlapping=overlapping, volatile=is_volatile,
        )  # fmt: skip
        return None

    return handler


def _filler(*, is_volatile: bool = False) -> Handler:
    """``write_bytes(dst, byte, count)``."""

    def handler(fx: FunctionContext, call: CallSite) -> Value | None:
        layout = fx.layout(pointee(fx, call, 0))
        if is_zst(layout):
            return None
        size = _bytes(fx, immediate(fx, call, 2), layout.size)
        function = fx.cx.declare(
            "llvm.memset.p0i8.i64", types.VOID, (types.PTR, types.I8, types.I64, types.I1)
        )  # fmt: skip
        flag = types.const_int(types.I1, int(is_volatile))
        emitted = fx.b.call(function, [address(fx, call, 0), immediate(fx, call, 1), size, flag])
        emitted.arg_attributes[0] = attributes = ArgumentAttributes()
        attributes.align = layout.align
        return None

    return handler


def _volatile_load(*, aligned: bool) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value | None:
        return _volatile(fx, call, address(fx, call, 0), pointee(fx, call, 0), None, aligned=aligned)

    return handler


def _volatile_store(*, aligned: bool) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value | None:
        return _volatile(fx, call, address(fx, call, 0), pointee(fx, call, 0), argument(fx, call, 1), aligned=aligned)

    return handler


def _volatile(
    fx: FunctionContext, call: CallSite, ptr: ir.Value, ty: Ty, stored: Value | None, *, aligned: bool
) -> Value | None:
    """One volatile access of a scalar; anything else is a volatile copy."""
    layout = fx.layout(ty)
    if is_zst(layout):
        return None
    align = layout.align if aligned else 1
    if stored is None:
        result = Memory(fx.alloca(layout.size, layout.align), layout, layout.align)
        _volatile_copy(fx, result.ptr, ptr, layout.size, layout.align, align)
        return load_value(fx, result.ptr, layout, layout.align)
    slot = fx.alloca(layout.size, layout.align)
    store_value(fx, stored, slot, layout.align)
    _volatile_copy(fx, ptr, slot, layout.size, align, layout.align)
    return None


def _volatile_copy(
    fx: FunctionContext, dst: ir.Value, src: ir.Value, size: int, dst_align: int, src_align: int
) -> None:
    """Copies by volatile accesses as wide as size and alignment allow (a single one for every scalar)."""
    width = min(size & -size, max(dst_align, src_align), 8)
    aligned = min(width, dst_align), min(width, src_align)
    ty = ir.IntType(8 * width)
    for at in range(0, size, width):
        source, sink = (fx.b.bitcast(fx.offset(ptr, at), ty.as_pointer()) for ptr in (src, dst))
        volatile.store(fx.b, volatile.load(fx.b, source, aligned[1]), sink, aligned[0])


def _compare_bytes(fx: FunctionContext, call: CallSite) -> Value:
    left, right = address(fx, call, 0), address(fx, call, 1)
    return scalar(call, memcmp(fx.b, left, right, immediate(fx, call, 2)))


def _raw_eq(fx: FunctionContext, call: CallSite) -> Value:
    """Equality of two values' bytes."""
    layout = fx.layout(pointee(fx, call, 0))
    if is_zst(layout):
        return scalar(call, types.const_int(types.I1, 1))
    left, right = address(fx, call, 0), address(fx, call, 1)
    if layout.size in (1, 2, 4, 8, 16):
        ty = ir.IntType(8 * layout.size)
        one, two = (fx.load(ptr, ty, layout.align) for ptr in (left, right))
        return scalar(call, fx.b.icmp_unsigned("==", one, two))
    order = memcmp(fx.b, left, right, types.usize(layout.size))
    return scalar(call, fx.b.icmp_unsigned("==", order, emit.const(order.type, 0)))


def _swap(fx: FunctionContext, call: CallSite) -> Value | None:
    """``typed_swap_nonoverlapping``: through a temporary."""
    layout = fx.layout(pointee(fx, call, 0))
    if is_zst(layout):
        return None
    one, two = address(fx, call, 0), address(fx, call, 1)
    align = layout.align
    if types.llvm_values(layout):
        first, second = load_value(fx, one, layout, align), load_value(fx, two, layout, align)
        store_value(fx, second, one, align)
        store_value(fx, first, two, align)
        return None
    slot = fx.alloca(layout.size, align)
    copy_bytes(fx, slot, one, layout.size, align, align)
    copy_bytes(fx, one, two, layout.size, align, align)
    copy_bytes(fx, two, slot, layout.size, align, align)
    return None


def _read(fx: FunctionContext, call: CallSite) -> Value | None:
    """``read_via_copy``: the value stands in a slot of its own, since what it was read from may change."""
    layout = fx.layout(pointee(fx, call, 0))
    if is_zst(layout):
        return None
    source = address(fx, call, 0)
    if types.llvm_values(layout):
        return load_value(fx, source, layout, layout.align)
    slot = fx.alloca(layout.size, layout.align)
    copy_bytes(fx, slot, source, layout.size, layout.align, layout.align)
    return Memory(slot, layout, layout.align)


def _write(fx: FunctionContext, call: CallSite) -> Value | None:
    layout = fx.layout(pointee(fx, call, 0))
    store_value(fx, argument(fx, call, 1), address(fx, call, 0), layout.align)
    return None


def _black_box(fx: FunctionContext, call: CallSite) -> Value | None:
    """The value, through memory that an empty piece of assembly may have changed."""
    layout = call.result_layout
    if is_zst(layout):
        return None
    slot = fx.alloca(layout.size, layout.align)
    store_value(fx, argument(fx, call, 0), slot, layout.align)
    constraint = "l,~{memory}" if fx.cx.target.triple.startswith("nvptx") else "r,~{memory}"
    assembly = ir.InlineAsm(ir.FunctionType(types.VOID, [types.PTR]), "", constraint, side_effect=True)
    fx.b.call(assembly, [slot])
    return load_value(fx, slot, layout, layout.align)


def _select(fx: FunctionContext, call: CallSite) -> Value | None:
    """``select_unpredictable(condition, a, b)``."""
    condition = immediate(fx, call, 0)
    match argument(fx, call, 1), argument(fx, call, 2):
        case Scalar(one), Scalar(two):
            return scalar(call, fx.b.select(condition, one, two))
        case Pair(one, more), Pair(two, other):
            return Pair(fx.b.select(condition, one, two), fx.b.select(condition, more, other), call.result_layout)
        case Memory(one, layout, align), Memory(two, _, other_align):
            if is_zst(layout):
                return None
            return Memory(fx.b.select(condition, one, two), call.result_layout, min(align, other_align))
        case _:
            raise fx.internal(f"{call.path} on two different forms of values")


def table() -> Table:
    """The entries of this file."""
    return {
        "copy": Intrinsic(_copier(dst=1, src=0, overlapping=True), "`llvm.memmove`"),
        "copy_nonoverlapping": Intrinsic(_copier(dst=1, src=0, overlapping=False), "`llvm.memcpy`"),
        "volatile_copy_nonoverlapping_memory": Intrinsic(
            _copier(dst=0, src=1, overlapping=False, is_volatile=True), "`llvm.memcpy`, volatile"
        ),
        "volatile_copy_memory": Intrinsic(
            _copier(dst=0, src=1, overlapping=True, is_volatile=True), "`llvm.memmove`, volatile"
        ),
        "write_bytes": Intrinsic(_filler(), "`llvm.memset`"),
        "volatile_set_memory": Intrinsic(_filler(is_volatile=True), "`llvm.memset`, volatile"),
        "volatile_load": Intrinsic(_volatile_load(aligned=True)),
        "volatile_store": Intrinsic(_volatile_store(aligned=True)),
        "unaligned_volatile_load": Intrinsic(_volatile_load(aligned=False)),
        "unaligned_volatile_store": Intrinsic(_volatile_store(aligned=False)),
        "nontemporal_store": Intrinsic(_write, "a plain store"),
        "compare_bytes": Intrinsic(_compare_bytes),
        "raw_eq": Intrinsic(_raw_eq),
        "typed_swap_nonoverlapping": Intrinsic(_swap),
        "read_via_copy": Intrinsic(_read),
        "write_via_move": Intrinsic(_write),
        "black_box": Intrinsic(_black_box),
        "select_unpredictable": Intrinsic(_select, "`select`"),
    }
