"""Every kind of error has its documented code, and failures of kernels look like errors of rustc."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.cli.exit import OutputError, exit_code, show
from mirgen.errors import Diagnostic, InternalError, InvalidInputError, MirgenError, ToolError, UnsupportedError
from mirgen.runtime.errors import DivergentBarrierError, KernelPanicError, LaunchError
from tests.cli.support import FIXTURE

PANIC = KernelPanicError("oh", kernel="k", block=(1, 0, 0), thread=(2, 0, 0), location="src/lib.rs:11:19")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InternalError("x"), 1),
        (InvalidInputError("x"), 2),
        (LaunchError("x"), 2),
        (ToolError("rustc", "x"), 101),
        (ToolError("cargo", "", status=101), 101),
        (ToolError("rust-src", "x"), 101),
        (ToolError("mirgen-rustc", "x"), 101),
        (ToolError("cargo", "cargo metadata failed", status=101), 102),
        (UnsupportedError(Diagnostic("MG0301", "x")), 103),
        (ToolError("ptxas", "x"), 104),
        (ToolError("LLVM", "x"), 104),
        (ToolError("libNVVM", "x"), 104),
        (ToolError("simulator", "x"), 105),
        (ToolError("CUDA driver", "x"), 105),
        (PANIC, 105),
        (OutputError("x"), 110),
    ],
)
def test_codes(error: MirgenError, code: int) -> None:
    assert exit_code(error) == code


def test_a_panic_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    show(PANIC, "short")
    assert capsys.readouterr().err == "src/lib.rs:11:19: error: oh\n"


def test_a_panic_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    show(PANIC, roots=[FIXTURE])
    err = capsys.readouterr().err
    assert "\n11 |         *y += a * x[i.get()];\n   |                   ^\n" in err
    assert err.endswith("   = note: in kernel `k`, block (1, 0, 0), thread (2, 0, 0)\n")


def test_a_failure_without_thread_or_place(capsys: pytest.CaptureFixture[str]) -> None:
    show(DivergentBarrierError("divergent barrier", kernel="k", block=(0, 0, 0)))
    assert capsys.readouterr().err == "error: divergent barrier\n = note: in kernel `k`, block (0, 0, 0)\n"


def test_several_refusals_close_with_their_codes(capsys: pytest.CaptureFixture[str]) -> None:
    show(UnsupportedError(Diagnostic("MG0301", "b"), Diagnostic("MG0201", "a"), Diagnostic("MG0301", "c")))
    err = capsys.readouterr().err
    assert "\nSome errors have detailed explanations: MG0201, MG0301.\n" in err
    assert err.endswith("For more information about an error, try `cargo mirgen explain MG0201`.\n")


def test_what_cargo_said_is_not_said_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    show(ToolError("cargo", "", command=["cargo", "check"], status=101))
    assert capsys.readouterr() == ("", "")
    show(ToolError("cargo", "cargo metadata failed", command=["cargo"], output="error: cargo's own\n", status=101))
    assert capsys.readouterr() == ("", "error: cargo's own\n")
