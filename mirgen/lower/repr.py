"""Parts of values without going through memory: fields of scalars and pairs, and one scalar read as another."""

from __future__ import annotations

from llvmlite import ir

from mirgen.layout.data import (
    FieldsArbitrary,
    FieldsArray,
    FieldsPrimitive,
    FieldsUnion,
    Layout,
    ReprPair,
    ReprScalar,
)  # fmt: skip
from mirgen.layout.data import Scalar as ScalarLayout
from mirgen.lower import types
from mirgen.lower.context import FunctionContext
from mirgen.lower.operand import load_value, offset_align, spill, store_value, to_immediate, to_memory, zst
from mirgen.lower.value import Memory, Pair, Scalar, Value, is_zst


def convert_scalar(fx: FunctionContext, value: ir.Value, from_: ScalarLayout, to: ScalarLayout) -> ir.Value:
    """The same bits as another scalar of the same size (integer, float, pointer, ``bool``)."""
    if from_.primitive == to.primitive and from_.is_bool == to.is_bool:
        return value
    if from_.size != to.size:
        raise fx.internal(f"scalar of {from_.size} bytes read as one of {to.size}")
    stored = to_memory(fx, value, from_)
    want = types.llvm_memory(to)
    if stored.type != want:
        if from_.primitive == "pointer":
            stored = fx.b.ptrtoint(stored, types.I64)
        if to.primitive == "pointer":
            if not isinstance(stored.type, ir.IntType):
                stored = fx.b.bitcast(stored, types.I64)
            stored = fx.b.inttoptr(stored, want)
        elif stored.type != want:
            stored = fx.b.bitcast(stored, want)
    return to_immediate(fx, stored, to)


def field_offset(fx: FunctionContext, layout: Layout, index: int) -> int:
    """Byte offset of field ``index`` (declaration order)."""
    match layout.fields:
        case FieldsArbitrary(offsets) if index < len(offsets):
            return offsets[index]
        case FieldsUnion():
            return 0
        case FieldsArray(stride, count) if index < count:
            return stride * index
        case FieldsArbitrary() | FieldsArray() | FieldsPrimitive():
            raise fx.internal(f"no field {index} in the layout {layout.fields}")


def extract_part(fx: FunctionContext, value: Scalar | Pair, offset: int, part: Layout) -> Value:
    """The value of layout ``part`` that lies at ``offset`` bytes in ``value``."""
    if is_zst(part):
        return zst(part)
    found = _matching_part(fx, value, offset, part)
    if found is not None:
        return found
    memory = spill(fx, value)
    return load_value(fx, fx.offset(memory.ptr, offset), part, offset_align(memory.align, offset))


def _matching_part(fx: FunctionContext, value: Scalar | Pair, offset: int, part: Layout) -> Value | None:
    match value, value.layout.repr, part.repr:
        case Scalar(immediate), ReprScalar(have), ReprScalar(want) if offset == 0 and have.size == want.size:
            return Scalar(convert_scalar(fx, immediate, have, want), part)
        case Pair(one, _), ReprPair(have, _, _), ReprScalar(want) if offset == 0 and have.size == want.size:
            return Scalar(convert_scalar(fx, one, have, want), part)
        case Pair(_, two), ReprPair(_, have, at), ReprScalar(want) if offset == at and have.size == want.size:
            return Scalar(convert_scalar(fx, two, have, want), part)
        case Pair(one, two), ReprPair(first, second, at), ReprPair(first_want, second_want, at_want) if (
            offset == 0 and at == at_want and first.size == first_want.size and second.size == second_want.size
        ):
            return Pair(
                convert_scalar(fx, one, first, first_want), convert_scalar(fx, two, second, second_want), part
            )  # fmt: skip
        case _:
            return None


def reinterpret(fx: FunctionContext, value: Value, layout: Layout) -> Value:
    """The bytes of ``value`` as a value of another layout of the same size (``Transmute``, unions, newtypes).

    An aggregate that is read as a scalar is loaded; a scalar that is read as an aggregate is spilled.  Bytes that
    ``value`` does not define are undefined in the result.
    """
    if is_zst(layout):
        return zst(layout)
    if isinstance(value, Memory):
        return load_value(fx, value.ptr, layout, value.align)
    size, align = max(value.layout.size, layout.size), max(value.layout.align, layout.align)
    found = _matching_part(fx, value, 0, layout) if value.layout.size == layout.size else None
    if found is not None and type(found) is type(value):
        return found
    slot = fx.alloca(size, align)
    store_value(fx, value, slot, align)
    return load_value(fx, slot, layout, align)
