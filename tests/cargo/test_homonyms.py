"""Traits and types of one name: an implementation is taken only where it must be of the ones that a call means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mirgen.cargo.callee import parse_callee
from mirgen.cargo.homonyms import Homonyms
from mirgen.ingest import Header

#: Two traits `T` and two types `S`; `impl`s of one stand where the other is defined, too.
SOURCE = """\
mod a {
    pub trait T { fn m(&self) -> u32 { 1 } }
    pub struct S;
    impl T for i64 {}
    impl T for u8 { fn m(&self) -> u32 { 2 } }
}
mod b {
    pub trait T { fn m(&self) -> u32; }
    pub struct S;
    impl T for i64 { fn m(&self) -> u32 { 3 } }
    impl super::a::T for u16 { fn m(&self) -> u32 { 4 } }
    impl T for u16 { fn m(&self) -> u32 { 5 } }
    impl super::a::T for S { fn m(&self) -> u32 { 6 } }
}
trait Only { fn m(&self) -> u32; }
mod c {
    impl super::Only for i64 { fn m(&self) -> u32 { 7 } }
    impl core::ops::Add for super::a::S { fn add(self, by: Self) -> Self { by } }
    impl super::Only for super::a::S { fn m(&self) -> u32 { 8 } }
    impl super::Only for super::b::S { fn m(&self) -> u32 { 9 } }
}
"""


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """The record of a unit whose paths are relative to its folder."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text(SOURCE)
    package = {"manifest_dir": str(tmp_path), "name": "k", "version": "1.0.0"}
    unit = {"cwd": str(tmp_path), "args": ["src/lib.rs"], "crate_name": "k", "primary": True, "package": package}
    path = tmp_path / "k.json"
    path.write_text(json.dumps(unit))
    return path


def header(head: str, module: str, args: tuple[str, ...], instance: str, output: str = "u32") -> Header:
    """The header of the method in the impl that begins so."""
    line = next(number for number, line in enumerate(SOURCE.splitlines(), start=1) if line.strip().startswith(head))
    span = f"<impl at src/lib.rs:{line}:5: {line}:{5 + len(head.removesuffix(' { fn'))}>"
    return Header(f"{module}::{span}::{instance.rpartition('::')[2]}", instance, "fn", line, args, output)


@pytest.mark.parametrize(
    ("call", "head", "module", "of", "settled"),
    [
        ("<i64 as a::T>::m", "impl T for i64 { fn", "b", "i64", False),  # the call means the trait's own body
        ("<i64 as b::T>::m", "impl T for i64 { fn", "b", "i64", True),
        ("<u8 as a::T>::m", "impl T for u8", "a", "u8", True),
        ("<u16 as a::T>::m", "impl super::a::T for u16", "b", "u16", False),  # right, but rustc has to say it
        ("<u16 as a::T>::m", "impl T for u16", "b", "u16", False),
        ("<u16 as b::T>::m", "impl T for u16", "b", "u16", True),
        ("<u16 as b::T>::m", "impl super::a::T for u16", "b", "u16", False),
        ("<i64 as Only>::m", "impl super::Only for i64", "c", "i64", True),
        ("<a::S as Only>::m", "impl super::Only for super::a::S", "c", "a::S", True),
        ("<b::S as Only>::m", "impl super::Only for super::a::S", "c", "a::S", False),
        ("<b::S as Only>::m", "impl super::Only for super::b::S", "c", "b::S", True),
        ("<a::S as core::ops::Add>::add", "impl core::ops::Add for super::a::S", "c", "a::S", True),
    ],
)
def test_only_what_must_be_meant(record: Path, call: str, head: str, module: str, of: str, settled: bool) -> None:
    callee = parse_callee(call)
    found = header(head, module, (f"&'{{erased}} {of}",), f"<{of.rpartition('::')[2]} as T>::{callee.method}")
    assert Homonyms([record]).are_settled(callee, "k", "k", found, record) == settled


def test_a_standard_trait_beside_an_own_one_of_its_name(record: Path) -> None:
    """Which of the two an implementation is of is rustc's to say."""
    (record.parent / "src" / "more.rs").write_text("pub trait Add { fn add(self) -> Self; }")
    add = header("impl core::ops::Add for", "c", ("a::S", "a::S"), "<S as Add>::add", "a::S")
    callee = parse_callee("<a::S as core::ops::Add>::add")
    assert not Homonyms([record]).are_settled(callee, "k", "k", add, record)


def test_another_crate_names_types_by_other_paths(record: Path) -> None:
    only = header("impl super::Only for super::a::S", "c", ("&'{erased} a::S",), "<S as Only>::m")
    callee = parse_callee("<k::S as k::Only>::m")
    assert Homonyms([record]).are_settled(callee, "user", "k", only, record)
    own = header("impl T for u16", "b", ("&'{erased} u16",), "<u16 as T>::m")
    assert Homonyms([record]).are_settled(parse_callee("<u16 as k::b::T>::m"), "user", "k", own, record)
    assert not Homonyms([record]).are_settled(parse_callee("<u16 as k::a::T>::m"), "user", "k", own, record)
