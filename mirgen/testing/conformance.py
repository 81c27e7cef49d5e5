"""What has to be true of every fixture in every lane: each kernel is compiled for every generation of GPUs by both
code generators, assembled, and computes on the simulator what its native build computes; or it is refused, with the
code that the fixture leads to expect.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from mirgen.cargo.lock import lock_file, locked
from mirgen.cargo.options import CargoOptions
from mirgen.errors import InternalError, MirgenError, UnsupportedError
from mirgen.link import Codegen, Worker, assemble, check_params, compile_ptx, find_arch
from mirgen.pipeline import BuildOptions, BuildResult, Progress, build, check
from mirgen.runtime.loading import module_of
from mirgen.runtime.sim.launch import SimOptions
from mirgen.testing.fixture import (
    Fixture,
    FixtureKernel,
    argument,
    build_native,
    differences,
    run_native,
    unexpected,
)
from mirgen.testing.lanes import Lane, expected_refusal

Status = Literal["pass", "refused", "wrong", "crash"]

#: One of each generation; libNVVM reads its old dialect below sm_100.
ARCHS: Final = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")

#: Orders of threads and blocks that no result may depend on, and code that no optimiser has seen.
WAYS: Final[Mapping[str, SimOptions]] = MappingProxyType(
    {
        "forward": SimOptions(timeout=120),
        "reverse": SimOptions("reverse", timeout=120),
        "random": SimOptions("random", seed=3, os_threads=2, timeout=120),
        "unoptimised": SimOptions(opt_level=0, timeout=120),
    }
)

SIMULATOR: Final = "simulator"
REFUSAL: Final = "refusal"

_TEXTS: Final = (".mir", ".stable-mir")
#: What is asked of a kernel that compiles: the simulator, and a code generator for an architecture (``llvm sm_90``).
CHECKS: Final = (SIMULATOR, *(f"{codegen} {arch}" for codegen in ("llvm", "nvvm") for arch in ARCHS))


@dataclass(frozen=True, slots=True)
class Outcome:
    """``check`` is one of :data:`CHECKS`, or ``refusal``.

    ``wrong``: other results than the native build's, refused without need, or not refused as expected; ``crash``: a
    tool or mirgen itself failed.  ``detail`` says what happened.
    """

    crate: str
    kernel: str
    lane: str
    check: str
    status: Status
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.crate}::{self.kernel} [{self.lane}, {self.check}] {self.status}: {self.detail}"


def build_options(
    fixture: Fixture, lane: Lane, kernels: Sequence[str], profile: str = "release", archs: Sequence[str] = ARCHS
) -> BuildOptions:
    """How the fixtures are built; each lane has a target folder of its own."""
    cargo = CargoOptions(
        manifest_path=fixture.path / "Cargo.toml",
        profile=profile,
        target=lane.target,
        target_dir=_target(fixture, f"lane-{lane}"),
        locked=True,
        quiet=True,
    )
    return BuildOptions(cargo, archs=tuple(archs), assembler="ptxas", kernels=tuple(kernels))


def native_program(fixture: Fixture, lane: Lane) -> Path:
    """The fixture's native example, compiled by the lane's own compiler."""
    with lane.active():
        return build_native(fixture, _target(fixture, f"native-{lane.rustc.release}"))


def accepted(fixture: Fixture, lane: Lane) -> tuple[FixtureKernel, ...]:
    """The kernels that compile in ``lane``."""
    return tuple(kernel for kernel in fixture.kernels if expected_refusal(kernel.needs, lane) is None)


def build_fixture(fixture: Fixture, lane: Lane, profile: str = "release", archs: Sequence[str] = ARCHS) -> BuildResult:
    """All kernels of the fixture that the lane can have, by LLVM for ``archs``, with cubins and for the simulator.

    Raises :class:`MirgenError` as :func:`mirgen.pipeline.build` does.
    """
    names = [kernel.name for kernel in accepted(fixture, lane)]
    with lane.active():
        return build(build_options(fixture, lane, names, profile, archs), Progress(quiet=True))


def examine(
    fixture: Fixture, lane: Lane, profile: str = "release", checks: Sequence[str] = CHECKS,
    ways: Mapping[str, SimOptions] = WAYS,
) -> Iterator[Outcome]:  # fmt: skip
    """Every one of ``checks`` of every kernel of ``fixture`` in ``lane``; nothing is left out, whatever fails."""
    able = accepted(fixture, lane)
    if able:
        yield from _examine(dataclasses.replace(fixture, kernels=able), lane, profile, checks, ways)
    for kernel in fixture.kernels:
        wanted = expected_refusal(kernel.needs, lane)
        if wanted is not None:
            yield _refusal(fixture, kernel, lane, profile, wanted)


def _examine(
    fixture: Fixture, lane: Lane, profile: str, checks: Sequence[str], ways: Mapping[str, SimOptions]
) -> Iterator[Outcome]:
    archs = _archs(checks, "llvm")
    try:
        made = build_fixture(fixture, lane, profile, archs)
    except Exception as error:
        if len(fixture.kernels) > 1:
            # Which one is it?
            for kernel in fixture.kernels:
                yield from _examine(dataclasses.replace(fixture, kernels=(kernel,)), lane, profile, checks, ways)
            return
        for kernel in fixture.kernels:
            for name in checks:
                yield _failed(fixture, kernel, lane, name, error)
        return
    for arch in archs:
        # The build has assembled it, and compared entry points and parameters.
        lost = {kernel.name for kernel in fixture.kernels} - made.manifest.artifact(arch).resources.keys()
        for kernel in fixture.kernels:
            failure = ["not in the cubin"] if kernel.name in lost else []
            yield _outcome(fixture, kernel, lane, f"llvm {arch}", failure)
    yield from _nvvm(fixture, lane, made, _archs(checks, "nvvm"))
    if SIMULATOR in checks:
        yield from _simulated(fixture, lane, made, ways)


def _archs(checks: Sequence[str], codegen: Codegen) -> tuple[str, ...]:
    return tuple(arch for arch in ARCHS if f"{codegen} {arch}" in checks)


def _nvvm(fixture: Fixture, lane: Lane, made: BuildResult, archs: Sequence[str]) -> Iterator[Outcome]:
    """The same IR through libNVVM."""
    with Worker() as worker:
        for arch in archs:

            def compiles(arch: str = arch) -> list[str]:
                nvvm_ptx(made, arch, worker)
                return []

            failure = _attempt(compiles)
            for kernel in fixture.kernels:
                yield _outcome(fixture, kernel, lane, f"nvvm {arch}", failure)


def nvvm_ptx(made: BuildResult, arch: str, worker: Worker) -> str:
    """libNVVM's PTX of a build for ``arch``, accepted by ptxas with every kernel and its parameters in place.

    Raises :class:`MirgenError`.
    """
    text = device_ir(made)
    names = [kernel.symbol for kernel in made.manifest.kernels]
    ptx = compile_ptx(text, find_arch(arch), codegen="nvvm", kernels=names, worker=worker).ptx
    cubin = assemble(ptx, find_arch(arch), kernels=names, worker=worker)
    for kernel in made.manifest.kernels:
        check_params(kernel.name, kernel.params, cubin.kernels[kernel.symbol].params)
    return ptx


def device_ir(made: BuildResult) -> str:
    """The LLVM IR of a build, which is the same for every architecture."""
    return artifact_text(made, made.manifest.artifacts[0].arch, "ll")


def artifact_text(made: BuildResult, arch: str, kind: str) -> str:
    """A text artefact of a build: ``ll`` or ``ptx``."""
    return (made.manifest_path.parent / made.manifest.artifact(arch).files[kind]).read_text()


def _simulated(fixture: Fixture, lane: Lane, made: BuildResult, ways: Mapping[str, SimOptions]) -> Iterator[Outcome]:
    native = native_program(fixture, lane)
    modules = {
        way: module_of(made.manifest, made.manifest_path.parent, "sim", options) for way, options in ways.items()
    }
    for kernel in fixture.kernels:

        def run(kernel: FixtureKernel = kernel) -> list[str]:
            inputs = kernel.inputs()
            expected = run_native(fixture, kernel, inputs, native)
            wrong = [f"native: {line}" for line in unexpected(kernel, expected)]
            for way, module in modules.items():
                found = {name: data.copy() for name, data in inputs.items()}
                launched = module[kernel.name]
                launched[kernel.grid, kernel.block](*(argument(param, found[param.name]) for param in kernel.params))
                wrong += [f"{way}: {line}" for line in differences(kernel, expected, found)]
            return wrong

        yield _outcome(fixture, kernel, lane, SIMULATOR, _attempt(run))


def _refusal(fixture: Fixture, kernel: FixtureKernel, lane: Lane, profile: str, wanted: frozenset[str]) -> Outcome:
    status: Status
    try:
        with lane.active():
            check(build_options(fixture, lane, [kernel.name], profile), Progress(quiet=True))
    except UnsupportedError as error:
        codes = frozenset(diagnostic.code for diagnostic in error.diagnostics)
        status, detail = ("refused" if codes == wanted else "wrong"), f"{error}"
    except Exception as error:
        return _failed(fixture, kernel, lane, REFUSAL, error)
    else:
        status, detail = "wrong", f"compiles, should be refused with {', '.join(sorted(wanted))}"
    return Outcome(fixture.crate, kernel.name, lane.name, REFUSAL, status, detail)


def _attempt(action: Callable[[], list[str]]) -> Exception | list[str]:
    """What went wrong: an exception, or lines."""
    try:
        return action()
    except Exception as error:
        return error


def _outcome(
    fixture: Fixture, kernel: FixtureKernel, lane: Lane, check: str, failure: Exception | list[str]
) -> Outcome:
    if isinstance(failure, Exception):
        return _failed(fixture, kernel, lane, check, failure)
    status: Status = "wrong" if failure else "pass"
    return Outcome(fixture.crate, kernel.name, lane.name, check, status, "; ".join(failure))


def _failed(fixture: Fixture, kernel: FixtureKernel, lane: Lane, check: str, error: Exception) -> Outcome:
    refused = isinstance(error, UnsupportedError)
    return Outcome(fixture.crate, kernel.name, lane.name, check, "wrong" if refused else "crash", describe(error))


def describe(error: Exception) -> str:
    """An error in one line, with the statement where mirgen itself is at fault."""
    text = f"{type(error).__name__}: {error}" if isinstance(error, MirgenError) else repr(error)
    if isinstance(error, InternalError) and error.statement:
        text += f" ({error.statement})"
    return " ".join(text.split())


def forget_texts(fixture: Fixture, lane: Lane) -> None:
    """Remove what rustc printed of the fixture's own crate: it is the most of what a build leaves, up to a gigabyte."""
    for work in (_target(fixture, f"lane-{lane}") / "mirgen" / "build").glob("*"):
        with locked(lock_file(work)):
            for text in work.glob(f"units/{fixture.crate}-*"):
                if text.suffix in _TEXTS:
                    text.unlink(missing_ok=True)


def _target(fixture: Fixture, name: str) -> Path:
    return fixture.path.parent / "target" / name
