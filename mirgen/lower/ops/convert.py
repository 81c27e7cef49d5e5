"""Conversions between integers and floats at all widths, as Rust's ``as`` defines them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from llvmlite import ir

from mirgen.lower.ops.emit import F16, F32, I32, I64, I128, const, helper, intcast, mangled, width
from mirgen.lower.ops.floats import (
    MANTISSA,
    constant_from_bits,
    float_bits,
    from_bits,
    int_of,
    is_nan,
    to_bits,
)


def float_to_int(b: ir.IRBuilder, x: ir.Value, bits: int, *, signed: bool) -> ir.Value:
    """Rounds towards zero and saturates; NaN gives 0."""
    if float_bits(x.type) == 16:
        x = b.fpext(x, F32)
    if bits == 128:
        name = f"__mirgen_{'fptosi' if signed else 'fptoui'}_sat_i128_{mangled(x.type)}"
        return helper(b, name, I128, [x], _build_to_i128_signed if signed else _build_to_i128_unsigned)
    ty = ir.IntType(bits)
    lowest, highest = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    converted = b.fptosi(x, ty) if signed else b.fptoui(x, ty)
    # Out of range the conversion is poison, and then never selected.
    too_low = b.fcmp_ordered("<", x, _toward_zero(x.type, lowest))
    too_high = b.fcmp_ordered(">", x, _toward_zero(x.type, highest))
    result = b.select(too_low, const(ty, lowest), b.select(too_high, const(ty, highest), converted))
    return b.select(is_nan(b, x), const(ty, 0), result)


def float_to_int_unchecked(b: ir.IRBuilder, x: ir.Value, bits: int, *, signed: bool) -> ir.Value:
    """Rounds towards zero; undefined out of range."""
    if bits == 128:
        return float_to_int(b, x, bits, signed=signed)
    ty = ir.IntType(bits)
    return b.fptosi(x, ty) if signed else b.fptoui(x, ty)


def int_to_float(b: ir.IRBuilder, x: ir.Value, ty: ir.Type, *, signed: bool) -> ir.Value:
    """The nearest value, ties to even; infinity where the type ends before the integer."""
    if width(x) < 128:
        return b.sitofp(x, ty) if signed else b.uitofp(x, ty)
    if not signed:
        return _magnitude_to_float(b, x, ty)
    negative = b.icmp_signed("<", x, const(I128, 0))
    magnitude = _magnitude_to_float(b, b.select(negative, b.sub(const(I128, 0), x), x), ty)
    bits = int_of(ty)
    sign = b.shl(b.zext(negative, bits), const(bits, bits.width - 1))
    return from_bits(b, b.or_(to_bits(b, magnitude), sign), ty)


def _toward_zero(ty: ir.Type, limit: int) -> ir.Value:
    """The constant nearest to ``limit`` that is not farther from zero."""
    mantissa = MANTISSA[float_bits(ty)]
    magnitude = abs(limit)
    if magnitude == 0:
        return constant_from_bits(ty, 0)
    drop = max(0, magnitude.bit_length() - (mantissa + 1))
    kept = (magnitude >> drop) << drop
    number = float(Fraction(kept))
    return ir.Constant(ty, -number if limit < 0 else number)


def _magnitude_to_float(b: ir.IRBuilder, x: ir.Value, ty: ir.Type) -> ir.Value:
    """An unsigned ``i128`` as a float."""
    if float_bits(ty) == 16:
        # half ends at 65504: everything from 2^17 on is infinity, as 2^17 is
        limit = const(I128, 1 << 17)
        clamped = b.select(b.icmp_unsigned("<", x, limit), x, limit)
        return b.uitofp(b.trunc(clamped, I32), F16)

    def build(b: ir.IRBuilder, args: Sequence[ir.Value]) -> None:
        b.ret(_build_from_u128(b, args[0], ty))

    return helper(b, f"__mirgen_uitofp_i128_{mangled(ty)}", ty, [x], build)


def _build_from_u128(b: ir.IRBuilder, x: ir.Value, ty: ir.Type) -> ir.Value:
    from mirgen.lower.ops.bits import ctlz

    bits, mantissa = int_of(ty), MANTISSA[float_bits(ty)]
    bias = (1 << (bits.width - 2 - mantissa)) - 1
    zeros = intcast(b, ctlz(b, x), 128)
    zero = b.icmp_unsigned("==", x, const(I128, 0))
    normalised = b.shl(x, b.select(zero, const(I128, 0), zeros))
    kept = b.lshr(normalised, const(I128, 127 - mantissa))
    dropped = b.shl(normalised, const(I128, mantissa + 1))
    half = const(I128, 1 << 127)
    odd = b.trunc(kept, ir.IntType(1))
    up = b.or_(b.icmp_unsigned(">", dropped, half), b.and_(b.icmp_unsigned("==", dropped, half), odd))
    # The hidden bit adds one to the exponent field, and so does a carry out of the significand.
    exponent = b.sub(const(bits, 126 + bias), intcast(b, zeros, bits.width))
    pattern = b.add(b.shl(exponent, const(bits, mantissa)), intcast(b, kept, bits.width))
    pattern = b.add(pattern, b.zext(up, bits))
    return from_bits(b, b.select(zero, const(bits, 0), pattern), ty)


def _build_to_i128_signed(b: ir.IRBuilder, args: Sequence[ir.Value]) -> None:
    x = args[0]
    magnitude, exponent, negative, nan = _to_magnitude(b, x)
    lowest = const(I128, 1 << 127)
    limit = b.select(negative, lowest, const(I128, (1 << 127) - 1))
    value = b.select(negative, b.sub(const(I128, 0), magnitude), magnitude)
    result = b.select(b.icmp_signed(">=", exponent, const(I64, 127)), limit, value)
    b.ret(b.select(nan, const(I128, 0), result))


def _build_to_i128_unsigned(b: ir.IRBuilder, args: Sequence[ir.Value]) -> None:
    x = args[0]
    magnitude, exponent, negative, nan = _to_magnitude(b, x)
    result = b.select(b.icmp_signed(">=", exponent, const(I64, 128)), const(I128, -1), magnitude)
    b.ret(b.select(b.or_(nan, negative), const(I128, 0), result))


def _to_magnitude(b: ir.IRBuilder, x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    """``|x|`` truncated (garbage from 2^128 on), the unbiased exponent (``i64``), the sign, whether ``x`` is NaN."""
    bits, mantissa = int_of(x.type), MANTISSA[float_bits(x.type)]
    bias = (1 << (bits.width - 2 - mantissa)) - 1
    pattern = to_bits(b, x)
    field = b.and_(b.lshr(pattern, const(bits, mantissa)), const(bits, 2 * bias + 1))
    exponent = b.sub(intcast(b, field, 64), const(I64, bias))
    significand = b.or_(b.and_(pattern, const(bits, (1 << mantissa) - 1)), const(bits, 1 << mantissa))
    significand = intcast(b, significand, 128)
    shift = b.sub(exponent, const(I64, mantissa))
    left = b.icmp_signed(">=", shift, const(I64, 0))
    by_left = intcast(b, b.and_(shift, const(I64, 127)), 128)
    by_right = intcast(b, b.and_(b.sub(const(I64, 0), shift), const(I64, 127)), 128)
    shifted = b.select(left, b.shl(significand, by_left), b.lshr(significand, by_right))
    below_one = b.icmp_signed("<", exponent, const(I64, 0))
    magnitude = b.select(below_one, const(I128, 0), shifted)
    negative = b.icmp_signed("<", pattern, const(bits, 0))
    return magnitude, exponent, negative, is_nan(b, x)
