"""Discriminants: reading and writing tags, direct and by niche, exactly as rustc's layout says."""

from __future__ import annotations

from llvmlite import ir

from mirgen.layout.data import (
    FieldsPrimitive,
    Layout,
    ReprScalar,
    TagNiche,
    VariantsEmpty,
    VariantsMultiple,
    VariantsSingle,
)  # fmt: skip
from mirgen.layout.data import Scalar as ScalarLayout
from mirgen.lower import types
from mirgen.lower.context import FunctionContext
from mirgen.lower.operand import load_scalar, offset_align, store_scalar, to_memory
from mirgen.lower.repr import extract_part
from mirgen.lower.value import Memory, Pair, Place, Scalar, Value
from mirgen.mir.ty import Ty


def tag_layout(tag: ScalarLayout) -> Layout:
    """The layout of a tag on its own."""
    return Layout(tag.size, tag.size, ReprScalar(tag), FieldsPrimitive(), VariantsSingle(0), False)


def lower_discriminant(fx: FunctionContext, value: Value, ty: Ty, result: Layout) -> Value:
    """``discriminant(..)`` of ``value`` (an enum of type ``ty``); ``result`` is the discriminant type's layout."""
    if not isinstance(result.repr, ReprScalar):
        raise fx.internal(f"the discriminant of `{ty.text}` is not a scalar")
    to = types.llvm_immediate(result.repr.value)
    if not isinstance(to, ir.IntType):
        raise fx.internal(f"the discriminant of `{ty.text}` is not an integer")
    layout = value.layout
    match layout.variants:
        case VariantsEmpty():
            return Scalar(types.const_int(to, 0), result)
        case VariantsSingle(index):
            return Scalar(types.const_int(to, _declared(layout, index, index)), result)
        case VariantsMultiple(tag, offset, niche):
            immediate = _read_tag(fx, value, tag, offset)
            if niche is None:
                return Scalar(_cast_tag(fx, immediate, tag, to), result)
            return Scalar(_decode_niche(fx, immediate, tag, niche, to), result)


def _declared(layout: Layout, index: int, otherwise: int) -> int:
    """The discriminant that the source gives to variant ``index``; ``otherwise`` for types that are not enums."""
    if layout.names is None or index >= len(layout.names):
        return otherwise
    return layout.names[index].discriminant


def _read_tag(fx: FunctionContext, value: Value, tag: ScalarLayout, offset: int) -> ir.Value:
    match value:
        case Memory(ptr, _, align):
            return load_scalar(fx, fx.offset(ptr, offset), tag, offset_align(align, offset))
        case Scalar() | Pair():
            part = extract_part(fx, value, offset, tag_layout(tag))
            if not isinstance(part, Scalar):
                raise fx.internal("a tag that is not a scalar")
            return part.value


def _cast_tag(fx: FunctionContext, immediate: ir.Value, tag: ScalarLayout, to: ir.IntType) -> ir.Value:
    """A direct tag holds the discriminant, narrowed; its own sign says how to widen it."""
    have = immediate.type
    if not isinstance(have, ir.IntType):
        raise fx.internal("a direct tag that is not an integer")
    if have.width == to.width:
        return immediate
    if have.width > to.width:
        return fx.b.trunc(immediate, to)
    return fx.b.sext(immediate, to) if tag.signed and not tag.is_bool else fx.b.zext(immediate, to)


def _decode_niche(
    fx: FunctionContext, immediate: ir.Value, tag: ScalarLayout, niche: TagNiche, to: ir.IntType
) -> ir.Value:
    """The variant's index, which is its discriminant wherever rustc uses a niche."""
    bits = to_memory(fx, immediate, tag)
    if tag.primitive == "pointer":
        bits = fx.b.ptrtoint(bits, types.I64)
    width = bits.type
    if not isinstance(width, ir.IntType):
        raise fx.internal("a niche in a float")
    last = niche.niche_last - niche.niche_first
    untagged = types.const_int(to, niche.untagged_variant)
    if last == 0:
        tagged = fx.b.icmp_unsigned("==", bits, types.const_int(width, niche.niche_start))
        return fx.b.select(tagged, types.const_int(to, niche.niche_first), untagged)
    relative = fx.b.sub(bits, types.const_int(width, niche.niche_start))
    tagged = fx.b.icmp_unsigned("<=", relative, types.const_int(width, last))
    if width.width > to.width:
        relative = fx.b.trunc(relative, to)
    elif width.width < to.width:
        relative = fx.b.zext(relative, to)
    index = fx.b.add(relative, types.const_int(to, niche.niche_first)) if niche.niche_first else relative
    return fx.b.select(tagged, index, untagged)


def tag_constant(fx: FunctionContext, layout: Layout, index: int) -> tuple[int, ScalarLayout, ir.Constant] | None:
    """What to write for variant ``index``: offset, scalar and immediate; ``None`` where nothing is to be written."""
    if not isinstance(layout.variants, VariantsMultiple):
        return None
    tag, offset, niche = layout.variants.tag, layout.variants.tag_offset, layout.variants.niche
    if niche is None:
        if layout.names is None or index >= len(layout.names):
            raise fx.internal(f"the discriminant of variant {index} is not known")
        bits = layout.names[index].discriminant
    elif index == niche.untagged_variant:
        return None
    else:
        if not niche.niche_first <= index <= niche.niche_last:
            raise fx.internal(f"variant {index} has no niche value")
        bits = niche.niche_start + index - niche.niche_first
    if tag.primitive == "pointer":
        bits &= 2**64 - 1
        constant = ir.Constant(types.PTR, None) if bits == 0 else types.usize(bits).inttoptr(types.PTR)
    else:
        constant = types.const_int(types.llvm_immediate(tag), bits)
    return offset, tag, constant


def set_discriminant(fx: FunctionContext, place: Place, layout: Layout, index: int) -> None:
    """Makes the enum at ``place`` (``layout`` is the whole enum's) be variant ``index``."""
    found = tag_constant(fx, layout, index)
    if found is not None:
        offset, tag, constant = found
        store_scalar(fx, constant, fx.offset(place.ptr, offset), tag, offset_align(place.align, offset))
