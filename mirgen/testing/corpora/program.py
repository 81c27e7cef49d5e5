"""One program of a single file, compiled against the facade and run as one thread of the simulator."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from mirgen.cargo.build import CargoBuild, Unit
from mirgen.cargo.expose import overlays, standard
from mirgen.cargo.program import ClosedProgram, close_built
from mirgen.cargo.toolchain import Toolchain
from mirgen.errors import MirgenError, ToolError, UnsupportedError
from mirgen.mir.verify import verify_program
from mirgen.pipeline import Progress, is_intrinsic, lower
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

Status = Literal["pass", "refused", "wrong", "crash"]


@dataclass(frozen=True, slots=True)
class Source:
    """A program: its ``text``, ``edition``, rustc's further ``flags``.

    ``entries`` are its kernels' names; what they are is appended as ``kernels``, of which the native build knows
    nothing.
    """

    name: str
    text: str
    kernels: str
    edition: str = "2021"
    flags: Sequence[str] = ()
    entries: Sequence[str] = ("main",)


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
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(source.text + source.kernels)

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

    def close(self, build: CargoBuild, entries: Sequence[str]) -> ClosedProgram:
        """Everything that the entries reach.

        Raises:
            UnsupportedError, ToolError: see :func:`close_built`.
        """
        _, closed = close_built(build, self.compile, is_intrinsic(), entries, quiet=True)
        verify_program(closed.program)
        return closed

    def run(self, entries: Sequence[str], closed: ClosedProgram) -> dict[str, Outcome]:
        """Each entry as one thread; all of them in one module."""
        lowered = lower(closed, HostTarget(), Progress(quiet=True))
        module = SimModule(lowered.text, tuple(ENTRY + name for name in entries), tuple(sites_of(lowered.text)))
        simulator = default_simulator()
        outcomes: dict[str, Outcome] = {}
        placed = simulator.instance(module, self)
        for name in entries:
            launch = SimLaunch(ENTRY + name, (1, 1, 1), (1, 1, 1), 0, 0, b"", (), name)
            try:
                simulator.launch(placed, launch, SimOptions(timeout=_TIMEOUT, opt_level=0))
                outcomes[name] = Outcome(name, "pass")
            except Exception as error:
                outcomes[name] = failure(name, error)
        return outcomes

    def outcome(self) -> list[Outcome]:
        """What becomes of each entry; where some are refused, the others are tried without them.

        Raises:
            DoesNotCompileError: rustc refused the program.
        """
        build = self.compile()
        entries = list(self._source.entries)
        found: dict[str, Outcome] = {}
        groups = [entries]
        while groups:
            group = groups.pop()
            try:
                found.update(self.run(group, self.close(build, group)))
            except Exception as error:
                if len(group) == 1:
                    found[group[0]] = failure(group[0], error)
                else:
                    middle = len(group) // 2
                    groups += [group[:middle], group[middle:]]
        return [found[name] for name in entries]

    def native_agrees(self) -> bool:
        """Whether the program, built by rustc alone with its own ``std``, runs without an error."""
        binary = self._work / "native"
        text = self._work / "native.rs"
        text.write_text(self._source.text)
        command = [str(self._toolchain.rustc), "--crate-name", "t", "--edition", self._source.edition]
        command += ["--cap-lints", "allow", *self._source.flags, "-o", str(binary), str(text)]
        environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
        if subprocess.run(command, capture_output=True, env=environment, check=False).returncode:
            return False
        return subprocess.run([str(binary)], capture_output=True, timeout=_TIMEOUT, check=False).returncode == 0

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self._work, ignore_errors=True)


def failure(name: str, error: Exception) -> Outcome:
    """The outcome of an entry that did not get to run, or whose run was stopped."""
    if isinstance(error, UnsupportedError):
        said = {f"{d.code}: {d.message}": None for d in error.diagnostics}
        return Outcome(name, "refused", tuple(said))
    if isinstance(error, KernelPanicError) and _EXIT in str(error):
        return Outcome(name, "refused", ("the program leaves its process, which a GPU's thread cannot",))
    if isinstance(error, DeviceError) and not isinstance(error, KernelTimeoutError):
        return Outcome(name, "wrong", (describe(error),))
    return Outcome(name, "crash", (describe(error),))
