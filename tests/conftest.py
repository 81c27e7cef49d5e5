"""What all tests share: where the toolchains are, and which lanes can run here."""

from __future__ import annotations

import functools
import importlib.util
import os
from pathlib import Path

import pytest

from mirgen.testing.lanes import Rustc, find_rustcs


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
