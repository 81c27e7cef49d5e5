"""The ordered stages from a crate to artefacts, as a table; every stage's text is kept beside the result.

``cargo -> close -> lower (device) -> PTX -> cubin`` for each architecture and ``lower (host)`` for the simulator.
Each stage is timed; :func:`build` stops at the first that fails and leaves earlier artefacts as they were.
"""

from __future__ import annotations

import hashlib
import resource
import sys
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from mirgen import __version__
from mirgen.analysis.convergence import barrier_warnings
from mirgen.analysis.facts import launch_facts
from mirgen.analysis.uniformity import check_uniform_facts
from mirgen.cargo.build import CargoBuild, cargo_build
from mirgen.cargo.options import CargoOptions
from mirgen.cargo.program import ClosedProgram, close_built
from mirgen.diagnostics import status_line
from mirgen.errors import Diagnostic, InvalidInputError
from mirgen.link import Worker, assemble, check_params, compile_ptx, find_arch, find_tool
from mirgen.link.files import ArtifactFolder
from mirgen.link.manifest import (
    MANIFEST_NAME,
    Artifact,
    Manifest,
    Panic,
    Param,
    Resources,
    load_manifest,
    write_manifest,
)
from mirgen.link.manifest import Kernel as ManifestKernel
from mirgen.link.manifest import Span as ManifestSpan
from mirgen.lower import Lowered, lower_program
from mirgen.mir.statement import Span
from mirgen.mir.verify import verify_program
from mirgen.targets.base import Target
from mirgen.targets.host import HostTarget
from mirgen.targets.nvptx import NvptxTarget

Codegen = Literal["llvm", "nvvm"]
Assembler = Literal["auto", "ptxas", "nvjitlink", "none"]
Panics = Literal["auto", "message", "code", "trap"]


@dataclass(frozen=True, slots=True)
class StageTime:
    """Wall-clock seconds of one stage, and the process's peak resident set (bytes, children apart) after it."""

    stage: str
    seconds: float
    peak_bytes: int


@dataclass(slots=True)
class Progress:
    """Collects stage times and tells the user, in cargo's look; ``on_warning`` takes what is doubtful in the code."""

    quiet: bool = False
    times: list[StageTime] = field(default_factory=list[StageTime])
    on_warning: Callable[[Diagnostic], None] | None = None

    def status(self, verb: str, rest: str) -> None:
        if not self.quiet:
            print(status_line(verb, rest), file=sys.stderr, flush=True)

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.times.append(StageTime(name, time.perf_counter() - start, peak))


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What :func:`build` made; ``times`` are empty stages' where the build was fresh."""

    manifest_path: Path
    manifest: Manifest
    cargo: CargoBuild
    times: list[StageTime]


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """``archs`` are architecture names (``sm_90``); ``kernels`` limits the build to some (empty: all).

    ``panics`` is what GPU code does when it panics (:mod:`mirgen.targets.device_panic`); ``auto``: the message in
    cargo's development profile, in others what costs no register.
    """

    cargo: CargoOptions = field(default_factory=CargoOptions)
    archs: tuple[str, ...] = ("sm_90",)
    codegen: Codegen = "llvm"
    assembler: Assembler = "auto"
    kernels: tuple[str, ...] = ()
    simulator: bool = True
    panics: Panics = "auto"

    @property
    def target(self) -> NvptxTarget:
        """The GPU as target."""
        if self.panics != "auto":
            return NvptxTarget(self.panics)
        return NvptxTarget("message" if _profile_folder(self.cargo.profile) == "debug" else "code")


def read_program(
    options: CargoOptions, kernels: tuple[str, ...], progress: Progress
) -> tuple[CargoBuild, ClosedProgram]:
    """Stages ``cargo`` and ``close``: compile with stock rustc, then read everything the kernels reach.

    Raises:
        ToolError, UnsupportedError, InvalidInputError: see :func:`cargo_build` and :func:`close_program`.
    """
    with ExitStack() as held:
        with progress.stage("cargo"):
            build = cargo_build(options, held)
        return _close(build, options, kernels, progress)


def _close(
    build: CargoBuild, options: CargoOptions, kernels: tuple[str, ...], progress: Progress
) -> tuple[CargoBuild, ClosedProgram]:
    progress.status("Reading", f"{options.what}s of {build.root.crate_name} ({build.target})")
    with progress.stage("close"):
        again = partial(cargo_build, replace(options, quiet=True))
        made, closed = close_built(build, again, is_intrinsic(), kernels, quiet=options.quiet)
    with progress.stage("verify"):
        verify_program(closed.program)
    with progress.stage("analyse"):
        for kernel in closed.program.kernels:
            reached = closed.reached_bodies(kernel.name)
            check_uniform_facts(closed.program, kernel, reached)
            if progress.on_warning is not None:
                for warning in barrier_warnings(closed.program, kernel, reached):
                    progress.on_warning(warning)
    return made, closed


def is_intrinsic() -> Callable[[str], bool]:
    """Whether a callee's text names a function that lowering itself provides."""
    from mirgen.intrinsics import lookup

    return lambda path: lookup(path) is not None


def lower(closed: ClosedProgram, target: Target, progress: Progress, *, annotate: bool = False) -> Lowered:
    """Stage ``lower``: LLVM IR text for one target.

    Raises:
        UnsupportedError: with every function's diagnostics.
    """
    with progress.stage(f"lower {target.name}"):
        return lower_program(closed.program, closed.layouts, target, annotate=annotate)


def check(options: BuildOptions, progress: Progress) -> None:
    """Everything up to LLVM IR for both targets; no artefacts."""
    start = time.perf_counter()
    build_, closed = read_program(options.cargo, options.kernels, progress)
    lower(closed, options.target, progress)
    if options.simulator:
        lower(closed, HostTarget(), progress)
    kernels = len(closed.program.kernels)
    progress.status(
        "Finished", f"{kernels} kernel(s) of {build_.root.crate_name} in {time.perf_counter() - start:.2f} s"
    )


def build(options: BuildOptions, progress: Progress | None = None) -> BuildResult:
    """All stages; artefacts and manifest go to ``<target>/mirgen/<profile>/<crate>``.

    A build whose inputs and options are those of the manifest that lies there does nothing.

    Raises:
        ToolError, UnsupportedError, InvalidInputError, InternalError: from the stage that failed.
    """
    with ExitStack() as held:
        return _build(options, progress or Progress(quiet=options.cargo.quiet), held)


def _build(options: BuildOptions, progress: Progress, held: ExitStack) -> BuildResult:
    start = time.perf_counter()
    with progress.stage("cargo"):
        made = cargo_build(options.cargo, held)
    # A crate with its tests is another one, and must not replace what was built of the crate.
    crate = made.root.crate_name + ("-tests" if options.cargo.tests else "")
    folder = ArtifactFolder.of(made.output_dir.parent, _profile_folder(options.cargo.profile), crate)
    fingerprint = _fingerprint(made, options)
    fresh = _fresh(folder, fingerprint, options.archs)
    if fresh is not None:
        progress.status("Fresh", f"{len(fresh.kernels)} {options.cargo.what}(s) of {made.root.crate_name}")
        return BuildResult(folder.root / MANIFEST_NAME, fresh, made, progress.times)
    made, closed = _close(made, options.cargo, options.kernels, progress)
    fingerprint = _fingerprint(made, options)
    manifest = _emit(options, made, closed, folder, fingerprint, progress)
    seconds = time.perf_counter() - start
    made_for = ", ".join(options.archs) or "the simulator"
    progress.status("Finished", f"{len(manifest.kernels)} {options.cargo.what}(s) for {made_for} in {seconds:.2f} s")
    return BuildResult(folder.root / MANIFEST_NAME, manifest, made, progress.times)


def _emit(
    options: BuildOptions, made: CargoBuild, closed: ClosedProgram, folder: ArtifactFolder, fingerprint: str,
    progress: Progress,
) -> Manifest:  # fmt: skip
    crate = made.root.crate_name
    target = options.target
    device = lower(closed, target, progress)
    files: dict[str, str] = {}
    names = [kernel.name for kernel in device.kernels]
    artifacts: list[Artifact] = []
    tools: dict[str, str] = {}
    assembler = _assembler(options.assembler)
    with Worker() as worker, ThreadPoolExecutor(1) as pool:
        # While the worker compiles.  No file is written before this is known to succeed.
        host = pool.submit(lower, closed, HostTarget(), progress) if options.simulator else None
        for name in options.archs:
            arch = find_arch(name)
            progress.status("Compiling", f"{crate} for {arch.name} ({options.codegen})")
            with progress.stage(f"ptx {arch.name}"):
                ptx = compile_ptx(device.text, arch, codegen=options.codegen, kernels=names, worker=worker)
            tools |= ptx.tools
            if host is not None:
                host.result()
            made_files = {
                "ll": folder.write("ll", crate, device.text.encode(), arch),
                "ptx": folder.write("ptx", crate, ptx.ptx.encode(), arch),
            }
            resources: dict[str, Resources] = {}
            if assembler is not None:
                with progress.stage(f"cubin {arch.name}"):
                    cubin = assemble(ptx.ptx, arch, assembler, kernels=names, worker=worker)
                for kernel in device.kernels:
                    check_params(kernel.name, kernel.params, cubin.kernels[kernel.name].params)
                tools |= cubin.tools
                made_files["cubin"] = folder.write("cubin", crate, cubin.data, arch)
                resources = Artifact.resources_of(cubin)
                _warn_of_spills(resources, arch.name, progress)
            artifacts.append(
                Artifact(
                    arch=arch.name, codegen=options.codegen, assembler=assembler, files=made_files, resources=resources
                )
            )
        if host is not None:
            files["host.ll"] = folder.write("host.ll", crate, host.result().text.encode())
    manifest = Manifest(
        mirgen=__version__,
        crate_name=crate,
        crate_version=made.package_version,
        profile=options.cargo.profile,
        target=made.target,
        rustc=made.toolchain.release,
        tools={**tools, "fingerprint": fingerprint},
        kernels=_kernels(closed, device),
        panics=tuple(
            Panic(index=site.index, message=site.message, span=_span(site.span), args=site.args)
            for site in device.panics
        ),
        panic=target.panics,
        files=files,
        artifacts=tuple(artifacts),
    )
    write_manifest(manifest, folder.root)
    return manifest


def _kernels(closed: ClosedProgram, lowered: Lowered) -> tuple[ManifestKernel, ...]:
    by_name = {kernel.name: kernel for kernel in closed.program.kernels}
    kernels: list[ManifestKernel] = []
    for abi in lowered.kernels:
        facts = launch_facts(closed.reached_bodies(abi.name))
        table = {"dimensions": facts.dimensions}
        if facts.block is not None:
            table |= dict(zip(("block_x", "block_y", "block_z"), facts.block, strict=True))
        kernels.append(
            ManifestKernel(
                name=abi.name,
                symbol=abi.name,
                path=closed.paths[abi.name],
                params=tuple(Param.of(param) for param in abi.params),
                static_shared=abi.static_shared,
                facts=table,
                span=_span(by_name[abi.name].span),
            )
        )
    return tuple(kernels)


def _span(span: Span | None) -> ManifestSpan | None:
    return None if span is None else ManifestSpan(file=span.file, line=span.line, col=span.col)


def _assembler(choice: Assembler) -> Literal["ptxas", "nvjitlink"] | None:
    """``auto``: ptxas, else nvJitLink, else none (PTX is then the last artefact)."""
    if choice == "none":
        return None
    if choice != "auto":
        return choice
    for name in ("ptxas", "nvjitlink"):
        if find_tool(name) is not None:
            return name
    return None


def _warn_of_spills(resources: dict[str, Resources], arch: str, progress: Progress) -> None:
    for name, used in resources.items():
        if used.spill_stores or used.spill_loads:
            progress.status(
                "Warning",
                f"kernel `{name}` spills on {arch}: "
                f"{used.spill_stores} bytes stored, {used.spill_loads} loaded per thread",
            )


def _profile_folder(profile: str) -> str:
    """cargo's folder for a profile."""
    return "debug" if profile in ("dev", "test") else "release" if profile in ("release", "bench") else profile


def _fingerprint(made: CargoBuild, options: BuildOptions) -> str:
    """Everything that the artefacts depend on but the architectures: units as compiled, options, mirgen's own code."""
    state = hashlib.sha256()
    for unit in sorted(made.units, key=lambda unit: unit.record):  # cargo names those first that it compiled first
        stat = unit.metadata.stat() if unit.metadata.is_file() else None
        state.update(f"{unit.record}:{stat and (stat.st_mtime_ns, stat.st_size)}\n".encode())
    chosen = (options.codegen, options.assembler, options.kernels, options.simulator, options.target.panics)
    state.update(repr(chosen).encode())
    state.update(repr((made.toolchain.identity, made.target, __version__, _own_code())).encode())
    return state.hexdigest()


def _own_code() -> int:
    """Newest change of mirgen's own sources: a developer's edit makes every build stale."""
    return max(path.stat().st_mtime_ns for path in Path(__file__).parent.rglob("*.py"))


def _fresh(folder: ArtifactFolder, fingerprint: str, archs: tuple[str, ...]) -> Manifest | None:
    """The manifest that lies there, if it is of the same inputs and has the architectures asked for."""
    try:
        manifest = load_manifest(folder.root)
    except InvalidInputError:
        return None
    made = {artifact.arch for artifact in manifest.artifacts}
    return manifest if manifest.tools.get("fingerprint") == fingerprint and made.issuperset(archs) else None
