"""One program of a single file, compiled against the facade and run as one thread of the simulator."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from mirgen.cargo.build import CargoBuild, Unit
from mirgen.cargo.expose import overlays, standard
from mirgen.cargo.program import ClosedProgram, close_built
from mirgen.cargo.toolchain import Toolchain
from mirgen.errors import Diagnostic, MirgenError, ToolError, UnsupportedError
from mirgen.mir.verify import verify_program
from mirgen.pipeline import Lowered, Progress, is_intrinsic, lower
from mirgen.runtime.errors import DeviceError, KernelPanicError, KernelTimeoutError
from mirgen.runtime.sim.client import default_simulator
from mirgen.runtime.sim.launch import SimLaunch, SimModule, SimOptions
from mirgen.runtime.sites import sites_of
from mirgen.targets.host import HostTarget
from mirgen.targets.host_abi import ENTRY
from mirgen.testing.conformance import describe
from mirgen.testing.corpora.facade import build_facade, record_unit

#: What each entry is called: crates of the corpora have one kernel or several, each a function without parameters.
KERNEL: Final = "__mirgen_kernel_{name}_L{level}"
_TIMEOUT: Final = 60.0
#: What a panic says that stands for the end of the process; with which status is not told.
_EXIT: Final = "`std::process::exit` was called"

#: A note that tells who reaches what is refused.
_CHAIN: Final = re.compile(r"^(?:in|reached from) kernel (?:\w+|\?)(?:: .*)?$")

Status = Literal["pass", "refused", "wrong", "crash"]


@dataclass(frozen=True, slots=True)
class Expected:
    """What an entry that stands for a ``#[test]`` is natively: the test's ``path``; ``panics`` is what its panic must
    say, ``None`` where it must not panic."""

    path: str
    panics: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A program: its ``text``, ``edition``, rustc's further ``flags``.

    ``entries`` are its kernels' names; what they are is appended as ``kernels``, of which the native build knows
    nothing.  ``files`` stand beside the text.  Where entries are ``tests``, ``native`` are the files of the crate whose
    tests they are.
    """

    name: str
    text: str
    kernels: str
    edition: str = "2021"
    flags: Sequence[str] = ()
    entries: Sequence[str] = ("main",)
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    tests: Mapping[str, Expected] = field(default_factory=dict[str, Expected])
    native: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one entry.  ``wrong``: it panicked or harmed memory; ``crash``: mirgen or a tool failed."""

    name: str
    status: Status
    reasons: Sequence[str] = field(default_factory=tuple)

    def __str__(self) -> str:
        said = "; ".join(self.reasons)
        return f"{self.status:8} {self.name}" + (f": {said}" if said else "")


class DoesNotCompileError(MirgenError):
    """rustc refuses the program under the facade; ``output`` are its messages."""

    def __init__(self, output: str) -> None:
        super().__init__(output)
        self.output = output


def entry(name: str, call: str) -> str:
    """Rust text of an entry that runs ``call``."""
    first, second = (KERNEL.format(name=name, level=level) for level in (1, 2))
    mark = "#[inline] #[allow(dead_code, unused)] pub fn"
    return f"\n{mark} {first}() {{ {call} }}\n{mark} {second}() {{ {first}() }}\n"


class Program:
    """A program on its way: ``work`` is a folder of its own."""

    def __init__(self, source: Source, toolchain: Toolchain, shim: Path, work: Path) -> None:
        self._source, self._toolchain, self._shim, self._work = source, toolchain, shim, work
        self._file = work / "src" / "lib.rs"
        _write(self._file.parent, {"lib.rs": source.text + source.kernels, **source.files})

    @property
    def text(self) -> str:
        """The program as it was written."""
        return self._source.text

    def compile(self) -> CargoBuild:
        """Metadata by stock rustc, as the lessons of earlier tries want it.

        Raises:
            DoesNotCompileError: rustc refused it.
        """
        opened, work = standard(self._work), self._work
        facade = build_facade(self._toolchain, self._shim, opened)
        args = ["--crate-name", "t", "--edition", self._source.edition, "--crate-type", "lib"]
        args += ["--target", self._toolchain.host, "--cap-lints", "allow", "-Cpanic=abort", *self._source.flags]
        try:
            record = record_unit(
                self._toolchain, self._shim, args, self._file, work / "out", work / "units", facade.sysroot,
                overlays(work), primary=True,
            )  # fmt: skip
        except ToolError as error:
            raise DoesNotCompileError(error.output) from error
        root = Unit("t", record, work / "out" / "libt.rmeta", True)
        return CargoBuild(
            self._toolchain, self._shim, self._toolchain.host, root, (root, *facade.units), self._source.name, "0.0.0",
            work, work / "mirgen", work,
        )  # fmt: skip

    def close(self, build: CargoBuild, entries: Sequence[str], refused: dict[str, UnsupportedError]) -> ClosedProgram:
        """Everything that the entries reach, but for those that are ``refused``.

        Raises:
            UnsupportedError, ToolError: see :func:`close_built`.
        """
        return close_built(build, self.compile, is_intrinsic(), entries, quiet=True, refused=refused)[1]

    def run(self, entries: Sequence[str], closed: ClosedProgram) -> dict[str, Outcome]:
        """Each entry as one thread; all of them in one module, each with statics of its own."""
        lowered = verified(closed)
        module = SimModule(lowered.text, tuple(ENTRY + name for name in entries), tuple(sites_of(lowered.text)))
        default_simulator().load(module, 0)
        return {name: self._launch(name, module) for name in entries}

    def _launch(self, name: str, module: SimModule) -> Outcome:
        launch = SimLaunch(ENTRY + name, (1, 1, 1), (1, 1, 1), 0, 0, b"", (), name)
        simulator, owner, expected = default_simulator(), _Owner(), self._source.tests.get(name)
        try:
            simulator.launch(simulator.instance(module, owner), launch, SimOptions(timeout=_TIMEOUT, opt_level=0))
        except KernelPanicError as panic:
            if expected is not None and expected.panics is not None and expected.panics in panic.message:
                return Outcome(name, "pass")
            return failure(name, panic)
        except Exception as error:
            return failure(name, error)
        if expected is not None and expected.panics is not None:
            return Outcome(name, "wrong", (f"did not panic, which it must: {expected.panics}",))
        return Outcome(name, "pass")

    def outcome(self) -> list[Outcome]:
        """What becomes of each entry; where some are refused, the others are tried without them.

        Raises:
            DoesNotCompileError: rustc refused the program.
        """
        build = self.compile()
        found: dict[str, Outcome] = {}
        groups = [list(self._source.entries)]
        while groups:
            group = groups.pop()
            refused: dict[str, UnsupportedError] = {}
            try:
                closed = self.close(build, group, refused)
            except Exception as error:
                if len(group) == 1:
                    found[group[0]] = failure(group[0], error)
                else:
                    groups += _halves(group)
                continue
            found.update({name: failure(name, error) for name, error in refused.items()})
            found.update(self._run_parts([name for name in group if name not in refused], closed))
        return [found[name] for name in self._source.entries]

    def _run_parts(self, entries: Sequence[str], closed: ClosedProgram) -> dict[str, Outcome]:
        """What becomes of entries that are closed: together, or without those that cannot be lowered."""
        if not entries:
            return {}
        try:
            return self.run(entries, closed.part(entries))
        except Exception as error:
            if len(entries) == 1:
                return {entries[0]: failure(entries[0], error)}
        failed: dict[str, Outcome] = {}
        for name in entries:
            try:
                verified(closed.part([name]))
            except Exception as error:
                failed[name] = failure(name, error)
        rest = [name for name in entries if name not in failed]
        for group in [rest] if failed else _halves(rest):
            failed.update(self._run_parts(group, closed))
        return failed

    def failing_natively(self, entries: Sequence[str]) -> set[str]:
        """Those of the entries that fail in the program as rustc alone builds it, with its own ``std``."""
        tests = self._source.tests
        binary = self._native()
        calls = {name: [str(binary), *(["--exact", tests[name].path] if tests else [])] for name in entries}
        return {name for name, call in calls.items() if binary is None or not _succeeds(call)}

    def _native(self) -> Path | None:
        """The binary that rustc makes of the program; ``None`` where it makes none."""
        folder, binary = self._work / "native", self._work / "native" / "binary"
        _write(folder, self._source.native or {"lib.rs": self._source.text})
        command = [str(self._toolchain.rustc), "--crate-name", "t", "--edition", self._source.edition]
        command += ["--test"] if self._source.tests else ["--crate-type", "bin"]
        command += ["--cap-lints", "allow", *self._source.flags, "-o", str(binary), str(folder / "lib.rs")]
        environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
        done = subprocess.run(command, capture_output=True, env=environment, check=False)
        return binary if done.returncode == 0 else None

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self._work, ignore_errors=True)


def _said(refusal: Diagnostic) -> str:
    """What was refused and why, without the way to it."""
    why = [note for note in refusal.notes if not _CHAIN.search(note)]
    return f"{refusal.code}: {refusal.message}" + (f" ({'; '.join(why)})" if why else "")


def verified(closed: ClosedProgram) -> Lowered:
    """The program's code for the simulator.

    Raises:
        UnsupportedError, InternalError: see there.
    """
    verify_program(closed.program)
    return lower(closed, HostTarget(), Progress(quiet=True))


class _Owner:
    """To whom the statics of one launch belong."""


def _succeeds(command: Sequence[str]) -> bool:
    return subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False).returncode == 0


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _halves(entries: Sequence[str]) -> list[list[str]]:
    middle = len(entries) // 2
    return [list(entries[:middle]), list(entries[middle:])]


def failure(name: str, error: Exception) -> Outcome:
    """The outcome of an entry that did not get to run, or whose run was stopped."""
    if isinstance(error, UnsupportedError):
        return Outcome(name, "refused", tuple(dict.fromkeys(map(_said, error.diagnostics))))
    if isinstance(error, KernelPanicError) and _EXIT in str(error):
        return Outcome(name, "refused", ("the program leaves its process, which a GPU's thread cannot",))
    if isinstance(error, DeviceError) and not isinstance(error, KernelTimeoutError):
        return Outcome(name, "wrong", (describe(error),))
    return Outcome(name, "crash", (describe(error),))
