"""Aggregates: structs, tuples, arrays, closures, unions, enums' variants, wide pointers, ``[x; N]``."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from llvmlite.ir.values import ArgumentAttributes

from mirgen.layout.data import Layout, ReprPair, ReprScalar, VariantsMultiple
from mirgen.lower import types
from mirgen.lower.context import FunctionContext
from mirgen.lower.discriminant import set_discriminant, tag_constant
from mirgen.lower.operand import (
    load_value,
    lower_operand,
    offset_align,
    store_value,
    zst,
)  # fmt: skip
from mirgen.lower.place import element_ptr, variant_index
from mirgen.lower.repr import convert_scalar, field_offset
from mirgen.lower.value import Memory, Pair, Place, Scalar, Value, is_zst
from mirgen.mir import rvalue as r
from mirgen.mir.place import Operand
from mirgen.mir.ty import ArrayTy, CoroutineTy, Ty

Parts = Sequence[tuple[int, Value]]

#: Repeated elements are stored one by one up to this count, in a loop beyond it.
_UNROLL = 8


def lower_aggregate(fx: FunctionContext, rvalue: r.Rvalue, ty: Ty, dest: Place | None) -> Value | None:
    """Builds an aggregate of type ``ty``.

    Writes it to ``dest`` and returns ``None``, or returns the value where ``dest`` is ``None``.
    """
    layout = fx.layout(ty)
    match rvalue:
        case r.TupleAggregate(operands):
            return _finish(fx, layout, _parts(fx, layout, operands), None, dest)
        case r.ArrayAggregate(operands):
            return _finish(fx, layout, _parts(fx, layout, operands), None, dest)
        case r.ClosureAggregate(location, operands, complete):
            if not complete:
                raise fx.unsupported(
                    "MG0330", f"rustc's text lost operands of the closure at {location}",
                    helps=("capture whole variables (edition 2018 rules), or build with the side channel on",),
                )  # fmt: skip
            # A coroutine begins in its first state.
            state = 0 if isinstance(ty, CoroutineTy) else None
            return _finish(fx, layout, _parts(fx, layout, operands), state, dest)
        case r.AdtAggregate(_, variant, _, operands):
            if variant is None or not _is_enum(layout):
                return _finish(fx, layout, _parts(fx, layout, operands), None, dest)
            index = variant_index(fx, layout, ty, variant, None)
            fields = layout.variants.variants[index] if isinstance(layout.variants, VariantsMultiple) else layout
            return _finish(fx, layout, _parts(fx, fields, operands), index, dest)
        case r.RawPtrAggregate(pointer, data, meta):
            return _raw_pointer(fx, pointer, layout, lower_operand(fx, data), lower_operand(fx, meta), dest)
        case _:
            raise fx.internal(f"{type(rvalue).__name__} is not an aggregate")


def _is_enum(layout: Layout) -> bool:
    return layout.names is not None or isinstance(layout.variants, VariantsMultiple)


def _parts(fx: FunctionContext, layout: Layout, operands: Sequence[Operand]) -> Parts:
    """Each operand's value and byte offset; all are read before anything is written."""
    values = [lower_operand(fx, operand) for operand in operands]
    return [
        (field_offset(fx, layout, index), value) for index, value in enumerate(values) if not is_zst(value.layout)
    ]  # fmt: skip


def _finish(fx: FunctionContext, layout: Layout, parts: Parts, variant: int | None, dest: Place | None) -> Value | None:
    if dest is None:
        if is_zst(layout):
            return zst(layout)
        built = _build(fx, layout, parts, variant)
        if built is not None:
            return built
        slot = fx.alloca(layout.size, layout.align)
        _store_parts(fx, layout, parts, variant, Place(slot, layout, fx.body.locals[0].ty, layout.align))
        return load_value(fx, slot, layout, layout.align)
    _store_parts(fx, layout, parts, variant, dest)
    return None


def _store_parts(fx: FunctionContext, layout: Layout, parts: Parts, variant: int | None, dest: Place) -> None:
    for offset, value in parts:
        store_value(fx, value, fx.offset(dest.ptr, offset), offset_align(dest.align, offset))
    if variant is not None:
        set_discriminant(fx, dest, layout, variant)


def _build(fx: FunctionContext, layout: Layout, parts: Parts, variant: int | None) -> Scalar | Pair | None:
    """The aggregate as immediates, ``None`` where the parts do not fit the representation one to one."""
    match layout.repr:
        case ReprScalar(scalar):
            slots = [(0, scalar)]
        case ReprPair(first, second, at):
            slots = [(0, first), (at, second)]
        case _:
            return None
    found: dict[int, ir.Value] = {}
    for offset, value in parts:
        match value, value.layout.repr:
            case Scalar(immediate), ReprScalar(have):
                pieces = [(offset, have, immediate)]
            case Pair(one, two), ReprPair(have, have_second, at):
                pieces = [(offset, have, one), (offset + at, have_second, two)]
            case _:
                return None
        for at, have, immediate in pieces:
            want = next((scalar for slot, scalar in slots if slot == at), None)
            if want is None or want.size != have.size:
                return None
            found[at] = convert_scalar(fx, immediate, have, want)
    tag = None if variant is None else tag_constant(fx, layout, variant)
    if tag is not None:
        offset, scalar, constant = tag
        want = next((slot_scalar for slot, slot_scalar in slots if slot == offset), None)
        if want is None or want.size != scalar.size:
            return None
        found[offset] = convert_scalar(fx, constant, scalar, want)
    values = [found.get(slot, ir.Constant(types.llvm_immediate(scalar), ir.Undefined)) for slot, scalar in slots]
    return Scalar(values[0], layout) if len(values) == 1 else Pair(values[0], values[1], layout)


def _raw_pointer(
    fx: FunctionContext, pointer: Ty, layout: Layout, data: Value, meta: Value, dest: Place | None
) -> Value | None:
    match data, data.layout.repr, meta, layout.repr:
        case Scalar(address), ReprScalar(have), Scalar(length), ReprPair(want, _, _):
            built: Value = Pair(convert_scalar(fx, address, have, want), length, layout)
        case Scalar(address), ReprScalar(have), Memory(), ReprScalar(want) if is_zst(meta.layout):
            built = Scalar(convert_scalar(fx, address, have, want), layout)
        case _:
            raise fx.internal(f"`{pointer.text}` from {data.layout.repr} and {meta.layout.repr}")
    if dest is None:
        return built
    store_value(fx, built, dest.ptr, dest.align)
    return None


# ---- [x; N] --------------------------------------------------------------------------------------------------


def lower_repeat(fx: FunctionContext, rvalue: r.Repeat, ty: Ty, dest: Place) -> None:
    """Fills the array at ``dest``."""
    count = rvalue.count if rvalue.count is not None else (ty.length if isinstance(ty, ArrayTy) else None)
    if count is None:
        raise fx.unsupported("MG0303", f"the length of `{ty.text}` is not known")
    value = lower_operand(fx, rvalue.operand)
    size = value.layout.size
    if size == 0 or count == 0:
        return
    if size * count != dest.layout.size:
        raise fx.internal(f"{count} elements of {size} bytes fill `{ty.text}` of {dest.layout.size}")
    if _fill_bytes(fx, value, count, dest):
        return
    align = offset_align(dest.align, size)
    if count <= _UNROLL:
        for i in range(count):
            store_value(fx, value, fx.offset(dest.ptr, i * size), align)
        return
    head = fx.b.append_basic_block("repeat")
    tail = fx.b.append_basic_block("repeat.end")
    before = fx.b.block
    fx.b.branch(head)
    fx.b.position_at_end(head)
    index = fx.b.phi(types.I64)
    index.add_incoming(types.usize(0), before)
    store_value(fx, value, element_ptr(fx, dest.ptr, index, size), align)
    following = fx.b.add(index, types.usize(1))
    index.add_incoming(following, fx.b.block)
    fx.b.cbranch(fx.b.icmp_unsigned("==", following, types.usize(count)), tail, head)
    fx.b.position_at_end(tail)


def _fill_bytes(fx: FunctionContext, value: Value, count: int, dest: Place) -> bool:
    """``memset`` where every byte of the element is the same."""
    if not isinstance(value, Scalar) or not isinstance(value.layout.repr, ReprScalar):
        return False
    scalar, immediate = value.layout.repr.value, value.value
    if scalar.size == 1:
        byte = fx.b.zext(immediate, types.I8) if scalar.is_bool else immediate
    elif isinstance(immediate, ir.Constant) and immediate.constant in (0, None) and _all_zero(immediate):
        byte = types.const_int(types.I8, 0)
    else:
        return False
    fill_bytes(fx, dest.ptr, byte, types.usize(count * scalar.size), dest.align)
    return True


def _all_zero(constant: ir.Constant) -> bool:
    """Whether the constant's bytes are all zero (``-0.0`` is not)."""
    return constant.type == types.PTR or str(constant.constant) in ("0", "0.0")


def fill_bytes(fx: FunctionContext, ptr: ir.Value, byte: ir.Value, size: ir.Value, align: int) -> None:
    """``memset`` of ``size`` (``i64``) bytes."""
    function = fx.cx.declare("llvm.memset.p0i8.i64", types.VOID, (types.PTR, types.I8, types.I64, types.I1))
    call = fx.b.call(function, [ptr, byte, size, types.const_int(types.I1, 0)])
    call.arg_attributes[0] = attributes = ArgumentAttributes()
    attributes.align = align
