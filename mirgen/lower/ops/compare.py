"""Comparisons: integers, floats, thin and wide pointers."""

from __future__ import annotations

from typing import Final

from llvmlite import ir

from mirgen.lower.ops.emit import I1, I8, const

#: MIR's comparison operators and LLVM's spelling.
PREDICATES: Final[dict[str, str]] = {"Eq": "==", "Ne": "!=", "Lt": "<", "Le": "<=", "Gt": ">", "Ge": ">="}


def integers(b: ir.IRBuilder, op: str, x: ir.Value, y: ir.Value, *, signed: bool) -> ir.Value:
    """``i1`` for MIR's ``op``; also for ``bool`` (``i1``), ``char`` and thin pointers, all unsigned."""
    predicate = PREDICATES[op]
    return b.icmp_signed(predicate, x, y) if signed else b.icmp_unsigned(predicate, x, y)


def floats(b: ir.IRBuilder, op: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """``i1`` for MIR's ``op``: everything but ``Ne`` is false when an operand is NaN."""
    return b.fcmp_unordered("!=", x, y) if op == "Ne" else b.fcmp_ordered(PREDICATES[op], x, y)


def wide(b: ir.IRBuilder, op: str, x: tuple[ir.Value, ir.Value], y: tuple[ir.Value, ir.Value]) -> ir.Value:
    """``i1`` for two wide pointers (address, metadata), in lexicographic order."""
    if op in ("Eq", "Ne"):
        address, metadata = (integers(b, op, one, two, signed=False) for one, two in zip(x, y, strict=True))
        return b.and_(address, metadata) if op == "Eq" else b.or_(address, metadata)
    strict = {"Lt": "Lt", "Le": "Lt", "Gt": "Gt", "Ge": "Gt"}[op]
    address = integers(b, strict, x[0], y[0], signed=False)
    same = integers(b, "Eq", x[0], y[0], signed=False)
    return b.or_(address, b.and_(same, integers(b, op, x[1], y[1], signed=False)))


def three_way(b: ir.IRBuilder, x: ir.Value, y: ir.Value, *, signed: bool) -> ir.Value:
    """``core::cmp::Ordering`` as ``i8``: -1, 0 or 1."""
    greater = b.zext(integers(b, "Gt", x, y, signed=signed), I8)
    less = b.zext(integers(b, "Lt", x, y, signed=signed), I8)
    return b.sub(greater, less)


def of_units(op: str) -> ir.Constant:
    """The comparison of two equal values."""
    return const(I1, int(op in ("Eq", "Le", "Ge")))
