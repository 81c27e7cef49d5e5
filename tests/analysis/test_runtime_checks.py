"""Assertions that a session does not want are left out, others are not."""

from __future__ import annotations

import pytest

from mirgen.analysis.runtime_checks import decide_runtime_checks
from mirgen.mir.body import Block, Body, Local
from mirgen.mir.place import Copy, Place
from mirgen.mir.statement import Assert, Goto, Return, SourceInfo, Terminator, Unwind
from mirgen.mir.ty import BoolTy, TupleTy

NOWHERE = SourceInfo(None, None)


def decided(message: str, *, overflow_checks: bool, kind: str = "fn") -> Terminator:
    check = Assert(NOWHERE, Copy(Place(1)), False, message, (), 1, Unwind("unreachable"))
    locals_ = (Local(TupleTy("()", "k", ()), True, None, None), Local(BoolTy("bool", "k"), True, None, None))
    blocks = (Block(False, (), check), Block(False, (), Return(NOWHERE)))
    body = Body("k", kind, "f", None, 1, locals_, (), blocks, None)  # pyright: ignore[reportArgumentType]
    return decide_runtime_checks(body, overflow_checks=overflow_checks).blocks[0].terminator


@pytest.mark.parametrize(
    "message",
    [
        *(f"attempt to compute `{{}} {op} {{}}`, which would overflow" for op in "+-*"),
        "attempt to negate `{}`, which would overflow",
        "attempt to shift left by `{}`, which would overflow",
        "attempt to shift right by `{}`, which would overflow",
    ],
)
def test_overflow_is_checked_where_the_session_wants_it(message: str) -> None:
    assert isinstance(decided(message, overflow_checks=True), Assert)
    assert decided(message, overflow_checks=False) == Goto(NOWHERE, 1)
    assert isinstance(decided(message, overflow_checks=False, kind="const"), Assert), "rustc evaluates it"


@pytest.mark.parametrize(
    "message",
    [
        "attempt to compute `{} / {}`, which would overflow",
        "attempt to compute the remainder of `{} % {}`, which would overflow",
        "attempt to divide `{}` by zero",
        "index out of bounds: the length is {} but the index is {}",
    ],
)
def test_no_session_goes_without_the_others(message: str) -> None:
    assert isinstance(decided(message, overflow_checks=False), Assert)
