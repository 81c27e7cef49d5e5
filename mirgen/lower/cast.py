"""``Rvalue::Cast``: every CastKind of rustc's text."""

from __future__ import annotations

import re
from typing import Final

from llvmlite import ir

from mirgen.layout.data import Layout, ReprScalar
from mirgen.lower import types
from mirgen.lower.arith import check_float
from mirgen.lower.context import FunctionContext
from mirgen.lower.ops import convert, emit, floats
from mirgen.lower.repr import reinterpret
from mirgen.lower.unsize import lower_unsize
from mirgen.lower.value import Pair, Scalar, Value
from mirgen.mir.ty import (
    BoolTy,
    CharTy,
    ClosureTy,
    FloatTy,
    FnDefTy,
    FnPtrTy,
    IntTy,
    Ty,
)  # fmt: skip

_COERCION: Final = re.compile(r"PointerCoercion\((\w+)(?:\((?:Safe|Unsafe)\))?, (?:Implicit|AsCast)\)")


def lower_cast(fx: FunctionContext, cast: str, value: Value, from_ty: Ty, to_ty: Ty) -> Value:
    """``value as to_ty`` of kind ``cast`` (``IntToInt``, ``PointerCoercion(Unsize, Implicit)``, ..).

    Raises :class:`UnsupportedError` for trait objects and ``f128``, :class:`InternalError` for unknown kinds.
    """
    check_float(fx, from_ty)
    check_float(fx, to_ty)
    result = fx.layout(to_ty)
    match cast:
        case "IntToInt" | "FloatToInt" | "IntToFloat" | "FloatToFloat":
            return Scalar(_numeric(fx, cast, _scalar(fx, value, from_ty), from_ty, to_ty), result)
        case "PtrToPtr" | "FnPtrToPtr":
            return _pointer_to_pointer(fx, value, result)
        case "PointerExposeProvenance":
            return Scalar(fx.b.ptrtoint(_scalar(fx, value, from_ty), types.I64), result)
        case "PointerWithExposedProvenance":
            return Scalar(fx.b.inttoptr(_scalar(fx, value, from_ty), types.PTR), result)
        case "Transmute" | "Subtype":
            return _transmute(fx, value, from_ty, to_ty, result)
        case _:
            coercion = _COERCION.fullmatch(cast)
            if coercion is None:
                raise fx.unsupported("MG0351", f"the cast `{cast}` is not known")
            return _coerce(fx, coercion[1], value, from_ty, to_ty, result)


def _scalar(fx: FunctionContext, value: Value, ty: Ty) -> ir.Value:
    """The immediate of a value of a scalar layout."""
    if not isinstance(value, Scalar):
        raise fx.internal(f"`{ty.text}` is not one scalar")
    return value.value


# ---- numbers -------------------------------------------------------------------------------------------------


def _numeric(fx: FunctionContext, cast: str, x: ir.Value, from_ty: Ty, to_ty: Ty) -> ir.Value:
    signed = _is_signed(from_ty, fx.layout(from_ty))
    match cast, to_ty:
        case "IntToInt", IntTy(bits=bits):
            return emit.intcast(fx.b, x, bits, signed=signed)
        case "IntToInt", CharTy():
            return emit.intcast(fx.b, x, 32)
        case "IntToFloat", FloatTy(bits=bits):
            return convert.int_to_float(fx.b, x, floats.float_type(bits), signed=signed)
        case "FloatToInt", IntTy(bits=bits, signed=to_signed):
            return convert.float_to_int(fx.b, x, bits, signed=to_signed)
        case "FloatToFloat", FloatTy(bits=bits):
            have = floats.float_bits(x.type)
            if have == bits:
                return x
            to = floats.float_type(bits)
            return floats.narrow(fx.b, x, to) if have > bits else floats.widen(fx.b, x, to)
        case _:
            raise fx.internal(f"{cast} from `{from_ty.text}` to `{to_ty.text}`")


def _is_signed(ty: Ty, layout: Layout) -> bool:
    """Whether an integer is extended by its sign.  Enums are cast by discriminant, whose type MIR gives."""
    match ty:
        case IntTy(signed=signed):
            return signed
        case BoolTy() | CharTy() | FloatTy():
            return False
        case _:
            return isinstance(layout.repr, ReprScalar) and layout.repr.value.signed


# ---- pointers ------------------------------------------------------------------------------------------------


def _pointer_to_pointer(fx: FunctionContext, value: Value, result: Layout) -> Value:
    """Every pointer is ``i8*``: only the metadata can go away."""
    match value, len(types.llvm_values(result)):
        case Scalar(pointer), 1:
            return Scalar(pointer, result)
        case Pair(pointer, _), 1:
            return Scalar(pointer, result)
        case Pair(pointer, meta), 2:
            return Pair(pointer, meta, result)
        case _:
            raise fx.internal("a pointer cast that adds metadata")


def _coerce(fx: FunctionContext, kind: str, value: Value, from_ty: Ty, to_ty: Ty, result: Layout) -> Value:
    match kind:
        case "ReifyFnPointer" | "ClosureFnPointer":
            from mirgen.lower.call import fn_pointer

            if not isinstance(from_ty, FnDefTy | ClosureTy) or not isinstance(to_ty, FnPtrTy):
                raise fx.internal(f"{kind} from `{from_ty.text}` to `{to_ty.text}`")
            return Scalar(fn_pointer(fx, from_ty), result)
        case "NeverCalled":
            return Scalar(ir.Constant(types.PTR, None), result)
        case "UnsafeFnPointer" | "MutToConstPointer" | "ArrayToPointer":
            return _pointer_to_pointer(fx, value, result)
        case "Unsize":
            return lower_unsize(fx, value, from_ty, to_ty, result)
        case _:
            raise fx.unsupported("MG0351", f"the pointer coercion `{kind}` is not known")


def _transmute(fx: FunctionContext, value: Value, from_ty: Ty, to_ty: Ty, result: Layout) -> Value:
    """The same bytes as another type of the same size."""
    if value.layout.size != result.size:
        raise fx.internal(f"transmute of `{from_ty.text}` to `{to_ty.text}`: {value.layout.size}, {result.size} bytes")
    return reinterpret(fx, value, result)
