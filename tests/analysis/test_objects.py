"""Trait objects: what unsizing changes, and the functions made for their methods."""

from __future__ import annotations

import pytest

from mirgen.analysis.objects import (
    Signature,
    absent,
    choosing_dispatcher,
    dispatcher,
    drop_shim,
    shim,
    unsized,
    with_pointee,
)  # fmt: skip
from mirgen.mir import statement as s
from mirgen.mir.builder import TypeMaker
from mirgen.mir.format import format_statement, format_terminator
from mirgen.mir.place import Constant
from mirgen.mir.ty import AdtTy, FnDefTy, FnSig, PointerTy, Ty
from mirgen.mir.verify import find_problems

TY = TypeMaker()
SHAPE, SUB = TY.dyn("Shape"), TY.dyn("Sub")
SQUARE = TY.adt("Square")


def pinned(pointer: Ty) -> Ty:
    return TY.adt("core::pin::Pin", pointer)


@pytest.mark.parametrize(
    ("from_", "to", "change"),
    [
        (TY.ref(TY.array(TY.u8, 3)), TY.ref(TY.slice(TY.u8)), (TY.array(TY.u8, 3), TY.slice(TY.u8))),
        (TY.ref(SQUARE), TY.ref(SHAPE), (SQUARE, SHAPE)),
        (TY.ptr(SQUARE, mut=True), TY.ptr(SHAPE, mut=True), (SQUARE, SHAPE)),
        (TY.ref(TY.ref(SHAPE)), TY.ref(SHAPE), (TY.ref(SHAPE), SHAPE)),
        (TY.ref(SUB), TY.ref(SHAPE), (SUB, SHAPE)),
        (TY.ref(TY.adt("Tail", SQUARE)), TY.ref(TY.adt("Tail", SHAPE)), (SQUARE, SHAPE)),
        (TY.ref(TY.adt("A", TY.adt("B", SQUARE))), TY.ref(TY.adt("A", TY.adt("B", SHAPE))), (SQUARE, SHAPE)),
        (pinned(TY.ref(SQUARE)), pinned(TY.ref(SHAPE)), (SQUARE, SHAPE)),
        (TY.adt("NonNull", SQUARE), TY.adt("NonNull", SHAPE), (SQUARE, SHAPE)),
        (TY.ref(TY.adt("Tail", SQUARE)), TY.ref(TY.adt("Other", SHAPE)), None),
        (TY.ref(SQUARE), TY.ref(TY.u8), None),
        (TY.u8, TY.u16, None),
    ],
)
def test_what_unsizing_changes(from_: Ty, to: Ty, change: tuple[Ty, Ty] | None) -> None:
    assert unsized(from_, to) == change


@pytest.mark.parametrize(
    ("receiver", "of_square"),
    [
        (TY.ref(SHAPE), TY.ref(SQUARE)),
        (TY.ref(SHAPE, mut=True), TY.ref(SQUARE, mut=True)),
        (TY.ptr(SHAPE), TY.ptr(SQUARE)),
        (pinned(TY.ref(SHAPE, mut=True)), pinned(TY.ref(SQUARE, mut=True))),
        (pinned(pinned(TY.ref(SHAPE))), None),
        (TY.adt("alloc::rc::Rc", SHAPE), None),
        (SHAPE, None),
        (TY.ref(TY.u8), None),
    ],
)
def test_receivers(receiver: Ty, of_square: Ty | None) -> None:
    assert with_pointee(receiver, SQUARE) == of_square


def text_of(part: s.Assign | s.Terminator) -> str:
    return format_statement(part) if isinstance(part, s.Assign) else format_terminator(part)


@pytest.mark.parametrize("receiver", [TY.ref(SHAPE), pinned(TY.ref(SHAPE, mut=True))])
def test_a_dispatcher_calls_what_the_table_holds(receiver: Ty) -> None:
    body = dispatcher("f", "t", Signature(receiver, (TY.u32,), TY.u64), 3)
    assert not find_problems(body)
    statements = [part for part in body.blocks[0].statements if isinstance(part, s.Assign)]
    texts = [*map(text_of, statements), text_of(body.blocks[0].terminator)]
    holder = "_1" if isinstance(receiver, PointerTy) else "_1.0"
    assert texts == [
        f"_3 = copy {holder} as *const () (PtrToPtr)",
        f"_4 = PtrMetadata(copy {holder})",
        "_5 = Offset(copy _4, const 5_usize)",
        "_6 = copy (*_5)",
        "_0 = copy _6(copy _3, move _2) -> [return: bb1, unwind unreachable]",
    ], "two words stand before the methods"
    assert body.locals[6].ty.text == "fn(*const (), u32) -> u64"


@pytest.mark.parametrize("output", [TY.u64, TY.never])
def test_a_dispatcher_chooses_by_number(output: Ty) -> None:
    signature = Signature(TY.ref(SHAPE), (TY.u32,), output)
    body = choosing_dispatcher("f", "t", signature, 1, [("t", "shim_a"), ("u", "shim_b")])
    assert not find_problems(body)
    assert Signature.of(body) == signature == Signature.of(dispatcher("f", "t", signature, 1))
    assert text_of(body.blocks[0].terminator) == "switchInt(copy _6) -> [0: bb1, 1: bb2, otherwise: bb3]"
    back = "[return: bb4, unwind unreachable]" if output == TY.u64 else "unwind unreachable"
    assert [text_of(block.terminator) for block in body.blocks[1:3]] == [
        f"_0 = shim_{name}(copy _3, move _2) -> {back}" for name in "ab"
    ]
    calls = [block.terminator for block in body.blocks[1:3]]
    items = [call.func.const.ty for call in calls if isinstance(call, s.Call) and isinstance(call.func, Constant)]
    assert [item and item.crate for item in items] == ["t", "u"]
    assert "core::intrinsics::abort" in text_of(body.blocks[3].terminator), "no object has another number"


def test_a_shim_calls_the_method_of_one_type() -> None:
    path = "<Square as Shape>::area"
    sig = FnSig((TY.ref(SQUARE), TY.u32), TY.never, "rust-call", False, False)
    span = s.Span("t.rs", 4, 1, 4, 9)
    body = shim("s", FnDefTy(f"fn {{{path}}}", "t", path, sig), span)
    assert not find_problems(body)
    call = body.blocks[0].terminator
    assert isinstance(call, s.Call) and call.target is None and call.source.span == span
    assert len(body.blocks) == 1, "it does not come back"


def test_dropping_and_what_no_object_has() -> None:
    body = drop_shim("d", SQUARE, None)
    assert not find_problems(body)
    assert isinstance(body.blocks[0].terminator, s.Drop) and isinstance(body.blocks[1].terminator, s.Return)
    body = absent("a", Signature(TY.ref(SHAPE), (TY.u32,), TY.u64))
    assert not find_problems(body)
    assert [local.ty.text for local in body.locals[:3]] == ["u64", "*const ()", "u32"]
    assert text_of(body.blocks[0].terminator).startswith("_3 = core::intrinsics::abort")


def test_a_receiver_is_a_type_of_the_new_crate() -> None:
    other = AdtTy("Square", "u", "Square", (), ())
    found = with_pointee(TY.ref(SHAPE), other)
    assert isinstance(found, PointerTy) and found.key == ("u", "&'{erased} Square")
