"""The crate that ``cargo mirgen new`` makes is an ordinary one."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

from mirgen.cargo.template import new_crate
from mirgen.errors import ToolError


@pytest.mark.slow
def test_a_new_crate_passes_cargo_check_without_warnings(tmp_path: Path) -> None:
    manifest = new_crate(tmp_path / "hello-gpu", args=["--vcs", "none"])
    package = tomllib.loads(manifest.read_text())
    assert package["package"]["name"] == "hello-gpu"
    assert list(package["dependencies"]) == ["mirgen-device"]
    done = subprocess.run(
        ["cargo", "check", "--color=never"], cwd=manifest.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    formatted = subprocess.run(["cargo", "fmt", "--check"], cwd=manifest.parent, capture_output=True, check=False)
    assert formatted.returncode == 0


def test_cargo_refuses_what_is_no_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ToolError):
        new_crate(tmp_path / "1st")
    assert "the name cannot start with a digit" in capfd.readouterr().err
    assert not (tmp_path / "1st").exists()


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    with pytest.raises(ToolError):
        new_crate(tmp_path / "here")
    assert not list((tmp_path / "here").iterdir())
