"""Formatting functions that only a panic's message names: they are not compiled, their addresses are null."""

from __future__ import annotations

from mirgen.analysis.doomed import message_functions, without_addresses
from mirgen.mir import body as m
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir.builder import BodyBuilder, TypeMaker, adt_of, cast, deref, move, ref, use, zst

TY = TypeMaker()
FORMATTER = TY.ref(TY.adt("core::fmt::Formatter"), mut=True)
FMT = TY.fn_def("<Point as core::fmt::Debug>::fmt", [TY.ref(TY.u8), FORMATTER], TY.bool)
POINTER = TY.fn_ptr([TY.ref(TY.u8), FORMATTER], TY.bool)
REIFY = "PointerCoercion(ReifyFnPointer(Safe), Implicit)"
ARGUMENT = TY.adt("core::fmt::rt::Argument")
PANIC = TY.fn_def("core::panicking::panic_fmt", [ARGUMENT], TY.never)


def is_panic(call: s.Call) -> bool:
    return call.target is None


def begin() -> tuple[BodyBuilder, int]:
    """A body that panics in one branch, and the block of that branch."""
    b = BodyBuilder("k", args=[TY.bool, TY.ref(TY.u64, mut=True)], ret=TY.unit)
    fails, goes_on = b.block(), b.block()
    b.switch(b.arg(0), {0: goes_on}, fails)
    b.at(goes_on).return_()
    return b, fails


def panics(b: BodyBuilder, fails: int, *, also: str = "") -> m.Body:
    b.at(fails)
    pointer = b.let(POINTER, cast(REIFY, zst(FMT), POINTER))
    argument = b.let(ARGUMENT, adt_of("core::fmt::rt::Argument", pointer))
    if also == "call":
        after = b.block()
        taker = TY.fn_def("my::write", [ARGUMENT], TY.unit)
        b.call(b.local(TY.unit), taker, argument, target=after)
        b.at(after)
    elif also == "store":
        b.assign(deref(b.arg(1)), cast("PointerExposeProvenance", pointer, TY.u64))
    b.call(b.local(TY.never), PANIC, move(argument), target=None)
    return b.build()


def test_an_address_that_only_a_panic_takes() -> None:
    body = panics(*begin())
    assert message_functions(body, is_panic) == {"<Point as core::fmt::Debug>::fmt"}
    (changed,) = [
        statement.rvalue
        for block in without_addresses(body, frozenset({"<Point as core::fmt::Debug>::fmt"})).blocks
        for statement in block.statements
        if isinstance(statement, s.Assign) and isinstance(statement.rvalue, r.Cast)
    ]
    assert changed.cast == r.NEVER_CALLED


def test_an_address_that_something_else_may_call() -> None:
    assert not message_functions(panics(*begin(), also="call"), is_panic)
    assert not message_functions(panics(*begin(), also="store"), is_panic)


def test_an_address_outside_of_panicking_blocks() -> None:
    b = BodyBuilder("k", ret=TY.unit)
    pointer = b.let(POINTER, cast(REIFY, zst(FMT), POINTER))
    b.let(TY.ref(POINTER), ref(pointer))
    b.return_()
    assert not message_functions(b.build(), is_panic)


def test_a_function_that_formats_nothing() -> None:
    b, fails = begin()
    other = TY.fn_def("f", [TY.u8], TY.bool)
    b.at(fails)
    pointer = b.let(TY.fn_ptr([TY.u8], TY.bool), cast(REIFY, zst(other), TY.fn_ptr([TY.u8], TY.bool)))
    kept = b.let(TY.fn_ptr([TY.u8], TY.bool), use(pointer))
    b.call(b.local(TY.never), PANIC, move(kept), target=None)
    assert not message_functions(b.build(), is_panic)
