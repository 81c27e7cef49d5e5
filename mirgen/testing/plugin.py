"""A pytest plugin for golden programs: Rust files that are compiled, run and compared with files beside them.

It does nothing until pytest's configuration names folders (``mirgen_ui = tests/ui``): ``NAME.rs`` in their subfolders
``pass``, ``refuse`` and ``panic`` become tests.  docs/testing.md says what stands in such a file.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from mirgen.diagnostics import Renderer, SourceMap, report
from mirgen.errors import InvalidInputError, MirgenError
from mirgen.testing.golden.bench import Bench, Source
from mirgen.testing.golden.check import Report, check
from mirgen.testing.golden.header import KINDS, Header, Kind, read_header

_BENCH: Final = pytest.StashKey[Bench]()


class GoldenError(Exception):
    """A program that is not what it is expected to be."""

    def __init__(self, found: Report) -> None:
        super().__init__("\n".join(found.failures))
        self.found = found


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--bless``, and the settings that switch the plugin on."""
    group = parser.getgroup("mirgen")
    group.addoption("--bless", action="store_true", help="mirgen: write the expected files of golden programs anew")
    parser.addini("mirgen_ui", "folders of golden programs", "linelist", [])
    parser.addini("mirgen_ui_dependencies", "lines of [dependencies] for golden programs", "linelist", [])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Each program is a file with one test."""
    if _kind(file_path, parent.config) is None:
        return None
    return GoldenFile.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType]


def _kind(path: Path, config: pytest.Config) -> Kind | None:
    folders: list[str] = config.getini("mirgen_ui")
    if path.suffix == ".rs" and path.parent.parent in [config.rootpath / folder for folder in folders]:
        return next((kind for kind in KINDS if kind == path.parent.name), None)
    return None


def bench_of(config: pytest.Config) -> Bench:
    """The crate of all programs of this configuration; those that are not tested now stay in it, or the next call
    would compile it anew."""
    if _BENCH not in config.stash:
        target = Path(os.environ.get("CARGO_TARGET_DIR", config.rootpath / "target"))
        bench = Bench(target / "golden", config.rootpath, config.getini("mirgen_ui_dependencies"))
        for folder in config.getini("mirgen_ui"):
            for kind in KINDS:
                for path in sorted((config.rootpath / folder / kind).glob("*.rs")):
                    bench.add(_source(path, kind))
        config.stash[_BENCH] = bench
    return config.stash[_BENCH]


def _source(path: Path, kind: Kind) -> Source:
    try:
        return Source(path, kind, read_header(path, kind).edition)
    except InvalidInputError:
        return Source(path, kind, "2021")  # its own test says what is wrong with it


class GoldenFile(pytest.File):
    """A program's file."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test; a wrong header is an error of the collection."""
        kind = _kind(self.path, self.config)
        assert kind is not None  # or it would not be such a file
        try:
            header = read_header(self.path, kind)
        except InvalidInputError as error:
            raise self.CollectError(str(error)) from error
        item: GoldenItem = GoldenItem.from_parent(self, name=self.path.stem)  # pyright: ignore[reportUnknownMemberType]
        item.header = header
        yield item


class GoldenItem(pytest.Item):
    """A program as a test."""

    header: Header

    @property
    def source(self) -> Source:
        """The program."""
        return Source(self.path, self.header.kind, self.header.edition)

    def runtest(self) -> None:
        """Compiles, runs, compares."""
        found = check(bench_of(self.config), self.source, self.header, bless=bool(self.config.getoption("--bless")))
        for reason in found.skipped:
            self.add_report_section("call", "not checked", reason)
        if found.failures:
            raise GoldenError(found)
        if found.skipped and not (self.header.run or self.header.errors):
            pytest.skip("; ".join(found.skipped))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """What differs, the MIR, and the command that shows it again."""
        error = excinfo.value
        again = f"repeat it: pytest {shlex.quote(os.path.relpath(self.path, self.config.invocation_params.dir))}"
        if isinstance(error, GoldenError):
            mir = f"\nMIR:\n{error.found.mir}" if error.found.mir else ""
            return "\n".join([*error.found.failures, mir, again])
        if isinstance(error, MirgenError):
            bench = bench_of(self.config)
            said = report(error, Renderer(SourceMap([bench.folder(self.source)])))
            return f"{said.replace(self.source.copy, str(self.path))}\n{again}"
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the test is."""
        return self.path, 0, f"{self.header.kind}: {self.name}"
