"""Assignments of constants that nothing reads are dropped, and no others."""

from __future__ import annotations

from mirgen.analysis.unread import without_unread_constants
from mirgen.mir.body import Block, Body, Local
from mirgen.mir.place import Constant, Copy, Index, Place, UnevaluatedConst
from mirgen.mir.rvalue import Use
from mirgen.mir.statement import Assign, Return, SourceInfo, Statement, Storage
from mirgen.mir.ty import IntTy

NOWHERE = SourceInfo(None, None)
U32 = IntTy("u32", "k", 32, False)
PATH = Constant(UnevaluatedConst("f", 0, U32))


def body(*statements: Statement) -> Body:
    locals_ = tuple(Local(U32, True, None, None) for _ in range(5))
    block = Block(False, statements, Return(NOWHERE))
    return Body("k", "fn", "f", None, 1, locals_, (), (block,), None)


def assign(local: int, value: Constant | Copy, *proj: Index) -> Assign:
    return Assign(NOWHERE, Place(local, proj), Use(value))


def kept(*statements: Statement) -> tuple[Statement, ...]:
    return without_unread_constants(body(*statements)).blocks[0].statements


def test_an_unread_constant_goes_and_its_storage_stays() -> None:
    live = Storage(NOWHERE, True, 2)
    assert kept(live, assign(2, PATH)) == (live,)


def test_what_is_read_stays() -> None:
    for use in (assign(3, Copy(Place(2))), assign(3, Copy(Place(1)), Index(2)), assign(0, Copy(Place(1, (Index(2),))))):
        assert kept(assign(2, PATH), use) == (assign(2, PATH), use)


def test_the_return_place_and_arguments_stay() -> None:
    assert kept(assign(0, PATH), assign(1, PATH)) == (assign(0, PATH), assign(1, PATH))
