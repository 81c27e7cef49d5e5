"""Places: every projection, reading and writing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from llvmlite import ir

from mirgen.layout.data import (
    FieldsUnion,
    Layout,
    ReprMemory,
    ReprPair,
    ReprScalar,
    VariantsMultiple,
    VariantsSingle,
)  # fmt: skip
from mirgen.layout.data import Scalar as ScalarLayout
from mirgen.lower import types
from mirgen.lower.builtin import array_layout
from mirgen.lower.context import FunctionContext
from mirgen.lower.objects import align_of_object, aligned
from mirgen.lower.operand import dangling, load_value, offset_align, spill, store_value
from mirgen.lower.repr import convert_scalar, extract_part, field_offset, reinterpret
from mirgen.lower.value import Memory, Pair, Place, Scalar, Value, is_unsized, is_zst
from mirgen.mir import tyof
from mirgen.mir.place import (
    ConstantIndex,
    Deref,
    Downcast,
    Field,
    Index,
    OpaqueCast,
    Projection,
    Subslice,
)  # fmt: skip
from mirgen.mir.place import Place as MirPlace
from mirgen.mir.ty import AdtTy, ArrayTy, PointerTy, SliceTy, Ty
from mirgen.mir.tyof import array_of

#: Stands for the pointer of a thin ``&T`` in conversions; its valid range is of no interest here.
_POINTER = ScalarLayout("pointer", False, True, 0, 2**64 - 1)
_USIZE = ScalarLayout("i64", False, True, 0, 2**64 - 1)


@dataclass(frozen=True, slots=True)
class _Rooted:
    """A value in SSA form on the way through field projections; ``fields`` is the selected variant's layout."""

    value: Scalar | Pair
    fields: Layout
    ty: Ty
    variant: int | None = None


# ---- reading and writing -------------------------------------------------------------------------------------


def read_place(fx: FunctionContext, place: MirPlace) -> Value:
    """The value in a place.  An aggregate is not copied: it is good until the place is written."""
    known = fx.ssa.get(place.local)
    if known is not None and not place.proj:
        return known
    at = _walk(fx, place)
    if isinstance(at, _Rooted):
        return at.value
    if is_unsized(at.layout):
        raise fx.unsupported("MG0304", f"a value of the unsized type `{at.ty.text}` is read")
    return load_value(fx, at.ptr, at.layout, at.align)


def write_place(fx: FunctionContext, place: MirPlace, value: Value) -> None:
    """Stores ``value``, or defines the local where the place is an SSA local."""
    if not place.proj and place.local in fx.ssa_locals:
        define_local(fx, place.local, value)
    else:
        to = lower_place(fx, place)
        if value.layout.size != to.layout.size:
            raise fx.internal(f"a value of {value.layout.size} bytes for a place of {to.layout.size}")
        store_value(fx, value, to.ptr, to.align)


def define_local(fx: FunctionContext, local: int, value: Value) -> None:
    """Gives an SSA local its only value."""
    layout = fx.layout(fx.body.locals[local].ty)
    held = value if _same_form(value, layout) else reinterpret(fx, value, layout)
    if isinstance(held, Memory):
        raise fx.internal(f"SSA local _{local} gets a value in memory")
    fx.ssa[local] = replace(held, layout=layout)


def _same_form(value: Value, layout: Layout) -> bool:
    match value, layout.repr:
        case Scalar(immediate), ReprScalar(scalar):
            return immediate.type == types.llvm_immediate(scalar)
        case Pair(one, two), ReprPair(first, second, _):
            return one.type == types.llvm_immediate(first) and two.type == types.llvm_immediate(second)
        case _:
            return False


def lower_place(fx: FunctionContext, place: MirPlace) -> Place:
    """The memory of a place.  A place inside an SSA local is spilled: good for reading only."""
    at = _walk(fx, place)
    if isinstance(at, Place):
        return at
    memory = spill(fx, at.value)
    return Place(memory.ptr, at.fields, at.ty, memory.align, variant=at.variant)


def place_ty(fx: FunctionContext, place: MirPlace) -> Ty:
    """The type of a place, without emitting anything."""
    return tyof.place_ty(fx.body.locals, place) if place.proj else fx.body.locals[place.local].ty


def read_local(fx: FunctionContext, local: int) -> Value:
    """The value of a whole local."""
    return read_place(fx, MirPlace(local))


# ---- the walk ------------------------------------------------------------------------------------------------


def _walk(fx: FunctionContext, place: MirPlace) -> Place | _Rooted:
    at = _root(fx, place.local)
    for proj in place.proj:
        at = _project_value(fx, at, proj) if isinstance(at, _Rooted) else _project(fx, at, proj)
    return at


def _root(fx: FunctionContext, local: int) -> Place | _Rooted:
    ty = fx.body.locals[local].ty
    known = fx.ssa.get(local)
    if known is not None:
        return _Rooted(known, known.layout, ty)
    layout = fx.layout(ty)
    if is_zst(layout):
        return Place(dangling(layout.align), layout, ty, layout.align)
    if local in fx.ssa_locals:
        raise fx.internal(f"_{local} is used before it has a value")
    ptr, align = local_slot(fx, local)
    return Place(ptr, layout, ty, align)


def local_slot(fx: FunctionContext, local: int) -> tuple[ir.Value, int]:
    """The stack slot of a local and its alignment, made on first use."""
    slot = fx.slots.get(local)
    if slot is None:
        layout = fx.layout(fx.body.locals[local].ty)
        if is_unsized(layout):
            raise fx.unsupported("MG0304", f"the local `{fx.body.locals[local].ty.text}` is unsized")
        slot = fx.slots[local] = (fx.alloca(layout.size, layout.align, f"_{local}"), layout.align)
    return slot


def _project_value(fx: FunctionContext, at: _Rooted, proj: Projection) -> Place | _Rooted:
    match proj:
        case Deref():
            return deref(fx, at.value, at.ty)
        case Field(index, ty):
            part = fx.layout(ty)
            offset = field_offset(fx, at.fields, index)
            value = extract_part(fx, at.value, offset, part)
            if isinstance(value, Memory):
                return Place(value.ptr, part, ty, value.align)
            return _Rooted(value, part, ty)
        case Downcast():
            variant, fields = _variant(fx, at.fields, at.ty, proj)
            return replace(at, fields=fields, variant=variant)
        case OpaqueCast(_, ty):
            return _Rooted(replace(at.value, layout=fx.layout(ty)), fx.layout(ty), ty)
        case _:
            memory = spill(fx, at.value)
            return _project(fx, Place(memory.ptr, at.fields, at.ty, memory.align), proj)


def _project(fx: FunctionContext, at: Place, proj: Projection) -> Place:
    match proj:
        case Deref():
            return deref(fx, load_value(fx, at.ptr, at.layout, at.align), at.ty)
        case Field(index, ty):
            return _field(fx, at, index, ty)
        case Downcast():
            variant, fields = _variant(fx, at.layout, at.ty, proj)
            return replace(at, layout=fields, variant=variant)
        case Index(local):
            index = read_local(fx, local)
            if not isinstance(index, Scalar):
                raise fx.internal(f"the index _{local} is not a scalar")
            return index_place(fx, at, index.value)
        case ConstantIndex(offset, _, from_end):
            if not from_end:
                return _constant_index(fx, at, offset)
            if isinstance(at.ty, ArrayTy):
                return _constant_index(fx, at, _array_length(fx, at.ty) - offset)
            return index_place(fx, at, fx.b.sub(length(fx, at), types.usize(offset)))
        case Subslice(from_, to, from_end):
            return _subslice(fx, at, from_, to, from_end)
        case OpaqueCast(_, ty):
            return replace(at, ty=ty, layout=fx.layout(ty), variant=None)


def deref(fx: FunctionContext, pointer: Value, ty: Ty) -> Place:
    """The place that ``pointer``, of the reference or raw pointer type ``ty``, points to."""
    pointee = _pointee(fx, ty)
    layout = fx.layout(pointee)
    match pointer, pointer.layout.repr:
        case Scalar(value), ReprScalar(scalar) if not is_unsized(layout):
            return Place(convert_scalar(fx, value, scalar, _POINTER), layout, pointee, layout.align)
        case Pair(data, meta), ReprPair(first, second, _) if is_unsized(layout):
            data = convert_scalar(fx, data, first, _POINTER)
            if second.primitive != "pointer":
                meta = convert_scalar(fx, meta, second, _USIZE)
            return Place(data, layout, pointee, layout.align, meta)
        case Memory(ptr, _, align), _ if isinstance(ty, PointerTy) and not is_unsized(layout):
            # a newtype around a pointer whose layout is not a scalar cannot be; a plain load is right all the same
            return Place(fx.load(ptr, types.PTR, align), layout, pointee, layout.align)
        case _:
            raise fx.internal(f"`{ty.text}` is held as {pointer.layout.repr} and points to `{pointee.text}`")


def _pointee(fx: FunctionContext, ty: Ty) -> Ty:
    match ty:
        case PointerTy(pointee=pointee):
            return pointee
        case AdtTy(path=path) if path.endswith("boxed::Box"):
            raise fx.unsupported("MG0311", "`Box` needs a heap, which the device does not have")
        case _:
            raise fx.internal(f"dereference of `{ty.text}`")


def _field(fx: FunctionContext, at: Place, index: int, ty: Ty) -> Place:
    layout = fx.layout(ty)
    offset = field_offset(fx, at.layout, index)
    meta = at.meta if is_unsized(layout) else None
    if is_unsized(layout):
        if meta is None:
            raise fx.internal(f"field {index} of `{at.ty.text}` is unsized and the place has no length")
        if meta.type == types.PTR:
            ptr = fx.b.gep(at.ptr, [aligned(fx, types.usize(offset), align_of_object(fx, meta))], inbounds=True)
            return Place(ptr, layout, ty, layout.align, meta)
    return Place(fx.offset(at.ptr, offset), layout, ty, offset_align(at.align, offset), meta)


def _variant(fx: FunctionContext, layout: Layout, ty: Ty, proj: Downcast) -> tuple[int, Layout]:
    index = variant_index(fx, layout, ty, proj.variant, proj.index)
    match layout.variants:
        case VariantsMultiple(variants=variants):
            if index >= len(variants):
                raise fx.internal(f"`{ty.text}` has no variant {index}")
            return index, variants[index]
        case VariantsSingle(only) if only == index:
            return index, layout
        case _:  # an uninhabited variant that takes no space: no code that runs gets here
            single = VariantsSingle(index)
            return index, Layout(layout.size, layout.align, ReprMemory(True), FieldsUnion(0), single, True)


def variant_index(fx: FunctionContext, layout: Layout, ty: Ty, name: str | None, index: int | None) -> int:
    """The index of a variant that rustc's text names (``layout`` is the enum's own)."""
    if index is not None:
        return index
    if name is None:
        raise fx.internal(f"a variant of `{ty.text}` without name and index")
    names = layout.names
    if names is None:
        own = fx.layout(ty).names
        if own is None:
            raise fx.unsupported("MG0302", f"the variants of `{ty.text}` are not known")
        names = own
    plain = name.removeprefix("r#")
    for i, variant in enumerate(names):
        if variant.name.removeprefix("r#") == plain:
            return i
    raise fx.internal(f"`{ty.text}` has no variant {name}")


# ---- arrays and slices ---------------------------------------------------------------------------------------


def _elem(fx: FunctionContext, ty: Ty) -> Ty:
    match ty:
        case ArrayTy(elem=elem) | SliceTy(elem=elem):
            return elem
        case _:
            raise fx.internal(f"`{ty.text}` is indexed")


def _array_length(fx: FunctionContext, ty: ArrayTy) -> int:
    if ty.length is None:
        raise fx.internal(f"the length of `{ty.text}` is not known")
    return ty.length


def length(fx: FunctionContext, at: Place) -> ir.Value:
    """The number of elements of an array or slice place, as ``i64``."""
    if isinstance(at.ty, ArrayTy):
        return types.usize(_array_length(fx, at.ty))
    if at.meta is None:
        raise fx.internal(f"`{at.ty.text}` has no length")
    return at.meta


def index_place(fx: FunctionContext, at: Place, index: ir.Value) -> Place:
    """Element ``index`` (``i64``, in range) of an array or slice."""
    ty = _elem(fx, at.ty)
    layout = fx.layout(ty)
    ptr = element_ptr(fx, at.ptr, index, layout.size)
    return Place(ptr, layout, ty, offset_align(at.align, layout.size))


def element_ptr(fx: FunctionContext, ptr: ir.Value, index: ir.Value, stride: int, *, inbounds: bool = True) -> ir.Value:
    """``ptr`` (``i8*``) plus ``index`` elements of ``stride`` bytes."""
    if stride == 0:
        return ptr
    if stride == 1:
        return fx.b.gep(ptr, [index], inbounds=inbounds)
    unit = ir.IntType(8 * stride) if stride in (2, 4, 8) else types.llvm_blob(stride)
    typed = fx.b.bitcast(ptr, unit.as_pointer())
    return fx.b.bitcast(fx.b.gep(typed, [index], inbounds=inbounds), types.PTR)


def _constant_index(fx: FunctionContext, at: Place, index: int) -> Place:
    ty = _elem(fx, at.ty)
    layout = fx.layout(ty)
    offset = layout.size * index
    return Place(fx.offset(at.ptr, offset), layout, ty, offset_align(at.align, offset))


def _subslice(fx: FunctionContext, at: Place, from_: int, to: int, from_end: bool) -> Place:
    elem = fx.layout(_elem(fx, at.ty))
    offset = elem.size * from_
    ptr, align = fx.offset(at.ptr, offset), offset_align(at.align, offset)
    if isinstance(at.ty, ArrayTy):
        count = (_array_length(fx, at.ty) - to if from_end else to) - from_
        return Place(ptr, array_layout(elem, count), array_of(at.ty.elem, count), align)
    if not from_end:
        raise fx.internal("a subslice of a slice counted from its front")
    return Place(ptr, at.layout, at.ty, align, fx.b.sub(length(fx, at), types.usize(from_ + to)))


# ---- borrowing -----------------------------------------------------------------------------------------------


def address_of(fx: FunctionContext, place: MirPlace, pointer: Layout) -> Value:
    """``&place`` or ``&raw place`` as a value of the pointer type whose layout is ``pointer``."""
    at = lower_place(fx, place)
    match pointer.repr:
        case ReprScalar() if at.meta is None:
            return Scalar(at.ptr, pointer)
        case ReprPair() if at.meta is not None:
            return Pair(at.ptr, at.meta, pointer)
        case _:
            raise fx.internal(f"a borrow of `{at.ty.text}` has the representation {pointer.repr}")
