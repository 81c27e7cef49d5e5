"""Addition, subtraction and multiplication that report overflow, and the saturating forms.

LLVM's ``*.with.overflow`` and ``*.sat`` intrinsics are not all legal for every consumer and width, so the flags are
computed; LLVM recognises the patterns and selects the same machine code.
"""

from __future__ import annotations

from llvmlite import ir

from mirgen.lower.ops.emit import const, width


def add(b: ir.IRBuilder, x: ir.Value, y: ir.Value, *, signed: bool) -> tuple[ir.Value, ir.Value]:
    """The wrapped sum and an ``i1`` that says whether it overflowed."""
    total = b.add(x, y)
    if not signed:
        return total, b.icmp_unsigned("<", total, x)
    return total, _is_negative(b, b.and_(b.xor(x, total), b.xor(y, total)))


def sub(b: ir.IRBuilder, x: ir.Value, y: ir.Value, *, signed: bool) -> tuple[ir.Value, ir.Value]:
    """The wrapped difference and an ``i1`` that says whether it overflowed."""
    difference = b.sub(x, y)
    if not signed:
        return difference, b.icmp_unsigned("<", x, y)
    return difference, _is_negative(b, b.and_(b.xor(x, y), b.xor(x, difference)))


def mul(b: ir.IRBuilder, x: ir.Value, y: ir.Value, *, signed: bool) -> tuple[ir.Value, ir.Value]:
    """The wrapped product and an ``i1`` that says whether it overflowed."""
    bits = width(x)
    if bits == 128:
        return _mul_128(b, x, y, signed=signed)
    wide = ir.IntType(2 * bits)
    if signed:
        full = b.mul(b.sext(x, wide), b.sext(y, wide))
        product = b.trunc(full, x.type)
        return product, b.icmp_unsigned("!=", b.sext(product, wide), full)
    full = b.mul(b.zext(x, wide), b.zext(y, wide))
    return b.trunc(full, x.type), b.icmp_unsigned("!=", b.lshr(full, const(wide, bits)), const(wide, 0))


def saturating_add(b: ir.IRBuilder, x: ir.Value, y: ir.Value, *, signed: bool) -> ir.Value:
    """The sum, clamped to the type's range."""
    total, overflow = add(b, x, y, signed=signed)
    return b.select(overflow, _limit(b, x, signed=signed, maximum=True), total)


def saturating_sub(b: ir.IRBuilder, x: ir.Value, y: ir.Value, *, signed: bool) -> ir.Value:
    """The difference, clamped to the type's range."""
    difference, overflow = sub(b, x, y, signed=signed)
    return b.select(overflow, _limit(b, x, signed=signed, maximum=False), difference)


def _limit(b: ir.IRBuilder, x: ir.Value, *, signed: bool, maximum: bool) -> ir.Value:
    """Where the result goes on overflow.  A signed sum or difference overflows towards the sign of ``x``."""
    bits = width(x)
    if not signed:
        return const(x.type, -1 if maximum else 0)
    sign = b.ashr(x, const(x.type, bits - 1))
    return b.xor(sign, const(x.type, (1 << (bits - 1)) - 1))


def _is_negative(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return b.icmp_signed("<", value, const(value.type, 0))


def _mul_128(b: ir.IRBuilder, x: ir.Value, y: ir.Value, *, signed: bool) -> tuple[ir.Value, ir.Value]:
    ty = x.type
    product = b.mul(x, y)
    if not signed:
        return product, _umul_128_overflows(b, x, y)[1]
    zero = const(ty, 0)
    negative = b.xor(_is_negative(b, x), _is_negative(b, y))
    magnitudes = [b.select(_is_negative(b, v), b.sub(zero, v), v) for v in (x, y)]
    magnitude, carried = _umul_128_overflows(b, *magnitudes)
    limit = b.add(const(ty, (1 << 127) - 1), b.zext(negative, ty))
    return product, b.or_(carried, b.icmp_unsigned(">", magnitude, limit))


def _umul_128_overflows(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The low 128 bits of the unsigned product, and whether there are more.

    With 64-bit halves, ``x*y = xh*yh*2^128 + (xh*yl + xl*yh)*2^64 + xl*yl``.  If both high halves are non-zero it
    overflows; otherwise one cross product is zero and the sum below cannot wrap.
    """
    ty = x.type
    mask, shift, zero = const(ty, (1 << 64) - 1), const(ty, 64), const(ty, 0)
    x_low, x_high = b.and_(x, mask), b.lshr(x, shift)
    y_low, y_high = b.and_(y, mask), b.lshr(y, shift)
    both = b.and_(b.icmp_unsigned("!=", x_high, zero), b.icmp_unsigned("!=", y_high, zero))
    low = b.mul(x_low, y_low)
    cross = b.add(b.mul(x_high, y_low), b.mul(x_low, y_high))
    middle = b.add(cross, b.lshr(low, shift))
    spilled = b.icmp_unsigned("!=", b.lshr(middle, shift), zero)
    product = b.or_(b.shl(middle, shift), b.and_(low, mask))
    return product, b.or_(both, spilled)
