"""One crate's MIR, read on demand: the index first, then only the bodies that a kernel reaches."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from mirgen.analysis.runtime_checks import decide_runtime_checks
from mirgen.analysis.unread import without_unread_constants
from mirgen.cargo.build import Unit
from mirgen.cargo.join import group_by_name
from mirgen.cargo.shim import run_shim
from mirgen.errors import InternalError
from mirgen.ingest import Header, MirUnit, load_mir
from mirgen.mir.body import Alloc, Body, TrivialConst
from mirgen.mir.names import erase_regions
from mirgen.mir.rvalue import ClosureAggregate
from mirgen.mir.statement import Assign

_DROPS = "--coroutine-drops"
#: A body by its header's text and signature: impls that one macro wrote share the text, and some the signature.
_Key: TypeAlias = tuple[str, tuple[str, ...]]
#: How many constants of one line each are read at a time.
_ALL_TRIVIAL = 500


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

    The side channel costs as much as the text itself, so that dependencies do without until something needs it:
    a call that names a trait (:meth:`know_instances`), or a closure whose operands the text lost.
    """

    def __init__(
        self, unit: Unit, shim: Path, work: Path, numbers: AllocNumbers, flags: Sequence[str] = (),
        session: CrateDump | None = None,
    ) -> None:  # fmt: skip
        """``session`` is the crate whose overflow checks count, where that is another: what the standard library leaves
        to its users is compiled with them."""
        self.unit = unit
        self._session = session
        self._overflow_checks = False
        self.crate = unit.crate_name
        self._shim = shim
        self._work = work
        self._numbers = numbers
        self._flags = tuple(flags)
        self._counter = itertools.count()
        self._side_channel = unit.primary
        self._side_channel_refused = False
        self._index: tuple[Header, ...] | None = None
        #: what drops coroutines is in a text of its own
        self._drops: CrateDump | None = None
        self._is_drops = _DROPS in self._flags
        self._by_name: dict[str, list[Header]] = {}
        #: where the headers of each text and signature stand in an index
        self._lines: dict[_Key, list[int]] = {}
        self._lines_in: tuple[Header, ...] = ()
        self._bodies: dict[_Key, list[Body]] = {}
        self.documents: list[tuple[Path, MirUnit]] = []
        self.allocs: dict[int, Alloc] = {}
        self.trivial_consts: dict[str, TrivialConst] = {}
        self._unread_trivial: set[str] | None = None

    @property
    def index(self) -> tuple[Header, ...]:
        """Every body of the crate, read or not."""
        if self._index is None:
            self._index = self._dump(["--index-only"]).index
            self._by_name = group_by_name(self._index)
        return self._index

    @property
    def by_name(self) -> dict[str, list[Header]]:
        """The index by the last segment of each header."""
        if self._index is None:
            _ = self.index
        return self._by_name

    def know_instances(self) -> bool:
        """Have the index name instances; whether that is new and possible."""
        if self._side_channel:
            return False
        self._side_channel = True
        self._index = None
        _ = self.index
        return True

    @property
    def is_blind(self) -> bool:
        """Whether rustc aborts on this crate's side channel, so that no header names its instance."""
        return self._side_channel_refused

    @property
    def overflow_checks(self) -> bool:
        """Whether arithmetic is checked for overflow; known once something was read."""
        return self._overflow_checks if self._session is None else self._session.overflow_checks

    def bodies(self, headers: Iterable[Header]) -> dict[Header, Body]:
        """Read the bodies of ``headers``; those read before are not read again.

        Raises:
            InternalError: the index and the bodies of one text do not agree.
        """
        wanted = list(headers)
        missing = [header for header in wanted if header_key(header) not in self._bodies]
        if missing:
            args = [part for name in dict.fromkeys(h.header for h in missing) for part in ("--function", name)]
            unit = self._dump(args)
            if any(map(_lost_operands, unit.bodies)) and not self._side_channel:
                self._side_channel = True
                self.documents.pop()
                unit = self._dump(args)
            self._keep(unit)
        return {header: self._body(header) for header in wanted}

    def trivial_const(self, path: str) -> TrivialConst | None:
        """The constant of that path whose value stands in its header.

        Where there are not many, all are read the first time.
        """
        if self._unread_trivial is None:
            self._unread_trivial = {header.header for header in self.index if header.kind == "trivial_const"}
        if path in self._unread_trivial:
            wanted = sorted(self._unread_trivial) if len(self._unread_trivial) <= _ALL_TRIVIAL else [path]
            self._unread_trivial.difference_update(wanted)
            self._dump([part for name in wanted for part in ("--function", name)])
        return self.trivial_consts.get(path)

    def drop_of(self, header: Header) -> tuple[CrateDump, Header] | None:
        """The body that drops the coroutine that the body of ``header`` resumes, and the dump that has it."""
        if self._is_drops:
            return self, header
        if self._drops is None:
            flags = (*self._flags, _DROPS)
            self._drops = CrateDump(self.unit, self._shim, self._work / "drops", self._numbers, flags, self._session)
        matches = [other for other in self._drops.index if other.header == header.header and drops_what(other, header)]
        return (self._drops, matches[0]) if len(matches) == 1 else None

    def _keep(self, unit: MirUnit) -> None:
        overflow = self.overflow_checks
        found: dict[_Key, list[Body]] = {}
        for body in unit.bodies:
            decided = decide_runtime_checks(body, overflow_checks=overflow)
            found.setdefault(_body_key(body), []).append(without_unread_constants(decided))
        self._bodies = {**found, **self._bodies}

    def _body(self, header: Header) -> Body:
        """The body of ``header``: those of one text and signature stand in the order of the index, in both."""
        key = header_key(header)
        if self._lines_in is not self.index:
            self._lines_in, self._lines = self.index, {}
            for other in self._lines_in:
                self._lines.setdefault(header_key(other), []).append(other.line)
        same = self._lines.get(key, [])
        bodies = self._bodies.get(key, [])
        if len(bodies) != len(same):
            raise InternalError(f"{len(same)} headers and {len(bodies)} bodies of `{header.header}` in {self.crate}")
        return bodies[same.index(header.line)]

    def _dump(self, args: Sequence[str]) -> MirUnit:
        out = self._work / f"{self.unit.record.stem}-{next(self._counter)}.mir.json"
        out.parent.mkdir(parents=True, exist_ok=True)
        flags = self._flags
        if not self._side_channel or self._side_channel_refused:
            flags = (*flags, "--no-side-channel")
        run_shim(self._shim, ["dump", "--unit", str(self.unit.record), "--out", str(out), *flags, *args])
        unit = load_mir(out, first_alloc=self._numbers.next)
        self._overflow_checks = "-Coverflow-checks=on" in unit.flags
        self._side_channel_refused |= any(note.startswith("no side channel") for note in unit.notes)
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


def drops_what(drop: Header, resume: Header) -> bool:
    """Whether a body drops what the other resumes.

    It takes ``*mut C``, from 1.97 on ``&mut C``; the other ``Pin<&mut C>`` or ``&mut C``.
    """
    dropped, resumed = (erase_regions(header.args[0]) if header.args else "" for header in (drop, resume))
    coroutine = dropped.removeprefix("*mut ").removeprefix("&'_ mut ")
    return coroutine.startswith("{") and resumed.endswith((f"&'_ mut {coroutine}", f"&'_ mut {coroutine}>"))


def _lost_operands(body: Body) -> bool:
    """Whether rustc's text lost captured operands of a closure."""
    return any(
        isinstance(s, Assign) and isinstance(s.rvalue, ClosureAggregate) and not s.rvalue.complete
        for block in body.blocks
        for s in block.statements
    )


def header_key(header: Header) -> _Key:
    """What tells a body from others in one crate, as far as its header does."""
    return header.header, tuple(erase_regions(text) for text in (*header.args, header.output))


def _body_key(body: Body) -> _Key:
    texts = [local.ty.text for local in (*body.locals[1 : body.arg_count + 1], body.locals[0])]
    return body.header, tuple(map(erase_regions, texts))
