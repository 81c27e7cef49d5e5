"""One crate's MIR, read on demand: the index first, then only the bodies that a kernel reaches."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from mirgen.analysis.runtime_checks import decide_runtime_checks
from mirgen.cargo.build import Unit
from mirgen.cargo.join import group_by_name
from mirgen.cargo.shim import run_shim
from mirgen.ingest import Header, MirUnit, load_mir
from mirgen.mir.body import Alloc, Body, TrivialConst
from mirgen.mir.names import erase_regions


class AllocNumbers:
    """Gives every document of one program its own range of allocation numbers."""

    def __init__(self) -> None:
        self.next = 0

    def new(self) -> int:
        """A number of its own."""
        self.next += 1
        return self.next - 1

    def take(self, unit: MirUnit) -> None:
        self.next = max([self.next, *(number + 1 for number in unit.allocs)])


class CrateDump:
    """The MIR of one unit under one set of flags.

    ``documents`` are the JSON files read so far, each with what it became; their type tables are what layouts are
    asked with.
    """

    def __init__(self, unit: Unit, shim: Path, work: Path, numbers: AllocNumbers, flags: Sequence[str] = ()) -> None:
        self.unit = unit
        self.crate = unit.crate_name
        self._shim = shim
        self._work = work
        self._numbers = numbers
        self._flags = tuple(flags)
        self._counter = itertools.count()
        self._bodies: dict[tuple[str, tuple[str, ...]], Body] = {}
        self.documents: list[tuple[Path, MirUnit]] = []
        self.allocs: dict[int, Alloc] = {}
        self.trivial_consts: dict[str, TrivialConst] = {}

    @cached_property
    def index(self) -> tuple[Header, ...]:
        """Every body of the crate, read or not."""
        return self._dump(["--index-only"]).index

    @cached_property
    def by_name(self) -> dict[str, list[Header]]:
        return group_by_name(self.index)

    def bodies(self, headers: Iterable[Header]) -> dict[Header, Body]:
        """Read the bodies of ``headers``; those read before are not read again."""
        wanted = list(headers)
        missing = [header for header in wanted if _key(header) not in self._bodies]
        if missing:
            args = [part for name in dict.fromkeys(h.header for h in missing) for part in ("--function", name)]
            unit = self._dump(args)
            overflow = "-Coverflow-checks=on" in unit.flags
            for body in unit.bodies:
                decided = decide_runtime_checks(body, overflow_checks=overflow)
                self._bodies.setdefault(_body_key(body), decided)
        return {header: self._bodies[_key(header)] for header in wanted}

    def _dump(self, args: Sequence[str]) -> MirUnit:
        out = self._work / f"{self.unit.record.stem}-{next(self._counter)}.mir.json"
        out.parent.mkdir(parents=True, exist_ok=True)
        run_shim(self._shim, ["dump", "--unit", str(self.unit.record), "--out", str(out), *self._flags, *args])
        unit = load_mir(out, first_alloc=self._numbers.next)
        self._numbers.take(unit)
        if unit.bodies:
            self.documents.append((out, unit))
        self.allocs.update(unit.allocs)
        self.trivial_consts.update(unit.trivial_consts)
        return unit

    def type_tables(self) -> Iterator[tuple[list[dict[str, Any]], MirUnit]]:
        """The wire type table of each document that holds bodies."""
        for path, unit in self.documents:
            yield json.loads(path.read_bytes())["types"], unit


def _key(header: Header) -> tuple[str, tuple[str, ...]]:
    return header.header, tuple(erase_regions(text) for text in header.args)


def _body_key(body: Body) -> tuple[str, tuple[str, ...]]:
    arguments = body.locals[1 : body.arg_count + 1]
    return body.header, tuple(erase_regions(local.ty.text) for local in arguments)
