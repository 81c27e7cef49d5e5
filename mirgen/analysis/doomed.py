"""Blocks from which control can only panic.

They build messages: addresses of formatting functions and the like, of which a shipped ``core`` has no MIR.  A panic
on the device does not call them, so an address that only such a block takes may stay empty.  Formatting functions whose
address goes into a panic's message and nowhere else are not looked for at all: what they reach could be all of
``core::fmt``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from mirgen.analysis.runtime_checks import successors
from mirgen.analysis.unread import locals_of
from mirgen.mir import place as pl
from mirgen.mir import rvalue as rv
from mirgen.mir import statement as st
from mirgen.mir.body import Body
from mirgen.mir.ty import FnDefTy

_FORMATTER = "fmt::Formatter"


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


def message_functions(body: Body, is_panic: Callable[[st.Call], bool]) -> frozenset[str]:
    """The formatting functions whose addresses ``body`` takes in doomed blocks, for nothing but a panic's message.

    ``is_panic``: whether a call is one of the standard library's panic functions, which reads the message.
    """
    doomed = doomed_blocks(body)
    taken: dict[str, set[int]] = {}
    spoiled: set[str] = set()
    for i, block in enumerate(body.blocks):
        for place, path in _formatters(block.statements):
            if i in doomed and not place.proj:
                taken.setdefault(path, set()).add(place.local)
            else:
                spoiled.add(path)
    return frozenset(
        path for path, begin in taken.items() if path not in spoiled and _ends_in_panics(body, begin, is_panic)
    )


def _formatters(statements: tuple[st.Statement, ...]) -> Iterator[tuple[pl.Place, str]]:
    """Where addresses of formatting functions are put."""
    for statement in statements:
        if isinstance(statement, st.Assign) and isinstance(statement.rvalue, rv.Cast):
            operand = statement.rvalue.operand
            if isinstance(operand, pl.Constant) and isinstance(operand.const, pl.ZstConst):
                ty = operand.const.ty
                if isinstance(ty, FnDefTy) and any(_FORMATTER in taken.text for taken in ty.sig.inputs):
                    yield statement.place, ty.path


def _ends_in_panics(body: Body, begin: set[int], is_panic: Callable[[st.Call], bool]) -> bool:
    """Whether what the locals ``begin`` hold is handed to panics only, however it is packed on the way."""
    tainted, size = set(begin), 0
    while len(tainted) != size:
        size = len(tainted)
        for block in body.blocks:
            for statement in block.statements:
                if isinstance(statement, st.Storage) or not tainted & locals_of(statement):
                    continue
                if not isinstance(statement, st.Assign):
                    return False
                if not tainted & locals_of(statement.rvalue):
                    continue  # it is overwritten
                if any(isinstance(projection, pl.Deref) for projection in statement.place.proj):
                    return False
                tainted.add(statement.place.local)
            terminator = block.terminator
            if tainted & locals_of(terminator) and not (isinstance(terminator, st.Call) and is_panic(terminator)):
                return False
    return 0 not in tainted


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
    return replace(statement, rvalue=replace(statement.rvalue, cast=rv.NEVER_CALLED))
