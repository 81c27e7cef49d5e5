"""Pointers: offsets, distances, metadata, sizes of what they point at."""

from __future__ import annotations

from llvmlite import ir

from mirgen.intrinsics.registry import Intrinsic, Table
from mirgen.intrinsics.support import address, argument, immediate, pointee, scalar
from mirgen.lower import types
from mirgen.lower.arith import offset, scaled
from mirgen.lower.callsite import CallSite
from mirgen.lower.context import FunctionContext
from mirgen.lower.objects import align_of_object, size_of_object
from mirgen.lower.operand import zst
from mirgen.lower.value import Pair, Scalar, Value, is_unsized, is_zst
from mirgen.mir.ty import ArrayTy, DynTy, PointerTy, SliceTy, StrTy, Ty


def _offset(fx: FunctionContext, call: CallSite) -> Value:
    """``offset(ptr, count)``: stays inside one object."""
    ptr, count = address(fx, call, 0), immediate(fx, call, 1)
    return scalar(call, offset(fx, ptr, count, pointee(fx, call, 0), call.arg_tys[1]))


def _arith_offset(fx: FunctionContext, call: CallSite) -> Value:
    """``arith_offset(ptr, count)``: wraps, and may leave the object."""
    size = fx.layout(pointee(fx, call, 0)).size
    count = fx.b.mul(immediate(fx, call, 1), types.usize(size))
    return scalar(call, fx.b.gep(address(fx, call, 0), [count]))


def _distance(fx: FunctionContext, call: CallSite, *, signed: bool) -> Value:
    """``ptr_offset_from``: the distance in elements of two pointers into one object."""
    size = fx.layout(pointee(fx, call, 0)).size
    if size == 0:
        raise fx.unsupported("MG0373", "the distance of pointers to a zero-sized type")
    one, two = (fx.b.ptrtoint(address(fx, call, n), types.I64) for n in (0, 1))
    distance = fx.b.sub(one, two) if signed else fx.b.sub(one, two, flags=("nuw",))
    if size == 1:
        return scalar(call, distance)
    divide = fx.b.sdiv if signed else fx.b.udiv
    return scalar(call, divide(distance, types.usize(size), flags=("exact",)))


def _offset_from(fx: FunctionContext, call: CallSite) -> Value:
    return _distance(fx, call, signed=True)


def _offset_from_unsigned(fx: FunctionContext, call: CallSite) -> Value:
    return _distance(fx, call, signed=False)


def _mask(fx: FunctionContext, call: CallSite) -> Value:
    bits = fx.b.and_(fx.b.ptrtoint(address(fx, call, 0), types.I64), immediate(fx, call, 1))
    return scalar(call, fx.b.inttoptr(bits, types.PTR))


def _guaranteed_cmp(fx: FunctionContext, call: CallSite) -> Value:
    """At run time every comparison has an answer: 1 for equal, 0 for not."""
    equal = fx.b.icmp_unsigned("==", address(fx, call, 0), address(fx, call, 1))
    return scalar(call, fx.b.zext(equal, types.I8))


def _metadata(fx: FunctionContext, call: CallSite) -> Value:
    value = argument(fx, call, 0)
    if isinstance(value, Pair):
        return scalar(call, value.second)
    return zst(call.result_layout)


def _aggregate(fx: FunctionContext, call: CallSite) -> Value:
    """``aggregate_raw_ptr(data, meta)``."""
    data, meta = address(fx, call, 0), argument(fx, call, 1)
    if is_zst(meta.layout):
        return scalar(call, data)
    if not isinstance(meta, Scalar):
        raise fx.internal(f"metadata of {call.path} is not one scalar")
    return Pair(data, meta.value, call.result_layout)


def _slice_get_unchecked(fx: FunctionContext, call: CallSite) -> Value:
    """``slice_get_unchecked(slice, index)``: a pointer or reference to the element."""
    ty = pointee(fx, call, 0)
    if not isinstance(ty, SliceTy | ArrayTy):
        raise fx.internal(f"{call.path} on `{ty.text}`")
    size = fx.layout(ty.elem).size
    at = scaled(fx.b, immediate(fx, call, 1), size, signed=False)
    return scalar(call, fx.b.gep(address(fx, call, 0), [at], inbounds=True))


# ---- sizes ---------------------------------------------------------------------------------------------------


def _size_of_val(fx: FunctionContext, call: CallSite) -> Value:
    ty = pointee(fx, call, 0)
    layout = fx.layout(ty)
    if not is_unsized(layout):
        return scalar(call, types.usize(layout.size))
    meta = _metadata_of(fx, call, ty)
    if isinstance(ty, DynTy):
        return scalar(call, size_of_object(fx, meta))
    return scalar(call, scaled(fx.b, meta, _element_size(fx, call, ty), signed=False))


def _metadata_of(fx: FunctionContext, call: CallSite, ty: Ty) -> ir.Value:
    value = argument(fx, call, 0)
    if not isinstance(value, Pair):
        raise fx.internal(f"{call.path} of a thin pointer to `{ty.text}`")
    return value.second


def _element_size(fx: FunctionContext, call: CallSite, ty: Ty) -> int:
    match ty:
        case SliceTy(elem=elem):
            return fx.layout(elem).size
        case StrTy():
            return 1
        case _:
            raise fx.unsupported("MG0374", f"`{call.path}`: the size of `{ty.text}` is not known on the device")


def _align_of_val(fx: FunctionContext, call: CallSite) -> Value:
    ty = pointee(fx, call, 0)
    layout = fx.layout(ty)
    if isinstance(ty, DynTy):
        return scalar(call, align_of_object(fx, _metadata_of(fx, call, ty)))
    if is_unsized(layout):
        _element_size(fx, call, ty)
    return scalar(call, types.usize(layout.align))


def _vtable_size(fx: FunctionContext, call: CallSite) -> Value:
    return scalar(call, size_of_object(fx, address(fx, call, 0)))


def _vtable_align(fx: FunctionContext, call: CallSite) -> Value:
    return scalar(call, align_of_object(fx, address(fx, call, 0)))


def _discriminant(fx: FunctionContext, call: CallSite) -> Value:
    """``discriminant_value(&v)``."""
    from mirgen.lower.discriminant import lower_discriminant
    from mirgen.lower.value import Memory

    ty = call.arg_tys[0]
    if not isinstance(ty, PointerTy):
        raise fx.internal(f"{call.path} of `{ty.text}`")
    layout = fx.layout(ty.pointee)
    return lower_discriminant(fx, Memory(address(fx, call, 0), layout, layout.align), ty.pointee, call.result_layout)


def table() -> Table:
    """The entries of this file."""
    return {
        "offset": Intrinsic(_offset),
        "arith_offset": Intrinsic(_arith_offset),
        "ptr_offset_from": Intrinsic(_offset_from),
        "ptr_offset_from_unsigned": Intrinsic(_offset_from_unsigned),
        "ptr_mask": Intrinsic(_mask),
        "ptr_guaranteed_cmp": Intrinsic(_guaranteed_cmp),
        "ptr_metadata": Intrinsic(_metadata),
        "aggregate_raw_ptr": Intrinsic(_aggregate),
        "slice_get_unchecked": Intrinsic(_slice_get_unchecked),
        "size_of_val": Intrinsic(_size_of_val, "slices, `str` and trait objects, not inside structs"),
        "align_of_val": Intrinsic(_align_of_val, "slices, `str` and trait objects, not inside structs"),
        "min_align_of_val": Intrinsic(_align_of_val, "slices, `str` and trait objects, not inside structs"),
        "vtable_size": Intrinsic(_vtable_size),
        "vtable_align": Intrinsic(_vtable_align),
        "discriminant_value": Intrinsic(_discriminant),
    }
