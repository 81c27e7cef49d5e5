"""The lanes of ``cargo mirgen test``: where the same tests run, or how far they are compiled."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeVar, get_args

from mirgen.cargo.build import CargoBuild
from mirgen.errors import MirgenError, ToolError, UnsupportedError
from mirgen.link import Worker, assemble, compile_ptx, find_arch, find_tool
from mirgen.pipeline import BuildOptions, BuildResult, Progress, build
from mirgen.runtime.loading import module_of, options_from_environment
from mirgen.testing.suite.launching import DeviceProcess, launch
from mirgen.testing.suite.marks import CrateTest
from mirgen.testing.suite.native import NativeTests, build_native
from mirgen.testing.suite.verdict import Ended, Run, judge

_Made = TypeVar("_Made")

LaneName = Literal["native", "sim", "cpu-o0", "cpu-o3", "ptx", "gpu"]
LANES: Final[tuple[LaneName, ...]] = get_args(LaneName)

#: LLVM's level of the simulator's lanes, where it is theirs and not the environment's.
_LEVELS: Final[dict[LaneName, int]] = {"cpu-o0": 0, "cpu-o3": 3}


@dataclass(slots=True)
class Session:
    """One call of the command: ``options`` select crate and architectures, ``made`` is its first build.

    ``native`` is how tests ended natively, which other lanes are then compared with.
    """

    options: BuildOptions
    made: CargoBuild
    progress: Progress
    timeout: float | None
    device: str = "cuda:0"
    native: dict[CrateTest, Ended] = field(default_factory=dict[CrateTest, Ended])

    def runs(self, lane: LaneName, tests: Sequence[CrateTest]) -> Iterator[Run]:
        """Every test in ``lane``, in order; compiled together, or apart where some are refused."""
        if not tests:
            return
        match lane:
            case "native":
                yield from self._natively(tests)
            case "ptx":
                yield from self._assembled(tests)
            case "gpu":
                yield from self._on_gpu(tests)
            case _:

                def simulated(made: BuildResult, group: Sequence[CrateTest]) -> Iterator[Ended]:
                    return self._simulated(lane, made, group)

                yield from self._groups(lane, tests, lambda group: self._build(group, ()), simulated)

    def prepare(self, lane: LaneName, tests: Sequence[CrateTest]) -> None:
        """Only compiles.

        Raises:
            MirgenError: what refuses one of the tests, or the lane.
        """
        if lane == "native":
            self._native_build()
        elif tests:
            archs = self.options.archs if lane == "ptx" else self._gpu() if lane == "gpu" else ()
            self._build(tests, archs)

    # ---- native ------------------------------------------------------------------------------------------

    def _native_build(self) -> NativeTests:
        return build_native(self.options.cargo, self.made.package_dir, self.timeout)

    def _natively(self, tests: Sequence[CrateTest]) -> Iterator[Run]:
        program = self._native_build()
        for test in tests:
            if test.shaped:
                yield Run(test, "native", "skip", why="needs a grid")
                continue
            ended = self.native[test] = program.run(test)
            yield judge(test, "native", ended)

    # ---- compiled ----------------------------------------------------------------------------------------

    def _build(self, tests: Sequence[CrateTest], archs: tuple[str, ...]) -> BuildResult:
        kernels = tuple(test.symbol for test in tests)
        return build(replace(self.options, archs=archs, kernels=kernels), self.progress)

    def _groups(
        self, lane: LaneName, tests: Sequence[CrateTest], compiled: Callable[[Sequence[CrateTest]], _Made],
        ends: Callable[[_Made, Sequence[CrateTest]], Iterator[Ended]],
    ) -> Iterator[Run]:  # fmt: skip
        """How those tests end that can be ``compiled``; of others each half is tried, and one alone has failed."""
        try:
            made = compiled(tests)
        except MirgenError as error:
            if isinstance(error, ToolError) and error.tool in ("cargo", "rustc"):
                raise
            if len(tests) > 1:
                self.progress.quiet = True  # or it would tell of every half
                middle = len(tests) // 2
                yield from self._groups(lane, tests[:middle], compiled, ends)
                yield from self._groups(lane, tests[middle:], compiled, ends)
            else:
                yield judge(tests[0], lane, _refused(error))
            return
        for test, ended in zip(tests, ends(made, tests), strict=True):
            yield judge(test, lane, ended, self.native.get(test))

    def _simulated(self, lane: LaneName, made: BuildResult, tests: Sequence[CrateTest]) -> Iterator[Ended]:
        options = replace(options_from_environment(), timeout=self.timeout)
        if lane in _LEVELS:
            options = replace(options, opt_level=_LEVELS[lane])
        module = module_of(made.manifest, made.manifest_path.parent, "sim", options)
        for test in tests:
            yield launch(module, test)

    def _gpu(self) -> tuple[str, ...]:
        """The architecture of the GPU.  Raises :class:`ToolError` where there is none."""
        from mirgen.runtime.cuda import architecture

        return (architecture(self.device),)

    def _on_gpu(self, tests: Sequence[CrateTest]) -> Iterator[Run]:
        try:
            archs = self._gpu()
        except ToolError as error:
            yield from (Run(test, "gpu", "skip", why=error.message) for test in tests)
            return
        yield from self._groups("gpu", tests, lambda group: self._build(group, archs), self._in_process)

    def _in_process(self, made: BuildResult, tests: Sequence[CrateTest]) -> Iterator[Ended]:
        with _stopped(DeviceProcess(made.manifest_path, self.device, self.timeout)) as process:
            for test in tests:
                yield process.launch(test)

    def _assembled(self, tests: Sequence[CrateTest]) -> Iterator[Run]:
        if find_tool("ptxas") is None:
            yield from (Run(test, "ptx", "skip", why="ptxas is not installed") for test in tests)
            return

        def ends(tools: str, group: Sequence[CrateTest]) -> Iterator[Ended]:
            return (Ended(0.0, assembled=tools) for _ in group)

        yield from self._groups("ptx", tests, self._by_both, ends)

    def _by_both(self, tests: Sequence[CrateTest]) -> str:
        """Through LLVM and ptxas, and through libNVVM where it is installed; what was done."""
        made = self._build(tests, self.options.archs)
        done = [f"llvm {artifact.arch}" for artifact in made.manifest.artifacts]
        if find_tool("libnvvm") is not None:
            names = [kernel.symbol for kernel in made.manifest.kernels]
            with Worker() as worker:
                for artifact in made.manifest.artifacts:
                    arch = find_arch(artifact.arch)
                    text = (made.manifest_path.parent / artifact.files["ll"]).read_text(encoding="utf-8")
                    ptx = compile_ptx(text, arch, codegen="nvvm", kernels=names, worker=worker).ptx
                    assemble(ptx, arch, "ptxas", kernels=names, worker=worker)
                    done.append(f"nvvm {arch.name}")
        return ", ".join(done)


@contextmanager
def _stopped(process: DeviceProcess) -> Generator[DeviceProcess]:
    try:
        yield process
    finally:
        process.stop()


def _refused(error: MirgenError) -> Ended:
    if isinstance(error, UnsupportedError):
        return Ended(0.0, trouble=tuple(error.diagnostics))
    return Ended(0.0, error=error)
