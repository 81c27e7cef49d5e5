"""Questions about constants, and the answers that rustc's text gives to them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from mirgen.analysis.fold import literal_calls
from mirgen.cargo.constants import (
    FEATURE,
    call_source,
    constant_source,
    constant_value,
    inner_source,
    written_block,
    written_type,
)
from mirgen.cargo.join import find_promoted, group_by_name
from mirgen.cargo.overlay import make_overlay
from mirgen.cargo.queries import INSIDE, Query, answers, chosen_level
from mirgen.cargo.source import Names, UnnameableError
from mirgen.ingest import Header
from mirgen.layout.builder import LayoutMaker
from mirgen.mir.body import FnAlloc, MemoryAlloc
from mirgen.mir.builder import BodyBuilder, const, pointer
from mirgen.mir.place import Constant, IndirectConst, UnevaluatedConst
from mirgen.mir.statement import Span
from mirgen.mir.ty import FnDefTy

NAMES = Names("k", "k", frozenset({"k", "core", "dep"}))


def item(text: str) -> Span:
    """The span of the only ``const`` item of ``text``."""
    found = re.search(r"(pub(\(\w+\))? )?const [^;]*?(\[[^]]*\][^;]*)*;", text)
    assert found is not None
    line, end_line = text.count("\n", 0, found.start()) + 1, text.count("\n", 0, found.end()) + 1
    col = found.start() - text.rfind("\n", 0, found.start())
    return Span("f.rs", line, col, end_line, found.end() - text.rfind("\n", 0, found.end()))


@pytest.mark.parametrize(
    ("text", "ty"),
    [
        ("fn f() { const K: [u8; 3] = [1; 3]; }", "[u8; 3]"),
        ("fn f() {\n    /// Doc.\n    pub(crate) const K: Option<&str>\n        = None;\n}", "Option<&str>"),
        ("const K: fn(u8) -> [u8; 2] = g;", "fn(u8) -> [u8; 2]"),
        ("const K: Box<dyn Fn(u8, A<Out = u8>) -> u8> = B;", "Box<dyn Fn(u8, A<Out = u8>) -> u8>"),
        ("const K: N<{ 1 == 2 }> = N;", "N<{ 1 == 2 }>"),
        ("const L: u8 = 1;", None),
        ("make!(const K: u8 = 1);", None),
    ],
)
def test_the_type_of_an_inner_constant_is_taken_from_its_item(text: str, ty: str | None) -> None:
    span = item(text) if ";" in text and "make" not in text else Span("f.rs", 1, 1, 1, len(text) + 1)
    assert written_type(span, "K", text) == ty


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("const { [1, 2] }", ("[1, 2]", (1, 8))),
        ("const\n{\n    [1,\n    2] }", ("[1, 2]", (2, 2))),
        ("const { 1 // one\n}", None),
        ("make!(1)", None),
    ],
)
def test_inline_constants_are_taken_from_their_braces(text: str, found: object) -> None:
    lines = text.split("\n")
    assert written_block(Span("f.rs", 1, 1, len(lines), len(lines[-1]) + 1), text) == found


def test_no_type_where_the_text_has_changed() -> None:
    assert written_type(Span("f.rs", 3, 1, 4, 9), "K", "const K: u8 = 1;") is None


def test_paths_are_written_as_the_crate_sees_them() -> None:
    assert "= Wq1(crate::a::K);" in constant_source("q1", "a::K", NAMES)
    assert "= Wq1(<[u8] as ::dep::T<crate::m::S>>::C);" in constant_source("q1", "<[u8] as dep::T<m::S>>::C", NAMES)
    with pytest.raises(UnnameableError):
        constant_source("q1", "<m::S<{m::f::{closure#0} upvar_tys=()}> as m::T>::C", NAMES)


def test_paths_of_the_standard_library_are_written_as_others_see_them() -> None:
    """core's text has its own modules without its name, some of them called like primitive types or crates."""
    of_core = Names("k", "core", frozenset({"k", "core", "alloc", "num"}))
    assert "= Wq1(::core::str::validations::WIDTH);" in constant_source("q1", "str::validations::WIDTH", of_core)
    path = "<alloc::layout::Layout as num::T<u8, str>>::C"
    assert "<::core::alloc::layout::Layout as ::core::num::T<u8, str>>::C" in constant_source("q1", path, of_core)
    of_alloc = Names("k", "alloc", frozenset({"k", "core", "alloc"}))
    path = "<vec::Vec<core::num::N> as T>::C"
    assert "<::alloc::vec::Vec<::core::num::N> as ::alloc::T>::C" in constant_source("q1", path, of_alloc)
    itself = Names("core", "core", frozenset({"k", "core"}))
    assert "= Wq1(crate::f32::consts::PI);" in constant_source("q1", "f32::consts::PI", itself)


def test_calls_are_written_with_their_arguments() -> None:
    ty = LayoutMaker()
    inputs = {ty.i8: -128, ty.u16: 7, ty.f32: 0x7FC00001, ty.bool: 1, ty.char: 0x41}
    args = [const(each, value) for each, value in inputs.items()]
    function = ty.fn_def("core::a::<i8>::f", list(inputs), ty.u8, unsafe=True)
    b = BodyBuilder("f::promoted[0]", ret=ty.u8, kind="const")
    b.call(b.ret, function, *args).return_()
    ((call, _),) = literal_calls(b.build())
    value = "::core::a::<i8>::f(-128i8, 7u16, f32::from_bits(2143289345), true, '\\u{41}')"
    assert f"= Wq1(unsafe {{ {value} }});" in call_source("q1", call, NAMES)
    b = BodyBuilder("f::promoted[0]", ret=ty.u8, kind="const")
    named = Constant(UnevaluatedConst("core::num::<impl i8>::MIN", None, ty.i8))
    b.call(b.ret, ty.fn_def("g", [ty.i8], ty.u8), named).return_()
    ((call, _),) = literal_calls(b.build())
    assert "= Wq1(crate::g(<i8>::MIN));" in call_source("q1", call, NAMES)


def test_the_answer_is_the_static_behind_the_address() -> None:
    ty = LayoutMaker()
    held = ty.array(ty.u8, 4)
    static = MemoryAlloc("k::S", 1, b"1234", (), ())
    reference = ty.ref(ty.adt("W", held))
    b = BodyBuilder("q1", ret=reference)
    b.assign(b.ret, pointer(reference, 3)).return_()
    assert constant_value(b.build(), {3: static}) == IndirectConst(held, 3, 0)
    assert constant_value(b.build(), {3: FnAlloc("f")}) is None, "an address of something else"
    other = BodyBuilder("q1", ret=ty.u8)
    other.assign(other.ret, const(ty.u8, 1)).return_()
    assert constant_value(other.build(), {3: static}) is None


SOURCE = """#![allow(dead_code)]
mod tables { pub(crate) const K: [(u8, u32); 2] = [(1, 2), (3, 4)]; }
pub fn f(i: usize) -> u32 {
    const K: [Option<&str>; 2] = [Some("abc"), None];
    K[i].map_or(0, |text| text.len() as u32)
}
"""


def test_questions_compile_and_are_answered(tmp_path: Path) -> None:
    """rustc's own text of a copy of a crate with a question beside an inner constant and one at the end."""
    source = tmp_path / "src"
    source.mkdir()
    root = source / "lib.rs"
    root.write_text(SOURCE)
    question = inner_source(f"{INSIDE}q2", "K", "[Option<&str>; 2]")
    inside = Query(f"{INSIDE}q2", ("k", "f::K"), root, question, at=(4, 54))
    outside = Query("q1", ("k", "tables::K"), root, constant_source("q1", "tables::K", NAMES), feature=FEATURE)
    overlay = make_overlay(root, source, [outside, inside], tmp_path / "copies")
    out = tmp_path / "k.mir"
    options = ["--edition=2018", "--crate-type=lib", "--crate-name=k", "-Copt-level=3", "-Zunpretty=mir"]
    command = [os.environ.get("RUSTC", "rustc"), str(overlay.root_file), *options, "-o", str(out)]
    done = subprocess.run(
        command, env={**os.environ, "RUSTC_BOOTSTRAP": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    assert re.search(r"static: .*\bSq1, size: 16, align: 4\) \{\n +01 __ __ __ 02 00 00 00 03 __ __ __ 04", text)
    assert re.search(rf"static: .*\bS{INSIDE}q2, size: 32, align: 8\)", text), text
    assert root.read_text() == SOURCE, "the original is never touched"


def headers(*texts: str) -> dict[str, list[Header]]:
    """``kind header`` or ``kind header = instance``, in the order of a dump."""
    made: list[Header] = []
    for line, text in enumerate(texts, 1):
        name, _, instance = text.partition(" = ")
        kind, _, name = name.partition(" ")
        assert kind in ("fn", "const", "promoted")
        made.append(Header(name, instance or None, kind, line, (), "&'{erased} u8"))
    return group_by_name(made)


def promoted(path: str, number: int = 0) -> UnevaluatedConst:
    ty = LayoutMaker()
    return UnevaluatedConst(path, number, ty.ref(ty.u8))


def test_promoted_bodies_are_found_behind_their_owners() -> None:
    index = headers("fn a::f", "promoted a::f::promoted[0]", "promoted a::f::promoted[1]", "fn g", "fn a::g")
    found = find_promoted(promoted("a::f", 1), "k", "k", index)
    assert isinstance(found, Header) and found.line == 3
    assert find_promoted(promoted("k::a::f"), "other", "k", index) == index["promoted[0]"][0]
    assert find_promoted(promoted("g"), "k", "k", index) is None
    ty = LayoutMaker()
    assert find_promoted(UnevaluatedConst("a::f", 0, ty.ref(ty.u16)), "k", "k", index) is None, "another type"


def test_impls_of_one_text_have_promoted_bodies_of_their_own() -> None:
    block = "<impl at f.rs:1:1: 1:9>::f"
    index = headers(
        f"fn {block} = <A as T>::f", f"promoted {block}::promoted[0]",
        f"fn {block} = <B as T>::f", f"promoted {block}::promoted[0]",
        f"fn {block} = <C as T>::f",
    )  # fmt: skip
    for path, line in (("<k::A as k::T>::f", 2), ("<k::B as k::T>::f", 4)):
        found = find_promoted(promoted(path), "other", "k", index)
        assert isinstance(found, Header) and found.line == line
    assert find_promoted(promoted("<k::C as k::T>::f"), "other", "k", index) is None


def test_questions_are_known_by_name() -> None:
    index = [h for group in headers("fn __mirgen_queries::q1", f"fn f::{INSIDE}q1", "fn q1").values() for h in group]
    assert [h.header for h in chosen_level(index, "q1")] == ["__mirgen_queries::q1"]
    assert [h.header for h in chosen_level(index, f"{INSIDE}q1")] == [f"f::{INSIDE}q1"]


def test_drop_glue_is_an_answer_under_its_own_name() -> None:
    ty = LayoutMaker()
    glue = ty.fn_def("core::ptr::drop_in_place::<m::D>", [ty.ptr(ty.u8, mut=True)], ty.unit)
    assert isinstance(glue, FnDefTy)
    b = BodyBuilder("q1", args=[ty.ptr(ty.u8, mut=True)], ret=ty.unit)
    b.scope(inlined="core::ptr::drop_in_place::<m::D> - shim(Some(m::D))")
    assert answers(b.return_().build(), glue)
    b = BodyBuilder("q1", args=[ty.ptr(ty.u8, mut=True)], ret=ty.unit)
    b.scope(inlined="core::ptr::drop_in_place::<m::E> - shim(Some(m::E))")
    assert not answers(b.return_().build(), glue)
