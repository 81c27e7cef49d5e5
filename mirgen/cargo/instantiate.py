"""Instances that rustc cannot be asked for: a generic argument is a closure or a function's own type, without a name.

The generic body stands in the dump of the crate that wrote the function.  Arguments are read off the call's signature
and put into it (:mod:`mirgen.cargo.substitute`); what the instance calls in turn is looked up, asked for or
instantiated like any other call, so that rustc still says which implementation a trait's method means.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mirgen.analysis.computed import may_be_computed, with_call
from mirgen.analysis.references import references
from mirgen.cargo.arguments import all_bound_in, arguments_in, bind_declared, bind_items, bindings_of
from mirgen.cargo.callee import definition_path, parse_callee, without_regions
from mirgen.cargo.closure import (
    STANDARD_CRATES,
    GenericAnswer,
    Item,
    KnownConstant,
    Resolver,
    Unevaluated,
    Unresolved,
    called_item,
)
from mirgen.cargo.closures import (
    closures_of_own_path,
    closures_written_at,
    functions_of_own_path,
    primitive,
)
from mirgen.cargo.dump import AllocNumbers, CrateDump, header_key
from mirgen.cargo.implementations import holds, nameless
from mirgen.cargo.inside import promoted_by_spans
from mirgen.cargo.join import defines, may_be_inherent, may_be_of, names_inherent
from mirgen.cargo.projections import OpenProjection, normalised, open_projections
from mirgen.cargo.substitute import (
    GLOBAL,
    Bindings,
    Json,
    NotSubstitutedError,
    Spelling,
    Substitution,
    index_of,
    take_over,
)  # fmt: skip
from mirgen.cargo.unit import UnitRecord
from mirgen.ingest import Header, MirUnit, load_mir
from mirgen.mir.body import Body, FnKey
from mirgen.mir.coroutine import dropped
from mirgen.mir.names import erase_regions
from mirgen.mir.statement import Span
from mirgen.mir.ty import AdtTy, ClosureTy, CoroutineTy, FnDefTy, FnSig, Ty

#: Traits of core that it implements for all types at once, without constants other than the trait's own.
_OF_ALL_TYPES = frozenset({"core::mem::SizedTypeProperties", "std::mem::SizedTypeProperties"})


class InstanceDump(CrateDump):
    """The instances made for calls that one crate sees; to that crate they read like bodies of its own."""

    def __init__(self, view: CrateDump, shim: Path, work: Path, numbers: AllocNumbers) -> None:
        super().__init__(view.unit, shim, work, numbers, session=view)
        self._index = ()

    def drop_of(self, header: Header) -> None:
        """How an instance is dropped is not in rustc's text either."""

    def know_instances(self) -> bool:
        """No question of the side channel is about an instance made here."""
        return False

    def add(self, document: Json) -> Header:
        """Take in the one body of ``document``; it may be there already, made for a call that another crate printed."""
        path = self._work / f"instance-{len(self.documents)}.mir.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))
        unit = load_mir(path, first_alloc=self._numbers.next)
        (body,) = unit.bodies
        types = [local.ty.text for local in body.locals[: body.arg_count + 1]]
        header = Header(body.header, None, "fn", len(self.documents) + 1, tuple(types[1:]), types[0])
        known = next((other for other in self._index or () if header_key(other) == header_key(header)), None)
        if known is not None:
            return known
        self._numbers.take(unit)
        self.documents.append((path, unit))
        self.allocs.update(unit.allocs)
        self._keep(unit)
        self._index = (*(self._index or ()), header)
        return header

    def change(self, before: Body, after: Body) -> None:
        """Put ``after`` in the place of an instance's body."""
        self._bodies = {
            key: [after if body is before else body for body in bodies] for key, bodies in self._bodies.items()
        }


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A call's item, the dump that printed the call, and where the generic body may be."""

    item: Item
    call: Unresolved
    printed_by: CrateDump
    home: CrateDump
    headers: tuple[Header, ...]
    #: the item's drop glue, where that is wanted instead of what it runs
    glue: FnDefTy | None = None
    #: the question's answer that the generic body is, of which every parameter is known
    answer: GenericAnswer | None = None

    @property
    def documents(self) -> tuple[frozenset[str], ...]:
        """Types that stand together in the call's document: the item's own, or what a question's answer is about, which
        need not stand in any under its own name."""
        own = frozenset({self.item.text})
        if self.answer is None:
            return (own,)
        assert isinstance(self.item, FnDefTy)
        return own, frozenset(getattr(ty, "pointee", ty).text for ty in self.item.sig.inputs)

    @property
    def key(self) -> FnKey:
        """What is made, as a call names it."""
        named = self.glue or self.item
        return named.crate, named.path


class _OpenProjectionsError(Exception):
    """Nobody's error: what some projections are has to be asked first."""

    def __init__(self, projections: Sequence[OpenProjection]) -> None:
        super().__init__(f"{len(projections)} projections are not known")
        self.projections = projections


class Instantiator:
    """Makes each instance once; ``resolver.answers`` gets what was made."""

    def __init__(
        self, resolver: Resolver, root: Callable[[], CrateDump], shim: Path, work: Path, numbers: AllocNumbers,
        externs: Iterable[str],
    ) -> None:  # fmt: skip
        self._resolver = resolver
        self._root = root
        self._shim = shim
        self._work = work
        self._numbers = numbers
        self._externs = frozenset(externs)
        self._views: dict[Path, InstanceDump] = {}
        self._tried: set[FnKey] = set()
        #: the functions that compute constants, by the constants' keys
        self._computed: dict[FnKey, FnDefTy] = {}
        self._open: list[OpenProjection] = []
        #: why an instance could not be made, by its key
        self.refusals: dict[FnKey, str] = {}

    def make(self, stuck: Iterable[Unresolved]) -> bool:
        """Make instances for calls that no question can be put about; whether any was made."""
        wanted = [found for unresolved in stuck if (found := self._find(unresolved)) is not None]
        for home in {id(each.home): each.home for each in wanted}.values():
            home.bodies([header for each in wanted if each.home is home for header in each.headers])
        made = False
        for each in wanted:
            key = each.key
            try:
                self._resolver.answers[key] = self._instance(each)
                made = True
            except _OpenProjectionsError as error:
                self._open.extend(error.projections)
                self._tried.discard((each.item.crate, each.item.path))
                made = True
            except NotSubstitutedError as error:
                self.refusals[key] = str(error)
        return made

    def take_open(self) -> list[OpenProjection]:
        """The projections that instances wait for, to be asked about."""
        found, self._open = self._open, []
        return found

    def compute(self, unevaluated: Iterable[Unevaluated]) -> bool:
        """Have constants of instances computed by the program, and promoted ones made; whether any were."""
        found = False
        changed: set[int] = set()
        for constant in unevaluated:
            key, dump = constant.key, constant.reached.dump
            # What is in a body that has just changed comes up again.
            if id(constant.reached.body) in changed or (key in self._tried and key not in self._computed):
                continue
            if constant.const.promoted is not None:
                self._tried.add(key)
                try:
                    self._resolver.constants[key] = self._promoted(constant)
                    found = True
                except NotSubstitutedError as error:
                    self.refusals[key] = str(error)
                continue
            if not isinstance(dump, InstanceDump):
                continue
            self._tried.add(key)
            try:
                fn = self._computed.get(key) or self._computing(constant, dump)
            except NotSubstitutedError as error:
                self.refusals[key] = str(error)
                continue
            self._computed[key] = fn
            dump.change(constant.reached.body, with_call(constant.reached.body, fn))
            changed.add(id(constant.reached.body))
            found = True
        return found

    def _computing(self, constant: Unevaluated, view: InstanceDump) -> FnDefTy:
        """A function of the instance's crate that computes ``constant``."""
        path, holder = constant.const.path, constant.reached.body.header
        table, types = _table(view, lambda unit: any(own.header == holder for own in unit.bodies))
        for home in self._resolver.crates_in(path, view):
            found = _generic_constant(path, view.crate, home)
            if found is None:
                continue
            body, bindings = found
            bound = _bound_by_text(bindings, types)
            document, at = _document_of(home, body)
            spelling = self._spelling(view, view)
            substitution = Substitution(document, bound, table, self._spelling(home, view), spelling)
            made = substitution.document(
                {**document["bodies"][at], "kind": "fn", "ctfe": False}, path, view.crate, all_bound=True
            )
            header = view.add(made)
            instance = view.bodies([header])[header]
            output = instance.locals[0].ty
            if not may_be_computed(output):
                raise NotSubstitutedError(f"a constant of type `{output.text}` cannot be computed by the program")
            fn = FnDefTy(f"fn() -> {output.text} {{{path}}}", view.crate, path, FnSig((), output, "Rust", False, False))
            self._resolver.answers[fn.crate, fn.path] = (view, header)
            return fn
        raise NotSubstitutedError("no crate of this build has its body")

    def _promoted(self, constant: Unevaluated) -> KnownConstant:
        """A promoted constant of a generic function, for the arguments that its type tells."""
        const, printed_by, holder = constant.const, constant.reached.dump, constant.reached.body.header
        if const.ty is None:
            raise NotSubstitutedError("its type is not told")
        table, types = _table(printed_by, lambda unit: any(own.header == holder for own in unit.bodies))
        for home in (printed_by, *self._resolver.crates_in(const.path, printed_by)):
            if isinstance(home, InstanceDump):
                continue
            fitting = [
                (body, bound)
                for body in _promoted_bodies(constant, home)
                if (bound := Bindings(known=types)).bind(body.locals[0].ty, const.ty)
            ]
            if len(fitting) > 1:
                raise NotSubstitutedError(f"{len(fitting)} generic bodies fit it")
            for body, bindings in fitting:
                view = self._view(printed_by)
                document, at = _document_of(home, body)
                spelling = self._spelling(printed_by, view)
                substitution = Substitution(document, bindings, table, self._spelling(home, view), spelling)
                name = spelling(erase_regions(const.full_path))
                header = view.add(substitution.document(document["bodies"][at], name, view.crate, all_bound=False))
                return KnownConstant(view, None, view.bodies([header])[header])
        raise NotSubstitutedError("no crate of this build has its body")

    def _find(self, unresolved: Unresolved) -> _Wanted | None:
        item = called_item(unresolved.fn) if unresolved.fn is not None else None
        coroutine = dropped(item) if isinstance(item, FnDefTy) else None
        generic = None if item is None else self._resolver.generic_answers.get((item.crate, item.path))
        # Drop glue has no generic body, but for that of coroutines.
        glue = unresolved.reason == "glue" and coroutine is None and generic is None
        if item is None or glue or (item.crate, item.path) in self._tried:
            return None
        self._tried.add((item.crate, item.path))
        printed_by = unresolved.reached.dump
        if coroutine is not None:
            return self._find_drop(coroutine, unresolved)
        if generic is not None:
            return _Wanted(item, unresolved, printed_by, generic.dump, (generic.header,), answer=generic)
        spans = self._resolver.implementations.get((item.crate, item.path))
        for home in (printed_by, *self._resolver.candidate_crates(item, printed_by)):
            if isinstance(home, InstanceDump):
                continue
            headers = tuple(_headers_of(item, home) if spans is None else _implementations(item, spans, home))
            if not headers and isinstance(item, ClosureTy | CoroutineTy):
                headers = tuple(closures_written_at(item, printed_by, home))
            if headers:
                return _Wanted(item, unresolved, printed_by, home, headers)
        if spans is None:
            # The standard library exports types and traits under their own names.
            homes = (printed_by, *self._resolver.candidate_crates(item, printed_by))
            standard = [home for home in homes if home.crate in STANDARD_CRATES]
            if isinstance(item, FnDefTy):
                owned = functions_of_own_path(item.path, standard)
            else:
                owned = closures_of_own_path(item, standard)
            if len(owned) == 1:
                return _Wanted(item, unresolved, printed_by, owned[0][0], (owned[0][1],))
        return None

    def _find_drop(self, coroutine: CoroutineTy, unresolved: Unresolved) -> _Wanted | None:
        printed_by = unresolved.reached.dump
        for home in (printed_by, *self._resolver.candidate_crates(coroutine, printed_by)):
            if isinstance(home, InstanceDump):
                continue
            headers = [*_headers_of(coroutine, home)] or [*closures_written_at(coroutine, printed_by, home)]
            found = [drop for header in headers if (drop := home.drop_of(header)) is not None]
            if found:
                headers = tuple(h for _, h in found)
                return _Wanted(coroutine, unresolved, printed_by, found[0][0], headers, unresolved.fn)
        return None

    def _instance(self, wanted: _Wanted) -> tuple[CrateDump, Header]:
        item, home = wanted.item, wanted.home
        bodies = {header: body for header, body in home.bodies(wanted.headers).items() if not body.ctfe}
        table, types = _table(wanted.printed_by, *map(_holding, wanted.documents))
        for text in arguments_in(item):  # the document need not hold it apart from the path
            if text in types:
                continue
            added = primitive(text, item.crate)
            if added is not None:
                table.append(added[0])
                types[text] = added[1]
            else:
                _take_type(text, (wanted.printed_by, self._root()), table, types)
        fitting = [(body, bound) for body in bodies.values() if (bound := bindings_of(item, body, types)) is not None]
        if len(fitting) != 1:
            raise NotSubstitutedError(f"{len(fitting)} generic bodies fit it")
        body, bindings = fitting[0]
        document, at = _document_of(home, body)
        if wanted.answer is not None:
            bind_items(wanted.answer, document["types"], bindings)
        elif isinstance(item, FnDefTy):
            bind_declared(item, body, home, bindings)
        view = self._view(wanted.printed_by)
        substitution = Substitution(
            document, bindings, table, self._spelling(home, view), self._spelling(wanted.printed_by, view)
        )  # fmt: skip
        name = self._spelling(wanted.printed_by, view)(erase_regions(wanted.key[1]))
        instance = substitution.document(
            document["bodies"][at],
            name,
            view.crate,
            all_bound=wanted.answer is not None or all_bound_in(item, body, bindings),
        )
        return view, view.add(self._normalised(instance, wanted, bindings))

    def _normalised(self, instance: Json, wanted: _Wanted, bindings: Bindings) -> Json:
        """The instance without projections of types that have no name, as far as rustc could be asked.

        Raises:
            _OpenProjectionsError: it was not asked yet.
        """
        items = [*nameless(bindings.types.values(), captured=True)]
        crate, known = instance["crate_name"], self._resolver.projections
        texts = open_projections(instance, items)
        waiting = [
            OpenProjection(crate, text, of, wanted.call) for text, of in texts.items() if (crate, text) not in known
        ]
        if waiting:
            raise _OpenProjectionsError(waiting)
        answers = {text: answer for text in texts if (answer := known[crate, text]) is not None}
        return normalised(instance, answers)

    def _spelling(self, printed_by: CrateDump, view: CrateDump) -> Spelling:
        prefix = "" if printed_by.crate == view.crate else printed_by.crate
        return Spelling(prefix, self._externs - {printed_by.crate})

    def _view(self, printed_by: CrateDump) -> InstanceDump:
        """Where instances for a call live: with the crate that printed it, or, for the standard library's calls, with
        the user's, which can be asked about them."""
        view = self._root() if printed_by.crate in STANDARD_CRATES else printed_by
        record = view.unit.record
        if record not in self._views:
            work = self._work / f"{record.stem}-instances"
            self._views[record] = InstanceDump(view, self._shim, work, self._numbers)
        return self._views[record]


def _headers_of(item: Item, home: CrateDump) -> Iterator[Header]:
    """The functions in ``home`` that ``item`` may be an instance of."""
    parsed = parse_callee(item.path)
    definition = definition_path(item.text) if isinstance(item, FnDefTy) and parsed.trait is None else None
    if definition is None:
        found = _generic_headers(item.path, item.crate, home)
    elif definition[0] == home.crate:
        found = (header for header in _functions(parsed.method, home) if defines(definition[1], header))
    else:
        found = iter(())
    yield from (header for header in found if may_be_inherent(parsed, header))


def _generic_headers(path: str, printed_by: str, home: CrateDump) -> Iterator[Header]:
    """The functions in ``home`` whose path is ``path`` without generic arguments."""
    parsed = parse_callee(path)
    segments = parsed.names
    if printed_by != home.crate:
        if not may_be_of(segments[0], home.crate):
            return
        segments = segments[1:]
    for header in _functions(parsed.method, home):
        if _same_path(segments, header) or names_inherent(segments, header):
            yield header


def _functions(method: str, home: CrateDump) -> list[Header]:
    return [header for header in home.by_name.get(method, ()) if header.kind == "fn"]


def _generic_constant(path: str, printed_by: str, home: CrateDump) -> tuple[Body, dict[str, str]] | None:
    """The generic body in ``home`` of an inline constant, or of one of a trait for all types, and the texts of the
    arguments that ``path`` gives, by the names that the function around it, or the trait, has for them."""
    parsed = parse_callee(path)
    if parsed.trait is not None and parsed.trait[1] in _OF_ALL_TYPES:
        name = f"::{parsed.trait[1].partition('::')[2]}::{parsed.method}"
        headers = [h for h in home.by_name.get(parsed.method, ()) if f"::{h.header}" == name and h.kind == "const"]
        bodies = [*home.bodies(headers).values()] if home.crate == "core" else []
        return (bodies[0], {"Self": parsed.trait[0]}) if len(bodies) == 1 else None
    around = _generic_headers(path.rpartition("::")[0], printed_by, home)
    for owner, body in home.bodies(around).items():
        constants = [const.path for const, _ in references(body).unevaluated if const.promoted is None]
        own = [c for c in map(parse_callee, constants) if c.segments[-2:] == parsed.segments[-2:] and c.generics]
        name = f"{owner.header}::{parsed.method}"
        bodies = [*home.bodies(h for h in home.by_name.get(parsed.method, ()) if h.header == name).values()]
        if own and len(bodies) == 1 and len(own[0].generics) == len(parsed.generics) == 1:
            names, arguments = without_regions(own[0].generics[0]), without_regions(parsed.generics[0])
            if len(names) == len(arguments):
                return bodies[0], dict(zip(names, arguments, strict=True))
    return None


def _promoted_bodies(constant: Unevaluated, home: CrateDump) -> list[Body]:
    """The bodies in ``home`` that a promoted constant of a generic function may be an instance of."""
    const, reached = constant.const, constant.reached
    name = f"promoted[{const.promoted}]"
    owners = {header.header for header in _generic_headers(const.path, reached.dump.crate, home)}
    headers = [h for h in home.by_name.get(name, ()) if h.header.removesuffix(f"::{name}") in owners]
    if not headers and home.is_blind:
        unit = UnitRecord.load(reached.dump.unit.record)
        headers = promoted_by_spans(const, constant.source, reached.body, unit, home)
    return [*home.bodies(headers).values()]


def _bound_by_text(texts: Mapping[str, str], types: Mapping[str, Ty]) -> Bindings:
    bindings = Bindings(known=types)
    for name, text in texts.items():
        param, _, number = name.partition("/#")
        if number:
            bindings.consts[param] = text
        elif text in types:
            bindings.types[name] = types[text]
        else:
            raise NotSubstitutedError(f"nothing tells what `{name}` is")
    return bindings


def _implementations(item: Item, spans: frozenset[Span], home: CrateDump) -> Iterator[Header]:
    """The bodies in ``home`` of the method's name that hold ``spans``."""
    unit = UnitRecord.load(home.unit.record)
    for header, body in home.bodies(_functions(parse_callee(item.path).method, home)).items():
        if holds(body, spans, unit):
            yield header


def _same_path(segments: Sequence[str], header: Header) -> bool:
    """Whether a header's path is ``segments``, where an impl may be any impl of that module."""
    own = parse_callee(header.header).segments
    return len(own) == len(segments) and all(
        mine == theirs or (mine.startswith("<impl at") and theirs.startswith("<impl "))
        for mine, theirs in zip(own, segments, strict=True)
    )


def _document_of(home: CrateDump, body: Body) -> tuple[Json, int]:
    """The document that holds ``body``, and which of its bodies that is."""
    for path, unit in home.documents:
        for i, own in enumerate(unit.bodies):
            if own.header == body.header and own.ctfe == body.ctfe and _types(own) == _types(body):
                return json.loads(path.read_bytes()), i
    raise NotSubstitutedError("its document is gone")


def _types(body: Body) -> list[str]:
    return [local.ty.text for local in body.locals[: body.arg_count + 1]]


def _global(crate: str, texts: Iterable[str]) -> str:
    """How ``crate`` prints the allocator that alloc's types have unless another is given."""
    if crate == "alloc":
        return "alloc::Global"
    return "std::alloc::Global" if any("std::" in text for text in texts) else "alloc::alloc::Global"


def _take_type(text: str, dumps: Sequence[CrateDump], table: list[Json], types: dict[str, Ty]) -> None:
    """Add the type of that text to a document's table, with all that it holds, if another document of its crate has
    it."""
    for path, unit in (document for dump in dumps if dump.crate == dumps[0].crate for document in dump.documents):
        ty = next((ty for ty in unit.types if erase_regions(ty.text) == text), None)
        if ty is not None:
            other: list[Json] = json.loads(path.read_bytes())["types"]
            take_over(index_of(ty, other), other, table)
            types[text] = ty
            return


def _holding(texts: frozenset[str]) -> Callable[[MirUnit], bool]:
    return lambda unit: texts <= {ty.text for ty in unit.types}


def _table(dump: CrateDump, *are_it: Callable[[MirUnit], bool]) -> tuple[list[Json], dict[str, Ty]]:
    """The type table of the first document that one of ``are_it`` is true of, the first of these before others, and its
    types as they were read, by text without regions; with the allocator that types have where rustc prints none."""
    found = next((document for is_it in are_it for document in dump.documents if is_it(document[1])), None)
    if found is None:
        raise NotSubstitutedError("the document of the call is gone")
    path, unit = found
    table: list[Json] = json.loads(path.read_bytes())["types"]
    types = {erase_regions(ty.text): ty for ty in unit.types}
    if not any(GLOBAL.fullmatch(text) for text in types):
        text = _global(dump.crate, types)
        table.append({"kind": "adt", "text": text, "path": text, "args": []})
        types[text] = AdtTy(text, dump.crate, text, (), ())
    return table, types
