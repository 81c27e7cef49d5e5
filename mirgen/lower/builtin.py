"""Layouts that follow from the language alone: primitives, pointers, arrays, slices, trait objects, functions, unit.

rustc's own layout wins where the table has one; these stand in for types that nobody needs to ask about.
"""

from __future__ import annotations

from collections.abc import Callable

from mirgen.layout.data import (
    BackendRepr,
    FieldsArbitrary,
    FieldsArray,
    FieldsPrimitive,
    Layout,
    ReprMemory,
    ReprPair,
    ReprScalar,
    Scalar,
    VariantsSingle,
)  # fmt: skip
from mirgen.mir.ty import (
    AdtTy,
    ArrayTy,
    BoolTy,
    CharTy,
    ClosureTy,
    CoroutineTy,
    DynTy,
    FloatTy,
    FnDefTy,
    FnPtrTy,
    IntTy,
    NeverTy,
    PointerTy,
    SliceTy,
    StrTy,
    TupleTy,
    Ty,
    TyBase,
    UnsupportedTy,
)  # fmt: skip

USIZE = Scalar("i64", False, True, 0, 2**64 - 1)
_BYTE_REF = Scalar("pointer", False, True, 1, 2**64 - 1)
_BYTE_PTR = Scalar("pointer", False, True, 0, 2**64 - 1)
_VTABLE = Scalar("pointer", False, True, 1, 2**64 - 1)


def usize_ty(near: TyBase) -> IntTy:
    """``usize`` as the crate of ``near`` spells it."""
    return IntTy("usize", near.crate, 64, False)


def unit_ty(near: TyBase) -> TupleTy:
    """``()`` as the crate of ``near`` spells it."""
    return TupleTy("()", near.crate, ())


def bool_ty(near: TyBase) -> BoolTy:
    """``bool`` as the crate of ``near`` spells it."""
    return BoolTy("bool", near.crate)


def builtin_layout(ty: Ty, lookup: Callable[[Ty], Layout | None]) -> Layout | None:
    """The layout of ``ty``, or ``None`` where only rustc knows it; ``lookup`` finds the layouts of its parts."""
    match ty:
        case IntTy(bits=bits, signed=signed):
            return _scalar(Scalar(f"i{bits}", signed, True, 0, 2**bits - 1))
        case FloatTy(bits=bits):
            return _scalar(Scalar(f"f{bits}", False, True, 0, 2**bits - 1))
        case BoolTy():
            return _scalar(Scalar("i8", False, True, 0, 1))
        case CharTy():
            return _scalar(Scalar("i32", False, True, 0, 0x10FFFF))
        case PointerTy(pointee=pointee, is_ref=is_ref):
            return _pointer(pointee, is_ref, lookup)
        case FnPtrTy():
            return _scalar(_BYTE_REF)
        case FnDefTy():
            return _zero_sized(0)
        case NeverTy():
            return Layout(0, 1, ReprMemory(True), FieldsPrimitive(), VariantsSingle(0), True)
        case TupleTy(elems=()):
            return _zero_sized(0)
        case ArrayTy(elem=elem, length=int(length)):
            inner = lookup(elem)
            return None if inner is None else array_layout(inner, length)
        case SliceTy(elem=elem):
            inner = lookup(elem)
            return None if inner is None else _unsized(inner.align, inner.size)
        case StrTy():
            return _unsized(1, 1)
        case DynTy():
            return _unsized(1, 0)
        case TupleTy() | ArrayTy() | AdtTy() | ClosureTy() | CoroutineTy() | UnsupportedTy():
            return None


def array_layout(elem: Layout, length: int) -> Layout:
    """The layout of ``[T; length]``: always in memory, also for one element."""
    return Layout(
        elem.size * length, elem.align, ReprMemory(True), FieldsArray(elem.size, length), VariantsSingle(0),
        elem.uninhabited and length != 0,
    )  # fmt: skip


def _scalar(scalar: Scalar) -> Layout:
    return _value(scalar.size, scalar.size, ReprScalar(scalar))


def _value(size: int, align: int, repr_: BackendRepr) -> Layout:
    return Layout(size, align, repr_, FieldsPrimitive(), VariantsSingle(0), False)


def _zero_sized(fields: int) -> Layout:
    return Layout(0, 1, ReprMemory(True), FieldsArbitrary((0,) * fields), VariantsSingle(0), False)


def _unsized(align: int, stride: int) -> Layout:
    return Layout(0, align, ReprMemory(False), FieldsArray(stride, 0), VariantsSingle(0), False)


def _pointer(pointee: Ty, is_ref: bool, lookup: Callable[[Ty], Layout | None]) -> Layout | None:
    data = _BYTE_REF if is_ref else _BYTE_PTR
    thin = _value(8, 8, ReprScalar(data))
    match pointee:
        case SliceTy() | StrTy():
            return _value(16, 8, ReprPair(data, USIZE, 8))
        case DynTy():
            return _value(16, 8, ReprPair(data, _VTABLE, 8))
        case AdtTy() | TupleTy() | UnsupportedTy():
            inner = lookup(pointee)
            if inner is None:
                return None
            if isinstance(inner.repr, ReprMemory) and not inner.repr.sized:
                return None  # a slice's or a trait object's tail: the metadata's kind is not in the layout
            return thin
        case _:
            return thin
