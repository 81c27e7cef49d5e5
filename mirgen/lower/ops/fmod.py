"""The floating-point remainder.  It is always exact; NVPTX's ``frem`` is an approximation and x86's a library call."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from mirgen.lower.ops.emit import F16, F32, I1, I64, const, helper, intrinsic, mangled
from mirgen.lower.ops.floats import MANTISSA, float_bits, from_bits, int_of, to_bits


def frem(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    """``x % y`` with the sign of ``x``; NaN for an infinite ``x``, a zero ``y`` or a NaN."""
    if float_bits(x.type) == 16:
        return b.fptrunc(frem(b, b.fpext(x, F32), b.fpext(y, F32)), F16)
    return helper(b, f"__mirgen_fmod_{mangled(x.type)}", x.type, [x, y], _build)


def _build(b: ir.IRBuilder, args: Sequence[ir.Value]) -> None:
    """Long division of the significands in 64 bits, ``room`` bits of the quotient at a time."""
    x, y = args
    ty, bits = int_of(x.type), float_bits(x.type)
    mantissa = MANTISSA[bits]
    implicit = 1 << mantissa
    infinity = ((1 << (bits - 1 - mantissa)) - 1) << mantissa
    room = 64 - (mantissa + 1)
    zero, one = const(I64, 0), const(I64, 1)
    entry_checks = b.append_basic_block("finite")
    invalid, small, divide = (b.append_basic_block(name) for name in ("invalid", "small", "divide"))

    magnitude_mask = const(ty, (1 << (bits - 1)) - 1)
    x_bits = to_bits(b, x)
    x_magnitude = b.and_(x_bits, magnitude_mask)
    y_magnitude = b.and_(to_bits(b, y), magnitude_mask)
    undefined = b.or_(
        b.icmp_unsigned(">=", x_magnitude, const(ty, infinity)),
        b.or_(b.icmp_unsigned("==", y_magnitude, const(ty, 0)), b.icmp_unsigned(">", y_magnitude, const(ty, infinity))),
    )
    b.cbranch(undefined, invalid, entry_checks)

    b.position_at_end(invalid)
    product = b.fmul(x, y)
    b.ret(b.fdiv(product, product))

    b.position_at_end(entry_checks)
    b.cbranch(b.icmp_unsigned("<", x_magnitude, y_magnitude), small, divide)
    b.position_at_end(small)
    b.ret(x)

    b.position_at_end(divide)

    def parts(magnitude: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Significand with its hidden bit and exponent, subnormals at exponent 1; both ``i64``."""
        wide = b.zext(magnitude, I64) if bits < 64 else magnitude
        fraction, exponent = b.and_(wide, const(I64, implicit - 1)), b.lshr(wide, const(I64, mantissa))
        subnormal = b.icmp_unsigned("==", exponent, zero)
        return (
            b.select(subnormal, fraction, b.or_(fraction, const(I64, implicit))),
            b.select(subnormal, one, exponent),
        )

    x_significand, x_exponent = parts(x_magnitude)
    y_significand, y_exponent = parts(y_magnitude)
    first, distance = b.urem(x_significand, y_significand), b.sub(x_exponent, y_exponent)
    start = b.block
    loop, step, done = (b.append_basic_block(name) for name in ("loop", "step", "done"))
    b.branch(loop)

    b.position_at_end(loop)
    left, remainder = b.phi(I64), b.phi(I64)
    left.add_incoming(distance, start)
    remainder.add_incoming(first, start)
    b.cbranch(b.icmp_unsigned("==", left, zero), done, step)

    b.position_at_end(step)
    by = b.select(b.icmp_unsigned("<", left, const(I64, room)), left, const(I64, room))
    next_remainder = b.urem(b.shl(remainder, by), y_significand)
    left.add_incoming(b.sub(left, by), step)
    remainder.add_incoming(next_remainder, step)
    b.branch(loop)

    b.position_at_end(done)
    zeros = intrinsic(b, "llvm.ctlz.i64", I64, [remainder, const(I1, 0)])
    shift = b.sub(zeros, const(I64, room))
    normal = b.icmp_unsigned("<", shift, y_exponent)
    # The hidden bit of the shifted significand adds one to the exponent field.
    exponent = b.sub(b.sub(y_exponent, shift), one)
    as_normal = b.add(b.shl(remainder, shift), b.shl(exponent, const(I64, mantissa)))
    as_subnormal = b.shl(remainder, b.sub(y_exponent, one))
    nonzero = b.select(normal, as_normal, as_subnormal)
    magnitude = b.select(b.icmp_unsigned("==", remainder, zero), zero, nonzero)
    result = b.trunc(magnitude, ty) if bits < 64 else magnitude
    sign = b.and_(x_bits, const(ty, 1 << (bits - 1)))
    b.ret(from_bits(b, b.or_(result, sign), x.type))
