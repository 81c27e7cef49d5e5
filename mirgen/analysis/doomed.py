"""Blocks from which control can only panic.

They build messages: addresses of formatting functions and the like, of which a shipped ``core`` has no MIR.  A panic
on the device does not call them, so an address that only such a block takes may stay empty.
"""

from __future__ import annotations

from dataclasses import replace

from mirgen.analysis.runtime_checks import successors
from mirgen.mir import place as pl
from mirgen.mir import rvalue as rv
from mirgen.mir import statement as st
from mirgen.mir.body import Body
from mirgen.mir.ty import FnDefTy

_POINTER_BYTES = 8


def doomed_blocks(body: Body) -> frozenset[int]:
    """Blocks whose every path ends in a call that diverges; ``unreachable`` is no such end, and no loop is."""
    doomed: set[int] = set()
    changed = True
    while changed:
        changed = False
        for i, block in enumerate(body.blocks):
            if i not in doomed and _is_doomed(block.terminator, doomed):
                doomed.add(i)
                changed = True
    return frozenset(doomed)


def _is_doomed(terminator: st.Terminator, doomed: set[int]) -> bool:
    if isinstance(terminator, st.Call) and terminator.target is None:
        return True
    following = list(successors(terminator))
    return bool(following) and all(target in doomed for target in following)


def without_addresses(body: Body, paths: frozenset[str]) -> Body:
    """``body`` with the addresses of functions ``paths`` null in its doomed blocks."""
    doomed = doomed_blocks(body)
    blocks = [
        replace(block, statements=tuple(_nulled(s, paths) for s in block.statements)) if i in doomed else block
        for i, block in enumerate(body.blocks)
    ]
    return replace(body, blocks=tuple(blocks))


def _nulled(statement: st.Statement, paths: frozenset[str]) -> st.Statement:
    if not (isinstance(statement, st.Assign) and isinstance(statement.rvalue, rv.Cast)):
        return statement
    operand = statement.rvalue.operand
    if not (isinstance(operand, pl.Constant) and isinstance(operand.const, pl.ZstConst)):
        return statement
    ty = operand.const.ty
    if not (isinstance(ty, FnDefTy) and ty.path in paths):
        return statement
    null = pl.ScalarConst(statement.rvalue.ty, 0, _POINTER_BYTES)
    return replace(statement, rvalue=rv.Use(pl.Constant(null)))
