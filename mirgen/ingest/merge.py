"""Several documents to one numbering of allocations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from mirgen.errors import InvalidInputError
from mirgen.ingest.unit import MirUnit
from mirgen.mir import body as m
from mirgen.mir.place import Operand
from mirgen.mir.walk import map_alloc_ids, map_body_operands

#: What makes two allocations of different documents one: a static's full path, or a function.
_Identity: TypeAlias = tuple[str, ...]
#: (unit's position, allocation's number in that unit)
_Local: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Merged:
    """``units`` in the order given, their bodies and constants now in the numbering of ``allocs``."""

    units: tuple[MirUnit, ...]
    allocs: dict[int, m.Alloc]


def merge(units: Sequence[MirUnit]) -> Merged:
    """One numbering, dense from 0, in which a static is one allocation however many documents mention it.

    A document that prints a static's bytes wins over one that only names it.  Raises :class:`InvalidInputError` where
    two documents give one static different contents.
    """
    return _Merger(units).run()


class _Merger:
    def __init__(self, units: Sequence[MirUnit]) -> None:
        self._units = units
        self._crates = {u.crate for u in units}
        self._statics = [{h.header for h in u.index if h.kind in ("static", "static_mut")} for u in units]
        self._ids: dict[_Local, int] = {}
        self._homes: list[_Local] = []
        self._named: dict[_Identity, int] = {}

    def run(self) -> Merged:
        again: list[tuple[_Local, int]] = []
        for u, unit in enumerate(self._units):
            for number, alloc in unit.allocs.items():
                here = (u, number)
                identity = self._identity(u, alloc)
                new = len(self._homes) if identity is None else self._named.setdefault(identity, len(self._homes))
                self._ids[here] = new
                if new == len(self._homes):
                    self._homes.append(here)
                else:
                    again.append((here, new))
        for here, new in again:
            if not isinstance(self._at(self._homes[new]), m.MemoryAlloc):
                self._homes[new] = here
        for here, new in again:
            if isinstance(static := self._at(here), m.MemoryAlloc) and not self._same(here, self._homes[new], set()):
                first = self._units[self._homes[new][0]].crate
                second = self._units[here[0]].crate
                raise InvalidInputError(
                    f"static `{static.static}` has other contents as printed for crate `{first}` than for `{second}`"
                )
        allocs = {new: self._renumbered(home) for new, home in enumerate(self._homes)}
        return Merged(tuple(self._rewritten(u) for u in range(len(self._units))), allocs)

    def _at(self, local: _Local) -> m.Alloc:
        return self._units[local[0]].allocs[local[1]]

    def _identity(self, u: int, alloc: m.Alloc) -> _Identity | None:
        match alloc:
            case m.MemoryAlloc(static=str() as path):
                return ("static", self._full_path(u, path))
            case m.OtherAlloc("static_unprinted" | "static_error" | "extern_static", path):
                return ("static", self._full_path(u, path))
            case m.FnAlloc(instance):
                return ("fn", self._units[u].crate, instance)
            case _:
                return None

    def _full_path(self, u: int, path: str) -> str:
        """rustc leaves the crate out of local paths; another crate's path begins with its name."""
        first = path.partition("::")[0]
        if path not in self._statics[u] and first in self._crates and first != path:
            return path
        return f"{self._units[u].crate}::{path}"

    def _same(self, a: _Local, b: _Local, assumed: set[tuple[_Local, _Local]]) -> bool:
        """Whether two allocations have equal contents, pointers followed."""
        if a == b or (a, b) in assumed or (assumed and self._ids[a] == self._ids[b]):
            return True
        assumed.add((a, b))
        x, y = self._at(a), self._at(b)
        if not isinstance(x, m.MemoryAlloc) or not isinstance(y, m.MemoryAlloc):
            return x == y
        if (x.align, x.data, x.uninit) != (y.align, y.data, y.uninit) or len(x.relocations) != len(y.relocations):
            return False
        return all(
            (p.at, p.size, p.offset) == (q.at, q.size, q.offset)
            and self._same((a[0], p.alloc), (b[0], q.alloc), assumed)
            for p, q in zip(x.relocations, y.relocations, strict=True)
        )

    def _renumbered(self, home: _Local) -> m.Alloc:
        alloc = self._at(home)
        if not isinstance(alloc, m.MemoryAlloc) or not alloc.relocations:
            return alloc
        moved = tuple(replace(x, alloc=self._ids[home[0], x.alloc]) for x in alloc.relocations)
        return replace(alloc, relocations=moved)

    def _rewritten(self, u: int) -> MirUnit:
        def change(operand: Operand) -> Operand:
            return map_alloc_ids(operand, lambda i: self._ids[u, i])

        unit = self._units[u]
        return replace(
            unit,
            bodies=tuple(map_body_operands(b, change) for b in unit.bodies),
            trivial_consts={h: replace(c, value=change(c.value)) for h, c in unit.trivial_consts.items()},
            allocs={self._ids[u, i]: self._renumbered((u, i)) for i in unit.allocs},
        )


def reachable_allocs(allocs: dict[int, m.Alloc], roots: Iterable[int]) -> dict[int, m.Alloc]:
    """The allocations reached from ``roots`` through pointers, in ascending order."""
    seen: set[int] = set()
    todo = list(roots)
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        if isinstance(alloc := allocs[at], m.MemoryAlloc):
            todo += [x.alloc for x in alloc.relocations]
    return {i: allocs[i] for i in sorted(seen)}
