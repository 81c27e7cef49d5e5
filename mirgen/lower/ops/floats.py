"""Floating-point operations whose result is fixed by IEEE 754, so that every target gives the same bits.

Sign operations work on the bits.  Unary operations on ``half`` are done in ``float``, which is exact for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from llvmlite import ir

from mirgen.errors import InternalError
from mirgen.lower.ops.emit import F16, F32, F64, I32, const, intrinsic, mangled

_BITS: Final[dict[type[ir.Type], int]] = {ir.HalfType: 16, ir.FloatType: 32, ir.DoubleType: 64}
#: explicit bits of the significand
MANTISSA: Final[dict[int, int]] = {16: 10, 32: 23, 64: 52}


def float_bits(ty: ir.Type) -> int:
    """Width of a floating-point type: 16, 32 or 64."""
    bits = _BITS.get(type(ty))
    if bits is None:
        raise InternalError(f"expected a floating-point type, found {ty}")
    return bits


def float_type(bits: int) -> ir.Type:
    """The LLVM type of a width of 16, 32 or 64."""
    return {16: F16, 32: F32, 64: F64}[bits]


def int_of(ty: ir.Type) -> ir.IntType:
    """The integer type as wide as the floating-point type."""
    return ir.IntType(float_bits(ty))


def to_bits(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """The representation of ``x`` as an integer."""
    return b.bitcast(x, int_of(x.type))


def from_bits(b: ir.IRBuilder, x: ir.Value, ty: ir.Type) -> ir.Value:
    """The value of type ``ty`` that ``x`` represents."""
    return b.bitcast(x, ty)


def constant_from_bits(ty: ir.Type, bits: int) -> ir.Value:
    """A constant with exactly this representation, NaN payload included."""
    return const(int_of(ty), bits).bitcast(ty)


def value(ty: ir.Type, number: float) -> ir.Constant:
    """A constant that ``ty`` represents exactly."""
    return ir.Constant(ty, number)


def _sign(ty: ir.Type) -> int:
    return 1 << (float_bits(ty) - 1)


def neg(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """``-x``: flips the sign bit, of a NaN too (``fneg`` is not in every dialect)."""
    return from_bits(b, b.xor(to_bits(b, x), const(int_of(x.type), _sign(x.type))), x.type)


def fabs(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """Clears the sign bit."""
    return from_bits(b, b.and_(to_bits(b, x), const(int_of(x.type), _sign(x.type) - 1)), x.type)


def copysign(b: ir.IRBuilder, x: ir.Value, sign: ir.Value) -> ir.Value:
    """``x`` with the sign bit of ``sign``."""
    ty = int_of(x.type)
    magnitude = b.and_(to_bits(b, x), const(ty, _sign(x.type) - 1))
    return from_bits(b, b.or_(magnitude, b.and_(to_bits(b, sign), const(ty, _sign(x.type)))), x.type)


def _through_float(b: ir.IRBuilder, x: ir.Value, op: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """Applies ``op`` to a ``half`` as ``float``; for other types directly."""
    if float_bits(x.type) != 16:
        return op(x)
    return b.fptrunc(op(b.fpext(x, F32)), F16)


def rounding(b: ir.IRBuilder, name: str, x: ir.Value) -> ir.Value:
    """``floor``, ``ceil`` or ``trunc``."""
    return _through_float(b, x, lambda v: intrinsic(b, f"llvm.{name}.{mangled(v.type)}", v.type, [v]))


def sqrt(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """The correctly rounded square root (for ``half`` the second rounding is innocuous: 24 >= 2 * 11 + 2)."""
    return _through_float(b, x, lambda v: intrinsic(b, f"llvm.sqrt.{mangled(v.type)}", v.type, [v]))


def round_half_away(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """``f32::round``.  The difference to the truncated value is exact."""

    def op(v: ir.Value) -> ir.Value:
        whole = intrinsic(b, f"llvm.trunc.{mangled(v.type)}", v.type, [v])
        left = fabs(b, b.fsub(v, whole))
        step = b.select(b.fcmp_ordered(">=", left, value(v.type, 0.5)), value(v.type, 1.0), value(v.type, 0.0))
        return copysign(b, b.fadd(whole, copysign(b, step, v)), v)

    return _through_float(b, x, op)


def round_half_even(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """``f32::round_ties_even``: adding 2^p makes the hardware round to whole numbers."""

    def op(v: ir.Value) -> ir.Value:
        limit = value(v.type, float(1 << MANTISSA[float_bits(v.type)]))
        magnitude = fabs(b, v)
        whole = b.fsub(b.fadd(magnitude, limit), limit)
        small = b.fcmp_ordered("<", magnitude, limit)
        return b.select(small, copysign(b, whole, v), v)

    return _through_float(b, x, op)


def fma(b: ir.IRBuilder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """``x * y + z`` with one rounding."""
    if float_bits(x.type) == 16:
        return _fma_half(b, x, y, z)
    return intrinsic(b, f"llvm.fma.{mangled(x.type)}", x.type, [x, y, z])


def _fma_half(b: ir.IRBuilder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """In ``double`` the product is exact; the sum is rounded to odd, which makes the last rounding the only one."""
    product = b.fmul(b.fpext(x, F64), b.fpext(y, F64))
    addend = b.fpext(z, F64)
    total = b.fadd(product, addend)
    # Knuth's two-sum: the exact error of the addition
    back = b.fsub(total, product)
    error = b.fadd(b.fsub(product, b.fsub(total, back)), b.fsub(addend, back))
    ty = int_of(F64)
    bits = to_bits(b, total)
    # not zero and not NaN (a NaN here means an infinite sum)
    inexact = b.fcmp_ordered("!=", error, value(F64, 0.0))
    toward_zero = b.icmp_signed("<", b.xor(bits, to_bits(b, error)), const(ty, 0))
    odd = b.or_(b.sub(bits, b.zext(toward_zero, ty)), const(ty, 1))
    return narrow(b, from_bits(b, b.select(inexact, odd, bits), F64), F16)


def narrow(b: ir.IRBuilder, x: ir.Value, ty: ir.Type) -> ir.Value:
    """The nearest value of a smaller type.  ``double`` to ``half`` goes through ``float`` rounded to odd (on x86 the
    direct conversion is a library call)."""
    if float_bits(x.type) != 64 or float_bits(ty) != 16:
        return b.fptrunc(x, ty)
    near = b.fptrunc(x, F32)
    back = b.fpext(near, F64)
    bits = to_bits(b, near)
    away = b.fcmp_ordered(">", fabs(b, back), fabs(b, x))
    odd = b.or_(b.sub(bits, b.zext(away, I32)), const(I32, 1))
    inexact = b.fcmp_ordered("!=", back, x)
    return b.fptrunc(from_bits(b, b.select(inexact, odd, bits), F32), F16)


def widen(b: ir.IRBuilder, x: ir.Value, ty: ir.Type) -> ir.Value:
    """The same value in a larger type."""
    return b.fpext(x, ty)


def is_nan(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """``i1``: whether ``x`` is NaN."""
    return b.fcmp_unordered("uno", x, x)


def number(b: ir.IRBuilder, x: ir.Value, y: ir.Value, *, maximum: bool) -> ir.Value:
    """``f32::min``/``max``: a NaN gives way; of equal operands (zeros) the second, as core's own definition has it."""
    second = b.fcmp_ordered(">=" if maximum else "<=", y, x)
    return b.select(b.or_(is_nan(b, x), second), y, x)


def propagating(b: ir.IRBuilder, x: ir.Value, y: ir.Value, *, maximum: bool) -> ir.Value:
    """IEEE 754-2019 ``minimum``/``maximum``: a NaN wins, and -0 is less than +0."""
    ty = int_of(x.type)
    first = b.fcmp_ordered(">" if maximum else "<", x, y)
    x_negative = b.icmp_signed("<", to_bits(b, x), const(ty, 0))
    equal_takes_x = b.not_(x_negative) if maximum else x_negative
    chosen = b.select(b.or_(first, b.and_(b.fcmp_ordered("==", x, y), equal_takes_x)), x, y)
    return b.select(b.fcmp_unordered("uno", x, y), b.fadd(x, y), chosen)


def powi(b: ir.IRBuilder, x: ir.Value, exponent: ir.Value) -> ir.Value:
    """``f32::powi`` by repeated squaring, in the order of compiler-rt's ``__powisf2``; ``exponent`` is ``i32``."""
    from mirgen.lower.ops.powi import powi_helper

    return _through_float(b, x, lambda v: powi_helper(b, v, exponent))
