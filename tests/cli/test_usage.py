"""Words, flags, help, exit codes: nothing is compiled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mirgen import __version__
from mirgen.cli.main import COMMANDS, main
from mirgen.diagnostics.codes import CODES
from tests.cli.support import ROOT, Mirgen


def call(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a call in this process."""
    with pytest.raises(SystemExit) as ended:
        main(args)
    assert isinstance(ended.value.code, int)
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "--help")
    assert code == 0
    for name, text in COMMANDS.items():
        assert f"\n  {name:<8} {text[:50]}" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, name, "-h")
    assert code == 0
    assert out.startswith(f"Usage: mirgen {name}")


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "-V") == (0, f"mirgen {__version__}\n", "")


def test_without_a_command_the_help_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys)
    assert code == 2
    assert out == "" and "Commands:" in err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("biuld",), "error: no such command: `biuld`; did you mean `build`?"),
        (("build", "--relese"), "error: no such option '--relese'"),
        (("build", "--codegen", "gcc"), "error: invalid value for '--codegen': 'gcc' is not one of"),
        (("build", "--release", "--profile", "x"), "error: `--release` and `--profile` exclude each other"),
        (("build", "--lib", "--example", "x"), "error: only one of `--lib`, `--bin` and `--example`"),
        (("build", "--arch", "sm_9"), "error: unknown architecture `sm_9`; did you mean sm_90?"),
        (("asm", "--ptx", "--sass"), "error: one at a time: --ptx or --sass"),
        (("asm", "--everything", "saxpy"), "error: --everything takes no KERNEL"),
        (("asm", "--sass", "--assembler", "none"), "error: there is no SASS without an assembler"),
        (("asm", "--llvm", "--codegen", "nvvm"), "error: libNVVM does not show its optimised IR"),
        (("run", "saxpy"), "error: missing option '--grid'"),
        (("run", "--grid", "4q", "--block", "1"), "error: invalid value for '--grid': '4q' is no extent"),
        (("run", "--grid", "1,1,1,1", "--block", "1"), "'1,1,1,1' is no extent: up to three numbers"),
        (("run", "--grid", "1", "--block", "1", "--arg", "a"), "error: 'a' is no NAME=VALUE\n --> --arg"),
        (("run", "--grid", "1", "--block", "1", "--arg", "a=1", "--arg", "a=2"), "error: `a` is given twice"),
        (("explain", "MG9999"), "error: there is no error code `MG9999`"),
    ],
)
def test_wrong_use_exits_with_2(args: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, *args)
    assert (code, out) == (2, "")
    assert message in err


def test_a_wrong_flag_shows_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = call(capsys, "build", "--relese")
    assert "\n\nUsage: mirgen build [OPTIONS] [KERNEL]... [-- CARGO_ARGS...]\n\nFor more information" in err


def test_errors_follow_the_message_format(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "build", "--arch", "sm_9", "--message-format=json")
    assert code == 2
    assert err == "" and out.startswith('{"$message_type": "diagnostic"') and out.count("\n") == 1


def test_an_output_that_cannot_be_written_is_known_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = call(capsys, "run", "--grid", "1", "--block", "1", "--out", f"y={tmp_path}")
    assert code == 110
    assert f"{tmp_path}: cannot be written: is a folder" in err


def test_a_device_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "run", "--grid", "1", "--block", "1", "--device", "gpu")
    assert code == 2
    assert "no device 'gpu': it is sim, cuda or cuda:N" in err


@pytest.mark.parametrize("spelling", ["MG0101", "mg0101", "101"])
def test_explain(spelling: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "explain", spelling)
    assert code == 0
    assert out.startswith("MG0101: the crate has no kernel\n\nNothing in the crate is marked `#[kernel]`")


def test_explain_alone_lists_all_codes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "explain")
    assert code == 0
    assert out.splitlines() == [f"{known.name}  {known.title}" for known in CODES.values()]


def test_a_fault_of_ours_looks_like_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(name: str) -> str:
        raise ZeroDivisionError(name)

    monkeypatch.setattr("mirgen.cli.commands.explain.explain", broken)
    code, out, err = call(capsys, "explain", "MG0101")
    assert (code, out) == (1, "")
    assert err.startswith("Traceback")
    assert "\nerror: internal error of mirgen: ZeroDivisionError: MG0101\n" in err
    assert "this is a fault of mirgen" in err and "please report it" in err


def test_cargo_calls_us_with_its_own_word(tmp_path: Path) -> None:
    program = tmp_path / "cargo-mirgen"
    program.write_text((ROOT / "tools" / "wheel-data" / "scripts" / "cargo-mirgen").read_text())
    done = subprocess.run(
        [sys.executable, str(program), "mirgen", "build", "--help"], capture_output=True, text=True, cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: cargo mirgen build")


def test_a_closed_pipe_is_no_error(mirgen: Mirgen, tmp_path: Path) -> None:
    reader = f"{sys.executable} -m mirgen explain 2>err | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", reader], cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert done.stdout == "0\n"
    assert (tmp_path / "err").read_text() == ""
