"""Shifts as MIR defines them: any integer on the right, taken modulo the width of the left."""

from __future__ import annotations

from llvmlite import ir

from mirgen.lower.ops.emit import const, intcast, width


def amount(b: ir.IRBuilder, x: ir.Value, by: ir.Value, *, unchecked: bool) -> ir.Value:
    """``by`` at the width of ``x``.  Masked unless ``unchecked`` (then an amount out of range is undefined).

    Widths are powers of two up to 128, so the low bits of a negative or wider amount are the amount modulo the width.
    """
    same = intcast(b, by, width(x))
    return same if unchecked else b.and_(same, const(x.type, width(x) - 1))


def shl(b: ir.IRBuilder, x: ir.Value, by: ir.Value, *, unchecked: bool = False) -> ir.Value:
    """``x << by``."""
    return b.shl(x, amount(b, x, by, unchecked=unchecked))


def shr(b: ir.IRBuilder, x: ir.Value, by: ir.Value, *, signed: bool, unchecked: bool = False) -> ir.Value:
    """``x >> by``: arithmetic where ``signed``."""
    count = amount(b, x, by, unchecked=unchecked)
    return b.ashr(x, count) if signed else b.lshr(x, count)
