"""Compiles golden programs: all of one edition are modules of one crate, so that cargo runs once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from mirgen.analysis.uniformity import check_uniform_facts
from mirgen.cargo.build import CargoBuild, cargo_build
from mirgen.cargo.crates import crates_dir
from mirgen.cargo.lock import lock_file, locked
from mirgen.cargo.options import CargoOptions
from mirgen.cargo.program import ClosedProgram, close_built
from mirgen.errors import InvalidInputError, ToolError
from mirgen.link.files import write_atomic
from mirgen.lower import Lowered, lower_program
from mirgen.mir.verify import verify_program
from mirgen.pipeline import is_intrinsic
from mirgen.runtime.abi import KernelSpec
from mirgen.runtime.module import Module
from mirgen.runtime.sim.launch import SimModule, SimOptions
from mirgen.runtime.simulated import SimExecutor
from mirgen.runtime.sites import sites_of
from mirgen.targets.host import HostTarget
from mirgen.targets.host_abi import ENTRY
from mirgen.targets.nvptx import NvptxTarget
from mirgen.testing.golden.header import Kind, Lane
from mirgen.testing.suite.marks import CrateTest, find_tests

_CRATE: Final = "golden"
_LEVELS: Final[dict[Lane, int]] = {"cpu-o0": 0, "cpu-o3": 3}
_TIMEOUT: Final = 60.0


@dataclass(frozen=True, slots=True)
class Source:
    """A program's file, and what it is checked for."""

    path: Path
    kind: Kind
    edition: str

    @property
    def module(self) -> str:
        """Its module in the crate."""
        return f"{self.kind}_{self.path.stem}".replace("-", "_")

    @property
    def copy(self) -> str:
        """Its file in the crate, as rustc names it."""
        return f"src/{self.module}.rs"


@dataclass(frozen=True, slots=True)
class _Made:
    """A crate's build and its tests; ``stamps`` tell whether anyone has built it otherwise since."""

    build: CargoBuild
    tests: tuple[CrateTest, ...]
    stamps: tuple[int, ...]


def _stamps(build: CargoBuild) -> tuple[int, ...]:
    return tuple(unit.record.stat().st_mtime_ns for unit in build.units)


@dataclass(slots=True)
class Bench:
    """``work`` is a folder for crates and what is made of them; ``dependencies`` are lines for Cargo.toml beside the
    device library's, with paths relative to ``root``."""

    work: Path
    root: Path
    dependencies: Sequence[str] = ()
    _sources: dict[Path, Source] = field(default_factory=dict[Path, Source], init=False)
    _made: dict[str, _Made] = field(default_factory=dict[str, _Made], init=False)
    _failed: dict[str, ToolError] = field(default_factory=dict[str, ToolError], init=False)

    def add(self, source: Source) -> None:
        """Has the program compiled with the others."""
        self._sources[source.path] = source

    def tests(self, source: Source) -> tuple[CargoBuild, tuple[CrateTest, ...]]:
        """The build that holds the program, and the program's tests.

        Raises:
            ToolError: rustc refuses one of the edition's programs.
            InvalidInputError: the program has no test.
        """
        if source.edition in self._failed:
            raise self._failed[source.edition]
        with self._alone():
            made = self._made.get(source.edition)
            if made is None or made.stamps != _stamps(made.build):
                try:
                    build = self._build(source.edition)
                except ToolError as error:
                    self._failed[source.edition] = error
                    raise
                made = _Made(build, find_tests(build), _stamps(build))
                self._made[source.edition] = made
        own = tuple(test for test in made.tests if test.path.startswith(f"{source.module}::"))
        if not own:
            raise InvalidInputError("the program has no function with `#[mirgen::test]`", str(source.path))
        return made.build, own

    def close(self, source: Source) -> ClosedProgram:
        """Everything that the program's tests reach.

        Raises:
            UnsupportedError: mirgen refuses it.
        """
        with self._alone():
            build, tests = self.tests(source)
            symbols = [test.symbol for test in tests]
            _, closed = close_built(build, lambda: self._build(source.edition), is_intrinsic(), symbols, quiet=True)
        verify_program(closed.program)
        for kernel in closed.program.kernels:
            check_uniform_facts(closed.program, kernel, closed.reached_bodies(kernel.name))
        return closed

    def _build(self, edition: str) -> CargoBuild:
        folder = self.work / edition
        self._write(folder, edition)
        manifest = folder / "Cargo.toml"
        return cargo_build(
            CargoOptions(manifest_path=manifest, target="host", target_dir=self.work / "target", quiet=True, tests=True)
        )

    def _alone(self) -> AbstractContextManager[None]:
        """pytest-xdist's workers share the crates, and what is asked about them lies in one folder."""
        return locked(lock_file(self.work))

    def _write(self, folder: Path, edition: str) -> None:
        """The crate: a module for each program, a copy inside, because mirgen asks about copies of whole crates."""
        sources = sorted((s for s in self._sources.values() if s.edition == edition), key=lambda s: s.module)
        modules = "".join(f"pub mod {source.module};\n" for source in sources)
        dependencies = [f"mirgen-device = {{ path = {json.dumps(str(crates_dir() / 'device'))} }}"]
        dependencies += [line.replace('path = "', f'path = "{self.root}/') for line in self.dependencies]
        manifest = (
            f'[package]\nname = "{_CRATE}-{edition}"\nversion = "0.0.0"\nedition = "{edition}"\n\n'
            "[dependencies]\n" + "\n".join(dependencies) + "\n\n[workspace]\n"
        )
        files = {source.copy: source.path.read_text(encoding="utf-8") for source in sources}
        files |= {"src/lib.rs": f"#![no_std]\n#![allow(unused)]\n{modules}", "Cargo.toml": manifest}
        for name, text in files.items():
            path = folder / name
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                write_atomic(path, text.encode())

    def folder(self, source: Source) -> Path:
        """The folder of the program's crate."""
        return self.work / source.edition


def simulated(closed: ClosedProgram, lane: Lane) -> Module:
    """The program's tests on the simulator.

    Raises:
        UnsupportedError: lowering refuses it.
    """
    lowered = lower_program(closed.program, closed.layouts, HostTarget())
    names = tuple(ENTRY + kernel.name for kernel in lowered.kernels)
    options = replace(SimOptions(), opt_level=_LEVELS[lane], timeout=_TIMEOUT)
    executor = SimExecutor(SimModule(lowered.text, names, tuple(sites_of(lowered.text))), options)
    return Module(_CRATE, [KernelSpec.of(kernel) for kernel in lowered.kernels], executor, "sim")


def for_gpu(closed: ClosedProgram) -> Lowered:
    """The program's IR for a GPU, each statement of MIR as a comment above its own; a panic only traps.

    Raises:
        UnsupportedError: lowering refuses it.
    """
    return lower_program(closed.program, closed.layouts, NvptxTarget("trap"), annotate=True)
