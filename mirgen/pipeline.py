"""The ordered stages from a crate to artefacts, as a table; every stage's text is kept beside the result.

``cargo -> close -> lower (device) -> PTX -> cubin`` for each architecture and ``lower (host)`` for the simulator.
Each stage is timed; :func:`build` stops at the first that fails and leaves earlier artefacts as they were.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mirgen import __version__
from mirgen.cargo.build import CargoBuild, cargo_build
from mirgen.cargo.options import CargoOptions
from mirgen.cargo.program import ClosedProgram, close_program

Codegen = Literal["llvm", "nvvm"]
Assembler = Literal["auto", "ptxas", "nvjitlink", "none"]


@dataclass(frozen=True, slots=True)
class StageTime:
    """Wall-clock seconds of one stage, and the process's peak resident set (bytes, children apart) after it."""

    stage: str
    seconds: float
    peak_bytes: int


@dataclass(slots=True)
class Progress:
    """Collects stage times and tells the user, in cargo's look."""

    quiet: bool = False
    times: list[StageTime] = field(default_factory=list[StageTime])

    def status(self, verb: str, rest: str) -> None:
        if not self.quiet:
            from mirgen.diagnostics import status_line

            print(status_line(verb, rest), file=sys.stderr, flush=True)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.times.append(StageTime(name, time.perf_counter() - start, peak))


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """``archs`` are architecture names (``sm_90``); ``kernels`` limits the build to some (empty: all)."""

    cargo: CargoOptions = field(default_factory=CargoOptions)
    archs: tuple[str, ...] = ("sm_90",)
    codegen: Codegen = "llvm"
    assembler: Assembler = "auto"
    kernels: tuple[str, ...] = ()
    simulator: bool = True


def read_program(options: CargoOptions, kernels: tuple[str, ...], progress: Progress) -> tuple[CargoBuild, ClosedProgram]:
    """Stages ``cargo`` and ``close``: compile with stock rustc, then read everything the kernels reach.

    Raises:
        ToolError, UnsupportedError, InvalidInputError: see :func:`cargo_build` and :func:`close_program`.
    """
    with progress.stage("cargo"):
        build = cargo_build(options)
    progress.status("Reading", f"kernels of {build.root.crate_name} ({build.target})")
    with progress.stage("close"):
        closed = close_program(build, is_intrinsic(), kernels)
    return build, closed


def is_intrinsic() -> Callable[[str], bool]:
    """Whether a callee's text names a function that lowering itself provides."""
    from mirgen.intrinsics import lookup

    return lambda path: lookup(path) is not None


VERSION = __version__
