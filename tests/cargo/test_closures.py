"""Closures in default methods of traits: which generic body is one's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mirgen.cargo import closures
from mirgen.cargo.closures import (
    arguments_of_trait,
    closures_of_own_path,
    closures_written_at,
    functions_of_own_path,
    primitive,
)
from mirgen.cargo.dump import CrateDump
from mirgen.cargo.unit import UnitRecord
from mirgen.ingest import Header
from mirgen.mir.body import Body
from mirgen.mir.builder import BodyBuilder, TypeMaker, closure_of
from mirgen.mir.statement import Span
from mirgen.mir.ty import BoolTy, ClosureTy, FloatTy, IntTy, NeverTy, StrTy

TY = TypeMaker("k")
HERE = Span("src/t.rs", 6, 30, 6, 30)


@dataclass
class _Dump:
    """``bodies`` by header, and what its documents hold."""

    crate: str
    held: dict[str, Span | None] = field(default_factory=dict[str, "Span | None"])
    documents: list[tuple[Path, Any]] = field(default_factory=list[tuple[Path, Any]])

    @property
    def unit(self) -> Any:
        return SimpleNamespace(record=Path(self.crate))

    @property
    def by_name(self) -> dict[str, list[Header]]:
        headers = [Header(name, None, "fn", i, (), "()") for i, name in enumerate(self.held)]
        return {name: [h for h in headers if h.header.endswith(name)] for name in ("{closure#0}", "{closure#1}")}

    def bodies(self, headers: Iterable[Header]) -> dict[Header, Body]:
        body = BodyBuilder("f", ret=TY.unit).return_().build()
        return {header: replace(body, span=self.held[header.header]) for header in headers}


def closure(path: str) -> ClosureTy:
    ty = TY.closure(path, [])
    assert isinstance(ty, ClosureTy)
    return ty


def made(of: ClosureTy, location: str) -> _Dump:
    b = BodyBuilder("maker", ret=TY.unit)
    b.let(of, closure_of(location))
    return _Dump("k", documents=[(Path("d"), SimpleNamespace(bodies=(b.return_().build(),)))])


def found(of: ClosureTy, by: _Dump, home: _Dump) -> list[str]:
    headers = closures_written_at(of, cast("CrateDump", by), cast("CrateDump", home))
    return [header.header for header in headers]


@pytest.fixture(autouse=True)
def units(monkeypatch: pytest.MonkeyPatch) -> None:
    """``k`` and ``dep`` are compiled in folders of their own."""

    def load(record: Path) -> UnitRecord:
        folder = Path("/w") / record
        return UnitRecord(record.name, folder / "lib.rs", folder, folder, {}, True, record.name)

    monkeypatch.setattr(closures.UnitRecord, "load", load)


def test_the_body_whose_result_stands_in_the_closures_head() -> None:
    of = closure("<m::S as dep::m::Tr<u8>>::each::{closure#0}")
    name = "m::Tr::each::{closure#0}"
    by = made(of, "/w/dep/src/t.rs:6:24: 6:30 (#0)")
    home = _Dump("dep", {name: HERE, "other::Tr::each::{closure#0}": replace(HERE, line=9, end_line=9)})
    assert found(of, by, home) == [name], "of two traits of that name the one there"
    assert found(of, by, _Dump("dep", {"m::Tr::all::{closure#0}": HERE, "m::Un::each::{closure#0}": HERE})) == []
    assert found(of, by, _Dump("k", {name: HERE})) == [], "another file"
    assert found(of, by, _Dump("dep", {name: None})) == []
    assert found(of, made(closure("<m::S as Tr>::each::{closure#1}"), "/w/dep/src/t.rs:6:24: 6:30"), home) == []


def test_closures_inside_closures() -> None:
    of = closure("<m::S as m::Tr>::each::{closure#0}::{closure#1}")
    home = _Dump("k", {"m::Tr::each::{closure#0}::{closure#1}": HERE, "m::Tr::each::{closure#1}": HERE})
    assert found(of, made(of, "src/t.rs:6:24: 6:30"), home) == ["m::Tr::each::{closure#0}::{closure#1}"]


@pytest.mark.parametrize(
    "location",
    ["src/t.rs:6:24: 6:29", "src/t.rs:6:31: 6:40", "src/t.rs:5:1: 5:40", "src/u.rs:6:24: 6:30", "somewhere"],
)
def test_no_body_of_another_place(location: str) -> None:
    of = closure("<m::S as m::Tr>::each::{closure#0}")
    assert found(of, made(of, location), _Dump("k", {"m::Tr::each::{closure#0}": HERE})) == []


def test_closures_of_an_exported_trait() -> None:
    """The text has the trait's public path; the body is where the trait is."""
    of = closure("std::iter::Tr::each::check<u8>::{closure#0}")
    by, name = made(of, "/w/core/src/t.rs:6:24: 6:30"), "iter::traits::Tr::each::check::{closure#0}"
    assert found(of, by, _Dump("core", {name: HERE, "other::Tr::each::{closure#0}": HERE})) == [name]
    assert found(of, by, _Dump("core", {name: replace(HERE, line=9, end_line=9)})) == [], "another place"


def test_closures_of_functions_are_not_meant() -> None:
    of = closure("m::each::{closure#0}")
    assert found(of, made(of, "src/t.rs:6:24: 6:30"), _Dump("k", {"m::each::{closure#0}": HERE})) == []


def _taking(*owned: str) -> CrateDump:
    """A crate with a body for each closure, which it calls by its own path."""
    texts = [f"&'{{erased}} mut {{{path} closure_kind_ty=i16 upvar_tys=()}}" for path in owned]
    headers = [
        Header(f"<impl at a.rs:{i}:1>::f::{{closure#0}}", None, "fn", i, (t,), "()") for i, t in enumerate(texts)
    ]
    return cast("CrateDump", SimpleNamespace(crate="alloc", by_name={"{closure#0}": headers}))


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("std::sets::Map<u8, u32>::keep<F>::{closure#0}", "sets::tree::map::Map<K, V, A>::keep<F>::{closure#0}"),
        ("<u8 as std::Sum<&'{erased} u8>>::sum<I>::{closure#0}", "<u8 as iter::Sum<&'a u8>>::sum<I>::{closure#0}"),
        ("<std::Vec<u8> as std::From<u8, u16>>::of<I>::{closure#0}", "<v::Vec<T> as From<T, U>>::of<I>::{closure#0}"),
        ("<Vec<{f::{closure#1}}> as b::From<T, U>>::of::{closure#0}", "<v::Vec<T> as From<T, U>>::of<I>::{closure#0}"),
        ("std::Iterator::each::call<u8, F>::{closure#0}", "iter::traits::Iterator::each::call<T, F>::{closure#0}"),
    ],
)  # fmt: skip
def test_closures_are_called_by_the_paths_that_their_crate_has_for_them(path: str, own: str) -> None:
    others = (
        "sets::tree::map::Map<K, V, A>::keep_all<F>::{closure#0}", "sets::set::Set<K>::keep<F>::{closure#0}",
        "<u8 as iter::Sum>::sum<I>::{closure#0}", "<u16 as iter::Sum<&'a u16>>::sum<I>::{closure#0}",
        "iter::traits::Iterator::each::{closure#0}", "<K as Map>::keep<F>::{closure#0}",
        "<sets::Set<T> as From<T, U>>::of<I>::{closure#0}",
    )  # fmt: skip
    home = _taking(*others[:3], own, *others[3:])
    assert [header.line for _, header in closures_of_own_path(closure(path), [home])] == [3]
    assert closures_of_own_path(closure(path), [_taking(*others)]) == []
    assert len(closures_of_own_path(closure(path), [home, _taking(own)])) == 2


def test_functions_inside_methods_are_called_by_the_paths_that_their_crate_has_for_them() -> None:
    names = (
        "iter::traits::Iterator::count::plus", "iter::traits::Iterator::plus", "count::plus",
        "iter::Other::count::plus", "<impl at a.rs:1:1>::count::plus",
    )  # fmt: skip
    headers = [Header(name, None, "fn", i, (), "()") for i, name in enumerate(names)]
    home = cast("CrateDump", SimpleNamespace(crate="core", by_name={"plus": headers}, unit=_Dump("core").unit))
    found = functions_of_own_path("std::iter::Iterator::count::plus::<u8>", [home])
    assert [header.line for _, header in found] == [0]
    assert functions_of_own_path("<u8 as std::iter::Iterator>::count::plus::<u8>", [home]) == []
    assert functions_of_own_path("std::iter::plus::<u8>", [home]) == []


def test_functions_inside_methods_of_impls_are_told_by_what_stands_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = ["impl<I, U> Iterator for Flat<I, U>", "impl<I> Back for m::Flat<I, u8>", "impl<T> Iterator for [T]"]
    (tmp_path / "a.rs").write_text("".join(f"{head} {{}}\n" for head in heads))

    def load(record: Path) -> UnitRecord:
        return UnitRecord("k", record, tmp_path, tmp_path, {}, True, "k")

    monkeypatch.setattr(closures.UnitRecord, "load", load)
    spans = [f"m::<impl at a.rs:{i + 1}:1: {i + 1}:{len(head) + 1}>" for i, head in enumerate(heads)]
    names = [f"{span}::by::step" for span in spans] + [f"{spans[0]}::other::step"]
    headers = [Header(name, None, "fn", i, (), "()") for i, name in enumerate(names)]
    home = cast("CrateDump", SimpleNamespace(crate="core", by_name={"step": headers}, unit=_Dump("core").unit))

    def lines(path: str) -> list[int]:
        return [header.line for _, header in functions_of_own_path(path, [home])]

    assert lines("<std::m::Flat<I, U> as std::iter::Iterator>::by::step::<u8>") == [0]
    assert lines("<std::m::Flat<I, U> as std::iter::Back>::by::step::<u8>") == [1]
    assert lines("<std::m::Other<I, U> as std::iter::Iterator>::by::step::<u8>") == []
    assert lines("std::m::Flat::<I, U>::by::step::<u8>") == []


def test_functions_in_modules_are_told_by_more_than_their_names() -> None:
    of = closure("std::slice::sort::{closure#0}")
    assert closures_of_own_path(of, [_taking("slice::sort::{closure#0}", "vec::sort::{closure#0}")]) == []


def test_arguments_and_primitive_types() -> None:
    assert arguments_of_trait("<m::S<u8> as m::Tr<'{erased}, u16, [u8; 3]>>::f::{closure#0}") == [
        "m::S<u8>", "u16", "[u8; 3]",
    ]  # fmt: skip
    assert arguments_of_trait("<Self as Tr>::f") == ["Self"]
    assert arguments_of_trait("m::f::{closure#0}") == []
    kinds = {"u16": IntTy, "isize": IntTy, "f64": FloatTy, "bool": BoolTy}
    for text, kind in kinds.items():
        made_ = primitive(text, "k")
        assert made_ is not None and made_[0]["text"] == made_[1].text == text
        assert isinstance(made_[1], kind) and made_[1].crate == "k"
    assert primitive("isize", "k") == ({"kind": "int", "text": "isize", "name": "isize"}, TY.isize)
    empty = primitive("()", "k")
    assert empty == ({"kind": "tuple", "text": "()", "elems": []}, TY.unit)
    assert primitive("!", "k") == ({"kind": "never", "text": "!"}, NeverTy("!", "k"))
    assert primitive("str", "k") == ({"kind": "str", "text": "str"}, StrTy("str", "k"))
    for text in ("T", "u7", "f16", "usize2", "m::bool", "[u8; 3]"):
        assert primitive(text, "k") is None
