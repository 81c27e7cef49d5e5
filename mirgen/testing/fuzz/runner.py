"""Programs through all lanes: natively, as constants, by mirgen on the simulator with and without optimisation, and
to PTX that ptxas takes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from mirgen.cargo.options import CargoOptions
from mirgen.errors import Diagnostic, MirgenError, UnsupportedError
from mirgen.pipeline import BuildOptions, BuildResult, Progress, build
from mirgen.runtime.errors import KernelPanicError
from mirgen.runtime.loading import module_of
from mirgen.runtime.module import Module
from mirgen.runtime.sim.launch import SimOptions
from mirgen.testing.conformance import describe
from mirgen.testing.fuzz.crate import CONSTANTS, RUN, module_file, write_library, write_sources
from mirgen.testing.fuzz.generator import Program
from mirgen.testing.fuzz.native import NotRustError, Panicked, Result, Value, run_native
from mirgen.testing.lanes import Lane

#: ``invalid``: rustc itself refuses the program, a fault of the generator.
Status = Literal["pass", "wrong", "crash", "refused", "invalid"]

#: LLVM's levels on the simulator: the text as mirgen wrote it, and after all passes.
LEVELS: Final = {"cpu-O0": 0, "cpu-O3": 3}
_NAMED: Final = re.compile(r"\bp(\d+)(?:\.rs\b|::)")


@dataclass(frozen=True, slots=True)
class Setup:
    """Where and how programs are examined."""

    lane: Lane
    profile: Literal["dev", "release"]
    folder: Path
    arch: str = "sm_90"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a program.

    ``lane`` is where it was ``wrong``, ``reason`` names the fault without what differs from case to case: a code of
    mirgen's where it was ``refused``.
    """

    program: Program
    profile: str
    status: Status
    lane: str = ""
    reason: str = ""
    detail: str = ""

    @property
    def fault(self) -> tuple[str, str, str]:
        """What a smaller program must show to be of the same fault."""
        return self.status, self.lane, self.reason

    def __str__(self) -> str:
        return f"seed {self.program.seed} [{self.profile}, {self.lane}] {self.status}: {self.detail}"


def inputs_of(seed: int) -> list[int]:
    """Numbers to run a program with; of these at most one launch may panic."""
    rng = random.Random(f"inputs {seed}")
    return [0, 1 + int(rng.random() * 9), rng.getrandbits(64), rng.getrandbits(64), rng.getrandbits(64), 2**64 - 1]


def examine(programs: Sequence[Program], setup: Setup) -> list[Verdict]:
    """A verdict on each program, in order."""
    sources = {index: program.source for index, program in enumerate(programs)}
    inputs = {index: inputs_of(program.seed) for index, program in enumerate(programs)}
    batch = _Batch(programs, setup, {})
    expected = batch.natively(sources, inputs)
    live = sorted(expected)
    write_sources(setup.folder / "src", {index: sources[index] for index in live})
    batch.compiled(live, inputs, expected)
    return [batch.verdicts.get(index, batch.passed(index)) for index in range(len(programs))]


@dataclass(slots=True)
class _Batch:
    """Programs that share builds, and what is known of some."""

    programs: Sequence[Program]
    setup: Setup
    verdicts: dict[int, Verdict]

    def passed(self, index: int) -> Verdict:
        return Verdict(self.programs[index], self.setup.profile, "pass")

    def judge(self, index: int, status: Status, lane: str, reason: str, detail: str) -> None:
        """The first verdict on a program stands."""
        verdict = Verdict(self.programs[index], self.setup.profile, status, lane, reason, detail)
        self.verdicts.setdefault(index, verdict)

    def natively(self, sources: Mapping[int, str], inputs: Mapping[int, Sequence[int]]) -> dict[int, list[Result]]:
        """The native results of those programs that are Rust."""
        live = dict(sources)
        folder = self.setup.folder / "native"
        rustc = self.setup.lane.rustc.path
        while live:
            try:
                return run_native(rustc, folder, live, {index: inputs[index] for index in live}, self.setup.profile)
            except NotRustError as error:
                for index in error.indices:
                    self.judge(index, "invalid", "native", "rustc", error.output)
                    live.pop(index, None)
        return {}

    def compiled(
        self, indices: list[int], inputs: Mapping[int, Sequence[int]], expected: Mapping[int, list[Result]]
    ) -> None:
        """Builds the programs and runs them; where a build fails, those that are at fault are told from the others."""
        if not indices:
            return
        try:
            made = self.build(indices, inputs, expected)
        except Exception as error:
            blamed = blamed_by(error) & set(indices)
            if isinstance(error, UnsupportedError) and blamed:
                self.refused(blamed, error)
            elif blamed and len(indices) > 1:
                for index in blamed:
                    self.compiled([index], inputs, expected)
            else:
                self.halves(indices, inputs, expected, error)
                return
            self.compiled([index for index in indices if index not in blamed], inputs, expected)
        else:
            self.run(made, indices, inputs, expected)

    def halves(
        self, indices: list[int], inputs: Mapping[int, Sequence[int]], expected: Mapping[int, list[Result]],
        error: Exception,
    ) -> None:  # fmt: skip
        """A build failed, and nobody says of which program."""
        if len(indices) == 1:
            if isinstance(error, UnsupportedError):
                codes = sorted({diagnostic.code for diagnostic in error.diagnostics})
                self.judge(indices[0], "refused", "build", " ".join(codes), describe(error))
            else:
                self.judge(indices[0], "crash", "build", fault_of(error), describe(error))
            return
        middle = len(indices) // 2
        self.compiled(indices[:middle], inputs, expected)
        self.compiled(indices[middle:], inputs, expected)

    def refused(self, blamed: Iterable[int], error: UnsupportedError) -> None:
        """Each of the programs has a refusal of its own."""
        for index in blamed:
            mine = [one for one in error.diagnostics if index in named_in(_words(one))]
            self.judge(index, "refused", "build", mine[0].code, mine[0].message)

    def build(
        self, indices: list[int], inputs: Mapping[int, Sequence[int]], expected: Mapping[int, list[Result]]
    ) -> BuildResult:
        """All programs in one crate, with PTX that ptxas took."""
        constants: dict[int, list[int]] = {}
        for index in indices:
            good = [x for x, result in zip(inputs[index], expected[index], strict=True) if isinstance(result, Value)]
            if self.programs[index].const and good:
                constants[index] = good
        manifest = write_library(self.setup.folder / "src", indices, constants)
        cargo = CargoOptions(
            manifest_path=manifest,
            profile=self.setup.profile,
            target=self.setup.lane.target,
            target_dir=self.setup.folder / "target",
            offline=True,
            quiet=True,
        )
        archs = (self.setup.arch,)
        with self.setup.lane.active():
            return build(BuildOptions(cargo, archs=archs, assembler="ptxas"), Progress(quiet=True))

    def run(
        self, made: BuildResult, indices: list[int], inputs: Mapping[int, Sequence[int]],
        expected: Mapping[int, list[Result]],
    ) -> None:  # fmt: skip
        """On the simulator, against the native results."""
        for lane, level in LEVELS.items():
            options = SimOptions(opt_level=level, timeout=60)
            module = module_of(made.manifest, made.manifest_path.parent, "sim", options)
            for index in indices:
                try:
                    self.compare(module, lane, index, inputs[index], expected[index])
                except MirgenError as error:
                    status: Status = "wrong" if isinstance(error, KernelPanicError) else "crash"
                    self.judge(index, status, lane, fault_of(error), describe(error))

    def compare(self, module: Module, lane: str, index: int, inputs: Sequence[int], expected: Sequence[Result]) -> None:
        """One program: its good inputs at once, the first that panics by itself, what rustc computed."""
        good = [(x, result.hash) for x, result in zip(inputs, expected, strict=True) if isinstance(result, Value)]
        bad = [(x, result) for x, result in zip(inputs, expected, strict=True) if isinstance(result, Panicked)]
        if good:
            xs, wanted = (np.array(column, np.uint64) for column in zip(*good, strict=True))
            found = np.zeros(len(good), np.uint64)
            module[RUN][1, len(good)](index, xs, found)
            self.same(index, lane, good, found.tolist(), wanted.tolist())
            if self.programs[index].const:
                found = np.zeros(len(good), np.uint64)
                module[CONSTANTS][1, len(good)](index, found)
                self.same(index, "const", good, found.tolist(), wanted.tolist())
        for x, result in bad[:1]:
            said = _panic(module, index, x)
            if said != result:
                self.judge(index, "wrong", lane, _panic_fault(said, result), f"run({x}): {said}, not {result}")

    def same(
        self, index: int, lane: str, inputs: Sequence[tuple[int, int]], found: Sequence[int], wanted: Sequence[int]
    ) -> None:
        """A verdict where results differ."""
        for (x, _), got, want in zip(inputs, found, wanted, strict=True):
            if got != want:
                self.judge(index, "wrong", lane, "value", f"run({x}): {Value(got)}, not {Value(want)}")


def _panic(module: Module, index: int, x: int) -> Result:
    """How the program ended that should panic; its place is 0:0 where that is in no file of its own."""
    found = np.zeros(1, np.uint64)
    try:
        module[RUN][1, 1](index, np.array([x], np.uint64), found)
    except KernelPanicError as error:
        file, line, col = (error.location or ":0:0").rsplit(":", 2)
        own = Path(file).name == module_file(index)
        return Panicked(error.message, int(line) if own else 0, int(col) if own else 0)
    return Value(int(found[0]))


def _panic_fault(said: Result, wanted: Panicked) -> str:
    """In what a panic differs."""
    if isinstance(said, Value):
        return "no panic"
    return "panic's place" if said.message == wanted.message else "panic's message"


def named_in(text: str) -> set[int]:
    """The programs whose files or modules a text names."""
    return {int(index) for index in _NAMED.findall(text)}


def _words(diagnostic: Diagnostic) -> str:
    where = diagnostic.location.file if diagnostic.location else ""
    return " ".join([where, diagnostic.message, *diagnostic.notes])


def blamed_by(error: Exception) -> set[int]:
    """The programs that an error names."""
    if isinstance(error, UnsupportedError):
        return {index for one in error.diagnostics for index in named_in(_words(one))}
    return named_in(describe(error))


def fault_of(error: Exception) -> str:
    """The kind of an error: its type and its words without numbers and names of this one case."""
    words = re.sub(r"\S*\d\S*|`[^`]*`|\"[^\"]*\"", "_", str(error).splitlines()[0] if str(error) else "")
    return f"{type(error).__name__}: {words[:80]}"
