"""The part of the whole matrix (``./x conformance``) that every run of the tests does, and its builds, made once."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path

import pytest

from mirgen.pipeline import BuildResult
from mirgen.testing.conformance import CHECKS, SIMULATOR, build_fixture
from mirgen.testing.fixture import Fixture, fixture_paths, load_fixture
from mirgen.testing.lanes import Lane, find_lanes

CRATES = Path(__file__).parents[2] / "fixtures" / "crates"
FIXTURES = {path.name: load_fixture(path) for path in fixture_paths(CRATES)}
LANES = find_lanes()

#: Every fixture on the oldest compiler.  Of the crates.io fixtures, which take rustc long, one kernel each; of the
#: heap's what needs no sources.
KERNELS: dict[str, tuple[str, ...]] = {
    "crates_glam": ("transform",),
    "crates_libm": ("circular", "exponential"),
    "crates_rand_chacha": ("chacha8",),
    "crates_sha2": ("sha256",),
    "crates_xxhash": ("xxh64",),
    "heap": ("raw",),
}
#: Fixtures of much code, or whose calls rustc inlines late, are asked of all checks those: one architecture for LLVM,
#: and for each dialect of libNVVM.
LARGE = frozenset({*KERNELS, "leftovers", "coroutines"})
LARGE_CHECKS = (SIMULATOR, "llvm sm_90", "nvvm sm_90", "nvvm sm_100")
#: What differs most from compiler to compiler, in the other lanes.  Sorting (b3) takes more builds of core than a run
#: of the tests has time for.
OTHER_LANES: dict[str, tuple[str, ...]] = {
    "saxpy": ("saxpy", "saxpy_stride"),
    "block_reduce": ("block_sum", "block_steps"),
    "params": ("nested", "array_u128", "choice"),
    "iterators": ("a1", "b3", "b6", "c2", "helper"),
    "lang": ("dynk", "captures"),
    "heap": ("raw",),
    "leftovers": ("closures", "traits", "supertraits", "callables"),
}


def checks_of(fixture: Fixture) -> tuple[str, ...]:
    """What the sample asks of the fixture's kernels."""
    return LARGE_CHECKS if fixture.crate in LARGE else CHECKS


def sample(crate: str, kernels: tuple[str, ...] = ()) -> Fixture:
    """A fixture with some of its kernels, or all."""
    fixture = FIXTURES[crate]
    chosen = tuple(kernel for kernel in fixture.kernels if not kernels or kernel.name in kernels)
    assert not kernels or len(chosen) == len(kernels), f"{crate} lacks one of {kernels}"
    return dataclasses.replace(fixture, kernels=chosen)


def sampled() -> list[tuple[Lane, Fixture]]:
    """Lane and fixture of every test of the sample."""
    pairs: list[tuple[Lane, Fixture]] = []
    for number, lane in enumerate(LANES):
        chosen = {crate: KERNELS.get(crate, ()) for crate in FIXTURES} if number == 0 else dict(OTHER_LANES)
        if number > 0 and lane.target == "host" and "core" in lane.offers:
            chosen["iterators"] = ("a1", "b6", "b8", "helper")
        if lane.target == "nvptx64":
            chosen["iterators"] = ("a1", "b6", "c2")
            chosen["heap"] = ("vectors", "raw")
        pairs += [(lane, sample(crate, kernels)) for crate, kernels in chosen.items()]
    return pairs


@functools.cache
def built(crate: str, kernels: tuple[str, ...] = (), profile: str = "release") -> BuildResult:
    """A fixture built on the oldest compiler for all architectures by LLVM, once for all tests."""
    if not LANES:
        pytest.skip("no rustc from 1.95 on")
    return build_fixture(sample(crate, kernels), LANES[0], profile)
