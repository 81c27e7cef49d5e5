"""Unsizing: a thin pointer gets the metadata that its pointee's type loses.

``&[T; N]`` becomes ``&[T]``; so does a pointer to a struct whose last field is such an array, and a pointer inside a
struct (``NonNull``, ``Pin``).  A trait object gets the address of its type's table; where nothing that the kernels
reach looks into that (panics take objects that they never use), there is none, and null stands in its place.
"""

from __future__ import annotations

from llvmlite import ir

from mirgen.analysis.objects import unsized
from mirgen.layout.data import FieldsArbitrary, Layout, ReprPair, ReprScalar
from mirgen.lower import types
from mirgen.lower.context import FunctionContext
from mirgen.lower.repr import convert_scalar
from mirgen.lower.value import Pair, Scalar, Value
from mirgen.mir.ty import AdtTy, ArrayTy, DynTy, PointerTy, SliceTy, Ty


def lower_unsize(fx: FunctionContext, value: Value, from_ty: Ty, to_ty: Ty, result: Layout) -> Value:
    """``PointerCoercion(Unsize, _)`` of ``value``.

    Raises :class:`UnsupportedError` where the types do not show what the metadata is.
    """
    if isinstance(value, Pair) and isinstance(result.repr, ReprPair):
        # `&mut dyn A` to `&mut dyn B`: one table is that of both.
        return Pair(value.first, value.second, result)
    meta = _metadata(fx, from_ty, to_ty)
    match value, value.layout.repr, result.repr:
        case Scalar(pointer), ReprScalar(have), ReprPair(want, want_meta, _) if (
            meta is not None and meta.type == types.llvm_immediate(want_meta)
        ):
            return Pair(convert_scalar(fx, pointer, have, want), meta, result)
        case _:
            raise fx.unsupported(
                "MG0353", f"unsizing `{from_ty.text}` to `{to_ty.text}` is not supported",
                notes=("pointers to arrays become slices, others trait objects, also inside structs",),
            )  # fmt: skip


def _metadata(fx: FunctionContext, from_: Ty, to: Ty) -> ir.Constant | None:
    """What the pointee's type loses: its length, or itself; ``None`` where the types do not show it."""
    match unsized(from_, to):
        case ArrayTy(length=int(length)), SliceTy():
            return types.usize(length)
        case inner, DynTy() if not isinstance(inner, DynTy):
            _check_tail(fx, from_, to, inner)
            return _table(fx, inner)
        case _:
            return None


def _table(fx: FunctionContext, ty: Ty) -> ir.Constant:
    from mirgen.lower.constant import lower_alloc

    alloc = fx.cx.program.tables.get(ty.key)
    return ir.Constant(types.PTR, None) if alloc is None else lower_alloc(fx.cx, alloc)


def _check_tail(fx: FunctionContext, from_: Ty, to: Ty, inner: Ty) -> None:
    """Refuses a struct whose last field would be sought elsewhere than it is: a packed one."""
    match from_, to:
        case PointerTy(pointee=AdtTy() as sized), PointerTy(pointee=AdtTy() as tail):
            have, want = fx.layout(sized).fields, fx.layout(tail).fields
        case _:
            return
    if isinstance(have, FieldsArbitrary) and isinstance(want, FieldsArbitrary) and have.offsets and want.offsets:
        align = fx.layout(inner).align
        if have.offsets[-1] == -(-want.offsets[-1] // align) * align:
            return
    raise fx.unsupported("MG0310", f"a trait object in the last field of `{sized.text}`, whose place is not understood")
