"""Putting questions about instances to rustc, crate by crate, and taking the answers."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from mirgen.cargo.closure import Resolver, Unresolved
from mirgen.cargo.dump import AllocNumbers, CrateDump
from mirgen.cargo.queries import Overlay, Query, answers, chosen_level, make_overlay, query_source
from mirgen.cargo.source import UnnameableError
from mirgen.cargo.unit import UnitRecord
from mirgen.errors import ToolError
from mirgen.ingest import Header
from mirgen.mir.body import FnKey

_FLAGS = ("--thresholds", "root")
_POSITION = re.compile(r"^ *--> (.+?):(\d+):\d+$", re.MULTILINE)


class Asker:
    """Asks each question once; ``resolver.answers`` gets what rustc answered."""

    def __init__(
        self, resolver: Resolver, shim: Path, documents: Path, overlays: Path, numbers: AllocNumbers,
        externs: Collection[str],
    ) -> None:  # fmt: skip
        self._resolver = resolver
        self._shim = shim
        self._documents = documents
        self._overlays = overlays
        self._numbers = numbers
        self._externs = externs
        self._asked: set[FnKey] = set()
        self._round = 0

    def ask(self, stuck: Sequence[Unresolved]) -> bool:
        """Ask about what is stuck and was not asked before; whether anything was answered."""
        by_unit: dict[Path, tuple[CrateDump, list[Query]]] = {}
        for unresolved in stuck:
            query = self._query(unresolved)
            if query is not None:
                dump = unresolved.reached.dump
                by_unit.setdefault(dump.unit.record, (dump, []))[1].append(query)
        answered = False
        for dump, queries in by_unit.values():
            answered |= self._put(dump, queries)
        return answered

    def _query(self, unresolved: Unresolved) -> Query | None:
        fn = unresolved.fn
        if fn is None or (fn.crate, fn.path) in self._asked or fn.path.startswith("<(dyn "):
            return None
        self._asked.add((fn.crate, fn.path))
        unit = UnitRecord.load(unresolved.reached.dump.unit.record)
        name = f"q{len(self._asked)}"
        try:
            text = query_source(name, fn, self._externs)
        except UnnameableError:
            return None
        span = unresolved.source.span
        file = unit.root_file if span is None else unit.absolute(Path(span.file))
        return Query(name, fn, file, text)

    def _put(self, home: CrateDump, queries: list[Query]) -> bool:
        unit = UnitRecord.load(home.unit.record)
        left = queries
        while left:
            self._round += 1
            overlay = make_overlay(unit.root_file, unit.source_dir, left, self._overlays / home.unit.record.stem)
            work = self._documents / f"{home.unit.record.stem}-queries-{self._round}"
            dump = CrateDump(home.unit, self._shim, work, self._numbers, (*_FLAGS, *overlay.flags()))
            try:
                found = {query.name: chosen_level(dump.index, query.name) for query in left}
            except ToolError as refusal:
                at_fault = _at_fault(refusal.output, overlay, left)
                left = [query for query in left if query.name not in at_fault] if at_fault else []
                continue
            return self._take(dump, {query.name: query for query in left}, found)
        return False

    def _take(self, dump: CrateDump, queries: dict[str, Query], found: dict[str, list[Header]]) -> bool:
        bodies = dump.bodies([header for headers in found.values() for header in headers])
        answered = False
        for name, headers in found.items():
            query = queries[name]
            for header in headers:
                if answers(bodies[header], query.fn):
                    self._resolver.answers[(query.fn.crate, query.fn.path)] = (dump, header)
                    answered = True
                    break
        return answered


def _at_fault(output: str, overlay: Overlay, queries: Sequence[Query]) -> set[str]:
    """The questions at which rustc's errors point."""
    at_fault: set[str] = set()
    lines: dict[str, list[str]] = {}
    for file, line in _POSITION.findall(output):
        path = Path(file)
        relative = path.relative_to(overlay.original) if path.is_relative_to(overlay.original) else path
        copy = overlay.copy / relative
        if copy not in overlay.changed:
            continue
        text = lines.setdefault(str(copy), copy.read_text(encoding="utf-8").splitlines())
        at = text[int(line) - 1] if int(line) <= len(text) else ""
        at_fault |= {query.name for query in queries if f"fn {query.name}<" in at or f"fn {query.name}_" in at}
    return at_fault
