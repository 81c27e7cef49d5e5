"""Which implementation a trait's method means: the question that is asked, and what the answer proves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mirgen.analysis.drops import glue_of
from mirgen.cargo.implementations import holds, inlined_spans, made_alike, stand_in, with_parameters
from mirgen.cargo.overlay import MODULE
from mirgen.cargo.source import Names
from mirgen.cargo.unit import UnitRecord
from mirgen.mir.body import Block, Body, Local, Scope
from mirgen.mir.builder import TypeMaker
from mirgen.mir.statement import Goto, Return, SourceInfo, Span
from mirgen.mir.ty import AdtTy, ClosureTy, FnDefTy, FnSig, PointerTy, Ty

TY = TypeMaker("k")
NAMES = Names("k", "k", frozenset({"k", "core"}))
UNIT = UnitRecord("k", Path("/p/src/lib.rs"), Path("/p"), Path("/p"), {}, True, "k 1.0.0")


def closure(*inputs: Ty, output: Ty) -> ClosureTy:
    sig = FnSig((TY.tuple(*inputs),), output, "rust-call", False, False)
    text = f"{{f::{{closure#0}} closure_kind_ty=i16 sig={len(inputs)} upvar_tys=()}}"
    return ClosureTy(text, "k", "f::{closure#0}", "FnMut", sig, ())


def method(head: str, argument: Ty) -> FnDefTy:
    by_ref = PointerTy(f"&'{{erased}} mut {argument.text}", "k", argument, True, True)
    path = f"{head}::go::<{argument.text}>"
    return FnDefTy(f"fn(..) {{{path}}}", "k", path, FnSig((by_ref,), TY.unit, "Rust", False, False))


@pytest.mark.parametrize(
    ("argument", "bound"),
    [
        (closure(TY.ref(TY.u8), TY.u32, output=TY.bool), "FnMut(&u8, u32) -> bool"),
        (closure(output=TY.unit), "FnMut()"),
        (FnDefTy("fn(u8) -> u8 {g}", "k", "g", FnSig((TY.u8,), TY.u8, "Rust", False, False)), "Fn(u8) -> u8"),
    ],
)
def test_parameters_stand_in_for_what_has_no_name(argument: Ty, bound: str) -> None:
    found = stand_in(method("<m::S as m::Trait>", argument))
    assert found is not None
    assert found.fn.path == "<m::S as m::Trait>::go::<MirgenParameter0/#0>"
    text = found.source("q", NAMES)
    assert f"fn q<'a, MirgenParameter0: {bound}>(a0: &'a mut MirgenParameter0)" in text
    assert "<crate::m::S as crate::m::Trait>::go(a0)" in text, "an `impl Trait` cannot be given"


def test_signatures_may_hold_others_without_a_name() -> None:
    """A closure that takes what an adapter with another closure in it gives."""
    inner = closure(TY.u8, output=TY.u8)
    item = AdtTy(f"<m::Map<{inner.text}> as m::Iter>::Item", "k", "m::Item", (), ())
    sig = FnSig((TY.tuple(item),), TY.unit, "rust-call", False, False)
    outer = ClosureTy(f"{{g<{inner.text}>::{{closure#0}}}}", "k", "g::{closure#0}", "FnMut", sig, ())
    path = f"<m::W<{inner.text}> as m::Trait>::go::<{outer.text}>"
    taken = FnSig((AdtTy(f"m::W<{inner.text}>", "k", "m::W", (inner,), ()), outer), TY.unit, "Rust", False, False)
    found = stand_in(FnDefTy(f"fn(..) {{{path}}}", "k", path, taken))
    assert found is not None and set(map(id, found.items)) == {id(inner), id(outer)}
    text = found.source("q", NAMES)
    bound = "FnMut(<crate::m::Map<MirgenParameter1> as crate::m::Iter>::Item)"
    assert f"MirgenParameter0: {bound}, MirgenParameter1: FnMut(u8) -> u8" in text
    assert "{" not in found.fn.path


@pytest.mark.parametrize(
    ("kind", "uses"), [("Fn", "let _u = &u0; "), ("FnMut", "let _u = &mut u0; "), ("FnOnce", "let _u = u0; ")]
)
def test_closures_are_made_that_no_trait_can_tell_from_others(kind: Any, uses: str) -> None:
    item = replace(closure(TY.ref(TY.u8), TY.u32, output=TY.bool), closure_kind=kind, upvars=(TY.u64,))
    found = stand_in(method("<m::S as m::Trait>", item))
    assert found is not None
    text = found.closures_source("q", NAMES)
    assert text is not None
    assert (
        f"fn q_closures<'a>(mut u0: u64) {{ unsafe {{ let given = q_given(move |_, _| {{ {uses}loop {{}} }});" in text
    )
    assert "fn q_given<'a, MirgenParameter0: " in text and "q_taken(q(given.0))" in text


def made(*closures: ClosureTy) -> Body:
    locals_ = tuple(Local(ty, False, None, None) for ty in (TY.unit, TY.tuple(*closures)))
    return replace(body([Scope(None, None, False, None)], []), locals=locals_)


def own(number: int, kind: Any, *upvars: Ty) -> ClosureTy:
    path = f"{MODULE}::q_closures::{{closure#{number}}}"
    return ClosureTy(f"{{{path} {kind} {len(upvars)}}}", "k", path, kind, None, upvars)


def test_closures_that_differ_from_what_they_stand_for_are_no_answer() -> None:
    wanted = replace(closure(TY.u8, output=TY.u8), closure_kind="Fn", upvars=(TY.u64, TY.ref(TY.u8)))
    bare = FnDefTy("fn(u8) -> u8 {g}", "k", "g", FnSig((TY.u8,), TY.u8, "Rust", False, False))
    alike = own(0, "Fn", TY.u64, TY.ref(TY.u8))
    assert made_alike(made(own(1, "Fn"), alike), (wanted, bare))
    assert not made_alike(made(alike, own(1, "FnMut")), (wanted, bare)), "another kind"
    assert not made_alike(made(own(0, "Fn", TY.u64), own(1, "Fn")), (wanted, bare)), "other captures"
    assert not made_alike(made(own(0, "Fn", TY.ref(TY.u8), TY.u64), own(1, "Fn")), (wanted, bare)), "in another order"
    assert not made_alike(made(alike), (wanted, bare)), "one is missing"
    other = f"v::V::extend::<m::Map<{alike.text}>>::{{closure#0}}"
    inner = ClosureTy(f"{{{other} FnMut 0}}", "k", other, "FnMut", None, ())
    assert made_alike(made(own(1, "Fn"), alike, inner), (wanted, bare)), "a closure of what is called is none of them"


def test_a_parameter_stands_in_where_the_implementation_could_depend_on_it() -> None:
    item = closure(TY.ref(TY.u8), output=TY.bool)
    wrapper = AdtTy(f"m::W<{item.text}>", "k", "m::W", (item,), ())
    path = f"<{wrapper.text} as m::Trait>::go"
    found = stand_in(FnDefTy(f"fn(..) {{{path}}}", "k", path, FnSig((wrapper,), TY.unit, "Rust", False, False)))
    assert found is not None
    assert found.fn.path == "<m::W<MirgenParameter0/#0> as m::Trait>::go"
    text = found.source("q", NAMES)
    assert "fn q<'a, MirgenParameter0: FnMut(&u8) -> bool>(a0: crate::m::W<MirgenParameter0>)" in text
    assert "<crate::m::W<MirgenParameter0> as crate::m::Trait>::go(a0)" in text


@pytest.mark.parametrize(
    ("inputs", "bound"),
    [
        ((TY.ref(TY.u8),), "FnMut(&u8) -> &u8"),
        ((TY.u32, TY.ref(TY.u8)), "FnMut(u32, &u8) -> &u8"),
        ((TY.ref(TY.u8), TY.tuple(TY.u32, TY.ref(TY.u8))), "FnMut(&'a u8, (u32, &'a u8)) -> &'a u8"),
        ((), "FnMut() -> &'a u8"),
    ],
)
def test_a_result_s_region_is_told_where_it_could_be_several(inputs: tuple[Ty, ...], bound: str) -> None:
    found = stand_in(method("<m::S as m::Trait>", closure(*inputs, output=TY.ref(TY.u8))))
    assert found is not None
    assert f"MirgenParameter0: {bound}>" in found.source("q", NAMES)


@pytest.mark.parametrize("head", ["m::S", "<{f::{closure#0}} as m::Trait>", "<m::S<{f::{closure#1}}> as m::Trait>"])
def test_only_methods_of_traits_whose_types_are_all_replaced(head: str) -> None:
    assert stand_in(method(head, closure(output=TY.unit))) is None


def test_no_question_where_every_type_has_a_name() -> None:
    assert stand_in(method("<m::S as m::Trait>", TY.u32)) is None


def span(line: int, col: int, end_line: int, end_col: int, file: str = "src/lib.rs") -> Span:
    return Span(file, line, col, end_line, end_col)


def body(scopes: list[Scope], sources: list[tuple[Span, int]], declared: Span | None = None) -> Body:
    blocks = [Block(False, (), Goto(SourceInfo(at, scope), i + 1)) for i, (at, scope) in enumerate(sources)]
    blocks.append(Block(False, (), Return(SourceInfo(None, None))))
    local = (Local(TY.unit, True, None, None),)
    return Body("k", "fn", "q", None, 0, local, tuple(scopes), tuple(blocks), declared)


def test_the_answer_s_own_statements_are_the_evidence() -> None:
    asked = method("<m::S as m::Trait>", TY.u32)
    scopes = [
        Scope(None, None, False, None),
        Scope(0, "<m::S as m::Trait>::go::<<u8 as m::Wide>::Wider>", False, span(90, 1, 90, 5)),
        Scope(1, None, False, None),
        Scope(2, "m::other", False, span(7, 3, 7, 9)),
    ]
    sources = [(span(90, 1, 90, 9), 0), (span(5, 1, 5, 4), 1), (span(6, 1, 6, 4), 2), (span(50, 1, 50, 2), 3)]
    found = inlined_spans(body(scopes, sources), asked, UNIT)
    own_closure = f"<m::W<{{{MODULE}::q_closures::{{closure#0}}}}> as m::Trait>::go"
    through = [scopes[0], Scope(0, own_closure, False, None), Scope(1, scopes[1].inlined, False, None)]
    places = [(span(5, 1, 5, 4), 1), (span(6, 1, 6, 4), 2)]
    outer = inlined_spans(body(through, places), method("<m::W<P> as m::Trait>", TY.u32), UNIT)
    assert {each.line for each in outer} == {5}, "a question's closure in a function's path makes it no question"
    assert found == {
        span(5, 1, 5, 4, "/p/src/lib.rs"), span(6, 1, 6, 4, "/p/src/lib.rs"), span(7, 3, 7, 9, "/p/src/lib.rs")
    }, "its statements and its calls, not the question's and not those of what it calls"  # fmt: skip


@pytest.mark.parametrize(
    ("spans", "held"),
    [
        ({span(5, 1, 5, 4), span(7, 3, 7, 9)}, True),
        ({span(5, 1, 5, 4), span(1, 1, 1, 9, "/core/macros.rs")}, True),
        ({span(5, 1, 5, 4), span(30, 1, 30, 4)}, False),
        ({span(1, 1, 1, 9, "/core/macros.rs")}, False),
        (set[Span](), False),
    ],
)
def test_a_body_holds_what_lies_inside_it(spans: set[Span], held: bool) -> None:
    own = body([Scope(None, None, False, None)], [(span(4, 1, 4, 2), 0), (span(9, 1, 9, 2), 0)], span(3, 1, 3, 9))
    evidence = frozenset(
        Span(f"/p/{s.file}" if s.file.startswith("src") else s.file, s.line, s.col, s.end_line, s.end_col)
        for s in spans
    )
    assert holds(own, evidence, UNIT) is held


@pytest.mark.parametrize(
    ("item", "bound"),
    [
        (TY.coroutine("f::{closure#0}", [], yields=TY.u8), "core::ops::Coroutine<(), Yield = u8, Return = ()> + Unpin"),
        (
            TY.coroutine("f::{closure#0}", [], resume=TY.adt("core::future::ResumeTy"), returns=TY.u32, movable=False),
            "core::future::Future<Output = u32>",
        ),
        (closure(TY.u8, output=TY.bool), "FnMut(u8) -> bool"),
    ],
)
def test_drop_glue_is_asked_with_a_parameter(item: Ty, bound: str) -> None:
    """Of what holds a type without a name: whatever that is, the rest of the glue is the same."""
    question = with_parameters(glue_of(TY.adt("core::option::Option", item)))
    assert question is not None
    lines = question.source("q", NAMES).splitlines()
    assert f"fn q<'a, MirgenParameter0: {bound}>(a0: *mut ::core::option::Option<MirgenParameter0>)" in lines[-1]
    assert with_parameters(glue_of(TY.adt("core::option::Option", TY.u8))) is None
    assert with_parameters(method("<k::S as k::Tr>", item)) is None


def test_a_future_is_asked_about_with_a_parameter() -> None:
    future = TY.coroutine("f::{closure#0}", [], resume=TY.adt("core::future::ResumeTy"), returns=TY.u32)
    sig = FnSig((future,), future, "Rust", False, False)
    path = f"<{future.text} as core::future::IntoFuture>::into_future"
    question = stand_in(FnDefTy(f"fn(..) {{{path}}}", "k", path, sig))
    assert question is not None
    assert "<MirgenParameter0 as ::core::future::IntoFuture>::into_future(a0)" in question.source("q", NAMES)
    poll = f"<{future.text} as core::future::Future>::poll"
    pinned = TY.adt("core::pin::Pin", TY.ref(future, mut=True))
    assert stand_in(FnDefTy(f"fn(..) {{{poll}}}", "k", poll, FnSig((pinned,), TY.unit, "Rust", False, False))) is None
