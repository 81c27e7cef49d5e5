"""Goldens of how diagnostics look.  The texts stand here whole: read them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from textwrap import dedent

import pytest

from mirgen.diagnostics import Palette, Renderer, SourceMap, report, wants_colour
from mirgen.errors import (
    Diagnostic,
    InternalError,
    InvalidInputError,
    Location,
    MirgenError,
    ToolError,
    UnsupportedError,
)

SOURCE = dedent(
    """\
    fn a() {
    \tlet é漢 = foo(
            1,
            2,
        );
        let y = bar(x, y);
    }
    // 8
    // 9
    // 10
    fn z() {}
    """
)


def at(line: int, col: int, end_line: int, end_col: int, file: str = "src/lib.rs") -> Location:
    return Location(file, line, col, end_line, end_col)


@pytest.fixture
def renderer(tmp_path: Path) -> Renderer:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/lib.rs").write_text(SOURCE, encoding="utf-8")
    return Renderer(SourceMap([tmp_path]))


def golden(text: str) -> str:
    return dedent(text).lstrip("\n")


def test_one_line_with_labels_in_two_files(renderer: Renderer) -> None:
    made = renderer.human(
        Diagnostic(
            "MG0301",
            "the layout of `X` is not known",
            at(6, 13, 6, 22),
            "called from here",
            ["reached from kernel `saxpy`", "first line\nsecond line"],
            ["name the type"],
            [(at(6, 9, 6, 10), "kept here"), (at(11, 4, 11, 5), "and here"), (at(7, 1, 7, 4, "other.rs"), "elsewhere")],
        )
    )
    assert made == golden(
        """
        error[MG0301]: the layout of `X` is not known
          --> src/lib.rs:6:13
           |
        6  |     let y = bar(x, y);
           |             ^^^^^^^^^ called from here
           |         - kept here
        ...
        11 | fn z() {}
           |    - and here
           |
          ::: other.rs:7:1
           = elsewhere (line 7)
           |
           = note: reached from kernel `saxpy`
           = note: first line
                   second line
           = help: name the type
        """
    )


def test_many_lines_from_the_middle_of_a_line_with_tab_and_wide_characters(renderer: Renderer) -> None:
    assert renderer.human(Diagnostic("MG0301", "multi", at(2, 11, 5, 6), "all of this")) == golden(
        """
        error[MG0301]: multi
         --> src/lib.rs:2:11
          |
        2 |       let é漢 = foo(
          |  _______________^
        3 | |         1,
        4 | |         2,
        5 | |     );
          | |_____^ all of this
        """
    )


def test_many_lines_from_the_indent(renderer: Renderer) -> None:
    assert renderer.human(Diagnostic("MG0301", "whole", at(1, 1, 11, 10), "it")) == golden(
        """
        error[MG0301]: whole
          --> src/lib.rs:1:1
           |
        1  | / fn a() {
        2  | |     let é漢 = foo(
        3  | |         1,
        ...
        10 | | // 10
        11 | | fn z() {}
           | |_________^ it
        """
    )


def test_line_between_two_labels_is_shown(renderer: Renderer) -> None:
    made = renderer.human(Diagnostic("MG0301", "m", at(3, 9, 3, 10), "", labels=[(at(5, 5, 5, 6), "end")]))
    assert made == golden(
        """
        error[MG0301]: m
         --> src/lib.rs:3:9
          |
        3 |         1,
          |         ^
        4 |         2,
        5 |     );
          |     - end
        """
    )


def test_without_location_or_source(renderer: Renderer) -> None:
    assert renderer.human(Diagnostic("", "nowhere", notes=["n"])) == "error: nowhere\n = note: n\n"
    made = renderer.human(Diagnostic("MG0001", "m", at(3, 1, 3, 2, "gone.rs"), "here"))
    assert made == "error[MG0001]: m\n --> gone.rs:3:1\n  = here (line 3)\n"
    past_the_end = renderer.human(Diagnostic("MG0001", "m", at(99, 1, 99, 2), "here"))
    assert past_the_end == "error[MG0001]: m\n  --> src/lib.rs:99:1\n"


def test_colours_only_wrap(renderer: Renderer) -> None:
    d = Diagnostic("MG0301", "m", at(2, 11, 5, 6), "l", ["n"], ["h"], [(at(6, 9, 6, 10), "x")])
    coloured = Renderer(renderer.sources, Palette(True)).human(d)
    assert "\x1b[1;91merror[MG0301]\x1b[0m" in coloured
    import re

    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == renderer.human(d)


def test_short(renderer: Renderer) -> None:
    assert renderer.short(Diagnostic("MG0301", "m", at(2, 11, 5, 6))) == "src/lib.rs:2:11: error[MG0301]: m\n"


def test_json_has_rustcs_shape(renderer: Renderer) -> None:
    made = json.loads(renderer.json(Diagnostic("MG0301", "m", at(6, 13, 6, 22), "lab", ["n"], ["h"])))
    assert list(made) == ["$message_type", "message", "code", "level", "spans", "children", "rendered"]
    assert made["code"]["code"] == "MG0301" and "asks rustc" in made["code"]["explanation"]
    (span,) = made["spans"]
    source = SOURCE.encode()
    assert source[span["byte_start"] : span["byte_end"]] == b"bar(x, y)"
    assert span["text"] == [{"text": "    let y = bar(x, y);", "highlight_start": 13, "highlight_end": 22}]
    assert [(c["level"], c["message"]) for c in made["children"]] == [("note", "n"), ("help", "h")]
    assert made["rendered"].startswith("error[MG0301]: m\n --> src/lib.rs:6:13\n")


@pytest.mark.parametrize(
    ("error", "human", "short"),
    [
        (
            InvalidInputError("unknown kind 'x'", "a.json: bodies[0]"),
            "error: unknown kind 'x'\n --> a.json: bodies[0]\n",
            "a.json: bodies[0]: error: unknown kind 'x'\n",
        ),
        (
            ToolError(
                "ptxas", "did not accept the PTX", command=["ptxas", "a b.ptx"], output="line 5; bad\n", status=255
            ),
            "error: ptxas: did not accept the PTX (exit status 255)\n --- ptxas says\nline 5; bad\n ---\n"
            "  = note: the command was `ptxas 'a b.ptx'`\n",
            "error: ptxas: did not accept the PTX (exit status 255)\n",
        ),
        (
            ToolError("llvm", "died", status=-11),
            "error: llvm: died (killed by signal 11)\n",
            "error: llvm: died (killed by signal 11)\n",
        ),
        (
            InternalError("dereference of `u32`", statement="_3 = copy (*_1)"),
            "error: internal error of mirgen: dereference of `u32`\n  = MIR: _3 = copy (*_1)\n"
            "  = note: this is a fault of mirgen 0.1.0, not of your code\n"
            "  = help: please report it with this text, the output of `cargo mirgen doctor` and, if you can, "
            "the function\n",
            "error: internal error of mirgen: dereference of `u32`\n",
        ),
    ],
)
def test_kinds_of_error_look_different(renderer: Renderer, error: MirgenError, human: str, short: str) -> None:
    assert report(error, renderer) == human
    assert report(error, renderer, "short") == short
    assert json.loads(report(error, renderer, "json"))["rendered"] == human


def test_several_diagnostics_are_apart(renderer: Renderer) -> None:
    error = UnsupportedError(Diagnostic("MG0101", "a"), Diagnostic("MG0102", "b"))
    assert report(error, renderer) == "error[MG0101]: a\n\nerror[MG0102]: b\n"
    assert report(error, renderer, "short") == "error[MG0101]: a\nerror[MG0102]: b\n"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_choice() -> None:
    terminal, pipe = _Terminal(), io.StringIO()
    assert wants_colour(terminal, {}) and not wants_colour(pipe, {})
    assert not wants_colour(terminal, {"NO_COLOR": "1"}) and wants_colour(terminal, {"NO_COLOR": ""})
    assert not wants_colour(terminal, {"TERM": "dumb"})
    assert wants_colour(pipe, {"CARGO_TERM_COLOR": "always", "NO_COLOR": "1"})
    assert not wants_colour(terminal, {"CARGO_TERM_COLOR": "never"})
    assert wants_colour(pipe, {"CARGO_TERM_COLOR": "never"}, "always")
    assert not wants_colour(terminal, {"CARGO_TERM_COLOR": "always"}, "never")
