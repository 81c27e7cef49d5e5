"""``BinaryOp`` and ``UnaryOp``: which operation two operands ask for.  The emission is in :mod:`mirgen.lower.ops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from llvmlite import ir

from mirgen.errors import InternalError
from mirgen.layout.data import Layout
from mirgen.lower import types
from mirgen.lower.context import FunctionContext
from mirgen.lower.ops import compare, divide, floats, fmod, overflow, shift
from mirgen.lower.value import Pair, Scalar, Value, is_zst
from mirgen.mir.ty import BoolTy, CharTy, FloatTy, FnDefTy, FnPtrTy, IntTy, PointerTy, Ty

_FLOAT_OPS: Final[dict[str, Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]]] = {
    "Add": lambda b, x, y: b.fadd(x, y),
    "Sub": lambda b, x, y: b.fsub(x, y),
    "Mul": lambda b, x, y: b.fmul(x, y),
    "Div": lambda b, x, y: b.fdiv(x, y),
    "Rem": fmod.frem,
}
_COMPARISONS: Final = frozenset(compare.PREDICATES)


def lower_binary(
    fx: FunctionContext, op: str, left: Value, right: Value, left_ty: Ty, right_ty: Ty, result: Layout
) -> Value:
    """``op(left, right)``: a Scalar, or a Pair (value, overflowed) for ``*WithOverflow``.

    Raises :class:`UnsupportedError` for ``f128`` and :class:`InternalError` where MIR does not have the combination.
    """
    check_float(fx, left_ty)
    if isinstance(left, Pair) and isinstance(right, Pair) and op in _COMPARISONS:
        pairs = ((left.first, left.second), (right.first, right.second))
        return Scalar(compare.wide(fx.b, op, *pairs), result)
    if is_zst(left.layout) and op in _COMPARISONS:
        return Scalar(compare.of_units(op), result)
    if not isinstance(left, Scalar) or not isinstance(right, Scalar):
        raise _no_such(fx, op, left_ty, right_ty)
    x, y = left.value, right.value
    if op in ("AddWithOverflow", "SubWithOverflow", "MulWithOverflow") and isinstance(left_ty, IntTy):
        compute = {"A": overflow.add, "S": overflow.sub, "M": overflow.mul}[op[0]]
        return Pair(*compute(fx.b, x, y, signed=left_ty.signed), result)
    return Scalar(scalar_binary(fx, op, x, y, left_ty, right_ty), result)


def scalar_binary(fx: FunctionContext, op: str, x: ir.Value, y: ir.Value, left_ty: Ty, right_ty: Ty) -> ir.Value:
    """``op`` on two immediates, for every operator with a scalar result."""
    match left_ty:
        case IntTy(signed=signed):
            emitted = _int_binary(fx.b, op, x, y, signed=signed)
        case FloatTy():
            emitted = _float_binary(fx.b, op, x, y)
        case BoolTy() | CharTy():
            emitted = _bits_binary(fx.b, op, x, y)
        case PointerTy(pointee=pointee) if op == "Offset":
            return offset(fx, x, y, pointee, right_ty)
        case PointerTy() | FnPtrTy() | FnDefTy():
            emitted = _pointer_binary(fx.b, op, x, y)
        case _:
            emitted = None
    if emitted is None:
        raise _no_such(fx, op, left_ty, right_ty)
    return emitted


def lower_unary(fx: FunctionContext, op: str, operand: Value, ty: Ty, result: Layout) -> Value:
    """``Not`` of integers and ``bool``, ``Neg`` of signed integers (wrapping) and floats (the sign bit flips)."""
    check_float(fx, ty)
    match op, operand, ty:
        case "Not", Scalar(value), IntTy() | BoolTy():
            return Scalar(fx.b.not_(value), result)
        case "Neg", Scalar(value), IntTy(signed=True):
            return Scalar(fx.b.sub(types.const_int(value.type, 0), value), result)
        case "Neg", Scalar(value), FloatTy():
            return Scalar(floats.neg(fx.b, value), result)
        case _:
            raise fx.internal(f"{op} of `{ty.text}`")


def check_float(fx: FunctionContext, ty: Ty) -> None:
    """Refuses ``f128``, which no GPU has."""
    if isinstance(ty, FloatTy) and ty.bits not in (16, 32, 64):
        raise fx.unsupported("MG0354", f"`{ty.text}` is not supported on the GPU", helps=("use `f64`",))


def offset(fx: FunctionContext, pointer: ir.Value, count: ir.Value, pointee: Ty, count_ty: Ty) -> ir.Value:
    """``pointer`` advanced by ``count`` elements, inside one object."""
    size = fx.layout(pointee).size
    if size == 0:
        return pointer
    signed = isinstance(count_ty, IntTy) and count_ty.signed
    return fx.b.gep(pointer, [scaled(fx.b, count, size, signed=signed)], inbounds=True)


def scaled(b: ir.IRBuilder, count: ir.Value, size: int, *, signed: bool) -> ir.Value:
    """``count * size`` as ``i64``; it cannot wrap, since the bytes lie in one object."""
    if size == 1:
        return count
    return b.mul(count, types.usize(size), flags=("nsw",) if signed else ("nuw",))


def _int_binary(b: ir.IRBuilder, op: str, x: ir.Value, y: ir.Value, *, signed: bool) -> ir.Value | None:
    no_wrap = ("nsw",) if signed else ("nuw",)
    match op:
        case "Add":
            return b.add(x, y)
        case "Sub":
            return b.sub(x, y)
        case "Mul":
            return b.mul(x, y)
        case "AddUnchecked":
            return b.add(x, y, flags=no_wrap)
        case "SubUnchecked":
            return b.sub(x, y, flags=no_wrap)
        case "MulUnchecked":
            return b.mul(x, y, flags=no_wrap)
        case "Div":
            return divide.div(b, x, y, signed=signed)
        case "Rem":
            return divide.rem(b, x, y, signed=signed)
        case "Shl" | "ShlUnchecked":
            return shift.shl(b, x, y, unchecked=op == "ShlUnchecked")
        case "Shr" | "ShrUnchecked":
            return shift.shr(b, x, y, signed=signed, unchecked=op == "ShrUnchecked")
        case "Cmp":
            return compare.three_way(b, x, y, signed=signed)
        case _ if op in _COMPARISONS:
            return compare.integers(b, op, x, y, signed=signed)
        case _:
            return _bitwise(b, op, x, y)


def _bits_binary(b: ir.IRBuilder, op: str, x: ir.Value, y: ir.Value) -> ir.Value | None:
    """``bool`` and ``char``."""
    if op == "Cmp":
        return compare.three_way(b, x, y, signed=False)
    if op in _COMPARISONS:
        return compare.integers(b, op, x, y, signed=False)
    return _bitwise(b, op, x, y)


def _bitwise(b: ir.IRBuilder, op: str, x: ir.Value, y: ir.Value) -> ir.Value | None:
    match op:
        case "BitAnd":
            return b.and_(x, y)
        case "BitOr":
            return b.or_(x, y)
        case "BitXor":
            return b.xor(x, y)
        case _:
            return None


def _float_binary(b: ir.IRBuilder, op: str, x: ir.Value, y: ir.Value) -> ir.Value | None:
    if op in _COMPARISONS:
        return compare.floats(b, op, x, y)
    emit = _FLOAT_OPS.get(op)
    return None if emit is None else emit(b, x, y)


def _pointer_binary(b: ir.IRBuilder, op: str, x: ir.Value, y: ir.Value) -> ir.Value | None:
    return compare.integers(b, op, x, y, signed=False) if op in _COMPARISONS else None


def _no_such(fx: FunctionContext, op: str, left: Ty, right: Ty) -> InternalError:
    return fx.internal(f"{op}({left.text}, {right.text})")
