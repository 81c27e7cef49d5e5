"""Checks one golden program: runs it, and compares what becomes of it with what stands in and beside its file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from mirgen.cargo.program import ClosedProgram
from mirgen.diagnostics import Renderer, SourceMap
from mirgen.errors import Diagnostic, UnsupportedError
from mirgen.link import Worker, assemble, compile_ptx, find_arch, find_tool
from mirgen.lower import Lowered
from mirgen.testing.golden.bench import Bench, Source, for_gpu, simulated
from mirgen.testing.golden.header import Header, PtxCheck
from mirgen.testing.suite.launching import launch
from mirgen.testing.suite.marks import CrateTest
from mirgen.testing.suite.verdict import Ended, judge
from mirgen.view import llvm_items, mir_items, ptx_items

#: Lines of a difference that are shown, and lines of MIR.
_SHOWN: Final = 24


@dataclass(slots=True)
class Report:
    """``failures`` are texts for people, empty if all is as expected; ``skipped`` says what could not be checked;
    ``mir`` is what the program was made from, where it got so far."""

    failures: list[str] = field(default_factory=list[str])
    skipped: list[str] = field(default_factory=list[str])
    mir: str = ""


def check(bench: Bench, source: Source, header: Header, *, bless: bool) -> Report:
    """Everything that the header asks for.  ``bless`` writes expected files instead of comparing them.

    Raises:
        MirgenError: the program could not be compiled for a reason that is not of its kind.
    """
    report = Report()
    expected = _Expected(bench, source, bless, report)
    build, tests = bench.tests(source)
    try:
        closed = bench.close(source)
        lowered = for_gpu(closed)
    except UnsupportedError as refusal:
        if header.kind != "refuse":
            raise
        _refused(source, header, refusal, expected, report)
        return report
    report.mir = _own_mir(closed, source)
    if header.kind == "refuse":
        report.failures.append(f"is not refused; expected: {', '.join(header.errors)}")
        return report
    if header.run:
        _run(closed, tests, source, header, expected, report)
    if header.ll:
        release = build.toolchain.release
        if expected.release_is(release):
            expected.compare("ll", _ir(lowered, tests, header.ll, report))
        else:
            report.skipped.append(f"the IR, which is not of rustc {release}")
    if header.ptx:
        _ptx(lowered, header, report)
    return report


@dataclass(frozen=True, slots=True)
class _Expected:
    """The files beside a program."""

    bench: Bench
    source: Source
    bless: bool
    report: Report

    def rendered(self, diagnostics: Sequence[Diagnostic]) -> str:
        return rendered(diagnostics, self.bench, self.source)

    def compare(self, kind: str, text: str) -> None:
        path = self.source.path.with_suffix(f".{kind}")
        if self.bless:
            path.write_text(text, encoding="utf-8")
            return
        if not path.is_file():
            self.report.failures.append(f"{path.name} is missing; `--bless` writes it")
            return
        wanted = path.read_text(encoding="utf-8")
        if wanted != text:
            shown = "\n".join(first_difference(wanted, text))
            self.report.failures.append(f"{path.name} is not what comes out now; `--bless` rewrites it:\n{shown}")

    def release_is(self, release: str) -> bool:
        """Whether IR is to be compared: MIR differs from one rustc to the next.  The file `rustc` in the folder above
        names the release."""
        named = self.source.path.parent.parent / "rustc"
        if self.bless:
            named.write_text(f"{release}\n", encoding="utf-8")
        return named.is_file() and named.read_text(encoding="utf-8").strip() == release


def first_difference(wanted: str, found: str) -> Iterator[str]:
    """The lines around the first difference, as a diff."""
    lines = list(difflib.unified_diff(wanted.splitlines(), found.splitlines(), "expected", "found", n=3, lineterm=""))
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f".. and {len(lines) - _SHOWN} more lines"


def rendered(diagnostics: Sequence[Diagnostic], bench: Bench, source: Source) -> str:
    """Diagnostics as people see them, with the program's folder as ``$DIR``."""
    renderer = Renderer(SourceMap([bench.folder(source)]))
    text = "\n".join(map(renderer.human, diagnostics)).replace(source.copy, f"$DIR/{source.path.name}")
    for test in bench.tests(source)[1]:
        text = test.renamed(text)
    return text


def _refused(source: Source, header: Header, refusal: UnsupportedError, expected: _Expected, report: Report) -> None:
    codes = tuple(sorted({one.code for one in refusal.diagnostics}))
    if codes != tuple(sorted(set(header.errors))):
        report.failures.append(f"refused with {', '.join(codes)}, not {', '.join(header.errors)}")
    expected.compare("stderr", expected.rendered(refusal.diagnostics))


def _run(
    closed: ClosedProgram, tests: Sequence[CrateTest], source: Source, header: Header, expected: _Expected,
    report: Report,
) -> None:  # fmt: skip
    for number, lane in enumerate(header.lanes):
        module = simulated(closed, lane)
        for test in tests:
            ended = launch(module, test)
            if header.kind == "panic":
                _panicked(ended, header, expected, f"{lane}: ", number == 0)
                continue
            run = judge(test, lane, ended)
            if run.status != "pass":
                said = expected.rendered(run.problems) or str(run.error)
                report.failures.append(f"{lane}: {test.path}: {run.status}\n{said}")


def _panicked(ended: Ended, header: Header, expected: _Expected, lane: str, compare: bool) -> None:
    failures = expected.report.failures
    if ended.panic is None:
        said = expected.rendered(ended.trouble) or str(ended.error or "no panic")
        failures.append(f"{lane}expected a panic, `{header.panic}`:\n{said}")
        return
    if ended.panic.message != header.panic:
        failures.append(f"{lane}panics with `{ended.panic.message}`, not `{header.panic}`")
    if compare:
        expected.compare("stderr", expected.rendered([ended.panic.shown]))


def _ir(lowered: Lowered, tests: Sequence[CrateTest], names: Sequence[str], report: Report) -> str:
    """The functions named, in the header's order."""
    items = llvm_items(lowered.text, [test.symbol for test in tests])
    parts: list[str] = []
    for name in names:
        symbols = [symbol for symbol, rust in lowered.symbols.items() if rust.split("::")[-1] == name]
        found = [item for item in items if item.name in symbols]
        if len(found) != 1:
            report.failures.append(f"//@ ll: {name}: {len(found)} functions have this name")
        parts += ["\n".join(line.text.rstrip() for line in item.lines) for item in found]
    return "\n\n".join(parts) + "\n"


def _ptx(lowered: Lowered, header: Header, report: Report) -> None:
    """What the PTX must hold, for each architecture; assembled where there is ptxas."""
    kernels = [kernel.name for kernel in lowered.kernels]
    with Worker() as worker:
        for name in header.archs:
            arch = find_arch(name)
            ptx = compile_ptx(lowered.text, arch, codegen="llvm", kernels=kernels, worker=worker).ptx
            text = "\n".join(line.text for item in ptx_items(ptx, kernels) for line in item.lines)
            report.failures += [f"{name}: {said}" for one in header.ptx if (said := _lacks(text, one)) is not None]
            if find_tool("ptxas") is None:
                report.skipped.append("ptxas is not installed")
            else:
                assemble(ptx, arch, "ptxas", kernels=kernels, worker=worker)


def _lacks(ptx: str, check: PtxCheck) -> str | None:
    count = ptx.count(check.text)
    if check.count is None and count == 0:
        return f"`{check.text}` is not in the PTX"
    if check.count is not None and count != check.count:
        return f"`{check.text}` is {count} times in the PTX, not {check.count}"
    return None


def _own_mir(closed: ClosedProgram, source: Source) -> str:
    """The MIR of the functions that stand in the program's file."""
    own = {id(body) for body in closed.program.functions.values() if body.span and body.span.file == source.copy}
    reached = {name: tuple(b for b in bodies if id(b) in own) or bodies for name, bodies in closed.reached.items()}
    items = mir_items(closed.program, reached)
    lines = list(_without_declarations(line.text for item in items if item.kernel for line in item.lines))
    more = [f".. and {len(lines) - 3 * _SHOWN} more lines"] if len(lines) > 3 * _SHOWN else []
    return "\n".join([*lines[: 3 * _SHOWN], *more])


def _without_declarations(lines: Iterable[str]) -> Iterator[str]:
    """Functions' heads and blocks: no locals, no scopes."""
    inside = False
    for line in lines:
        inside = inside or line.startswith("    bb")
        if inside or not line.startswith(" "):
            yield line
        inside = inside and line != "    }"
