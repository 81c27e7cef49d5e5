"""``cargo mirgen test``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from mirgen.cargo.build import cargo_build
from mirgen.cli.command import CargoCommand, joined, option
from mirgen.cli.exit import NO_TESTS, OK, TESTS_FAILED, check_writable
from mirgen.cli.flags import build_flags, build_options, progress_of
from mirgen.cli.settings import source_roots
from mirgen.cli.summary import shown
from mirgen.diagnostics import MessageFormat, Palette, Renderer, SourceMap, report, status_line, wants_colour
from mirgen.errors import Diagnostic, InvalidInputError, Location
from mirgen.link.files import write_atomic
from mirgen.pipeline import Progress
from mirgen.runtime.errors import OutputError
from mirgen.testing.suite.junit import junit
from mirgen.testing.suite.lanes import LANES, LaneName, Session
from mirgen.testing.suite.marks import find_tests
from mirgen.testing.suite.select import Filters, Ignored, Selection, select
from mirgen.testing.suite.verdict import Run

_WHICH, _WHERE, _HOW = "Which tests", "Where", "How"

#: Words of the status lines.
_VERBS = {"pass": "PASS", "fail": "FAIL", "timeout": "TIMEOUT", "assembled": "ASSEMBLED", "skip": "SKIP"}


def _lanes(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[LaneName, ...]:
    """``sim,native``: each once, native first, because the others are compared with it."""
    words = [word.strip() for word in value.split(",")]
    unknown = [word for word in words if word not in LANES]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is no lane: there are {joined(LANES)}")
    return tuple(lane for lane in LANES if lane in words)


@click.command("test", cls=CargoCommand)
@click.argument("filters", nargs=-1, metavar="[FILTER]...")
@option(_WHICH, "--exact", is_flag=True, help="FILTER and --skip are whole names, not parts.")
@option(_WHICH, "--skip", multiple=True, metavar="FILTER", help="Not those whose name has this part.")
@option(_WHICH, "--ignored", is_flag=True, help="Only tests with #[ignore].")
@option(_WHICH, "--include-ignored", is_flag=True, help="Tests with #[ignore] too.")
@option(_WHICH, "--list", "list_", is_flag=True, help="List the tests, and run none.")
@option(
    _WHERE, "--lanes", "--on", "lanes", callback=_lanes, default="sim", show_default=True, metavar="LIST",
    help="Where: sim, cpu-o0 and cpu-o3 (the simulator without and with LLVM's passes), native (as cargo test; other "
    "lanes must then do the same), ptx (compiled for --arch and assembled, not run), gpu.",
)  # fmt: skip
@option(_WHERE, "--device", default="cuda:0", show_default=True, metavar="DEVICE", help="The GPU of lane gpu.")
@option(_HOW, "--no-run", is_flag=True, help="Compile, but run nothing.")
@option(_HOW, "--fail-fast/--no-fail-fast", default=False, show_default=True, help="Stop at the first test that fails.")
@option(
    _HOW, "--timeout", type=click.FloatRange(min=0), default=60.0, show_default=True, metavar="SECONDS",
    help="How long a test may run; 0: as long as it likes.",
)  # fmt: skip
@option(
    _HOW, "--no-tests", type=click.Choice(["fail", "warn", "pass"]), default="fail", show_default=True,
    help="What to do where no test is left to run.",
)  # fmt: skip
@option(
    _HOW,
    "--junit",
    "junit_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the results in JUnit's XML.",
)
@build_flags
def command(
    filters: tuple[str, ...], exact: bool, skip: tuple[str, ...], ignored: bool, include_ignored: bool, list_: bool,
    lanes: tuple[LaneName, ...], device: str, no_run: bool, fail_fast: bool, timeout: float, no_tests: str,
    junit_file: Path | None, **flags: Any,
) -> int:  # fmt: skip
    """Run the tests of a crate, functions with #[mirgen::test], on the simulator or elsewhere.

    FILTER is a part of the name, crate::module::name; tests that have one of them run. All of the crate is compiled
    with cfg(test). Exits with 100 where a test failed, with 4 where there is none to run.
    """
    if ignored and include_ignored:
        raise InvalidInputError("`--ignored` and `--include-ignored` exclude each other")
    if junit_file is not None:
        check_writable(junit_file)
    options = build_options(flags)
    options = replace(options, cargo=replace(options.cargo, tests=True))
    progress = progress_of(flags)
    made = cargo_build(options.cargo)
    attribute: Ignored = "only" if ignored else "include" if include_ignored else "skip"
    selection = select(find_tests(made), Filters(filters, skip, exact, attribute))
    if list_:
        for test in sorted((*selection.chosen, *selection.ignored), key=lambda test: test.name):
            click.echo(f"{test.name}: test")
        return OK
    if not selection.chosen:
        return _nothing(no_tests, made.root.crate_name, selection)
    # cargo has said what there is to say.
    quiet = replace(options, cargo=replace(options.cargo, quiet=True))
    session = Session(quiet, made, _once(progress), timeout or None, device)
    if no_run:
        for lane in lanes:
            session.prepare(lane, selection.chosen)
        return OK
    form: MessageFormat = flags["message_format"]
    reporter = _Reporter(form, source_roots(flags["manifest_path"]), lanes, quiet=flags["quiet"])
    reporter.start(made.root.crate_name, selection)
    for run in _runs(session, lanes, selection):
        reporter.tell(run)
        if fail_fast and reporter.failed:
            break
    reporter.end(selection)
    if junit_file is not None:
        _write(junit_file, made.root.crate_name, reporter)
    return TESTS_FAILED if reporter.failed else OK


def _once(progress: Progress) -> Progress:
    """Tells each warning once, however often the crate is compiled."""
    told: set[tuple[str, Location | None]] = set()
    tell = progress.on_warning

    def on_warning(warning: Diagnostic) -> None:
        key = (warning.message, warning.location)
        if tell is not None and key not in told:
            told.add(key)
            tell(warning)

    return replace(progress, on_warning=on_warning)


def _runs(session: Session, lanes: Sequence[LaneName], selection: Selection) -> Iterator[Run]:
    for lane in lanes:
        yield from (
            Run(test, lane, "skip", why="ignored" + f": {test.ignored}" * bool(test.ignored))
            for test in selection.ignored
        )
        yield from session.runs(lane, selection.chosen)


def _nothing(manner: str, crate: str, selection: Selection) -> int:
    """No test is left."""
    others = len(selection.ignored) + selection.filtered_out
    message = f"no tests to run: crate `{crate}` has {others or 'none'}{' others' if others else ''}"
    hint = "" if others else "; mark functions in `#[cfg(test)] mod tests` with `#[mirgen::test]`"
    if manner == "fail":
        click.echo(f"error: {message}{hint}", err=True)
        return NO_TESTS
    if manner == "warn":
        click.echo(status_line("Warning", message), err=True)
    return OK


@dataclass(slots=True)
class _Reporter:
    """Tells of tests as they end, on stderr; of those that failed all that is known."""

    form: MessageFormat
    roots: Sequence[Path]
    lanes: Sequence[LaneName]
    quiet: bool
    told: list[Run] = field(default_factory=list[Run])
    began: float = field(default_factory=time.perf_counter)

    @property
    def failed(self) -> list[Run]:
        return [run for run in self.told if run.status in ("fail", "timeout")]

    def start(self, crate: str, selection: Selection) -> None:
        count = len(selection.chosen)
        where = f" on {joined(self.lanes)}".replace(" or ", " and ")
        self._status("Starting", f"{count} test{'s' * (count != 1)} of {crate}{where}")

    def tell(self, run: Run) -> None:
        """One line, and below it what went wrong."""
        self.told.append(run)
        bad = run.status in ("fail", "timeout")
        if bad or not self.quiet:
            click.echo(status_line(_VERBS[run.status], self._line(run)), err=True)
        if bad:
            stream = sys.stdout if self.form == "json" else sys.stderr
            stream.write(self.shown(run, self.form, colour=self.form == "human"))
            stream.flush()

    def shown(self, run: Run, form: MessageFormat = "human", *, colour: bool = False) -> str:
        """Everything about a failure."""
        palette = Palette(colour and wants_colour(sys.stderr, os.environ))
        renderer = Renderer(SourceMap(self.roots), palette)
        match form:
            case "human":
                parts = [renderer.human(problem) for problem in run.problems]
            case "short":
                parts = [renderer.short(problem) for problem in run.problems]
            case "json":
                parts = [renderer.json(problem) for problem in run.problems]
        parts += [report(run.error, renderer, form)] if run.error is not None else []
        if run.output and form == "human":
            parts.append(f"--- output of {run.test.name}\n{run.output.rstrip()}\n---\n")
        text = "".join(parts)
        return run.test.renamed(text)

    def end(self, selection: Selection) -> None:
        """The summary, with the failures again."""
        count = {status: sum(run.status == status for run in self.told) for status in _VERBS}
        ran = len(self.told) - count["skip"] - count["assembled"]
        passed, failed = count["pass"], count["fail"] + count["timeout"]
        text = f"{ran} test{'s' * (ran != 1)} run: {passed} passed, {failed} failed"
        text += f" ({count['timeout']} timed out)" if count["timeout"] else ""
        text += f", {count['assembled']} assembled" if count["assembled"] else ""
        text += f", {count['skip']} skipped"
        text += f", {selection.filtered_out} filtered out" if selection.filtered_out else ""
        self._status("Summary", f"[{time.perf_counter() - self.began:8.3f}s] {text}")
        if self.failed:
            for run in self.failed:
                self._status(_VERBS[run.status], self._line(run))
            click.echo("error: test run failed", err=True)

    def _line(self, run: Run) -> str:
        took = " " * 11 if run.status in ("skip", "assembled") else f"[{run.seconds:8.3f}s]"
        where = f" on {run.lane}" if len(self.lanes) > 1 else ""
        more = f": {run.why}" if run.status in ("skip", "assembled") else ""
        return f"{took} {run.test.name}{where}{more}"

    def _status(self, verb: str, rest: str) -> None:
        if not self.quiet:
            click.echo(status_line(verb, rest), err=True)


def _write(path: Path, crate: str, reporter: _Reporter) -> None:
    try:
        write_atomic(path, junit(crate, reporter.told, reporter.shown))
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error}") from error
    if not reporter.quiet:
        click.echo(status_line("Wrote", shown(path)), err=True)
