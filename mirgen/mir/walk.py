"""Walking and rewriting what statements hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s

T = TypeVar("T")


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


def map_operands(of: T, change: Callable[[p.Operand], p.Operand]) -> T:
    """``of`` (a statement, terminator or rvalue) with every operand changed; itself where nothing changed."""
    changed: dict[str, object] = {}
    node = cast("Any", of)
    for f in fields(node):
        value = getattr(node, f.name)
        new: object = value
        if isinstance(value, p.Copy | p.Move | p.Constant | p.RuntimeChecks):
            new = change(value)
        elif f.name in ("args", "operands"):
            new = _map_tuple(value, change)
        elif f.name == "rvalue":
            new = map_operands(value, change)
        if new is not value:
            changed[f.name] = new
    return cast("T", replace(node, **changed)) if changed else of


def _map_tuple(values: tuple[p.Operand, ...], change: Callable[[p.Operand], p.Operand]) -> tuple[p.Operand, ...]:
    new = tuple([change(v) for v in values])
    return values if all(a is b for a, b in zip(new, values, strict=True)) else new


def map_body_operands(body: m.Body, change: Callable[[p.Operand], p.Operand]) -> m.Body:
    """``body`` with every operand changed; unchanged statements, blocks and bodies are shared, not copied."""
    blocks: list[m.Block] = []
    touched = False
    for block in body.blocks:
        statements = tuple([map_operands(x, change) for x in block.statements])
        terminator = map_operands(block.terminator, change)
        same = terminator is block.terminator and all(a is b for a, b in zip(statements, block.statements, strict=True))
        touched = touched or not same
        blocks.append(block if same else m.Block(block.cleanup, statements, terminator))
    return replace(body, blocks=tuple(blocks)) if touched else body


def map_alloc_ids(operand: p.Operand, ids: Callable[[int], int]) -> p.Operand:
    """``operand`` with its allocation renumbered; itself where it has none or keeps its number."""
    if isinstance(operand, p.Constant):
        const = operand.const
        if isinstance(const, p.PointerConst | p.SliceConst | p.IndirectConst):
            new = ids(const.alloc)
            if new != const.alloc:
                return p.Constant(replace(const, alloc=new))
    return operand
