"""`new`, and `doctor`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.support import ROOT, Mirgen


def test_a_new_crate(mirgen: Mirgen, tmp_path: Path) -> None:
    done = mirgen("new", "hello-gpu", "--edition", "2024", cwd=tmp_path)
    assert (done.code, done.out) == (0, "")
    assert "Creating library `hello-gpu` package" in done.err
    assert "       Added a kernel in src/lib.rs; next: `cargo mirgen build` in there\n" in done.err
    crate = tmp_path / "hello-gpu"
    assert (crate / ".gitignore").read_text() == "/target\n"
    assert "#[kernel]" in (crate / "src" / "lib.rs").read_text()
    assert "mirgen-device" in (crate / "Cargo.toml").read_text()


def test_options_are_cargos(mirgen: Mirgen, tmp_path: Path) -> None:
    done = mirgen("new", "x", "--name", "other", "--vcs", "none", "-q", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert 'name = "other"' in (tmp_path / "x" / "Cargo.toml").read_text()
    assert not (tmp_path / "x" / ".gitignore").exists()


def test_what_cargo_refuses_is_said_once(mirgen: Mirgen, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    done = mirgen("new", "here", cwd=tmp_path)
    assert done.code == 101
    assert done.err.count("error:") == 1 and "already exists" in done.err


def test_no_cargo(mirgen: Mirgen, tmp_path: Path) -> None:
    done = mirgen("new", "here", cwd=tmp_path, PATH=str(tmp_path))
    assert done.code == 101
    assert "error: cargo: no cargo found" in done.err


def test_doctor_in_words(mirgen: Mirgen) -> None:
    done = mirgen("doctor", cwd=ROOT)
    assert done.code == 0, done.out
    assert "\n  build to PTX and run on the simulator: yes\n" in done.out


def test_doctor_where_there_is_no_rust(mirgen: Mirgen, tmp_path: Path) -> None:
    done = mirgen("doctor", "--message-format", "json", cwd=tmp_path, PATH=str(tmp_path))
    assert done.code == 101
    report = json.loads(done.out)
    missing = {finding["name"]: finding for finding in report["findings"] if finding["state"] == "missing"}
    assert set(missing) == {"rustc", "cargo"}
    assert "rustup.rs" in missing["rustc"]["fix"]
    assert "build to PTX and run on the simulator: no" in report["summary"]


def test_doctor_runs_where_little_is_installed() -> None:
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
