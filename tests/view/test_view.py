"""Functions out of texts, the choice among them, and the user's lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.diagnostics import SourceMap
from mirgen.view import Item, Line, NoChoiceError, choose, interleave, list_items, llvm_items, ptx_items, sass_items
from mirgen.view.llvmir import at_users_lines
from mirgen.view.sass import Disassembly

PTX = """\
.version 8.0
.target sm_90
.address_size 64

.extern .func (.param .b32 func_retval0) vprintf
(
\t.param .b64 vprintf_param_0
)
;

.func helper(
\t.param .b32 helper_param_0
)
{
\tret;
}

.func __mirgen_note()
{
\tret;
}
\t// .globl\tsecond
.visible .entry second()
{
\t.loc\t1 3 5
\t{ // callseq 0, 0
\tcall.uni\x20
\thelper,\x20
\t(
\tparam0
\t);
\t} // callseq 0
\tcall.uni __mirgen_note, ();
$L__tmp0:
\t.loc\t1 0 5
\tret;
}
.visible .entry first(
\t.param .u64 first_param_0
)
{
\tret;
}
\t.file\t1 "src/lib.rs"
"""

LLVM = """\
define internal i32 @"_M1_helper"(i32 %".1") !dbg !9
{
  ret i32 %".1"
}
define void @first() !dbg !4 {
entry:
  %a = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !7
  %b = call i32 @"_M1_helper"(i32 %a), !dbg !10
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
!1 = !DIFile(filename: "lib.rs", directory: "src")
!2 = !DIFile(filename: "num.rs", directory: "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src")
!4 = distinct !DISubprogram(name: "first", scope: !1, file: !1, line: 2)
!7 = !DILocation(line: 128, column: 5, scope: !8, inlinedAt: !10)
!8 = distinct !DISubprogram(name: "a, b(c)", scope: !2, file: !2)
!9 = distinct !DISubprogram(name: "helper", scope: !1, file: !1, line: 9)
!10 = distinct !DILocation(line: 3, column: 19, scope: !4)
"""


def texts(item: Item) -> list[str]:
    """The lines without their sources."""
    return [line.text for line in item.lines]


def test_ptx_kernels_come_with_what_they_call() -> None:
    first, second, helper = ptx_items(PTX, ["first", "second"])
    assert [first.name, second.name, helper.name] == ["first", "second", "helper"]
    assert first.kernel and second.kernel and not helper.kernel
    assert texts(helper) == [".func helper(", "\t.param .b32 helper_param_0", ")", "{", "\tret;", "}"]
    assert texts(second)[0] == "\t// .globl\tsecond"
    assert texts(second)[-len(texts(helper)) - 1 :] == ["", *texts(helper)]
    assert "\tret;" in texts(second) and "$L__tmp0:" not in texts(second)
    call = next(line for line in second.lines if line.text == "\thelper, ")
    assert call.source == ("src/lib.rs", 3)
    assert second.lines[-len(texts(helper)) - 3].source == ("src/lib.rs", 3), "line 0 is no line"


def test_llvm_functions_and_the_users_lines() -> None:
    first, helper = llvm_items(LLVM, ["first"])
    assert (first.kernel, helper.kernel) == (True, False)
    assert texts(helper)[0] == 'define internal i32 @"_M1_helper"(i32 %".1")'
    assert first.lines[2] == Line("  %a = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()", ("src/lib.rs", 3))
    assert texts(first)[-4:] == texts(helper)


def test_line_tables_are_moved_to_the_users_lines() -> None:
    moved = at_users_lines(LLVM)
    assert "!7 = !DILocation(line: 3, column: 19, scope: !4)\n" in moved
    assert moved.replace("!7 = !DILocation(line: 3, column: 19, scope: !4)", "") == LLVM.replace(
        "!7 = !DILocation(line: 128, column: 5, scope: !8, inlinedAt: !10)", ""
    )


def test_sass_labels_and_padding() -> None:
    def one(opcode: str, operands: str = "", **more: object) -> dict[str, object]:
        return {"opcode": opcode, "operands": operands, **more}

    instructions = [
        one("LDC", "R1,c[0x0][0x28]", **{"source-file-id": 0, "source-line": 7}),
        one("BRA", "0x30", predicate="@P0"),
        one("BPT.TRAP", "0x1"),
        one("EXIT"),
        one("NOP"),
        one("NOP"),
    ]
    function: dict[str, object] = {"function-name": "k", "start": 0, "length": 96, "sass-instructions": instructions}
    (item,) = sass_items(Disassembly([function], ["src/lib.rs"], (("k", 32, "$k$panic"),)), ["k"])
    assert texts(item) == [
        "k:",
        "    /*0000*/       LDC R1, c[0x0][0x28]",
        "    /*0010*/   @P0 BRA .L_0030",
        "$k$panic:",
        "    /*0020*/       BPT.TRAP 0x1",
        ".L_0030:",
        "    /*0030*/       EXIT",
    ]
    assert item.lines[1].source == ("src/lib.rs", 7)


def test_interleaving_shows_a_line_when_it_changes(tmp_path: Path) -> None:
    (tmp_path / "a.rs").write_text("one\n    two\n")
    places = {"x": ("a.rs", 2), "y": None, "z": ("a.rs", 2), "w": ("/gone/b.rs", 9), "v": ("a.rs", 1)}
    lines = [Line(text, place) for text, place in places.items()]
    assert list(interleave(lines, SourceMap([tmp_path]), ";")) == [
        "; a.rs:2:     two", "x", "y", "z", "; /gone/b.rs:9:", "w", "; a.rs:1: one", "v",
    ]  # fmt: skip


ITEMS = (Item("step", True, (Line(""),)), Item("stepper", True, ()), Item("inner", False, ()))


@pytest.mark.parametrize(("wanted", "name"), [("step", "step"), ("pper", "stepper"), ("2", "inner"), ("inn", "inner")])
def test_choosing(wanted: str, name: str) -> None:
    assert choose(ITEMS, wanted).name == name


def test_the_only_kernel_needs_no_name() -> None:
    assert choose((ITEMS[0], ITEMS[2]), None).name == "step"


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (None, "which one? Name it, or give its number:\n  0 step     [1 lines, kernel]\n  1 stepper"),
        ("st", "`st` may be one of these; name it, or give its number:\n  0 step     [1 lines, kernel]\n  1 stepper"),
        ("9", "there is no number 9; there are:\n  0 step"),
        ("stepp_r", "no function is called `stepp_r`; did you mean `stepper`?\n  0 step"),
        ("zzz", "no function is called `zzz`; there are:\n  0 step"),
    ],
)
def test_no_choice_is_a_list(wanted: str | None, message: str) -> None:
    with pytest.raises(NoChoiceError) as error:
        choose(ITEMS, wanted)
    assert error.value.message.startswith(message)


def test_a_list_keeps_the_numbers() -> None:
    assert list_items(ITEMS, [ITEMS[2]]) == "  2 inner  [0 lines]"
