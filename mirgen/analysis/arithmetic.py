"""Operators of MIR on known numbers, given and returned as their bits.

The meaning is that of rustc's ``BinOp``, ``UnOp`` and ``CastKind`` (their documentation in ``rustc_middle::mir``).
What is undefined or would panic has no result, and neither has a float operation that gives a NaN, whose bits are not
determined.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeGuard

import numpy as np

from mirgen.mir.ty import BoolTy, CharTy, FloatTy, IntTy, Ty

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType({
    "Eq": operator.eq, "Ne": operator.ne, "Lt": operator.lt, "Le": operator.le, "Gt": operator.gt, "Ge": operator.ge,
})  # fmt: skip
_EXACT: Final[Mapping[str, Callable[[int, int], int]]] = MappingProxyType({
    "Add": int.__add__, "Sub": int.__sub__, "Mul": int.__mul__,
    "BitAnd": int.__and__, "BitOr": int.__or__, "BitXor": int.__xor__,
})  # fmt: skip
_FLOAT: Final[Mapping[str, Callable[[Any, Any], Any]]] = MappingProxyType({
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": lambda a, b: a / b,
})  # fmt: skip
_WIDTHS: Final = MappingProxyType(
    {16: (np.float16, np.uint16), 32: (np.float32, np.uint32), 64: (np.float64, np.uint64)}
)
Number: TypeAlias = IntTy | BoolTy | CharTy | FloatTy


class UndefinedError(Exception):
    """There is no result, or none that is determined; the text says why."""


def is_number(ty: Ty | None) -> TypeGuard[Number]:
    """Whether operators take the type."""
    return isinstance(ty, IntTy | BoolTy | CharTy) or (isinstance(ty, FloatTy) and ty.bits in _WIDTHS)


def width(ty: Number) -> int:
    """How many bits count."""
    return {BoolTy: 1, CharTy: 32}[type(ty)] if isinstance(ty, BoolTy | CharTy) else ty.bits


def binary(op: str, left: int, right: int, ty: Number, right_ty: Number) -> tuple[int, bool]:
    """The result's bits, and whether it overflowed; ``ty`` is the left operand's type.

    Raises:
        UndefinedError: see there.
    """
    if isinstance(ty, FloatTy):
        return _of_floats(op, left, right, ty), False
    a, b = value(left, ty), value(right, right_ty)
    if op in _COMPARE:
        return int(_COMPARE[op](a, b)), False
    if op == "Cmp":
        return ((a > b) - (a < b)) & 0xFF, False
    name = op.removesuffix("WithOverflow").removesuffix("Unchecked")
    if name in ("Shl", "Shr"):
        count = b % width(ty)
        exact = a << count if name == "Shl" else a >> count
        # Only the count overflows.
        bits, overflows = wrapped(exact, ty), not 0 <= b < width(ty)
    elif name in _EXACT:
        bits = wrapped(exact := _EXACT[name](a, b), ty)
        overflows = value(bits, ty) != exact
    elif name in ("Div", "Rem"):
        if b == 0:
            raise UndefinedError("division by zero")
        quotient = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
        bits = wrapped(quotient if name == "Div" else a - quotient * b, ty)
        if value(wrapped(quotient, ty), ty) != quotient:
            raise UndefinedError("division overflows")
        overflows = False
    else:
        raise UndefinedError(f"the operator {op}")
    if overflows and op.endswith("Unchecked"):
        raise UndefinedError(f"{op} overflows")
    return bits, overflows


def unary(op: str, operand: int, ty: Number) -> int:
    """The result's bits.

    Raises:
        UndefinedError: see there.
    """
    if op == "Not" and not isinstance(ty, FloatTy):
        return operand ^ ((1 << width(ty)) - 1)
    if op == "Neg" and isinstance(ty, FloatTy):
        return operand ^ (1 << (ty.bits - 1))
    if op == "Neg":
        return wrapped(-value(operand, ty), ty)
    raise UndefinedError(f"the operator {op}")


def cast(kind: str, bits: int, from_: Number, to: Number) -> int:
    """The result's bits of a cast between numbers.

    Raises:
        UndefinedError: see there.
    """
    match kind, from_, to:
        case "IntToInt", IntTy() | BoolTy() | CharTy(), IntTy() | CharTy():
            return wrapped(value(bits, from_), to)
        case "IntToFloat", IntTy(), FloatTy():
            return _rounded(value(bits, from_), to)
        case "FloatToFloat", FloatTy(), FloatTy():
            return _float_bits(_float(bits, from_), to)
        case "FloatToInt", FloatTy(), IntTy():
            return _saturated(float(_float(bits, from_)), to)
        case _:
            raise UndefinedError(f"the cast {kind}")


def value(bits: int, ty: Number) -> int:
    """What an integer's bits stand for."""
    signed = isinstance(ty, IntTy) and ty.signed and bits >> (ty.bits - 1)
    return bits - (1 << width(ty)) if signed else bits


def wrapped(number: int, ty: Number) -> int:
    """An integer cut to its type."""
    return number % (1 << width(ty))


def _of_floats(op: str, left: int, right: int, ty: FloatTy) -> int:
    a, b = _float(left, ty), _float(right, ty)
    if op in _COMPARE:
        return int(bool(_COMPARE[op](a, b)))
    if op not in _FLOAT:
        raise UndefinedError(f"the operator {op} on floats")
    with np.errstate(all="ignore"):
        return _float_bits(_FLOAT[op](a, b), ty)


def _float(bits: int, ty: FloatTy) -> Any:
    kind, raw = _WIDTHS[ty.bits]
    return raw(bits).view(kind)


def _float_bits(number: Any, ty: FloatTy) -> int:
    if np.isnan(number):
        raise UndefinedError("a NaN")
    kind, raw = _WIDTHS[ty.bits]
    with np.errstate(all="ignore"):
        return int(kind(number).view(raw))


def _rounded(number: int, ty: FloatTy) -> int:
    """An integer as the nearest float; only where going through the wider type does not round twice."""
    exact = float(number)
    if int(exact) != number and ty.bits != 64:
        raise UndefinedError("an integer that is rounded twice")
    return _float_bits(_WIDTHS[ty.bits][0](exact), ty)


def _saturated(number: float, to: IntTy) -> int:
    """``as`` from a float: towards zero, to the nearest that there is; a NaN is zero."""
    low, high = (-(1 << (to.bits - 1)), (1 << (to.bits - 1)) - 1) if to.signed else (0, (1 << to.bits) - 1)
    if number != number:
        return 0
    if abs(number) == float("inf"):
        return wrapped(high if number > 0 else low, to)
    return wrapped(min(max(int(number), low), high), to)
