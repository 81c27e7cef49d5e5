"""Putting questions about instances to rustc, crate by crate, and taking the answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mirgen.analysis.fold import looks_literal
from mirgen.cargo.alike import Alike, alike, alike_projection
from mirgen.cargo.build import Unit
from mirgen.cargo.closure import (
    PATH_HEAD,
    STANDARD_CRATES,
    GenericAnswer,
    KnownConstant,
    NormalType,
    Reached,
    Resolver,
    Unevaluated,
    Unresolved,
)
from mirgen.cargo.constants import (
    FEATURE,
    call_source,
    constant_source,
    constant_value,
    inner_source,
    item_span,
    written_block,
    written_type,
)
from mirgen.cargo.dump import AllocNumbers, CrateDump
from mirgen.cargo.expose import ExposureNeededError
from mirgen.cargo.implementations import StandIn, inlined_spans, made_alike, stand_in, with_parameters
from mirgen.cargo.inside import constants_inside, find_by_spans, find_inside, find_promoted_by_spans, written_text
from mirgen.cargo.methods import dyn_call
from mirgen.cargo.overlay import Overlay, Private, make_overlay
from mirgen.cargo.projections import OpenProjection
from mirgen.cargo.queries import CLOSURES, INSIDE, Query, address_source, addressed, answers, chosen_level, query_source
from mirgen.cargo.refusals import at_fault, crates_without_name, private_items, unstable_features
from mirgen.cargo.source import Names, UnnameableError, type_source
from mirgen.cargo.substitute import Json, index_of
from mirgen.cargo.tables import TABLE_FEATURE, read_tables, refused_tables, table_source
from mirgen.cargo.unit import UnitRecord
from mirgen.cargo.within import body_start, function_around, unrooted
from mirgen.errors import ToolError
from mirgen.ingest import Header
from mirgen.mir.body import Body, FnKey, MemoryAlloc
from mirgen.mir.names import erase_regions
from mirgen.mir.place import Constant, SliceConst
from mirgen.mir.statement import Span
from mirgen.mir.ty import FnDefTy, PointerTy

_FLAGS = ("--thresholds", "query")


@dataclass(frozen=True, slots=True)
class _Allowed:
    """What copies of a unit have since earlier questions wanted it: items made public, features enabled, crates of the
    standard library named."""

    exposed: frozenset[Private] = frozenset()
    features: frozenset[str] = frozenset()
    crates: frozenset[str] = frozenset()


class Asker:
    """Asks each question once; ``resolver.answers`` and ``resolver.constants`` get what rustc answered."""

    def __init__(
        self, resolver: Resolver, shim: Path, documents: Path, overlays: Path, numbers: AllocNumbers,
        units: Mapping[str, Sequence[Unit]], current: Callable[[str], list[CrateDump]],
    ) -> None:  # fmt: skip
        self._resolver = resolver
        self._shim = shim
        self._documents = documents
        self._overlays = overlays
        self._numbers = numbers
        self._units = units
        self._current = current
        self._externs = frozenset({*units, "core", "alloc", "std"})
        self._private: set[tuple[Path, Private]] = set()
        self._allowed: dict[Path, _Allowed] = {}
        self._asked: set[FnKey] = set()
        self._round = 0
        self._known_without_question = False

    def ask(
        self, stuck: Sequence[Unresolved], constants: Sequence[Unevaluated], projections: Sequence[OpenProjection] = ()
    ) -> bool:
        """Ask about functions, constants and projections that were not asked about before; whether anything new was
        asked.

        Raises:
            ExposureNeededError: private items of other crates would have to be named.
        """
        self._known_without_question = False
        tables = self._ask_tables([unresolved for unresolved in stuck if unresolved.reason == "table"])
        by_unit = _by_unit((
            *map(self._query, stuck), *map(self._constant_query, constants),
            *map(self._projection_query, projections),
        ))  # fmt: skip
        answered = self._known_without_question or tables
        for dump, queries in by_unit.values():
            answered |= self._put(dump, queries)
        for projection in projections:
            self._resolver.projections.setdefault(projection.key, None)
        if self._private and not answered:
            raise ExposureNeededError(frozenset(self._private))
        return bool(by_unit) or answered

    def is_hopeless(self, unresolved: Unresolved) -> bool:
        """Whether rustc was asked in vain, or cannot be asked."""
        key = (unresolved.crate, unresolved.path)
        return unresolved.has_no_name or (key in self._asked and key not in self._resolver.answers)

    def _query(self, unresolved: Unresolved) -> tuple[CrateDump, Query] | None:
        """The question, and the dump of the crate to put it to."""
        fn = unresolved.fn
        if unresolved.reason == "address" and fn is None:
            return self._address_query(unresolved)
        if fn is None or (fn.crate, fn.path) in self._asked or unresolved.reason in ("table", "dyn"):
            return None
        self._asked.add((fn.crate, fn.path))
        name = f"q{len(self._asked)}"
        for home in self._homes(fn.path, unresolved.reached):
            unit = UnitRecord.load(home.unit.record)
            names = Names(unit.crate_name, fn.crate, self._externs)
            query = Query(name, (fn.crate, fn.path), _file(unit, unresolved.source.span), "", fn)
            try:
                inside = _within(query, home, names) if fn.crate == home.crate else None
                return home, inside or replace(query, text=query_source(name, fn, names))
            except UnnameableError:
                asked = _otherwise(query, fn, names)
            if asked is not None:
                return home, asked
        return None

    def _projection_query(self, projection: OpenProjection) -> tuple[CrateDump, Query] | None:
        """The question what a projection is of a type without a name."""
        asked = alike_projection(projection.text, projection.items)
        key = (projection.crate, f"={projection.text}")
        if asked is None or key in self._asked:
            return None
        self._asked.add(key)
        name = f"q{len(self._asked)}"
        put = self._nameable(projection.key, projection.call, lambda names: asked.source(name, names))
        if put is None:
            return None
        parameters = {each.name: each.item for each in asked.named.parameters}
        query = Query(name, projection.key, *put[1:], feature=FEATURE, parameters=parameters, projection=True)
        return put[0], query

    def _address_query(self, unresolved: Unresolved) -> tuple[CrateDump, Query] | None:
        """The question which function it is whose address a constant holds."""
        key = (unresolved.crate, unresolved.path)
        if (asked := (key[0], f"&{key[1]}")) in self._asked:
            return None
        self._asked.add(asked)
        name = f"q{len(self._asked)}"
        put = self._nameable(key, unresolved, lambda names: address_source(name, unresolved.path, names))
        return None if put is None else (put[0], Query(name, key, *put[1:], address=True))

    def _nameable(
        self, key: FnKey, call: Unresolved, write: Callable[[Names], str]
    ) -> tuple[CrateDump, Path, str] | None:  # fmt: skip
        """The first crate in which a question about ``key`` can be written, the file it is put to, and its text."""
        for home in self._homes(key[1], call.reached):
            unit = UnitRecord.load(home.unit.record)
            try:
                text = write(Names(unit.crate_name, key[0], self._externs))
            except UnnameableError:
                continue
            return home, _file(unit, call.source.span), text
        return None

    def _ask_tables(self, stuck: Sequence[Unresolved]) -> bool:
        """Ask which methods on trait objects are in a table; whether anything was answered."""
        answered = False
        for home, queries in _by_unit(map(self._table_query, stuck)).values():
            answered |= self._put_tables(home, queries)
        return answered

    def _table_query(self, unresolved: Unresolved) -> tuple[CrateDump, Query] | None:
        call = None if unresolved.fn is None else dyn_call(unresolved.fn)
        if call is None or (key := (unresolved.crate, call.of)) in self._asked:
            return None
        self._asked.add(key)
        name = f"T{len(self._asked)}"
        put = self._nameable((key[0], unresolved.path), unresolved, lambda names: table_source(name, call, names))
        return None if put is None else (put[0], Query(name, key, *put[1:], feature=TABLE_FEATURE))

    def _put_tables(self, home: CrateDump, queries: list[Query]) -> bool:
        unit = UnitRecord.load(home.unit.record)
        left: list[Query] = queries
        while left:
            overlay, dump = self._overlaid(home, unit, left)
            try:
                _ = dump.index
            except ToolError as refusal:
                output = refusal.output
            else:
                return False
            found = read_tables(output, overlay, left)
            if found:
                self._resolver.methods.tables.update({q.key: found[q.name] for q in left if q.name in found})
                return True
            if not self._allow(home, unit, output):
                faulty = refused_tables(output, overlay, left)
                left = [query for query in left if query.name not in faulty] if faulty else []
        return False

    def _allow(self, home: CrateDump, unit: UnitRecord, output: str) -> bool:
        """Have what rustc misses in its ``output`` public and enabled in later copies; whether that is new."""
        private = private_items(output, unit)
        self._note_foreign(private)
        allowed = self._allowed_in(home)
        more = self._allowed[home.unit.record] = _Allowed(
            allowed.exposed | {item for item in private if item.file.is_relative_to(unit.source_dir)},
            allowed.features | unstable_features(output),
            allowed.crates | crates_without_name(output),
        )
        return more != allowed

    def _allowed_in(self, home: CrateDump) -> _Allowed:
        return self._allowed.get(home.unit.record, _Allowed())

    def _overlaid(
        self, home: CrateDump, unit: UnitRecord, queries: Sequence[Query]
    ) -> tuple[Overlay, CrateDump]:  # fmt: skip
        """A copy of the crate's sources with the questions, and its dump."""
        self._round += 1
        allowed = self._allowed_in(home)
        copies = self._overlays / home.unit.record.stem
        # core reads files that lie beside its own folder.
        sources = unit.source_dir.parent if home.crate in STANDARD_CRATES else unit.source_dir
        overlay = make_overlay(
            unit.root_file, sources, queries, copies, allowed.exposed, features=allowed.features, crates=allowed.crates
        )
        work = self._documents / f"{home.unit.record.stem}-queries-{self._round}"
        flags = (*_FLAGS, *overlay.flags())
        return overlay, CrateDump(home.unit, self._shim, work, self._numbers, flags, session=home)

    def _constant_query(self, constant: Unevaluated) -> tuple[CrateDump, Query] | None:
        """The question for a constant's value; a promoted one has no name."""
        key = constant.key
        if key in self._asked:
            return None
        self._asked.add(key)
        if constant.const.promoted is not None:
            self._know_promoted(constant)
            return None
        name = f"q{len(self._asked)}"
        homes = self._homes(key[1], constant.reached)
        if constant.call is not None:  # is put to the crate that wrote it
            homes = [home for home in homes if home is constant.reached.dump]
        else:
            homes = [*self._standard_homes(constant), *homes]
        for home in homes:
            unit = UnitRecord.load(home.unit.record)
            names = Names(unit.crate_name, key[0], self._externs)
            header = None if constant.call is not None else _inside(constant, home)
            if header is not None and header.kind == "trivial_const":
                value = self._trivial(constant, header, home)
                if value is not None:
                    self._resolver.constants[key] = KnownConstant(home, value)
                    self._known_without_question = True
                return None
            if header is not None:
                body = home.bodies([header])[header]
                literal = looks_literal(body)
                # A dump of a copy of core takes long.
                unasked = literal and home.crate in STANDARD_CRATES
                inside = None if unasked else self._inside(f"{INSIDE}{name}", key, header, body, home)
                if inside is None and literal:
                    self._resolver.constants[key] = KnownConstant(home, None, body)
                    self._known_without_question = True
                return None if inside is None else (home, inside)
            if home.crate in STANDARD_CRATES:
                continue
            try:
                call = constant.call
                text = constant_source(name, key[1], names) if call is None else call_source(name, call, names)
            except UnnameableError:
                continue
            return home, Query(name, key, _file(unit, constant.source.span), text, feature=FEATURE)
        return None

    def _trivial(self, constant: Unevaluated, header: Header, home: CrateDump) -> Constant | None:
        """The value that stands in a constant's header; rustc prints a string's bytes only where a body holds them."""
        trivial = home.trivial_const(header.header)
        if trivial is not None:
            return trivial.value if isinstance(trivial.value, Constant) else None
        text, ty = written_text(header, home), constant.const.ty
        if text is None or not isinstance(ty, PointerTy):
            return None
        alloc = self._numbers.new()
        home.allocs[alloc] = MemoryAlloc(None, 1, text, (), ())
        return Constant(SliceConst(ty, alloc, len(text)))

    def _inside(self, name: str, key: FnKey, header: Header, body: Body, home: CrateDump) -> Query | None:
        """The question for a constant inside a function's body, put there.

        ``None`` where it would be put beside another constant too, which the same macro wrote.
        """
        unit = UnitRecord.load(home.unit.record)
        span = item_span(body)
        file = _file(unit, span)
        same = [other for other in home.by_name[header.header.rpartition("::")[2]] if other.header == header.header]
        if len(same) > 1 or span is None or not file.is_relative_to(unit.source_dir):
            return None
        text = file.read_text(encoding="utf-8")
        around, _, own = header.header.rpartition("::")
        if header.kind == "const":
            ty = written_type(span, own, text)
            at = (span.end_line, span.end_col)
            return None if ty is None else Query(name, key, file, inner_source(name, own, ty), at=at, inside=around)
        block = written_block(span, text)
        if block is None:
            return None
        try:
            ty = type_source(body.locals[0].ty.text, Names(unit.crate_name, body.crate, self._externs), "'static")
        except UnnameableError:
            return None
        question = inner_source(name, f"{{ {block[0]} }}", ty) + " "
        return Query(name, key, file, question, at=block[1], inside=header.header)

    def _know_promoted(self, constant: Unevaluated) -> None:
        """Take a promoted constant from a crate whose headers do not tell instances, if it is certain which it is."""
        printed_by = constant.reached.dump
        unit = UnitRecord.load(printed_by.unit.record)
        for home in (printed_by, *self._resolver.crates_in(constant.const.path, printed_by)):
            if not home.is_blind:
                continue
            header = find_promoted_by_spans(constant.const, constant.source, constant.reached.body, unit, home)
            if header is not None:
                self._resolver.constants[constant.key] = KnownConstant(home, None, home.bodies([header])[header])
                self._known_without_question = True
                return

    def _standard_homes(self, constant: Unevaluated) -> list[CrateDump]:
        """Dumps of the standard library in which the constant's body may be."""
        home = constant.reached.dump
        dumps = (home, *self._resolver.crates_in(constant.const.path, home))
        return [dump for dump in dumps if dump.crate in STANDARD_CRATES]

    def _homes(self, path: str, reached: Reached) -> list[CrateDump]:
        """Crates in which a question about ``path`` may be put: that of the path's own crates which sees the others,
        then the one that printed it; the kernel's where that is the standard library, of which a dump takes long."""
        if reached.dump.crate in STANDARD_CRATES:
            return [reached.kernel.dump]
        heads = {head for head in PATH_HEAD.findall(erase_regions(path)) if head in self._units}
        homes = [
            dump
            for head in sorted(heads)
            for dump in self._current(head)
            if heads <= {head, *UnitRecord.load(dump.unit.record).externs, *STANDARD_CRATES}
        ]
        return [home for home in (*homes, reached.dump) if home.crate not in STANDARD_CRATES]

    def _put(self, home: CrateDump, queries: list[Query]) -> bool:
        unit = UnitRecord.load(home.unit.record)
        left: list[Query] = queries
        while left:
            overlay, dump = self._overlaid(home, unit, left)
            try:
                found = {query.name: chosen_level(dump.index, query.name, query.inside) for query in left}
            except ToolError as refusal:
                if self._allow(home, unit, refusal.output):
                    continue
                faulty = at_fault(refusal.output, overlay, left)
                if not faulty:  # each half by itself, down to one that rustc refuses alone
                    halves = (left[: len(left) // 2], left[len(left) // 2 :]) if len(left) > 1 else ()
                    answered = [self._put(home, half) for half in halves]
                    return any(answered)
                simpler = [replace(q, text=q.simpler, simpler=None) for q in left if q.name in faulty and q.simpler]
                left = [*(query for query in left if query.name not in faulty), *simpler]
                continue
            return self._take(dump, {query.name: query for query in left}, found)
        return False

    def _note_foreign(self, items: frozenset[Private]) -> None:
        """Keep the private items of other packages that are no part of the user's own."""
        for units in self._units.values():
            for unit in units:
                record = UnitRecord.load(unit.record)
                if not record.primary:
                    self._private |= {(unit.record, i) for i in items if i.file.is_relative_to(record.source_dir)}

    def _take(self, dump: CrateDump, queries: dict[str, Query], found: dict[str, list[Header]]) -> bool:
        unit = UnitRecord.load(dump.unit.record)
        bodies = dump.bodies([header for headers in found.values() for header in headers])
        answered = False
        for name, headers in found.items():
            query = queries[name]
            if query.address:
                answered |= self._take_address(query, [bodies[header] for header in headers])
                continue
            if query.projection:
                answered |= self._take_projection(dump, query, [bodies[header] for header in headers])
                continue
            if query.fn is None:
                answered |= self._take_constant(dump, query, [bodies[header] for header in headers])
                continue
            answered |= self._take_body(dump, query, {header: bodies[header] for header in headers}, unit)
        return answered

    def _take_body(
        self, dump: CrateDump, query: Query, bodies: Mapping[Header, Body], unit: UnitRecord
    ) -> bool:  # fmt: skip
        """Take the function itself, if it was inlined; else which it is, if that was asked."""
        assert query.fn is not None
        for header, body in bodies.items():
            if not header.header.endswith(CLOSURES) and answers(body, query.fn):
                if query.generic:
                    self._resolver.generic_answers[query.key] = GenericAnswer(dump, header, query.parameters)
                else:
                    self._resolver.answers[query.key] = (dump, header)
                return True
        for header, body in bodies.items():
            alike = not header.header.endswith(CLOSURES) or made_alike(body, query.items)
            if query.which and alike and (spans := inlined_spans(body, query.fn, unit)):
                self._resolver.implementations[query.key] = spans
                return True
        return False

    def _take_address(self, query: Query, bodies: Sequence[Body]) -> bool:
        fn = addressed(bodies[0]) if bodies else None
        if fn is not None:
            self._resolver.addresses[query.key] = fn
        return fn is not None

    def _take_projection(self, dump: CrateDump, query: Query, bodies: Sequence[Body]) -> bool:
        taken = bodies[0].locals[1].ty if bodies else None
        if not isinstance(taken, PointerTy):
            return False
        header = bodies[0].header
        path = next(path for path, unit in dump.documents if any(body.header == header for body in unit.bodies))
        table: list[Json] = json.loads(path.read_bytes())["types"]
        self._resolver.projections[query.key] = NormalType(table, index_of(taken.pointee, table), query.parameters)
        return True

    def _take_constant(self, dump: CrateDump, query: Query, bodies: Sequence[Body]) -> bool:
        value = constant_value(bodies[0], dump.allocs) if bodies else None
        if value is None:
            return False
        memory = dump.allocs[value.alloc]
        assert isinstance(memory, MemoryAlloc)
        dump.allocs[value.alloc] = replace(memory, static=None)
        self._resolver.constants[query.key] = KnownConstant(dump, Constant(value))
        return True


def _by_unit(found: Iterable[tuple[CrateDump, Query] | None]) -> dict[Path, tuple[CrateDump, list[Query]]]:
    """The questions that there are, by the unit that they are put to."""
    by_unit: dict[Path, tuple[CrateDump, list[Query]]] = {}
    for dump, query in filter(None, found):
        by_unit.setdefault(dump.unit.record, (dump, []))[1].append(query)
    return by_unit


def _inside(constant: Unevaluated, home: CrateDump) -> Header | None:
    """The constant's header in ``home``, if it is inside a function's body there."""
    path, printed_by = constant.const.path, constant.reached.dump
    found = find_inside(path, printed_by.crate, home.crate, home.by_name)
    if found is None and constants_inside(path, home.by_name) and home.know_instances():
        found = find_inside(path, printed_by.crate, home.crate, home.by_name)
    if isinstance(found, Header):
        return found
    if found is None and not home.is_blind:
        return None
    unit = UnitRecord.load(printed_by.unit.record)
    return find_by_spans(constant.const, constant.source, constant.reached.body, unit, home, found)


def _otherwise(query: Query, fn: FnDefTy, names: Names) -> Query | None:
    """The question about what has no name in words that do, if there are any."""
    stand = stand_in(fn)
    for asked in filter(None, (stand, alike(fn), with_parameters(fn))):
        try:
            text = asked.source(query.name, names)
        except UnnameableError:
            continue
        feature = FEATURE if isinstance(asked, Alike) else None
        put = replace(
            query, text=text, fn=asked.fn, feature=feature, which=asked is stand, generic=True,
            parameters={each.name: each.item for each in asked.parameters},
        )  # fmt: skip
        return put if stand is None else _with_closures(put, stand, names)
    return None


def _with_closures(query: Query, stand: StandIn, names: Names) -> Query:
    """The question with closures made for its parameters, if they can be."""
    try:
        closures = stand.closures_source(query.name, names)
    except UnnameableError:
        closures = None
    if closures is None:
        return query
    return replace(query, text=f"{query.text}\n{closures}", simpler=query.text, items=stand.items)


def _within(query: Query, home: CrateDump, names: Names) -> Query | None:
    """The question put inside the function that declares what it names, where one does.

    Raises:
        UnnameableError: a type or the path cannot be written.
    """
    assert query.fn is not None
    function = function_around(query.fn.path, home)
    start = None if function is None else body_start(function, home)
    if function is None or start is None:
        return None
    name = f"{INSIDE}{query.name}"
    text = unrooted(query_source(name, query.fn, names), function)
    return replace(
        query, name=name, text=f"#[allow(warnings)] {text}", file=start[0], at=start[1], inside=function.header
    )


def _file(unit: UnitRecord, span: Span | None) -> Path:
    """Where a question that comes up at ``span`` is put."""
    return unit.root_file if span is None else unit.absolute(Path(span.file))
