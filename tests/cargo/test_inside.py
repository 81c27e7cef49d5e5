"""Constants inside functions' bodies: which one a path means, and what proves it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from mirgen.cargo.build import Unit
from mirgen.cargo.dump import AllocNumbers, CrateDump
from mirgen.cargo.implementations import spans_from
from mirgen.cargo.inside import constants_inside, find_by_spans, find_inside, find_promoted_by_spans
from mirgen.cargo.join import Ambiguous, group_by_name
from mirgen.cargo.queries import INSIDE, chosen_level
from mirgen.cargo.unit import UnitRecord
from mirgen.ingest import Header
from mirgen.mir.body import Block, Body, Local, Scope
from mirgen.mir.builder import BodyBuilder, TypeMaker
from mirgen.mir.place import UnevaluatedConst
from mirgen.mir.statement import Goto, Return, SourceInfo, Span
from mirgen.mir.ty import Ty, UnsupportedTy

TY = TypeMaker("k")
UNIT = UnitRecord("k", Path("/p/src/lib.rs"), Path("/p"), Path("/p"), {}, True, "k 1.0.0")


def headers(*texts: str) -> dict[str, list[Header]]:
    """An index; each text is ``kind header`` or ``kind header = instance``."""
    made: list[Header] = []
    for line, text in enumerate(texts, 1):
        kind, _, rest = text.partition(" ")
        name, _, instance = rest.partition(" = ")
        assert kind in ("fn", "const", "anon")
        made.append(Header(name, instance or None, kind, line, (), "[u32; 4]"))
    return group_by_name(made)


def line_of(found: Header | Ambiguous | None) -> int | None:
    assert not isinstance(found, Ambiguous)
    return None if found is None else found.line


def test_constants_inside_bodies() -> None:
    index = headers("fn f", "const f::K", "const m::K", "fn m::h", "fn m::h", "const m::h::K", "const m::h::K")
    assert line_of(find_inside("f::K", "k", "k", index)) == 2
    assert find_inside("m::K", "k", "k", index) is None, "in a module"
    assert isinstance(find_inside("m::h::K", "k", "k", index), Ambiguous)


def test_the_function_around_is_that_of_the_path() -> None:
    index = headers(
        "fn <impl at f.rs:1:1: 1:9>::f = <A as T>::f", "const <impl at f.rs:1:1: 1:9>::f::K",
        "fn <impl at f.rs:2:1: 2:9>::f = <B as T>::f", "const <impl at f.rs:2:1: 2:9>::f::K",
        "fn <impl at f.rs:3:1: 3:9>::f = W::<X>::f", "const <impl at f.rs:3:1: 3:9>::f::K",
        "fn g", "const g::K",
    )  # fmt: skip
    paths = ("<k::A as k::T>::f::K", "<k::B as k::T>::f::K", "k::W::<X>::f::K", "k::g::K", "<k::C as k::T>::f::K")
    assert [line_of(find_inside(path, "other", "k", index)) for path in paths] == [2, 4, 6, 8, None]


def test_what_one_macro_wrote_has_constants_of_its_own() -> None:
    block = "<impl at f.rs:1:1: 1:9>::f"
    index = headers(f"fn {block} = <A as T>::f", f"const {block}::K", f"fn {block} = <B as T>::f", f"const {block}::K")
    assert line_of(find_inside("<k::A as k::T>::f::K", "other", "k", index)) == 2
    assert line_of(find_inside("<k::B as k::T>::f::K", "other", "k", index)) == 4


def test_what_is_inside_of_what_is_inside() -> None:
    block = "<impl at f.rs:1:1: 1:9>::f"
    index = headers(
        f"fn {block} = <A as T>::f", f"fn {block}::{{closure#0}}", f"const {block}::{{closure#0}}::K",
        f"fn {block}::g = g", f"const {block}::g::K",
        "fn g", "const g::K",
    )  # fmt: skip
    assert line_of(find_inside("<A as T>::f::{closure#0}::K", "k", "k", index)) == 3
    assert line_of(find_inside("<A as T>::f::g::K", "k", "k", index)) == 5
    assert find_inside("<A as T>::f::{closure#1}::K", "k", "k", index) is None
    assert find_inside("<B as T>::f::g::K", "k", "k", index) is None
    assert line_of(find_inside("g::K", "k", "k", index)) == 7


def test_a_function_at_the_path_itself_is_no_re_exported_one() -> None:
    index = headers("fn a::f", "const a::f::K", "fn f", "const f::K")
    assert line_of(find_inside("k::f::K", "other", "k", index)) == 4
    assert isinstance(find_inside("k::b::f::K", "other", "k", index), Ambiguous)


def test_blocks_depend_on_generic_arguments() -> None:
    index = headers("fn f", "anon f::{constant#0}", "const f::K")
    assert line_of(find_inside("f::{constant#0}", "k", "k", index)) == 2
    assert constants_inside("f::<u8>::{constant#0}", index) == []
    assert [header.line for header, _ in constants_inside("f::<u8>::K", index)] == [3]


def test_the_answer_inside_a_body_is_that_body_s() -> None:
    index = [
        header
        for group in headers(
            f"fn a::f::{INSIDE}q1", f"fn b::f::{INSIDE}q1", f"fn m::<impl at f.rs:1:30: 1:39>::f::{INSIDE}q1"
        ).values()
        for header in group
    ]
    assert [h.line for h in chosen_level(index, f"{INSIDE}q1", "b::f")] == [2]
    assert [h.line for h in chosen_level(index, f"{INSIDE}q1", "m::<impl at f.rs:1:20: 1:29>::f")] == [3]
    assert chosen_level(index, f"{INSIDE}q1", "c::f") == []
    again = [*index, Header(f"b::f::{INSIDE}q1", None, "fn", 9, (), "u8")]
    assert chosen_level(again, f"{INSIDE}q1", "b::f") == []


# ---------------------------------------------------------------- by spans


def span(line: int) -> Span:
    return Span("/p/f.rs", line, 1, line, 9)


def body(header: str, *scopes: tuple[int | None, str | None]) -> Body:
    """Each scope (its parent, what is inlined there) has one statement, on the line of its number."""
    blocks = [Block(False, (), Goto(SourceInfo(span(i), i), i + 1)) for i in range(len(scopes))]
    blocks.append(Block(False, (), Return(SourceInfo(None, None))))
    made = tuple(Scope(parent, inlined, False, None) for parent, inlined in scopes)
    return Body("k", "fn", header, None, 0, (Local(TY.unit, True, None, None),), made, tuple(blocks), span(0))


def lines(own: Body, path: str, scope: int) -> list[int]:
    return sorted(each.line for each in spans_from(own, path, SourceInfo(span(scope), scope), UNIT))


INLINED = body(
    "q", (None, None), (0, "<a::A as T>::f"), (1, None), (1, "g"), (0, "<b::A as T>::f"), (0, "<u8 as T>::f")
)


@pytest.mark.parametrize(
    ("path", "scope", "found"),
    [
        ("<a::A as T>::f", 1, [1, 2]),
        ("<a::A as T>::f", 2, [1, 2]),
        ("<a::A as T>::f", 3, [1, 2]),  # what it inlined in turn
        ("<b::A as T>::f", 4, [4]),
        ("<a::A as T>::f", 0, []),  # the use is elsewhere
        ("<a::A as T>::f", 4, []),
        ("<c::A as T>::f", 1, []),
        ("<X as T>::f", 5, [1, 2, 4, 5]),  # any of them may be its instance
        ("g", 3, [3]),
    ],
)
def test_the_function_around_a_constant_is_one_that_was_inlined(path: str, scope: int, found: list[int]) -> None:
    assert lines(INLINED, path, scope) == found


def test_the_function_around_a_constant_is_the_body_itself() -> None:
    own = "m::<impl at f.rs:1:1: 1:9>::f"
    assert lines(body(own, (None, None), (0, None)), "<A as T>::f", 1) == [0, 1]
    # It may be that of the other, whose value was carried here.
    assert lines(body(own, (None, None), (0, "<A as T>::f")), "<A as T>::f", 0) == []
    assert lines(body(own, (None, None), (0, "<A as T>::f")), "<A as T>::f", 1) == []
    assert lines(body("m::g", (None, None)), "<A as T>::f", 0) == []


class Blind(CrateDump):
    """A crate whose headers tell no instances: functions over these lines of a file, and constants inside them."""

    def __init__(self, tmp_path: Path, *rows: tuple[Header, Body]) -> None:
        record = tmp_path / "core.json"
        package = {"name": "core", "version": "1", "manifest_dir": "/p"}
        args = ["--crate-name", "core", "/p/f.rs"]
        unit = {"crate_name": "core", "cwd": "/p", "args": args, "primary": False, "package": package}
        record.write_text(json.dumps(unit))
        super().__init__(Unit("core", record, record, False), tmp_path, tmp_path, AllocNumbers())
        self._index = tuple(header for header, _ in rows)
        self._by_name = group_by_name(self._index)
        self._own = dict(rows)

    def bodies(self, headers: Iterable[Header]) -> dict[Header, Body]:
        return {header: self._own[header] for header in headers}


def function(line: int, header: str, first: int, last: int) -> tuple[Header, Body]:
    blocks = [Block(False, (), Goto(SourceInfo(span(at), 0), 1)) for at in (first, last)]
    local = (Local(TY.unit, True, None, None),)
    own = Body("core", "fn", header, None, 0, local, (Scope(None, None, False, None),), tuple(blocks), span(first))
    return Header(header, None, "fn", line, (), "u32"), own


def constant(line: int, header: str, output: Ty, *, value: Ty | None = None) -> tuple[Header, Body]:
    kind = "promoted" if "promoted" in header else "const"
    b = BodyBuilder(header, ret=output, kind="const")
    if value is not None:
        b.local(value)
    return Header(header, None, kind, line, (), output.text), b.return_().build()


def blind(tmp_path: Path) -> Blind:
    a, b = "<impl at f.rs:1:1: 1:9>::f", "<impl at f.rs:20:1: 20:9>::f"
    param = UnsupportedTy("X", "core", "param")
    return Blind(
        tmp_path, function(1, a, 1, 9), constant(2, f"{a}::K", TY.u32), constant(3, f"{a}::promoted[0]", TY.u8),
        function(4, b, 20, 29), constant(5, f"{b}::K", TY.u32), constant(6, f"{b}::promoted[0]", TY.u8),
        constant(7, f"{b}::promoted[1]", TY.u8, value=param),
    )  # fmt: skip


def using(line: int, inlined: str = "<A as T>::f") -> Body:
    """A body with that function inlined, whose one statement is on ``line``."""
    own = body("q", (None, None), (0, inlined))
    at = Block(False, (), Goto(SourceInfo(span(line), 1), 1))
    return replace(own, blocks=(at, own.blocks[-1]))


@pytest.mark.parametrize(("line", "found"), [(5, 2), (25, 5), (15, None)])
def test_spans_tell_the_implementation(tmp_path: Path, line: int, found: int | None) -> None:
    const = UnevaluatedConst("<A as T>::f::K", None, TY.u32)
    chosen = find_by_spans(const, SourceInfo(span(line), 1), using(line), UNIT, blind(tmp_path))
    assert line_of(chosen) == found


@pytest.mark.parametrize(
    ("line", "number", "ty", "found"),
    [
        (5, 0, TY.u8, 3),
        (25, 0, TY.u8, 6),
        (15, 0, TY.u8, None),
        (25, 0, TY.u16, None),
        (25, 1, TY.u8, None),  # it depends on a generic argument
        (25, 2, TY.u8, None),
    ],
)
def test_spans_tell_promoted_constants(tmp_path: Path, line: int, number: int, ty: Ty, found: int | None) -> None:
    const = UnevaluatedConst("<A as T>::f", number, ty)
    chosen = find_promoted_by_spans(const, SourceInfo(span(line), 1), using(line), UNIT, blind(tmp_path))
    assert line_of(chosen) == found
