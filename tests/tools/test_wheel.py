"""The wheel holds everything that a user needs: package, commands, shim, device crates; and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel as `pip wheel .` makes it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--no-build-isolation"]
    done = subprocess.run([*command, "--wheel-dir", str(folder), str(ROOT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("mirgen-*.whl")
    return zipfile.ZipFile(path)


def names(wheel: zipfile.ZipFile) -> set[str]:
    """All files, with the versioned data folder's name cut off."""
    return {name.split(".data/")[-1] for name in wheel.namelist()}


def test_one_wheel_for_every_python(wheel: zipfile.ZipFile) -> None:
    assert "-py3-none-" in (wheel.filename or "")


def test_commands_and_shim(wheel: zipfile.ZipFile) -> None:
    assert {"scripts/mirgen", "scripts/cargo-mirgen", "scripts/mirgen-rustc"} <= names(wheel)
    for name in wheel.namelist():
        if name.endswith(("scripts/mirgen", "scripts/cargo-mirgen")):
            assert wheel.read(name).startswith(b"#!python\n"), "pip replaces just this line"
        elif name.endswith("scripts/mirgen-rustc"):
            assert wheel.read(name)[:4] == b"\x7fELF"


def test_the_whole_package(wheel: zipfile.ZipFile) -> None:
    tracked = subprocess.run(["git", "ls-files", "mirgen"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    missing = {name for name in tracked if (ROOT / name).is_file()} - names(wheel)
    assert tracked and not missing


def test_sources_of_the_device_crates(wheel: zipfile.ZipFile) -> None:
    for crate in ("device", "macros"):
        folder = ROOT / "rustc-shim" / crate
        wanted = {f"mirgen/_crates/{crate}/{path.relative_to(folder)}" for path in (folder / "src").rglob("*.rs")}
        assert wanted and wanted | {f"mirgen/_crates/{crate}/Cargo.toml"} <= names(wheel)


def test_no_build_output_and_no_tests(wheel: zipfile.ZipFile) -> None:
    for name in names(wheel):
        assert "/target/" not in name and "__pycache__" not in name and not name.startswith(("tests/", "rustc-shim/"))


def test_the_device_crates_stand_alone() -> None:
    """Outside the repository there is no workspace to inherit from, and no sibling but the other crate."""
    for crate in ("device", "macros"):
        text = (ROOT / "rustc-shim" / crate / "Cargo.toml").read_text()
        assert "workspace = true" not in text
        assert text.count("path = ") == text.count('path = "../')
