"""Results of more than 128 bits."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from mirgen.lower.ops.emit import I128, const


def mul_add_256(b: ir.IRBuilder, values: Sequence[ir.Value], *, signed: bool) -> tuple[ir.Value, ir.Value]:
    """``x * y + c + d`` of ``i128`` as (low, high) halves of 256 bits."""
    x, y, c, d = values
    low, high = _umul(b, x, y)
    zero = const(I128, 0)
    if signed:
        # As unsigned numbers a negative x is x + 2^128, which adds y to the upper half; likewise y.
        for one, other in ((x, y), (y, x)):
            high = b.sub(high, b.select(b.icmp_signed("<", one, zero), other, zero))
    for addend in (c, d):
        total = b.add(low, addend)
        carry = b.zext(b.icmp_unsigned("<", total, low), I128)
        extension = b.ashr(addend, const(I128, 127)) if signed else zero
        low, high = total, b.add(b.add(high, carry), extension)
    return low, high


def _umul(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The unsigned product of two ``i128`` from four products of halves."""
    mask, shift = const(I128, (1 << 64) - 1), const(I128, 64)
    x_low, x_high = b.and_(x, mask), b.lshr(x, shift)
    y_low, y_high = b.and_(y, mask), b.lshr(y, shift)
    low, middle = b.mul(x_low, y_low), b.mul(x_high, y_low)
    cross, high = b.mul(x_low, y_high), b.mul(x_high, y_high)
    carried = b.add(middle, b.lshr(low, shift))
    inner = b.add(cross, b.and_(carried, mask))
    return (
        b.or_(b.shl(inner, shift), b.and_(low, mask)),
        b.add(b.add(high, b.lshr(carried, shift)), b.lshr(inner, shift)),
    )
