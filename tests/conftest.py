"""What all tests share: where the toolchains are, and which lanes can run here."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class Rustc:
    """One compiler to test with: its path and its release, such as ``1.96.0`` or ``1.97.0-nightly``."""

    path: Path
    release: str

    @property
    def minor(self) -> int:
        """96 for 1.96.0."""
        return int(self.release.split(".")[1])


def _release(path: Path) -> str | None:
    """The release that ``rustc -vV`` names, or None when it does not run."""
    try:
        done = subprocess.run([str(path), "-vV"], capture_output=True, text=True, timeout=60)
    except OSError:
        return None
    for line in done.stdout.splitlines():
        if line.startswith("release: "):
            return line.removeprefix("release: ")
    return None


def _candidates() -> Iterator[Path]:
    """Compilers in the order in which tests prefer them: named by the environment, else found."""
    named = os.environ.get("MIRGEN_TEST_RUSTCS")
    if named:
        yield from (Path(word) for word in named.split(os.pathsep) if word)
        return
    special = os.environ.get("MIRGEN_RUSTC_196")
    if special:
        yield Path(special)
    rustup = shutil.which("rustup")
    if rustup:
        home = subprocess.run([rustup, "show", "home"], capture_output=True, text=True).stdout.strip()
        yield from sorted(Path(home, "toolchains").glob("*/bin/rustc"))
    plain = shutil.which("rustc")
    if plain:
        yield Path(plain)


@functools.cache
def find_rustcs() -> tuple[Rustc, ...]:
    """One compiler per minor version from 1.95 on, oldest first.

    ``MIRGEN_TEST_RUSTCS`` (paths joined by ``:``) replaces the search; without it: ``MIRGEN_RUSTC_196``,
    rustup's toolchains, and the rustc on PATH.
    """
    found: dict[int, Rustc] = {}
    for path in _candidates():
        release = _release(path)
        if release is None:
            continue
        rustc = Rustc(path, release)
        if rustc.minor >= 95:
            found.setdefault(rustc.minor, rustc)
    return tuple(found[minor] for minor in sorted(found))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes ``each_rustc`` runs once per compiler found here."""
    if "each_rustc" in metafunc.fixturenames:
        rustcs = find_rustcs()
        metafunc.parametrize("each_rustc", rustcs, ids=[rustc.release for rustc in rustcs])


@pytest.fixture(scope="session")
def rustcs() -> tuple[Rustc, ...]:
    """All compilers to test with; see `find_rustcs`."""
    found = find_rustcs()
    if not found:
        pytest.skip("no rustc from 1.95 on")
    return found


@pytest.fixture(scope="session")
def rustc_196() -> Path:
    """Debian's 1.96 with library sources, which alone can build core for nvptx64; skipped where it is not."""
    named = os.environ.get("MIRGEN_RUSTC_196")
    if not named:
        pytest.skip("MIRGEN_RUSTC_196 is not set: run tools/debian-rustc .toolchains/rust-1.96")
    return Path(named)


@functools.cache
def missing_for(marker: str) -> str | None:
    """Why tests with this marker cannot run here, or None when they can."""
    if marker == "cuda":
        absent = [name for name in ("cuda.bindings", "llvmlite") if not _importable(name)]
        return f"not installed: {', '.join(absent)} (extra `cuda`)" if absent else None
    if marker == "gpu":
        return None if Path("/dev/nvidiactl").exists() else "no NVIDIA GPU"
    if marker == "nvptx64":
        return None if os.environ.get("MIRGEN_RUSTC_196") else "MIRGEN_RUSTC_196 is not set"
    return None


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Lanes that cannot run here are skipped, with the reason, never passed."""
    for item in items:
        for marker in ("cuda", "gpu", "nvptx64"):
            if item.get_closest_marker(marker) is not None:
                reason = missing_for(marker)
                if reason:
                    item.add_marker(pytest.mark.skip(reason=reason))
