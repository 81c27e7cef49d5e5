"""Walking what statements hold."""

from __future__ import annotations

from collections.abc import Iterator

from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s


def operands_of(of: s.Statement | s.Terminator) -> Iterator[p.Operand]:
    """Every operand of a statement or terminator, in the order of the text."""
    match of:
        case s.Assign(_, _, rvalue):
            yield from rvalue_operands(rvalue)
        case s.Assume(_, operand) | s.SwitchInt(_, operand):
            yield operand
        case s.CopyNonoverlapping(_, dst, src, count):
            yield from (dst, src, count)
        case s.Call(_, _, func, args) | s.TailCall(_, func, args):
            yield func
            yield from args
        case s.Assert(_, operand, _, _, args):
            yield operand
            yield from args
        case _:
            return


def rvalue_operands(rvalue: r.Rvalue) -> tuple[p.Operand, ...]:
    """Every operand of an rvalue."""
    match rvalue:
        case r.Use(operand) | r.Repeat(operand) | r.Cast(_, operand) | r.UnaryOp(_, operand) | r.WrapBinder(operand):
            return (operand,)
        case r.BinaryOp(_, left, right):
            return (left, right)
        case r.ArrayAggregate(operands) | r.TupleAggregate(operands):
            return operands
        case r.AdtAggregate(operands=operands) | r.ClosureAggregate(operands=operands):
            return operands
        case r.RawPtrAggregate(_, data, meta):
            return (data, meta)
        case _:
            return ()


def constants_of(of: s.Statement | s.Terminator) -> list[p.Const]:
    """Every constant of a statement or terminator, in the order of the text."""
    return [o.const for o in operands_of(of) if isinstance(o, p.Constant)]
