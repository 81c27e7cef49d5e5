"""Counting, reversing and rotating bits at every width from 8 to 128."""

from __future__ import annotations

from llvmlite import ir

from mirgen.lower.ops.emit import I1, I32, I64, I128, const, intcast, intrinsic, width


def ctpop(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """The number of ones, as ``i32``."""
    if width(x) == 128:
        low, high = _halves(b, x)
        return b.add(ctpop(b, low), ctpop(b, high))
    return intcast(b, intrinsic(b, f"llvm.ctpop.i{width(x)}", x.type, [x]), 32)


def ctlz(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """The number of leading zeros as ``i32``; the width for zero."""
    if width(x) == 128:
        low, high = _halves(b, x)
        lower = b.add(ctlz(b, low), const(I32, 64))
        return b.select(b.icmp_unsigned("==", high, const(I64, 0)), lower, ctlz(b, high))
    return intcast(b, intrinsic(b, f"llvm.ctlz.i{width(x)}", x.type, [x, const(I1, 0)]), 32)


def cttz(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """The number of trailing zeros as ``i32``; the width for zero."""
    if width(x) == 128:
        low, high = _halves(b, x)
        upper = b.add(cttz(b, high), const(I32, 64))
        return b.select(b.icmp_unsigned("==", low, const(I64, 0)), upper, cttz(b, low))
    return intcast(b, intrinsic(b, f"llvm.cttz.i{width(x)}", x.type, [x, const(I1, 0)]), 32)


def bswap(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """The bytes in reverse order."""
    match width(x):
        case 8:
            return x
        case 128:
            low, high = _halves(b, x)
            return join(b, low=bswap(b, high), high=bswap(b, low))
        case bits:
            return intrinsic(b, f"llvm.bswap.i{bits}", x.type, [x])


def bitreverse(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """The bits in reverse order."""
    if width(x) == 128:
        low, high = _halves(b, x)
        return join(b, low=bitreverse(b, high), high=bitreverse(b, low))
    return intrinsic(b, f"llvm.bitreverse.i{width(x)}", x.type, [x])


def rotate_left(b: ir.IRBuilder, x: ir.Value, amount: ir.Value) -> ir.Value:
    """``x`` rotated by ``amount`` modulo the width."""
    return funnel_left(b, x, x, amount)


def rotate_right(b: ir.IRBuilder, x: ir.Value, amount: ir.Value) -> ir.Value:
    """``x`` rotated by ``amount`` modulo the width."""
    return funnel_right(b, x, x, amount)


def funnel_left(b: ir.IRBuilder, high: ir.Value, low: ir.Value, amount: ir.Value) -> ir.Value:
    """The upper half of ``high:low`` shifted left by ``amount`` modulo the width."""
    bits = width(high)
    return intrinsic(b, f"llvm.fshl.i{bits}", high.type, [high, low, intcast(b, amount, bits)])


def funnel_right(b: ir.IRBuilder, high: ir.Value, low: ir.Value, amount: ir.Value) -> ir.Value:
    """The lower half of ``high:low`` shifted right by ``amount`` modulo the width."""
    bits = width(high)
    return intrinsic(b, f"llvm.fshr.i{bits}", high.type, [high, low, intcast(b, amount, bits)])


def join(b: ir.IRBuilder, *, low: ir.Value, high: ir.Value) -> ir.Value:
    """An ``i128`` from two ``i64``."""
    return b.or_(b.zext(low, I128), b.shl(b.zext(high, I128), const(I128, 64)))


def _halves(b: ir.IRBuilder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Low and high ``i64`` of an ``i128``."""
    return b.trunc(x, I64), b.trunc(b.lshr(x, const(I128, 64)), I64)
