"""The compilers that are installed here, and the lanes that tests run in: a compiler with what it compiles for."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from mirgen.cargo.toolchain import probe


@dataclass(frozen=True, slots=True)
class Rustc:
    """One compiler to test with: its path and its release, such as ``1.96.0`` or ``1.97.0-nightly``."""

    path: Path
    release: str

    @property
    def minor(self) -> int:
        """96 for 1.96.0."""
        return int(self.release.split(".")[1])

    @property
    def has_library_sources(self) -> bool:
        """Whether an own core can be built for it."""
        return probe(self.path).library is not None


@dataclass(frozen=True, slots=True)
class Lane:
    """A compiler, and what crates are compiled for."""

    rustc: Rustc
    target: Literal["host", "nvptx64"]

    @property
    def name(self) -> str:
        """Such as ``1.96-nvptx64``."""
        return f"1.{self.rustc.minor}-{self.target}"

    @property
    def offers(self) -> frozenset[str]:
        """What kernels may need and have here: ``core`` is the MIR of all of core's functions."""
        return frozenset({"core"} if self.target == "nvptx64" or self.rustc.has_library_sources else ())

    @contextmanager
    def active(self) -> Generator[None]:
        """Inside, cargo and mirgen take this lane's compiler."""
        names = ("RUSTC", "RUSTUP_TOOLCHAIN")
        before = {name: os.environ.get(name) for name in names}
        os.environ["RUSTC"] = str(self.rustc.path)
        os.environ.pop("RUSTUP_TOOLCHAIN", None)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

    def __str__(self) -> str:
        return self.name


#: The codes with which a kernel is refused that needs what its lane does not offer.
REFUSALS: Final = {
    "core": frozenset({"MG0201"}),
}


def expected_refusal(needs: frozenset[str], lane: Lane) -> frozenset[str] | None:
    """The codes with which a kernel of these needs is refused in ``lane``; ``None`` where it compiles."""
    missing = sorted(needs - lane.offers)
    return REFUSALS[missing[0]] if missing else None


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


def find_lanes() -> tuple[Lane, ...]:
    """Every compiler for the host, and for nvptx64 the one whose library sources ``MIRGEN_RUSTC_196`` promises."""
    lanes: list[Lane] = []
    special = os.environ.get("MIRGEN_RUSTC_196")
    for rustc in find_rustcs():
        lanes.append(Lane(rustc, "host"))
        if special is not None and rustc.path == Path(special):
            lanes.append(Lane(rustc, "nvptx64"))
    return tuple(lanes)


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
