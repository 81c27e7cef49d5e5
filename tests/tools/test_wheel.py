"""The wheel holds everything that a user needs: package, commands, shim, device crates; and nothing else."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from mirgen.link.manifest import load_manifest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel as `pip wheel .` makes it; maturin's folder in `target` serves one at a time."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--no-build-isolation"]
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}  # maturin
    command += ["--wheel-dir", str(folder), str(ROOT)]
    with (ROOT / "pyproject.toml").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command, capture_output=True, text=True, env=env)
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


@pytest.fixture(scope="module")
def installed(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts' folder of an environment that has the wheel, and no trace of this checkout.

    The dependencies are those of the environment that runs the tests, whose editable mirgen stays out: a path file in
    another path file's folder is not read.
    """
    home = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", str(wheel.filename)], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


@pytest.mark.slow
def test_a_new_crate_builds_with_the_wheel_alone(installed: Path, tmp_path: Path) -> None:
    env = {
        **os.environ,
        "PATH": f"{installed}{os.pathsep}{os.environ['PATH']}",
        "MIRGEN_CACHE_DIR": str(tmp_path / "cache"),
    }
    env.pop("CARGO_TARGET_DIR", None)
    env.pop("PYTHONPATH", None)

    def run(*command: str, cwd: Path) -> str:
        done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    where = run("python", "-c", "import mirgen; print(mirgen.__file__)", cwd=tmp_path)
    assert where.startswith(str(installed.parent))
    run("cargo", "mirgen", "new", "hello-gpu", cwd=tmp_path)
    crate = tmp_path / "hello-gpu"
    run("cargo", "mirgen", "build", "--arch", "sm_90", cwd=crate)
    (manifest,) = (crate / "target" / "mirgen").rglob("manifest.json")
    assert load_manifest(manifest).kernels
    assert not [path for path in crate.rglob("*.toml") if str(ROOT) in path.read_text()]
