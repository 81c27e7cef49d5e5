"""What a function's and a call's source say of where panics are reported."""

from __future__ import annotations

import pytest

from mirgen.cargo.panic_places import method_name, tracked_definition
from mirgen.mir.statement import Span


def result_of(text: str, mark: str = "-> u8") -> Span:
    """Where the type of a function's result stands."""
    at = text.index(mark) + 3
    line = text.count("\n", 0, at) + 1
    col = at - (text.rfind("\n", 0, at) + 1) + 1
    return Span("f.rs", line, col, line, col + 2)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("#[track_caller]\nfn f(x: u8) -> u8 { x }", (2, 1)),
        ("#[track_caller] pub(crate) unsafe fn f(x: u8) -> u8 { x }", (1, 17)),
        ("#[inline(never)]\n#[track_caller]\n/// fn f, documented\npub const fn f(x: u8) -> u8 { x }", (4, 1)),
        ('impl X {\n    #[track_caller]\n    #[doc = "["]\n    fn f(self) -> u8 { 1 }\n}', (4, 5)),
        ('impl X {\n    #[track_caller]\n    #[doc(alias = "g")]\n    extern "C" fn f(self) -> u8 { 1 }\n}', (4, 5)),
        ("#[track_caller]\nfn g() {}\nfn f(x: u8) -> u8 { x }", None),
        ("#[cfg_attr(a, track_caller)]\nfn f(x: u8) -> u8 { x }", None),
        ("// #[track_caller]\nfn f(x: u8) -> u8 { x }", None),
        ("#[track_caller]\nfn ff(x: u8) -> u8 { x }", None),
    ],
)
def test_definitions(text: str, place: tuple[int, int] | None) -> None:
    found = tracked_definition(text, "f", result_of(text))
    assert (None if found is None else (found.line, found.col)) == place


def test_a_file_that_is_gone() -> None:
    assert tracked_definition("", "f", Span("f.rs", 3, 1, 3, 2)) is None
    assert method_name("", Span("f.rs", 3, 1, 3, 2)) == Span("f.rs", 3, 1, 3, 2)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("x.f(1)", "f"),
        ("x.g(h(2)).f(')', \")\", (3))", "f"),
        ("x\n    .g()\n    .f::<Vec<u8>>(/* ) */ 1)", "f"),
        ("f(x.g())", "f"),
        ("a::f(x)", "a"),
        ("x[1]", "x"),
        ("(x.y)(1)", "("),
    ],
)
def test_calls(call: str, name: str) -> None:
    text = f"fn k() {{\n  let z = {call};\n}}\n"
    start = text.index(call)
    end = start + len(call)
    last = text.rfind("\n", 0, end) + 1
    span = Span("f.rs", 2, 11, text.count("\n", 0, end) + 1, end - last + 1)
    found = method_name(text, span)
    lines = text.split("\n")
    assert lines[found.line - 1][found.col - 1 :].startswith(name)
    if name != "f" or call.startswith("f"):
        assert found == span
