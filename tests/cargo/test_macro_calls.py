"""Macro calls from rustc's text with regions: which call wrote the code that panics."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.cargo.macro_calls import MacroCalls, read_macro_calls
from mirgen.mir.statement import Span

SOURCE = """\
fn f(x: i64, y: i64) {
    if x > 0 { panic!("same"); }
    if y > 0 { panic!("same"); }
    outer!(x, inner!(")", y));
    get!(x) + get!(y);
}
"""

#: A shortened text as rustc 1.95 prints it with `-Zverbose-internals`.
TEXT = """\
fn f(_1: i64, _2: i64) -> () {
    let mut _0: ();                      // return place in scope 0 at lib.rs:1:22: 1:22

    coverage Code { bcb: bcb0 } => lib.rs:1:1: 1:21 (#0);
    coverage Code { bcb: bcb0 } => lib.rs:2:8: 2:13 (#0);
    coverage Code { bcb: bcb1 } => lib.rs:2:16: 2:22 (#0);
    coverage Code { bcb: bcb2 } => lib.rs:3:8: 3:13 (#0);
    coverage Code { bcb: bcb3 } => lib.rs:3:16: 3:22 (#0);
    coverage Code { bcb: bcb4 } => lib.rs:4:5: 4:11 (#0);
    coverage Code { bcb: bcb4 } => lib.rs:4:15: 4:21 (#0);
    coverage Code { bcb: bcb6 } => lib.rs:5:5: 5:9 (#0);
    coverage Code { bcb: bcb6 } => lib.rs:5:15: 5:19 (#0);

    bb0: {
        Coverage::VirtualCounter(bcb0);  // bb0[0]: scope 0 at lib.rs:2:8: 2:13
        switchInt(move _4) -> [0: bb2, otherwise: bb1]; // bb0[1]: scope 0 at lib.rs:2:8: 2:13
    }

    bb1: {
        Coverage::VirtualCounter(bcb1);  // bb1[0]: scope 0 at m.rs:9:9: 9:20
        _8 = panic_fmt(move _9) -> unwind unreachable; // bb1[1]: scope 0 at m.rs:9:9: 9:20
    }

    bb2: {
        Coverage::VirtualCounter(bcb2);  // bb2[0]: scope 0 at lib.rs:3:8: 3:13
        switchInt(move _5) -> [0: bb4, otherwise: bb3]; // bb2[1]: scope 0 at lib.rs:3:8: 3:13
    }

    bb3: {
        Coverage::VirtualCounter(bcb3);  // bb3[0]: scope 0 at m.rs:9:9: 9:20
        _8 = panic_fmt(move _9) -> unwind unreachable; // bb3[1]: scope 0 at m.rs:9:9: 9:20
    }

    bb4: {
        Coverage::VirtualCounter(bcb4);  // bb4[0]: scope 0 at m.rs:20:9: 20:10
        switchInt(move _6) -> [0: bb6, otherwise: bb5]; // bb4[1]: scope 0 at m.rs:20:9: 20:10
    }

    bb5: {
        Coverage::VirtualCounter(bcb5);  // bb5[0]: scope 0 at m.rs:21:9: 21:10
        _9 = core::panicking::panic(const "no") -> unwind unreachable; // bb5[1]: scope 0 at m.rs:21:9: 21:10
    }

    bb6: {
        Coverage::VirtualCounter(bcb6);  // bb6[0]: scope 0 at m.rs:30:9: 30:10
        assert(move _7, "index") -> [success: bb7, unwind: bb9]; // bb6[1]: scope 0 at m.rs:30:9: 30:10
    }

    bb7: {
        assert(move _7, "index") -> [success: bb8, unwind: bb9]; // bb7[0]: scope 0 at m.rs:30:9: 30:10
    }

    bb8: {
        return;                          // bb8[0]: scope 0 at lib.rs:6:2: 6:2
    }

    bb9 (cleanup): {
        resume;                          // bb9[0]: scope 0 at lib.rs:1:1: 6:2
    }
}
"""

PANIC = Span("m.rs", 9, 9, 9, 20)
FIRST, SECOND = Span("lib.rs", 2, 8, 2, 13), Span("lib.rs", 3, 8, 3, 13)


@pytest.fixture
def calls(tmp_path: Path) -> MacroCalls:
    (tmp_path / "lib.rs").write_text(SOURCE)
    return read_macro_calls(TEXT, tmp_path)


def test_equal_panics_are_told_by_the_branches_before_them(calls: MacroCalls) -> None:
    assert str(calls.place_of(("f",), PANIC, [FIRST])) == "lib.rs:2:16"
    assert str(calls.place_of(("f",), PANIC, [SECOND, FIRST])) == "lib.rs:3:16"
    assert calls.place_of(("f",), PANIC, []) is None
    assert calls.branches == {FIRST, SECOND}


def test_or_by_their_turn(calls: MacroCalls) -> None:
    assert [str(calls.place_of(("f",), PANIC, [], lambda n=n: (n, 2))) for n in range(2)] == [
        "lib.rs:2:16",
        "lib.rs:3:16",
    ]
    assert calls.place_of(("f",), PANIC, [], lambda: (0, 1)) is None


def test_a_call_among_the_arguments_of_another_is_not_meant(calls: MacroCalls) -> None:
    """And it is the block before, whose region names the call, that tells."""
    assert str(calls.place_of(("f",), Span("m.rs", 21, 9, 21, 10), [])) == "lib.rs:4:5"


def test_code_that_several_calls_may_have_written_stays_where_it_is(calls: MacroCalls) -> None:
    code = Span("m.rs", 30, 9, 30, 10)
    assert {each.place for each in calls.code["f", code]} == {None}
    assert calls.place_of(("f",), code, []) is None


def test_code_of_no_macro(calls: MacroCalls) -> None:
    assert calls.place_of(("f",), FIRST, []) is None
    assert calls.place_of(("g",), PANIC, [FIRST]) is None


def test_sources_that_are_gone(tmp_path: Path) -> None:
    calls = read_macro_calls(TEXT, tmp_path)
    assert {each.place for found in calls.code.values() for each in found} == {None}


def test_functions_of_one_name_in_several_modules(tmp_path: Path) -> None:
    """Each is told by its path; what another crate's text calls it may begin with more."""
    one = TEXT.split("    bb2: {")[0].replace("[0: bb2, otherwise: bb1]", "bb1") + "}\n"
    other = one.replace("fn f(", "fn inner::f(").replace("2:16: 2:22", "3:16: 3:22")
    (tmp_path / "lib.rs").write_text(SOURCE)
    calls = read_macro_calls(one + "\n" + other, tmp_path)
    assert str(calls.place_of(("inner", "f"), PANIC, [])) == "lib.rs:3:16"
    assert str(calls.place_of(("dep", "inner", "f"), PANIC, [])) == "lib.rs:3:16"
    assert str(calls.place_of(("f",), PANIC, [])) == "lib.rs:2:16"
    assert calls.place_of(("<impl A for f>", "f"), PANIC, []) is not None
