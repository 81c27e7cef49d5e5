"""The entry script: usage, its errors, and how little it costs when there is nothing to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def x(*arguments: str, script: Path = ROOT / "x", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ./x with this Python and the given changes to the environment."""
    env = {**os.environ, **variables}
    return subprocess.run([sys.executable, str(script), *arguments], capture_output=True, text=True, env=env)


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A checkout in which nothing is set up: the script and what it looks at."""
    shutil.copy(ROOT / "x", tmp_path / "x")
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    shim = tmp_path / "rustc-shim"
    (shim / "shim" / "src").mkdir(parents=True)
    (shim / "Cargo.toml").write_text('[workspace]\nmembers = ["shim"]\nresolver = "2"\n')
    (shim / "shim" / "Cargo.toml").write_text('[package]\nname = "mirgen-rustc"\nversion = "0.1.0"\nedition = "2021"\n')
    (shim / "shim" / "src" / "main.rs").write_text("fn main() {}\n")
    (shim / "Cargo.lock").write_text('version = 3\n\n[[package]]\nname = "mirgen-rustc"\nversion = "0.1.0"\n')
    return tmp_path / "x"


def test_usage_lists_the_verbs() -> None:
    done = x("--help")
    assert done.returncode == 0
    for verb in ("demo", "test", "check", "exec", "bench", "conformance", "fuzz", "faults"):
        assert f"\n  {verb} " in done.stdout


def test_wrong_use() -> None:
    assert x().returncode == 2
    done = x("tset")
    assert done.returncode == 2
    assert "no verb `tset`" in done.stderr and "./x VERB" in done.stderr


def test_exec_without_a_program() -> None:
    assert x("exec").returncode == 2
    done = x("exec", "no-such-program")
    assert done.returncode == 127 and "no-such-program" in done.stderr


def test_exec_runs_in_the_projects_environment() -> None:
    done = x("exec", "python", "-c", "import sys; print(sys.prefix)")
    assert done.stdout.strip() == str(ROOT / ".venv")


def test_nothing_to_do_costs_nothing() -> None:
    x("exec", "true")
    start = time.monotonic()
    done = x("exec", "true")
    assert done.returncode == 0 and done.stderr == ""
    assert time.monotonic() - start < 2, "half a second on a quiet machine"


def test_no_rustc_is_explained(fresh: Path, tmp_path: Path) -> None:
    done = x("exec", "true", script=fresh, PATH=str(tmp_path))
    assert done.returncode == 1
    assert "no `rustc` on PATH" in done.stderr and "rustup.rs" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_no_cargo_is_explained(fresh: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rustc").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "rustc").chmod(0o755)
    done = x("exec", "true", script=fresh, PATH=str(tmp_path / "bin"))
    assert done.returncode == 1
    assert "no `cargo` on PATH" in done.stderr


def test_a_shim_that_does_not_build_stops_the_set_up(fresh: Path, tmp_path: Path) -> None:
    (tmp_path / "rustc-shim" / "shim" / "src" / "main.rs").write_text("fn main() { nonsense }\n")
    done = x("exec", "true", script=fresh, CARGO_TARGET_DIR=str(tmp_path / "target"))
    assert done.returncode == 1
    assert "nonsense" in done.stderr and "the rustc shim does not build" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_an_old_python_is_told_so(tmp_path: Path) -> None:
    """The version test must stand before anything that an old Python cannot parse or import."""
    lines = (ROOT / "x").read_text().splitlines()
    head = [line for line in lines[: lines.index("import contextlib")] if not line.startswith("#")]
    script = tmp_path / "head.py"
    script.write_text("\n".join(head).replace("(3, 11)", "(99, 0)"))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "needs Python 3.11 or later; this is 3." in done.stderr
