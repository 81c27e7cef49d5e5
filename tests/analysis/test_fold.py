"""Promoted bodies that are literal data become allocations; anything else is not guessed at."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import pytest

from mirgen.analysis.fold import NotLiteralError, fold_body, literal_calls, looks_literal, uninit_body
from mirgen.layout.builder import LayoutMaker
from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir.builder import (
    BodyBuilder,
    adt_of,
    array_of_values,
    binary,
    cast,
    closure_of,
    const,
    deref,
    discriminant,
    field,
    indirect,
    move,
    ref,
    repeat,
    slice_const,
    tuple_of,
    unary,
    use,
    zst,
)  # fmt: skip
from mirgen.mir.ty import AdtTy, Ty

UNSIZE = "PointerCoercion(Unsize, Implicit)"


def no_constant(const: p.UnevaluatedConst) -> p.Constant | None:
    return None


def fold(
    ty: LayoutMaker, b: BodyBuilder, allocs: dict[int, m.Alloc] | None = None,
    constant: Callable[[p.UnevaluatedConst], p.Constant | None] = no_constant,
) -> tuple[p.Const, dict[int, m.Alloc]]:  # fmt: skip
    """The constant, and the allocations it may point at; new ones are numbered from 100."""
    allocs = {} if allocs is None else allocs
    body = b.return_().build()
    return fold_body(body, ty.layouts, allocs, itertools.count(100).__next__, constant).const, allocs


def promoted(ty: LayoutMaker, inside: Ty) -> BodyBuilder:
    return BodyBuilder("f::promoted[0]", ret=ty.ref(inside), kind="const")


def test_a_reference_to_an_array() -> None:
    ty = LayoutMaker()
    array = ty.array(ty.u16, 3)
    b = promoted(ty, array)
    made = b.let(array, array_of_values(*(const(ty.u16, x) for x in (1, 2, 0xFFFF))))
    b.storage_dead(made)
    b.assign(b.ret, ref(made))
    value, allocs = fold(ty, b)
    assert value == p.PointerConst(ty.ref(array), 100, 0)
    assert allocs == {100: m.MemoryAlloc(None, 2, b"\1\0\2\0\xff\xff", (), ())}


def test_padding_is_no_data_and_fields_have_their_places() -> None:
    ty = LayoutMaker()
    mixed = ty.struct("S", [ty.u8, ty.u32, ty.u16], order=[1, 2, 0])
    b = promoted(ty, ty.u16)
    made = b.let(mixed, adt_of("S", const(ty.u8, 7), const(ty.u32, 1), const(ty.u16, 0x0302)))
    b.assign(b.ret, ref(field(made, 2, ty.u16)))
    value, allocs = fold(ty, b)
    assert value == p.PointerConst(ty.ref(ty.u16), 100, 4)
    assert allocs[100] == m.MemoryAlloc(None, 4, b"\1\0\0\0\2\3\7\0", ((7, 1),), ())


def test_enums_have_their_tags() -> None:
    ty = LayoutMaker()
    tagged = ty.enum("E", {"A": [ty.u8], "B": [], "C": [ty.u32]}, discriminants=[3, 9, 200])
    option = ty.option_of(ty.ref(ty.u8))
    whole = ty.tuple(tagged, option, tagged, option)
    b = promoted(ty, whole)
    b_variant = b.let(tagged, adt_of("E", variant="B"))
    c_variant = b.let(tagged, adt_of("E", const(ty.u32, 0x01020304), variant="C"))
    none = b.let(option, adt_of("core::option::Option", variant="None"))
    byte = b.let(ty.u8, const(ty.u8, 5))
    borrowed = b.let(ty.ref(ty.u8), ref(byte))
    some = b.let(option, adt_of("core::option::Option", move(borrowed), variant="Some"))
    made = b.let(whole, tuple_of(move(b_variant), move(none), move(c_variant), move(some)))
    b.assign(b.ret, ref(made))
    value, allocs = fold(ty, b)
    assert isinstance(value, p.PointerConst)
    memory = allocs[value.alloc]
    assert isinstance(memory, m.MemoryAlloc)
    assert memory.data[0] == 9 and memory.data[8:16] == bytes(8)
    assert memory.data[16] == 200 and memory.data[20:24] == b"\4\3\2\1"
    assert memory.relocations == (m.Relocation(24, 8, 100, 0),)
    assert allocs[100] == m.MemoryAlloc(None, 1, b"\5", (), ())
    assert memory.uninit == ((1, 7), (17, 3))


def test_slices_and_text() -> None:
    ty = LayoutMaker()
    text = ty.ref(ty.str)
    array = ty.array(text, 2)
    b = BodyBuilder("f::promoted[0]", ret=ty.ref(ty.slice(text)), kind="const")
    made = b.let(array, array_of_values(slice_const(text, 1, 3), slice_const(text, 2, 0)))
    borrowed = b.let(ty.ref(array), ref(made))
    again = b.let(ty.ref(array), ref(deref(borrowed)))
    b.assign(b.ret, cast(UNSIZE, move(again), ty.ref(ty.slice(text))))
    value, allocs = fold(ty, b)
    assert value == p.SliceConst(ty.ref(ty.slice(text)), 100, 2)
    memory = allocs[100]
    assert isinstance(memory, m.MemoryAlloc)
    assert memory.data == bytes(8) + b"\3" + bytes(7) + bytes(16)
    assert memory.relocations == (m.Relocation(0, 8, 1, 0), m.Relocation(16, 8, 2, 0))


def test_constants_are_copied_with_their_holes_and_pointers() -> None:
    """An evaluated constant inside: what its path stands for is asked of the caller."""
    ty = LayoutMaker()
    pair = ty.tuple(ty.ref(ty.u8), ty.u8)
    array = ty.array(pair, 2)
    memory = m.MemoryAlloc(None, 8, bytes(8 + 8) + b"\6" + bytes(7), ((17, 7),), (m.Relocation(8, 8, 4, 1),))
    b = promoted(ty, array)
    made = b.let(array, repeat(p.Constant(p.UnevaluatedConst("c::K", None, None)), 2))
    b.assign(b.ret, ref(made))

    def constant(const: p.UnevaluatedConst) -> p.Constant | None:
        assert const.full_path == "c::K"
        return p.Constant(p.IndirectConst(pair, 1, 8))

    value, allocs = fold(ty, b, {1: memory}, constant)
    assert value == p.PointerConst(ty.ref(array), 100, 0)
    found = allocs[100]
    assert isinstance(found, m.MemoryAlloc)
    assert found.data == (bytes(8) + b"\6" + bytes(7)) * 2
    assert found.uninit == ((9, 7), (25, 7))
    assert found.relocations == (m.Relocation(0, 8, 4, 1), m.Relocation(16, 8, 4, 1))


def test_as_many_values_of_no_size_as_there_can_be() -> None:
    ty = LayoutMaker()
    array = ty.array(ty.unit, 2**64 - 1)
    b = promoted(ty, array)
    b.assign(b.ret, ref(b.let(array, repeat(p.Constant(p.ZstConst(ty.unit)), 2**64 - 1))))
    value, allocs = fold(ty, b)
    assert value == p.PointerConst(ty.ref(array), 100, 0)
    assert allocs == {100: m.MemoryAlloc(None, 1, b"", (), ())}


def test_a_closure_is_what_it_captured() -> None:
    ty = LayoutMaker()
    for captured in ((), (const(ty.u8, 7), const(ty.u8, 9))):
        closure = ty.closure("f::{closure#0}", [ty.u8] * len(captured))
        b = promoted(ty, closure)
        b.assign(b.ret, ref(b.let(closure, closure_of("a.rs:1:1: 1:9", *captured))))
        value, allocs = fold(ty, b)
        assert value == p.PointerConst(ty.ref(closure), 100, 0)
        assert allocs == {100: m.MemoryAlloc(None, 1, b"\7\x09" if captured else b"", (), ())}


def test_functions_by_address_and_values_that_are_no_pointers() -> None:
    ty = LayoutMaker()
    function = ty.fn_def("k::g", [], ty.unit)
    fn_ptr = ty.fn_ptr([], ty.unit)
    two = ty.array(fn_ptr, 2)
    b = BodyBuilder("K", ret=two, kind="const")
    one = b.let(fn_ptr, cast("PointerCoercion(ReifyFnPointer(Safe), Implicit)", zst(function), fn_ptr))
    b.assign(b.ret, array_of_values(one, one))
    value, allocs = fold(ty, b)
    assert value == p.IndirectConst(two, 101, 0)
    assert allocs[100] == m.FnAlloc("k::g")
    assert allocs[101] == m.MemoryAlloc(
        None, 8, bytes(16), (), (m.Relocation(0, 8, 100, 0), m.Relocation(8, 8, 100, 0))
    )


def test_a_literal_call_is_a_constant_to_ask_for() -> None:
    """``&(-1..=8)``, whose blocks for unwinding do not matter."""
    ty = LayoutMaker()
    range_ = ty.struct("core::ops::RangeInclusive", [ty.i32, ty.i32, ty.bool])
    new = ty.fn_def("core::ops::RangeInclusive::<i32>::new", [ty.i32, ty.i32], range_)
    b = promoted(ty, range_)
    made = b.local(range_)
    b.call(made, new, const(ty.i32, -1), const(ty.i32, 8))
    b.assign(b.ret, ref(made))
    name = "core::ops::RangeInclusive::<i32>::new(0xffffffff: i32, 0x00000008: i32)"
    stored = m.MemoryAlloc(None, 4, b"\xff\xff\xff\xff\x08\0\0\0\0\0\0\0", ((9, 3),), ())

    def constant(asked: p.UnevaluatedConst) -> p.Constant | None:
        assert asked.full_path == name
        return p.Constant(p.IndirectConst(range_, 1, 0))

    value, allocs = fold(ty, b, {1: stored}, constant)
    assert value == p.PointerConst(ty.ref(range_), 100, 0)
    assert allocs[100] == stored
    body = b.build()
    assert looks_literal(body)
    assert [call.const.path for call, _ in literal_calls(body)] == [name]
    cleanup = m.Block(True, (), s.Unreachable(s.SourceInfo(None, None)))
    assert looks_literal(dataclasses.replace(body, blocks=(*body.blocks, cleanup)))
    other = promoted(ty, range_)
    local = other.let(ty.i32, const(ty.i32, 1))
    other.call(other.local(range_), new, move(local), const(ty.i32, 8)).return_()
    assert not looks_literal(other.build())
    with pytest.raises(NotLiteralError, match="Call"):
        fold_body(other.build(), ty.layouts, {}, itertools.count().__next__, no_constant)


def test_uninitialised_memory_has_no_bytes() -> None:
    ty = LayoutMaker()
    array = ty.array(ty.u16, 2)
    maybe = ty.union("core::mem::MaybeUninit", [ty.unit, array])
    assert isinstance(maybe, AdtTy)
    allocs: dict[int, m.Alloc] = {}
    value = fold_body(uninit_body(maybe), ty.layouts, allocs, lambda: 5, no_constant)
    assert value.const == p.IndirectConst(maybe, 5, 0)
    assert allocs == {5: m.MemoryAlloc(None, 2, bytes(4), ((0, 4),), ())}


#: A type and what is made of it, with the bytes that this is.
BITS: list[tuple[Callable[[LayoutMaker], tuple[Ty, r.Rvalue]], bytes]] = [
    (lambda ty: (ty.u8, binary("BitAnd", const(ty.u8, 0b1101), const(ty.u8, 0b0111))), b"\x05"),
    (lambda ty: (ty.u8, binary("BitOr", const(ty.u8, 0b1001), const(ty.u8, 0b0011))), b"\x0b"),
    (lambda ty: (ty.bool, binary("BitXor", const(ty.bool, 1), const(ty.bool, 1))), b"\0"),
    (lambda ty: (ty.u16, unary("Not", const(ty.u16, 0x00FF))), b"\0\xff"),
    (lambda ty: (ty.bool, unary("Not", const(ty.bool, 0))), b"\1"),
    (lambda ty: (ty.u32, cast("IntToInt", const(ty.i8, 0xFE), ty.u32)), b"\xfe\xff\xff\xff"),
    (lambda ty: (ty.u32, cast("IntToInt", const(ty.u8, 0xFE), ty.u32)), b"\xfe\0\0\0"),
    (lambda ty: (ty.i8, cast("IntToInt", const(ty.u32, 0x1234), ty.i8)), b"\x34"),
    (lambda ty: (ty.u64, cast("IntToInt", const(ty.char, 0x20AC), ty.u64)), b"\xac\x20\0\0\0\0\0\0"),
]


@pytest.mark.parametrize(("value", "expected"), BITS)
def test_integers_bit_by_bit(value: Callable[[LayoutMaker], tuple[Ty, r.Rvalue]], expected: bytes) -> None:
    ty = LayoutMaker()
    inside, made = value(ty)
    b = promoted(ty, inside)
    b.assign(b.ret, ref(b.let(inside, made)))
    _, allocs = fold(ty, b)
    assert allocs[100] == m.MemoryAlloc(None, len(expected), expected, (), ())


def test_what_is_not_literal_is_refused() -> None:
    ty = LayoutMaker()

    def body(fill: Callable[[BodyBuilder, p.Place], object]) -> BodyBuilder:
        b = promoted(ty, ty.u32)
        made = b.local(ty.u32)
        fill(b, made)
        return b

    cases: list[tuple[Callable[[BodyBuilder, p.Place], object], str]] = [
        (lambda b, made: b.assign(made, binary("Div", const(ty.u32, 1), const(ty.u32, 0))), "division by zero"),
        (lambda b, made: b.assign(made, binary("Offset", const(ty.u32, 1), const(ty.u32, 0))), "operator Offset"),
        (lambda b, made: b.call(made, ty.fn_def("k::g", [], ty.u32)), r"k::g\(\)"),
        (lambda b, made: b.assert_(const(ty.bool, 0), "no"), "a check that fails"),
        (lambda b, made: b.assert_(const(ty.u32, 1), "no"), "no `bool`"),
        (lambda b, made: b.assign(made, cast("PointerExposeProvenance", const(ty.u32, 1), ty.u32)), "Provenance"),
        (lambda b, made: b.assign(made, use(p.Constant(p.UnevaluatedConst("k::K", None, None)))), "k::K"),
        (lambda b, made: b.assign(made, use(p.RuntimeChecks("UbChecks"))), "RuntimeChecks"),
        (lambda b, made: b.assign(made, indirect(ty.u32, 7)), "allocation 7"),
        (lambda b, made: b.assign(b.ret, ref(made)), "a borrow of nothing"),
        (lambda b, made: b.assign(b.local(ty.adt("Unknown")), use(const(ty.u32, 1))), "the layout of `Unknown`"),
        (lambda b, made: None, "no value"),
    ]
    for fill, what in cases:
        with pytest.raises(NotLiteralError, match=what):
            fold(ty, body(fill))
    one, two = const(ty.u32, 1), const(ty.u32, 2)
    written = body(lambda b, made: b.assign(made, one).assign(b.ret, ref(made)).assign(made, two))
    with pytest.raises(NotLiteralError, match="borrowed"):
        fold(ty, written)


def test_numbers_are_computed_and_checks_that_hold_passed() -> None:
    ty = LayoutMaker()
    pair = ty.tuple(ty.u32, ty.bool)
    b = promoted(ty, ty.u32)
    sum_ = b.let(pair, binary("AddWithOverflow", const(ty.u32, 40), const(ty.u32, 2)))
    b.assert_(move(field(sum_, 1, ty.bool)), "overflow", expected=False)
    b.assign(b.ret, ref(b.let(ty.u32, use(move(field(sum_, 0, ty.u32))))))
    value, allocs = fold(ty, b)
    assert isinstance(value, p.PointerConst)
    assert allocs[value.alloc] == m.MemoryAlloc(None, 4, b"\x2a\0\0\0", (), ())


def test_discriminants_are_those_of_the_source() -> None:
    ty = LayoutMaker()
    tagged = ty.enum("E", {"A": [ty.u8], "B": [], "C": [ty.u32]}, discriminants=[3, 9, 200])
    b = promoted(ty, ty.u32)
    made = b.let(tagged, adt_of("E", variant="B"))
    b.assign(b.ret, ref(b.let(ty.u32, discriminant(made))))
    value, allocs = fold(ty, b)
    assert isinstance(value, p.PointerConst)
    assert allocs[value.alloc] == m.MemoryAlloc(None, 4, b"\x09\0\0\0", (), ())
