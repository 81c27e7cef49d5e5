"""Integer division.  At 128 bits it is spelled out: x86 would call a library and NVPTX would loop over bits."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from mirgen.lower.ops.bits import join
from mirgen.lower.ops.emit import I64, I128, const, helper, intrinsic, width


def div(b: ir.IRBuilder, x: ir.Value, y: ir.Value, *, signed: bool, exact: bool = False) -> ir.Value:
    """The quotient, rounded towards zero.  Undefined for a zero divisor and for ``MIN / -1``."""
    if width(x) < 128:
        flags = ("exact",) if exact else ()
        return b.sdiv(x, y, flags=flags) if signed else b.udiv(x, y, flags=flags)
    if not signed:
        return _udiv_128(b, x, y)
    quotient = _udiv_128(b, _abs(b, x), _abs(b, y))
    return b.select(b.xor(_negative(b, x), _negative(b, y)), b.sub(const(I128, 0), quotient), quotient)


def rem(b: ir.IRBuilder, x: ir.Value, y: ir.Value, *, signed: bool) -> ir.Value:
    """The remainder, with the sign of ``x``.  Undefined for a zero divisor and for ``MIN % -1``."""
    if width(x) < 128:
        return b.srem(x, y) if signed else b.urem(x, y)
    return b.sub(x, b.mul(div(b, x, y, signed=signed), y))


def _negative(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    return b.icmp_signed("<", x, const(x.type, 0))


def _abs(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    return b.select(_negative(b, x), b.sub(const(x.type, 0), x), x)


def _udiv_128(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    shift = _power_of_two(y)
    if shift is not None:
        return b.lshr(x, const(I128, shift))
    return helper(b, "__mirgen_udiv_i128", I128, [x, y], _build_udiv_128)


def _power_of_two(y: ir.Value) -> int | None:
    """The exponent, where ``y`` is a constant power of two."""
    if isinstance(y, ir.Constant) and isinstance(y.constant, int):
        value = y.constant & ((1 << 128) - 1)
        if value and value & (value - 1) == 0:
            return value.bit_length() - 1
    return None


def _build_udiv_128(b: ir.IRBuilder, args: Sequence[ir.Value]) -> None:
    """Schoolbook division with 64-bit digits; with a two-digit divisor the estimate is at most one too large."""
    x, y = args
    zero = const(I64, 0)
    x_low, x_high = b.trunc(x, I64), b.trunc(b.lshr(x, const(I128, 64)), I64)
    y_low, y_high = b.trunc(y, I64), b.trunc(b.lshr(y, const(I128, 64)), I64)
    one_digit, two_digits = b.append_basic_block("one_digit"), b.append_basic_block("two_digits")
    narrow, wide = b.append_basic_block("narrow"), b.append_basic_block("wide")
    b.cbranch(b.icmp_unsigned("==", y_high, zero), one_digit, two_digits)

    b.position_at_end(one_digit)
    b.cbranch(b.icmp_unsigned("==", x_high, zero), narrow, wide)
    b.position_at_end(narrow)
    b.ret(b.zext(b.udiv(x_low, y_low), I128))
    b.position_at_end(wide)
    high = b.udiv(x_high, y_low)
    left = b.sub(x_high, b.mul(high, y_low))
    b.ret(join(b, low=_divide_digits(b, left, x_low, y_low), high=high))

    b.position_at_end(two_digits)
    zeros = intrinsic(b, "llvm.ctlz.i64", I64, [y_high, const(ir.IntType(1), 0)])
    zeros_128 = b.zext(zeros, I128)
    digit = b.trunc(b.lshr(b.shl(y, zeros_128), const(I128, 64)), I64)
    half = b.lshr(x, const(I128, 1))
    estimate = _divide_digits(b, b.trunc(b.lshr(half, const(I128, 64)), I64), b.trunc(half, I64), digit)
    estimate = b.lshr(b.shl(b.zext(estimate, I128), zeros_128), const(I128, 63))
    estimate = b.sub(estimate, b.zext(b.icmp_unsigned("!=", estimate, const(I128, 0)), I128))
    left_over = b.sub(x, b.mul(estimate, y))
    b.ret(b.add(estimate, b.zext(b.icmp_unsigned(">=", left_over, y), I128)))


def _divide_digits(b: ir.IRBuilder, high: ir.Value, low: ir.Value, divisor: ir.Value) -> ir.Value:
    """``high:low / divisor`` for ``high < divisor``: a 64-bit quotient."""
    return helper(b, "__mirgen_udiv_digits", I64, [high, low, divisor], _build_divide_digits)


def _build_divide_digits(b: ir.IRBuilder, args: Sequence[ir.Value]) -> None:
    """Knuth's algorithm D with two 32-bit digits (Hacker's Delight, divlu)."""
    high, low, divisor = args
    thirty_two, mask = const(I64, 32), const(I64, (1 << 32) - 1)
    zeros = intrinsic(b, "llvm.ctlz.i64", I64, [divisor, const(ir.IntType(1), 0)])
    divisor = b.shl(divisor, zeros)
    d1, d0 = b.lshr(divisor, thirty_two), b.and_(divisor, mask)
    # low >> (64 - zeros), which would be undefined for zeros == 0, in two steps
    carried = b.lshr(b.lshr(low, const(I64, 1)), b.sub(const(I64, 63), zeros))
    top = b.or_(b.shl(high, zeros), carried)
    rest = b.shl(low, zeros)
    q1 = _digit(b, top, b.lshr(rest, thirty_two), d1, d0)
    middle = b.sub(b.or_(b.shl(top, thirty_two), b.lshr(rest, thirty_two)), b.mul(q1, divisor))
    q0 = _digit(b, middle, b.and_(rest, mask), d1, d0)
    b.ret(b.add(b.shl(q1, thirty_two), q0))


def _digit(b: ir.IRBuilder, top: ir.Value, next_digit: ir.Value, d1: ir.Value, d0: ir.Value) -> ir.Value:
    """One 32-bit digit of the quotient: an estimate that at most two corrections make right."""
    base = const(I64, 1 << 32)
    q = b.udiv(top, d1)
    left = b.sub(top, b.mul(q, d1))
    active: ir.Value = const(ir.IntType(1), 1)
    for _ in range(2):
        too_large = b.or_(
            b.icmp_unsigned(">=", q, base),
            b.icmp_unsigned(">", b.mul(q, d0), b.or_(b.shl(left, const(I64, 32)), next_digit)),
        )
        step = b.and_(active, too_large)
        q = b.select(step, b.sub(q, const(I64, 1)), q)
        left = b.select(step, b.add(left, d1), left)
        active = b.and_(step, b.icmp_unsigned("<", left, base))
    return q
