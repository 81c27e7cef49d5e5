"""Unsizing: a thin pointer gets the metadata that its pointee's type loses.

``&[T; N]`` becomes ``&[T]``; so does a pointer to a struct whose last field is such an array, and a pointer inside a
struct (``NonNull``, ``Pin``).  A reference that becomes a trait object gets no vtable, since rustc's text does not give
one: such a value can be passed on (panics do), but every use of it is refused where it stands.
"""

from __future__ import annotations

from llvmlite import ir

from mirgen.layout.data import Layout, ReprPair, ReprScalar
from mirgen.lower import types
from mirgen.lower.context import FunctionContext
from mirgen.lower.repr import convert_scalar
from mirgen.lower.value import Pair, Scalar, Value
from mirgen.mir.ty import AdtTy, ArrayTy, DynTy, PointerTy, SliceTy, TupleTy, Ty


def lower_unsize(fx: FunctionContext, value: Value, from_ty: Ty, to_ty: Ty, result: Layout) -> Value:
    """``PointerCoercion(Unsize, _)`` of ``value``.

    Raises :class:`UnsupportedError` where the types do not show what the metadata is.
    """
    if isinstance(value, Pair):  # `&mut dyn A` to `&mut dyn B`: the metadata stays, whatever it is
        return Pair(value.first, value.second, result)
    meta = _metadata(from_ty, to_ty)
    match value, value.layout.repr, result.repr:
        case Scalar(pointer), ReprScalar(have), ReprPair(want, want_meta, _) if meta is not None:
            held = types.llvm_immediate(want_meta)
            constant = ir.Constant(types.PTR, None) if held == types.PTR else types.const_int(held, meta)
            return Pair(convert_scalar(fx, pointer, have, want), constant, result)
        case _:
            raise fx.unsupported(
                "MG0353", f"unsizing `{from_ty.text}` to `{to_ty.text}` is not supported",
                notes=("pointers to arrays become slices, also inside structs",),
            )  # fmt: skip


def _metadata(from_: Ty, to: Ty) -> int | None:
    """The length that the pointee loses, 0 for a vtable; ``None`` where the types do not show it."""
    match from_, to:
        case PointerTy(pointee=inner), PointerTy(pointee=outer):
            return _pointee_metadata(inner, outer)
        case AdtTy(path=path, args=have), AdtTy(path=same, args=want) if path == same and len(have) == len(want):
            found = [
                metadata for inner, outer in zip(have, want, strict=True)
                if inner != outer and (metadata := _either(inner, outer)) is not None
            ]  # fmt: skip
            return found[0] if len(found) == 1 else None
        case _:
            return None


def _either(inner: Ty, outer: Ty) -> int | None:
    """An argument that changes is the pointee (``NonNull<[T; N]>``) or a pointer (``Pin<&[T; N]>``)."""
    found = _pointee_metadata(inner, outer)
    return _metadata(inner, outer) if found is None else found


def _pointee_metadata(inner: Ty, outer: Ty) -> int | None:
    match inner, outer:
        case ArrayTy(length=length), SliceTy():
            return length
        case _, DynTy():
            return 0
        case AdtTy(path=path, args=have), AdtTy(path=same, args=want) if path == same and len(have) == len(want):
            changed = [
                (one, two) for one, two in zip(have, want, strict=True) if one.text != two.text
            ]  # fmt: skip
            return _pointee_metadata(*changed[0]) if len(changed) == 1 else None
        case TupleTy(elems=(*_, last)), TupleTy(elems=(*_, other)):
            return _pointee_metadata(last, other)
        case _:
            return None
