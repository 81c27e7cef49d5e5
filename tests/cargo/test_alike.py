"""Questions with closures of their own, and what becomes of those in the answer."""

from __future__ import annotations

import pytest

from mirgen.analysis.drops import glue_of
from mirgen.cargo.alike import alike, alike_projection
from mirgen.cargo.closure import NormalType
from mirgen.cargo.made import is_made, made_number, with_names
from mirgen.cargo.projections import normalised, open_projections
from mirgen.cargo.source import Names, type_source
from mirgen.cargo.substitute import Bindings, Json
from mirgen.mir.builder import TypeMaker
from mirgen.mir.ty import AdtTy, ClosureTy, CoroutineTy, FnDefTy, FnSig, Ty

TY = TypeMaker("k")
NAMES = Names("k", "k", frozenset({"k", "core"}))
MADE = "__mirgen_queries::q7_alike::q7_mirgen_made::{closure#0}"


def closure(path: str, captured: tuple[Ty, ...] = (), output: Ty = TY.unit) -> ClosureTy:
    sig = FnSig((TY.tuple(TY.u8),), output, "rust-call", False, False)
    text = f"{{{path} closure_kind_ty=i16 sig=({output.text}) upvar_tys=({', '.join(ty.text for ty in captured)})}}"
    return ClosureTy(text, "k", path, "FnMut", sig, captured)


def holding(*inner: Ty) -> AdtTy:
    return AdtTy(f"m::Map<{', '.join(ty.text for ty in inner)}>", "k", "m::Map", inner, ())


def test_glue_is_asked_with_closures_that_capture_the_same() -> None:
    inner = closure("g::{closure#1}", output=TY.u32)
    outer = closure("f::{closure#0}", (TY.ref(TY.u8), inner), output=holding(inner))
    asked = alike(glue_of(holding(outer)))
    assert asked is not None
    assert [parameter.item for parameter in asked.parameters] == [outer, inner]
    text = asked.source("q7", NAMES)
    assert "mod q7_alike {" in text
    assert "pub type MirgenParameter0 = impl FnMut(u8) -> crate::m::Map<MirgenParameter1>;" in text
    assert "pub type MirgenParameter1 = impl FnMut(u8) -> u32;" in text
    # rustc refuses an alias that an earlier one's bound speaks of.
    assert "#[define_opaque(MirgenParameter1, MirgenParameter0)] fn q7_mirgen_made(" in text
    assert "mut u0: &'static u8, mut u1: MirgenParameter1) -> (MirgenParameter0, MirgenParameter1,)" in text
    assert "pub unsafe fn q7(a0: *mut crate::m::Map<MirgenParameter0>) -> ()" in text
    assert "'a" not in text


def test_other_functions_and_types_are_asked_otherwise() -> None:
    sig = FnSig((holding(closure("f::{closure#0}")),), TY.unit, "Rust", False, False)
    assert alike(FnDefTy("fn(..) {k::f}", "k", "k::f", sig)) is None
    assert alike(glue_of(holding(TY.u8))) is None
    coroutine = CoroutineTy("{f::{closure#0} resume_ty=()}", "k", "f::{closure#0}", (), TY.unit, TY.unit, TY.unit)
    assert alike(glue_of(holding(coroutine))) is None


def test_projections_are_asked_as_what_a_function_takes() -> None:
    one = closure("f::{closure#0}")
    asked = alike_projection(f"<m::Map<{one.text}> as m::Iter>::Item", [one])
    assert asked is not None
    assert "pub fn q(_: *const <crate::m::Map<MirgenParameter0> as crate::m::Iter>::Item) {}" in asked.source(
        "q", NAMES
    )
    assert alike_projection("<u8 as m::Iter>::Item", []) is None


def test_closures_of_questions_are_known_by_their_paths() -> None:
    assert made_number(MADE) == 0 and is_made(closure(MADE))
    assert made_number(f"m::n::{MADE.replace('closure#0', 'closure#12')}") == 12
    for path in ("f::{closure#0}", "q7_alike::q7_mirgen_made::{closure#0}", f"{MADE}::{{closure#0}}"):
        assert made_number(path) is None
    text = f"drop_in_place::<m::Map<{closure(MADE, (TY.u8,)).text}, {closure('f::{closure#0}').text}>>"
    assert with_names(text) == f"drop_in_place::<m::Map<MirgenParameter0, {closure('f::{closure#0}').text}>>"


@pytest.mark.parametrize(
    ("captured", "fits"), [((TY.ref(TY.u8),), True), ((TY.ref(TY.u16),), False), ((), False), ((TY.u8,), False)]
)
def test_only_closures_that_captured_the_same_are_put_in_their_place(captured: tuple[Ty, ...], fits: bool) -> None:
    made, own = closure(MADE, (TY.ref(TY.u8),)), closure("f::{closure#0}", captured)
    bindings = Bindings()
    assert bindings.bind(holding(made), holding(own)) is fits
    assert not fits or bindings.types == {made.text: own}


def entry(ty: Ty, **more: object) -> Json:
    kind = "closure" if isinstance(ty, ClosureTy) else "adt"
    return {"kind": kind, "text": ty.text, "path": getattr(ty, "path", ""), **more}


def test_what_a_projection_is_takes_its_place_everywhere() -> None:
    own, made = closure("f::{closure#0}"), closure(MADE)
    text = f"<m::Map<{own.text}> as m::Into>::Iter"
    option = AdtTy(f"m::Option<{text}>", "k", "m::Option", (), ())
    document: Json = {
        "types": [
            {"kind": "alias", "text": text},
            entry(option, args=[{"kind": "type", "ty": 0}]),
            {"kind": "alias", "text": "<u8 as m::Into>::Iter"},
            entry(own, upvars=[]),
        ],
        "bodies": [{"header": f"<{text} as T>::f", "locals": [{"ty": 1}], "callee": f"<{text} as T>::next"}],
    }
    assert open_projections(document, [own]) == {text: (own,)}
    table = [entry(made, upvars=[]), entry(holding(made), args=[{"kind": "type", "ty": 0}])]
    found = normalised(document, {text: NormalType(table, 1, {"MirgenParameter0": own})})
    assert found["types"][0] == entry(holding(own), args=[{"kind": "type", "ty": 3}]), "the closure that was there"
    assert found["types"][1]["text"] == f"m::Option<{holding(own).text}>"
    assert found["types"][2] == document["types"][2]
    (body,) = found["bodies"]
    assert body["header"] == document["bodies"][0]["header"], "calls know it by this name"
    assert body["callee"] == f"<{holding(own).text} as T>::next"
    assert open_projections(found, [own]) == {}


def test_regions_that_a_type_binds_itself_are_elided() -> None:
    text = "m::P<for<Region(BrAnon)> fn(&'^0 u8, for<Region(BrAnon)> fn(&'^0 u8, &'^1_0 u8)), &'{erased} u8>"
    assert type_source(text, NAMES) == "crate::m::P<fn(&'_ u8, fn(&'_ u8, &'a u8)), &'a u8>"
    assert type_source("&'^0 u8", NAMES) == "&'a u8", "a function's own"
