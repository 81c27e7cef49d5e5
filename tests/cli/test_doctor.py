"""`doctor` in each state of a machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mirgen.cli import checkup
from mirgen.cli.checkup import Finding, check_up, summary
from mirgen.cli.main import main
from mirgen.link.discover import WANTED, Tool
from tests.cli.support import ROOT, Mirgen

HERE = Path("/somewhere")


def no_tool(_name: str) -> None:
    """Nothing is installed."""
    return


def every_tool(name: str) -> Tool:
    """Everything is."""
    return Tool(name, HERE / name, "13.0", "wheel")


def a_gpu() -> Iterator[Finding]:
    """One device."""
    yield Finding("GPU", "driver", "ok", "CUDA 13.0, 1 device(s)", "libcuda.so.1")


def test_where_there_is_no_rust(mirgen: Mirgen, tmp_path: Path) -> None:
    done = mirgen("doctor", "--message-format", "json", cwd=tmp_path, PATH=str(tmp_path))
    assert done.code == 101
    report = json.loads(done.out)
    missing = {finding["name"]: finding for finding in report["findings"] if finding["state"] == "missing"}
    assert set(missing) == {"rustc", "cargo"}
    assert "rustup.rs" in missing["rustc"]["fix"]
    assert "build to PTX and run on the simulator: no" in report["summary"]
    assert "crates compiled for: none" in report["summary"]


def test_where_rustup_has_no_toolchain(mirgen: Mirgen, tmp_path: Path) -> None:
    """`rustc` is there and says what is wrong and what helps; the rest of its words is no help."""
    for name in ("rustc", "cargo"):
        said = f"error: rustup could not choose a version of {name} to run\nhelp: run 'rustup default stable'\n\nStack:"
        (tmp_path / name).write_text(f'#!/bin/sh\nprintf "%b" "{said}" >&2; exit 1\n')
        (tmp_path / name).chmod(0o755)
    done = mirgen("doctor", "--message-format", "json", cwd=tmp_path, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert done.code == 101
    missing = {f["name"]: f for f in json.loads(done.out)["findings"] if f["state"] == "missing"}
    assert set(missing) == {"rustc", "cargo"}
    for name, finding in missing.items():
        assert finding["detail"] == f"did not answer: rustup could not choose a version of {name} to run"
        assert finding["fix"] == "run 'rustup default stable'"


def test_a_fix_for_several_is_said_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(checkup, "find_tool", no_tool)
    monkeypatch.setattr(checkup, "find_package", no_tool)
    with pytest.raises(SystemExit):
        main(["doctor"])
    shown = capsys.readouterr().out
    assert shown.count("mirgen[cuda]") == 1
    assert shown.index("cuda-core ") < shown.index("mirgen[cuda]") < shown.index("GPU")


def test_without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "find_tool", no_tool)
    monkeypatch.setattr(checkup, "find_package", no_tool)
    findings = check_up()
    cuda = [finding for finding in findings if finding.group == "CUDA"]
    assert {finding.name for finding in cuda} == {*(wanted.name for wanted in WANTED), "cuda-bindings", "cuda-core"}
    assert all(finding.state == "optional" and "mirgen[cuda]" in finding.fix for finding in cuda)
    assert not [finding for finding in findings if finding.state == "missing"]
    assert "build to PTX and run on the simulator: yes" in summary(findings)
    assert "cubins: no; libNVVM as code generator: no" in summary(findings)


def test_host_target_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rustc = tmp_path / "rustc"
    answer = "release: 1.96.0\\nhost: x86_64-unknown-linux-gnu\\ncommit-hash: 0123456789abcdef"
    rustc.write_text(f"#!/bin/sh\ncase $1 in -vV) printf '{answer}\\n';; *) echo {tmp_path};; esac\n")
    rustc.chmod(0o755)
    monkeypatch.setenv("RUSTC", str(rustc))
    monkeypatch.setenv("MIRGEN_CACHE_DIR", str(tmp_path / "cache"))
    findings = check_up()
    (core,) = [finding for finding in findings if finding.name == "nvptx64 core"]
    assert core.state == "optional" and "rustup component add rust-src" in core.fix
    assert "crates compiled for: the host target only" in summary(findings)


def test_everything_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def built(_toolchain: object) -> Path:
        return HERE

    monkeypatch.setattr(checkup, "find_tool", every_tool)
    monkeypatch.setattr(checkup, "find_package", every_tool)
    monkeypatch.setattr(checkup, "built_sysroot", built)
    monkeypatch.setattr(checkup, "_device", a_gpu)
    findings = check_up()
    assert {finding.state for finding in findings} == {"ok"}
    assert summary(findings) == (
        "build to PTX and run on the simulator: yes",
        "crates compiled for: nvptx64-nvidia-cuda",
        "cubins: yes; libNVVM as code generator: yes",
        "run on a GPU: yes",
    )


def test_in_words(mirgen: Mirgen) -> None:
    done = mirgen("doctor", cwd=ROOT)
    assert done.code == 0, done.out
    assert "\n  build to PTX and run on the simulator: yes\n" in done.out
    short = mirgen("doctor", "--message-format", "short", cwd=ROOT).out
    assert len(short.splitlines()) < len(done.out.splitlines()) and "fix:" not in short


def test_where_little_is_installed() -> None:
    """No package but click and platformdirs can be imported."""
    script = (
        "import sys\n"
        "absent = 'llvmlite numpy pydantic elftools networkx ml_dtypes rich cuda'\n"
        "sys.modules.update(dict.fromkeys(absent.split()))\n"
        "from mirgen.cli import main\n"
        "main(['doctor'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 101), done.stderr
    assert "What works" in done.stdout and done.stderr == ""
