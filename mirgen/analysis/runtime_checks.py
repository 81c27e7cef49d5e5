"""Deciding rustc's run-time check flags, and dropping the code that they switch off.

``UbChecks``, ``ContractChecks`` and ``OverflowChecks`` are operands that rustc's own code generator replaces by the
session's settings.  mirgen decides them as early as possible: what they guard (``precondition_check`` functions of
``core``) has no MIR in a shipped standard library.  Undefined behaviour is not checked on the device.

Functions marked ``#[rustc_inherit_overflow_checks]`` (``+`` on references, ``sum``, ..) carry assertions always;
rustc's code generator leaves out those that the session does not want (``codegen_assert_terminator``), and so does
this.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mirgen.mir import place as pl
from mirgen.mir import rvalue as rv
from mirgen.mir import statement as st
from mirgen.mir.body import Block, Body
from mirgen.mir.ty import BoolTy

#: Assertions that are there only to find overflow, as rustc's ``AssertKind::is_optional_overflow_check`` has them:
#: division's are not among them.
_OPTIONAL = frozenset(
    {
        "attempt to compute `{} + {}`, which would overflow",
        "attempt to compute `{} - {}`, which would overflow",
        "attempt to compute `{} * {}`, which would overflow",
        "attempt to negate `{}`, which would overflow",
        "attempt to shift left by `{}`, which would overflow",
        "attempt to shift right by `{}`, which would overflow",
    }
)


def decide_runtime_checks(body: Body, *, overflow_checks: bool) -> Body:
    """``body`` with every check flag decided; blocks that nothing reaches any more are emptied, not renumbered."""
    flags = _flag_locals(body)
    # What is not a function rustc evaluates, or is data.
    unwanted = _OPTIONAL if body.kind == "fn" and not overflow_checks else frozenset[str]()
    if not flags and not _switches_on_flags(body) and not _asserts(body, unwanted):
        return body
    values = {"UbChecks": False, "ContractChecks": False, "OverflowChecks": overflow_checks}
    blocks = [replace(block, terminator=_decided(block.terminator, flags, values, unwanted)) for block in body.blocks]
    reached = reachable(blocks)
    kept = [
        Block(block.cleanup, _statements(block.statements, body, values), block.terminator)
        if i in reached
        else Block(block.cleanup, (), st.Unreachable(block.terminator.source))
        for i, block in enumerate(blocks)
    ]
    return replace(body, blocks=tuple(kept))


def reachable(blocks: list[Block] | tuple[Block, ...]) -> set[int]:
    """Blocks that control can reach from the first."""
    seen: set[int] = set()
    stack = [0]
    while stack:
        at = stack.pop()
        if at not in seen:
            seen.add(at)
            stack.extend(successors(blocks[at].terminator))
    return seen


def successors(terminator: st.Terminator) -> Iterable[int]:
    """Where control goes next; unwinding apart, which ``panic=abort`` never does."""
    match terminator:
        case st.Goto(target=target) | st.Drop(target=target) | st.Assert(target=target):
            return (target,)
        case st.SwitchInt(arms=arms, otherwise=otherwise):
            return (*(target for _, target in arms), otherwise)
        case st.Call(target=target):
            return () if target is None else (target,)
        case _:
            return ()


def _flag_locals(body: Body) -> dict[int, str]:
    """Locals that are assigned once, from a check flag."""
    assigned: dict[int, list[rv.Rvalue | None]] = {}
    for block in body.blocks:
        for statement in block.statements:
            if isinstance(statement, st.Assign):
                whole = not statement.place.proj
                assigned.setdefault(statement.place.local, []).append(statement.rvalue if whole else None)
        terminator = block.terminator
        if isinstance(terminator, st.Call):
            assigned.setdefault(terminator.destination.local, []).append(None)
    found: dict[int, str] = {}
    for local, values in assigned.items():
        value = values[0]
        if len(values) == 1 and isinstance(value, rv.Use) and isinstance(value.operand, pl.RuntimeChecks):
            found[local] = value.operand.check
    return found


def _switches_on_flags(body: Body) -> bool:
    return any(
        isinstance(block.terminator, st.SwitchInt) and isinstance(block.terminator.operand, pl.RuntimeChecks)
        for block in body.blocks
    )


def _asserts(body: Body, messages: frozenset[str]) -> bool:
    return any(isinstance(t := block.terminator, st.Assert) and t.message in messages for block in body.blocks)


def _decided(
    terminator: st.Terminator, flags: dict[int, str], values: dict[str, bool], unwanted: frozenset[str]
) -> st.Terminator:
    if isinstance(terminator, st.Assert) and terminator.message in unwanted:
        return st.Goto(terminator.source, terminator.target)
    if not isinstance(terminator, st.SwitchInt):
        return terminator
    operand = terminator.operand
    check: str | None = None
    if isinstance(operand, pl.RuntimeChecks):
        check = operand.check
    elif isinstance(operand, pl.Copy | pl.Move) and not operand.place.proj:
        check = flags.get(operand.place.local)
    if check is None:
        return terminator
    targets = dict(terminator.arms)
    return st.Goto(terminator.source, targets.get(int(values[check]), terminator.otherwise))


def _statements(statements: tuple[st.Statement, ...], body: Body, values: dict[str, bool]) -> tuple[st.Statement, ...]:
    return tuple(
        replace(s, rvalue=rv.Use(_literal(s, body, values)))
        if isinstance(s, st.Assign) and isinstance(s.rvalue, rv.Use) and isinstance(s.rvalue.operand, pl.RuntimeChecks)
        else s
        for s in statements
    )


def _literal(statement: st.Assign, body: Body, values: dict[str, bool]) -> pl.Operand:
    assert isinstance(statement.rvalue, rv.Use) and isinstance(statement.rvalue.operand, pl.RuntimeChecks)
    flag = values[statement.rvalue.operand.check]
    return pl.Constant(pl.ScalarConst(BoolTy("bool", body.crate), int(flag), 1))
