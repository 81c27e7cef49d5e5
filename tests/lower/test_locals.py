"""Which locals become SSA values."""

from __future__ import annotations

from mirgen.layout.builder import LayoutMaker
from mirgen.lower.locals import dominators, reverse_postorder, ssa_locals
from mirgen.mir import body as m
from mirgen.mir import ty as t
from mirgen.mir.builder import BodyBuilder, binary, const, deref, field, move, raw_ptr, ref, tuple_of, use

TY = LayoutMaker()


def _ssa(body: m.Body) -> set[int]:
    return ssa_locals(body, reverse_postorder(body), lambda ty: not isinstance(ty, t.ArrayTy))


def test_written_once_and_read() -> None:
    b = BodyBuilder("f", args=[TY.u32], ret=TY.u32)
    x = b.let(TY.u32, binary("Add", b.arg(0), b.arg(0)))
    b.assign(b.ret, x).return_()
    assert _ssa(b.build()) == {0, 1, 2}


def test_what_needs_an_address() -> None:
    """Borrowed, raw-borrowed, assigned by part, dropped: a slot.  Borrowed through a pointer: not."""
    pair = TY.tuple(TY.u32, TY.u32)
    b = BodyBuilder("f", args=[TY.u32, TY.u32, pair, TY.ref(TY.u32), pair], ret=TY.unit)
    b.assign(b.local(TY.ref(TY.u32)), ref(b.arg(0)))
    b.assign(b.local(TY.ptr(TY.u32)), raw_ptr(b.arg(1)))
    b.assign(field(b.arg(2), 0, TY.u32), const(TY.u32, 1))
    b.assign(b.local(TY.ref(TY.u32)), ref(deref(b.arg(3))))
    b.drop(b.arg(4)).return_()
    assert {1, 2, 3, 4, 5} & _ssa(b.build()) == {4}


def test_written_twice() -> None:
    b = BodyBuilder("f", args=[TY.u32], ret=TY.unit)
    x = b.let(TY.u32, b.arg(0))
    b.assign(x, const(TY.u32, 1)).assign(b.arg(0), x).return_()
    assert not {1, 2} & _ssa(b.build())


def test_a_use_that_the_definition_does_not_dominate() -> None:
    """Written on one way only and read after the ways have met (on the other way it is never read)."""
    b = BodyBuilder("f", args=[TY.bool], ret=TY.u32)
    x = b.local(TY.u32)
    one, two, end = b.block(), b.block(), b.block()
    b.switch(b.arg(0), {0: one}, two)
    b.at(one).assign(x, const(TY.u32, 1)).goto(end)
    b.at(two).goto(end)
    b.at(end).assign(b.ret, move(x)).return_()
    assert 2 not in _ssa(b.build())


def test_a_use_in_the_next_round_of_a_loop() -> None:
    """``x`` is read before it is written in the loop's body: the value of the round before."""
    b = BodyBuilder("f", args=[TY.bool], ret=TY.unit)
    x = b.local(TY.u32)
    y = b.local(TY.u32)
    loop, end = b.block(), b.block()
    b.goto(loop)
    b.at(loop).assign(y, x).assign(x, const(TY.u32, 1)).switch(b.arg(0), {0: loop}, end)
    b.at(end).return_()
    found = _ssa(b.build())
    assert 2 not in found and 3 in found


def test_an_operand_of_its_own_definition() -> None:
    b = BodyBuilder("f", args=[TY.u32], ret=TY.unit)
    x = b.local(TY.tuple(TY.u32, TY.u32))
    b.assign(x, tuple_of(b.arg(0), field(x, 0, TY.u32))).return_()
    assert 2 not in _ssa(b.build())


def test_result_of_a_call_is_known_in_its_target_only() -> None:
    b = BodyBuilder("f", ret=TY.unit)
    x = b.local(TY.u32)
    b.call(x, TY.fn_def("g", [TY.u32], TY.u32), x)
    b.return_()
    assert 1 not in _ssa(b.build())
    c = BodyBuilder("f", ret=TY.u32)
    c.call(c.ret, TY.fn_def("g", [], TY.u32))
    c.return_()
    assert 0 in _ssa(c.build())


def test_unreachable_blocks_do_not_count() -> None:
    b = BodyBuilder("f", ret=TY.unit)
    x = b.let(TY.u32, const(TY.u32, 1))
    b.assign(b.local(TY.u32), use(x)).return_()
    dead = b.block()
    b.at(dead).assign(x, const(TY.u32, 2)).return_()
    assert 1 in _ssa(b.build())


def test_dominators_of_an_irreducible_graph() -> None:
    """0 -> 1, 2; 1 <-> 2; 2 -> 3."""
    b = BodyBuilder("f", args=[TY.bool], ret=TY.unit)
    one, two, three = b.block(), b.block(), b.block()
    b.switch(b.arg(0), {0: one}, two)
    b.at(one).goto(two)
    b.at(two).switch(b.arg(0), {0: one}, three)
    b.at(three).return_()
    body = b.build()
    order = reverse_postorder(body)
    assert set(order) == {0, 1, 2, 3} and order[0] == 0
    assert dominators(body, order) == {0: 0, one: 0, two: 0, three: two}


def test_long_chains_do_not_recurse() -> None:
    b = BodyBuilder("f", ret=TY.unit)
    for _ in range(5000):
        following = b.block()
        b.goto(following)
        b.at(following)
    b.return_()
    body = b.build()
    order = reverse_postorder(body)
    assert order == list(range(5001))
    assert dominators(body, order)[5000] == 4999
