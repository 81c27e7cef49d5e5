"""`new`: cargo's own crate with a kernel in it."""

from __future__ import annotations

from pathlib import Path

from tests.cli.support import Mirgen


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
