"""`asm`: every view, choosing a function, the Rust lines between."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.support import PRELUDE, Done, Mirgen, make_crate

TAKES = r"saxpy for sm_90: \d+ registers, 0 B shared, \d+ B stack, no spills"


@pytest.mark.parametrize(
    ("view", "comment", "holds", "holds_not"),
    [
        ("--ptx", "// ", (".visible .entry saxpy(", "mul.rn.f32", "bra"), ("saxpy_stride", ".version")),
        ("--llvm", "; ", ("define ptx_kernel void @saxpy(", "fmul float", "fadd float"), ("saxpy_stride", "target ")),
        ("--sass", "// ", ("saxpy:\n", "FMUL", "FADD", "EXIT", "BRA .L_"), ("saxpy_stride", "NOP")),
        ("--llvm-input", "", ('define void @"saxpy"(', "__mirgen_kernel_saxpy_L1", "fmul float"), ("saxpy_stride",)),
        ("--mir", "", ("fn __mirgen_kernel_saxpy_L1(_1: f32", "Mul(", "assert("), ("saxpy_stride",)),
    ],
)
def test_views(
    mirgen: Mirgen,
    built: Done,
    crate: Path,
    view: str,
    comment: str,
    holds: tuple[str, ...],
    holds_not: tuple[str, ...],
) -> None:
    done = mirgen.build(view, "saxpy", "-q", cwd=crate, verb="asm")
    assert (done.code, done.err) == (0, "")
    first = done.out.splitlines()[0]
    assert re.fullmatch(comment + TAKES, first) if comment else "registers" not in done.out
    for text in holds:
        assert text in done.out
    for text in holds_not:
        assert text not in done.out
    assert "src/lib.rs:" not in done.out


@pytest.mark.parametrize("view", ["--ptx", "--sass", "--llvm", "--llvm-input", "--mir"])
def test_the_rust_lines_between(mirgen: Mirgen, built: Done, crate: Path, view: str) -> None:
    done = mirgen.build(view, "--rust", "saxpy", "-q", cwd=crate, verb="asm")
    assert (done.code, done.err) == (0, "")
    quoted = [line for line in done.out.splitlines() if re.match(r"(//|;) \S+\.rs:\d+: ", line)]
    comment = ";" if "llvm" in view else "//"
    assert f"{comment} src/lib.rs:9:     let i = thread::index_1d();" in quoted
    assert f"{comment} src/lib.rs:11:         *y += a * x[i.get()];" in quoted
    assert all("src/lib.rs" in line for line in quoted), "what was inlined is shown at the user's own line"
    assert "!dbg" not in done.out and ".loc" not in done.out
    multiply = next(i for i, line in enumerate(done.out.splitlines()) if re.search(r"mul\.rn|FMUL|fmul|Mul\(", line))
    above = [line for line in done.out.splitlines()[:multiply] if line in quoted][-1]
    assert ":11:" in above, "the multiplication stands in line 11"


def test_several_kernels_and_no_name(mirgen: Mirgen, built: Done, crate: Path) -> None:
    done = mirgen.build("-q", cwd=crate, verb="asm")
    assert (done.code, done.out) == (2, "")
    assert re.fullmatch(
        r"error: which one\? Name it, or give its number:\n"
        r"  0 saxpy         \[\d+ lines, kernel\]\n"
        r"  1 saxpy_stride  \[\d+ lines, kernel\]\n",
        done.err,
    )


def test_part_of_a_name(mirgen: Mirgen, built: Done, crate: Path) -> None:
    done = mirgen.build("stride", "-q", cwd=crate, verb="asm")
    assert done.code == 0
    assert ".visible .entry saxpy_stride(" in done.out
    done = mirgen.build("sax", "-q", cwd=crate, verb="asm")
    assert done.code == 2 and "`sax` may be one of these" in done.err


def test_one_kernel_of_a_crate_whose_others_are_refused(mirgen: Mirgen, built: Done, tmp_path: Path) -> None:
    source = PRELUDE + (
        'unsafe extern "C" {\n    fn getpid() -> i32;\n}\n'
        "#[kernel]\npub fn good(mut y: Disjoint<[i32]>) {\n"
        "    if let Some(y) = y.get_mut(thread::index_1d()) {\n        *y += 1;\n    }\n}\n"
        "#[kernel]\npub fn bad(mut y: Disjoint<[i32]>) {\n"
        "    if let Some(y) = y.get_mut(thread::index_1d()) {\n        *y += unsafe { getpid() };\n    }\n}\n"
    )
    crate = make_crate(tmp_path / "crate", source, name="mixed")
    done = mirgen.build("good", cwd=crate, verb="asm")
    assert done.code == 0, done.err
    assert ".visible .entry good(" in done.out
    assert (
        "Warning other kernels of the crate are refused (see `cargo mirgen check`): only `good` is compiled\n"
        in done.err
    )
    launch = ("good", "--grid", "1", "--block", "2", "--arg", "y=[1, 2]")
    done = mirgen.build(*launch, "-q", cwd=crate, verb="run")
    assert (done.code, done.out) == (0, "y: Disjoint<[i32]>, 2 elements\n[2, 3]\n"), done.err
    for wanted in ("bad", "goo"):
        done = mirgen.build(wanted, "-q", cwd=crate, verb="asm")
        assert (done.code, done.out) == (103, "") and "error[MG0201]: kernel `bad` calls `getpid`" in done.err


def test_everything(mirgen: Mirgen, built: Done, crate: Path) -> None:
    done = mirgen.build("--everything", "-q", cwd=crate, verb="asm")
    assert done.code == 0
    assert done.out == (mirgen.target / "mirgen" / "debug" / "saxpy" / "sm_90" / "saxpy.ptx").read_text()
