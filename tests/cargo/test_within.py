"""Where a question about what a function declares is put."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from mirgen.cargo.dump import CrateDump
from mirgen.cargo.join import group_by_name
from mirgen.cargo.within import body_start, declared_parameters, function_around, unrooted
from mirgen.ingest import Header
from mirgen.mir.body import Body
from mirgen.mir.statement import Span

RUN, INNER = (Header(name, None, "fn", line, (), "()") for line, name in enumerate(["m::run", "m::run::inner"], 1))
OTHER = Header("other", None, "fn", 3, (), "()")
SOURCE = """\
pub mod m {
    pub fn run<T>(x: [u8; 3]) -> Option<T>
    where
        T: Sized,
    { struct S; None }
}
fn other();
impl S {
    pub fn method<'a, T: Fn(&u8) -> Vec<u8>, const N: usize, // a comment, with a comma
        U>(self, x: [T; N]) -> &'a U { x }
}
"""


def dump(tmp_path: Path, span: Span | None = None) -> CrateDump:
    record = tmp_path / "k.json"
    (tmp_path / "lib.rs").write_text(SOURCE)
    package = {"name": "k", "version": "1.0.0", "manifest_dir": str(tmp_path)}
    unit = {"crate_name": "k", "cwd": str(tmp_path), "args": ["lib.rs"], "package": package, "primary": True}
    record.write_text(json.dumps(unit))
    body = Body("k", "fn", "m::run", None, 0, (), (), (), span)

    def bodies(headers: Iterable[Header]) -> dict[Header, Body]:
        return dict.fromkeys(headers, body)

    return cast(
        "CrateDump",
        SimpleNamespace(
            by_name=group_by_name([RUN, INNER, OTHER]), unit=SimpleNamespace(record=record),
            bodies=bodies,
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "function"),
    [
        ("core::ptr::drop_in_place::<std::vec::Vec<m::run::S>>", RUN),
        ("m::run::S::<u8>::method", RUN),
        ("<m::run::inner::S as m::Trait>::go", INNER),
        ("m::S::method", None),
        ("m::pair::<m::run::S, other::T>", None),
    ],
)
def test_the_innermost_function_that_declares_what_is_named(tmp_path: Path, path: str, function: Header | None) -> None:
    assert function_around(path, dump(tmp_path)) is function


@pytest.mark.parametrize(
    ("span", "start"),
    [
        (Span("lib.rs", 2, 34, 2, 43), (5, 6)),  # what it returns; a where clause stands between
        (Span("lib.rs", 7, 11, 7, 11), None),  # no body there
        (None, None),
    ],
)
def test_its_body_begins_behind_what_it_returns(
    tmp_path: Path, span: Span | None, start: tuple[int, int] | None
) -> None:
    found = body_start(RUN, dump(tmp_path, span))
    assert found == (None if start is None else (tmp_path / "lib.rs", start))


def test_names_lose_the_function_s_path_and_lines_become_one() -> None:
    assert unrooted("fn q(a: crate::m::run::S) {\n  g::<crate::m::T>(a) }", RUN) == "fn q(a: S) { g::<crate::m::T>(a) }"


@pytest.mark.parametrize(
    ("name", "span", "declared"),
    [
        ("run", Span("lib.rs", 2, 34, 2, 43), ["T"]),
        ("other", Span("lib.rs", 7, 11, 7, 11), []),
        ("method", Span("lib.rs", 10, 32, 10, 37), ["T", "N", "U"]),
        ("absent", Span("lib.rs", 10, 32, 10, 37), None),
        ("run", None, None),
    ],
)
def test_parameters_are_declared_in_front_of_what_is_returned(
    tmp_path: Path, name: str, span: Span | None, declared: list[str] | None
) -> None:
    home = dump(tmp_path, span)
    assert declared_parameters(home.bodies([RUN])[RUN], name, home) == declared
