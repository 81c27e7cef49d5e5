"""Which implementation a trait's method means, where closures and functions without a name are in its path.

rustc is asked about the same method with type parameters in the place of those, bounded by what closures and functions
implement.  It answers where the implementation is the same whatever they are, and inlines what it chose: a generic
body, of which the call is an instance.  Where that is not so, closures are made that no trait can tell from the call's
own: of the same kind and signature, with captures of the same types.  Then the spans of the statements that came from
the implementation tell which that is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mirgen.cargo.callee import Callee, parse_callee, short
from mirgen.cargo.join import may_be_one
from mirgen.cargo.methods import DROP_PATH
from mirgen.cargo.overlay import MODULE
from mirgen.cargo.queries import CLOSURES, query_source
from mirgen.cargo.source import PARAMETER, Names, type_source, without_turbofish
from mirgen.cargo.unit import UnitRecord
from mirgen.mir.body import Body
from mirgen.mir.coroutine import resumed
from mirgen.mir.names import erase_regions, skip_group
from mirgen.mir.statement import SourceInfo, Span
from mirgen.mir.ty import ClosureTy, CoroutineTy, FnDefTy, TupleTy, Ty, parts

_MADE = re.compile(rf"[\w:]+{CLOSURES}::\{{closure#\d+\}}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A type parameter in the place of ``item``; of a closure or function, ``signature`` is what it takes and gives
    (rustc's text, with parameters in the place of others)."""

    name: str
    item: ClosureTy | FnDefTy | CoroutineTy
    signature: str

    def bound(self, names: Names) -> str:
        """The trait that the item implements, as source."""

        def source(ty: Ty) -> str:
            return type_source(erase_regions(ty.text), names)

        item = self.item
        if isinstance(item, CoroutineTy):
            movable = "" if item.text.startswith("{static ") else " + Unpin"
            if item.resume.text.endswith("::ResumeTy"):
                return f"core::future::Future<Output = {source(item.returns)}>{movable}"
            types = f"<{source(item.resume)}, Yield = {source(item.yields)}, Return = {source(item.returns)}>"
            return f"core::ops::Coroutine{types}{movable}"
        kind = item.closure_kind if isinstance(item, ClosureTy) else "Fn"
        signature = type_source(self.signature, names).removeprefix("fn")
        end = skip_group(signature, 0)
        # A result's region is that of the one argument that has one; else rustc must be told it.
        told = signature.count("'a ", 0, end) == 1 or "'a " not in signature[end:]
        return f"{kind}{signature.replace(chr(39) + 'a ', '') if told else signature}"


@dataclass(frozen=True, slots=True)
class StandIn:
    """``fn`` with type parameters in the place of types without a name."""

    fn: FnDefTy
    parameters: tuple[Parameter, ...]

    @property
    def items(self) -> tuple[ClosureTy | FnDefTy | CoroutineTy, ...]:
        """What the parameters stand for."""
        return tuple(parameter.item for parameter in self.parameters)

    def source(self, name: str, names: Names) -> str:
        """The question's text; the method's own arguments are inferred (an ``impl Trait`` cannot be given).

        Raises:
            UnnameableError: a type or the path cannot be written.
        """
        text = query_source(name, replace(self.fn, path=without_turbofish(self.fn.path)), names)
        return text.replace("<'a>(", f"<{self._declared(names)}>(")

    def _declared(self, names: Names) -> str:
        return ", ".join(("'a", *(f"{each.name}: {each.bound(names)}" for each in self.parameters)))

    def closures_source(self, name: str, names: Names) -> str | None:
        """A caller of :meth:`source`'s function ``name`` that makes closures for its parameters; ``None`` where they
        stand for others too.

        Its own parameters are what the closures capture.

        Raises:
            UnnameableError: a type cannot be written.
        """
        closures = closures_made(self.items, names)
        if closures is None:
            return None
        captured, made = closures
        sig = self.fn.sig
        types = "".join(f"{type_source(ty.text, names)}, " for ty in sig.inputs)
        takes = ", ".join(f"_: {parameter.name}" for parameter in self.parameters)
        given = ", ".join(f"given.{i}" for i in range(len(sig.inputs)))
        return "\n".join((
            f"#[inline(never)] fn {name}_given<{self._declared(names)}>({takes}) -> ({types}) {{ loop {{}} }}",
            f"#[inline(never)] fn {name}_taken<T>(_: T) {{ loop {{}} }}",
            f"#[allow(warnings)] pub unsafe fn {name}{CLOSURES}<'a>({captured}) {{ unsafe {{"
            f" let given = {name}_given({', '.join(made)}); {name}_taken({name}({given})); }} }}",
        ))  # fmt: skip


def closures_made(
    items: Sequence[ClosureTy | FnDefTy | CoroutineTy], names: Names, instead: Sequence[tuple[Ty, str]] = ()
) -> tuple[str, list[str]] | None:
    """Closures like ``items``, and as the parameters of the function that makes them what they capture (``instead`` are
    names for types that have none); ``None`` where there are no items, or some are no closures.

    Raises:
        UnnameableError: a type cannot be written.
    """
    captured: list[str] = []
    made: list[str] = []
    for item in items:
        if isinstance(item, CoroutineTy):
            return None
        upvars = item.upvars if isinstance(item, ClosureTy) else ()
        made.append(_closure_source(item, [f"u{len(captured) + i}" for i in range(len(upvars))]))
        captured += [type_source(_replaced(ty.text, instead), names) for ty in upvars]
    return (", ".join(f"mut u{i}: {ty}" for i, ty in enumerate(captured)), made) if made else None


def _closure_source(item: ClosureTy | FnDefTy, captures: Sequence[str]) -> str:
    """A closure that captures those variables, of the kind and with as many arguments as ``item``."""
    closure = isinstance(item, ClosureTy)
    inputs = () if item.sig is None else item.sig.inputs
    arguments = inputs[0] if closure and inputs else None
    count = len(arguments.elems) if isinstance(arguments, TupleTy) else len(inputs)
    borrow = {"Fn": "&", "FnMut": "&mut ", "FnOnce": ""}[item.closure_kind or "Fn"] if closure else "&"
    uses = "".join(f"let _u = {borrow}{capture}; " for capture in captures)
    return f"move |{', '.join(['_'] * count)}| {{ {uses}loop {{}} }}"


def made_alike(body: Body, items: Sequence[Ty]) -> bool:
    """Whether the closures that ``body``, of :meth:`StandIn.closures_source`, makes are like ``items`` in all that a
    trait can tell: kind and captures (their signatures are the parameters' bounds)."""
    every = nameless(local.ty for local in body.locals)
    # Texts of one closure differ in their regions; other closures have these in the arguments that their paths hold.
    made = {ty.path: ty for ty in every if isinstance(ty, ClosureTy) and _MADE.fullmatch(ty.path)}
    found = sorted(made.values(), key=lambda ty: int(ty.path.rpartition("#")[2].removesuffix("}")))
    return [_told(ty) for ty in found] == [_told(ty) for ty in items]


def _told(ty: Ty) -> tuple[str | None, tuple[str, ...]]:
    """What a trait can tell of a closure besides its signature; a function is like one without captures."""
    if not isinstance(ty, ClosureTy):
        return "Fn", ()
    return ty.closure_kind, tuple(short(upvar.text) for upvar in ty.upvars)


def stand_in(fn: FnDefTy) -> StandIn | None:
    """The question to ask for ``fn``; ``None`` where it is no trait's method, or a closure's own."""
    head = erase_regions(parse_callee(fn.path).segments[0])
    if not head.startswith("<") or resumed(fn) is not None:
        return None
    if any(
        head.startswith(f"<{erase_regions(item.text)} ") for item in nameless(_types(fn)) if isinstance(item, ClosureTy)
    ):
        return None  # a closure itself is called
    found = _with_stand_ins(fn)
    return None if found is None or "{" in parse_callee(found.fn.path).segments[0] else found


def with_parameters(glue: FnDefTy) -> StandIn | None:
    """The question for the drop glue of a type that holds others without a name.  ``None`` for any other function."""
    return _with_stand_ins(glue) if glue.path.startswith(DROP_PATH) else None


def _with_stand_ins(fn: FnDefTy) -> StandIn | None:
    """``fn`` with parameters for the types without a name in its signature, if there are any."""
    named = Named.of(nameless(_types(fn)))
    return None if named is None else StandIn(named.function(fn), named.parameters)


def _types(fn: FnDefTy) -> tuple[Ty, ...]:
    return (*fn.sig.inputs, fn.sig.output)


@dataclass(frozen=True, slots=True)
class Named:
    """Types without a name that are given some: ``instead`` are the types' texts, in the order of ``parameters``."""

    instead: tuple[tuple[Ty, str], ...]
    parameters: tuple[Parameter, ...]

    @classmethod
    def of(cls, items: Iterable[ClosureTy | FnDefTy | CoroutineTy]) -> Named | None:
        """Names for ``items``; ``None`` where there are none, or it is not known what one takes and gives."""
        # An outer one's text holds the inner ones'.
        ordered = sorted(items, key=lambda item: -len(item.text))
        instead = tuple((item, f"{PARAMETER}{i}/#{i}") for i, item in enumerate(ordered))
        parameters: list[Parameter] = []
        for i, item in enumerate(ordered):
            signature = _signature(item)
            if signature is None or (isinstance(item, ClosureTy) and item.closure_kind is None):
                return None
            parameters.append(Parameter(f"{PARAMETER}{i}", item, erase_regions(_replaced(signature, instead))))
        return cls(instead, tuple(parameters)) if parameters else None

    def text(self, text: str) -> str:
        """A text with the names."""
        return _replaced(text, self.instead)

    def function(self, fn: FnDefTy) -> FnDefTy:
        """``fn`` with the names in its path and signature."""
        inputs = tuple(replace(ty, text=self.text(ty.text)) for ty in fn.sig.inputs)
        sig = replace(fn.sig, inputs=inputs, output=replace(fn.sig.output, text=self.text(fn.sig.output.text)))
        return FnDefTy(fn.text, fn.crate, self.text(fn.path), sig)


def _replaced(text: str, instead: Iterable[tuple[Ty, str]]) -> str:
    for item, other in instead:
        text = text.replace(item.text, other)
    return text


def nameless(types: Iterable[Ty], *, captured: bool = False) -> Iterator[ClosureTy | FnDefTy | CoroutineTy]:
    """The outermost closures and functions' own types in ``types``, and in what these take and give, each once; with
    those that closures have ``captured``, if that is wanted."""
    seen: set[str] = set()
    stack = [*types]
    while stack:
        ty = stack.pop()
        if not isinstance(ty, ClosureTy | FnDefTy | CoroutineTy):
            stack.extend(parts(ty))
        elif ty.text not in seen:
            seen.add(ty.text)
            yield ty
            if not isinstance(ty, CoroutineTy) and ty.sig is not None:
                stack += [*ty.sig.inputs, ty.sig.output]
            if captured and isinstance(ty, ClosureTy):
                stack += ty.upvars


def _signature(item: ClosureTy | FnDefTy | CoroutineTy) -> str | None:
    """What a closure or function takes and gives, as a function pointer's text."""
    if isinstance(item, CoroutineTy):
        return ""
    sig = item.sig
    if sig is None:
        return None
    inputs: Iterable[Ty] = sig.inputs
    if isinstance(item, ClosureTy):
        arguments = sig.inputs[0] if len(sig.inputs) == 1 else None
        if not isinstance(arguments, TupleTy):
            return None
        inputs = arguments.elems
    output = "" if sig.output.text == "()" else f" -> {sig.output.text}"
    return f"fn({', '.join(ty.text for ty in inputs)}){output}"


def inlined_spans(body: Body, fn: FnDefTy, unit: UnitRecord) -> frozenset[Span]:
    """The spans of what ``body``, of ``unit``, has of ``fn``, which it inlined, without what was inlined into that.

    ``body`` is of a question's tower, which calls nothing else of that name; rustc may print a type in another way, as
    the one that a projection is.
    """
    own = _owners(body)
    wanted = parse_callee(fn.path)
    asked = {i for i, scope in enumerate(body.scopes) if scope.inlined is not None and _is_question(scope.inlined)}
    chosen = {
        i for i, scope in enumerate(body.scopes)
        if scope.inlined is not None and _is_method(scope.inlined, wanted)
        and (None if scope.parent is None else own[scope.parent]) in {None, *asked}
    }  # fmt: skip
    return _absolute(_spans(body, own, chosen), unit)


def _is_question(instance: str) -> bool:
    """Whether an instance is of a function of a question's, which may stand in the arguments of others too."""
    return any(MODULE in segment for segment in parse_callee(instance).segments if not segment.startswith("<"))


def _is_method(instance: str, wanted: Callee) -> bool:
    """Whether an instance is of the trait's method that is ``wanted``."""
    found = parse_callee(instance)
    if found.method != wanted.method or found.trait is None or wanted.trait is None:
        return False
    return short(found.trait[1]).partition("<")[0] == short(wanted.trait[1]).partition("<")[0]


def spans_from(body: Body, path: str, use: SourceInfo, unit: UnitRecord) -> frozenset[Span]:
    """The spans of what ``body``, of ``unit``, has of the function ``path`` (its generic arguments are those of its
    definition), to which what it has at ``use`` belongs, or what that function inlined in turn.

    That is the body itself, or what it inlined.  None where a function of the same name is there too.
    """
    own = _owners(body)
    method = parse_callee(path).method
    same = {i for i, s in enumerate(body.scopes) if s.inlined is not None and parse_callee(s.inlined).method == method}
    if parse_callee(body.header).method == method:
        chosen: set[int | None] = {None} if not same else set()
    else:
        chosen = {i for i in same if _may_be_instance(body.scopes[i].inlined or "", path)}
    return _absolute(_spans(body, own, chosen), unit) if chosen & _around(body, own, use) else frozenset()


def _around(body: Body, owners: list[int | None], use: SourceInfo) -> set[int | None]:
    """The inlined functions' scopes that ``use`` is inside of, from the innermost to the body itself."""
    at = owners[use.scope] if use.scope is not None else None
    found: set[int | None] = {at}
    while at is not None:
        parent = body.scopes[at].parent
        at = owners[parent] if parent is not None else None
        found.add(at)
    return found


def _may_be_instance(instance: str, path: str) -> bool:
    """Whether a function's ``instance`` may be one of ``path``, whose generic arguments are those of its definition."""
    mine, theirs = parse_callee(instance), parse_callee(path)
    if mine.trait is not None and theirs.trait is not None:
        return mine.method == theirs.method and all(map(may_be_one, mine.trait, theirs.trait))
    return len(mine.segments) == len(theirs.segments) and all(
        a == b or (a.startswith("<impl ") and b.startswith("<impl ") and may_be_one(a[6:-1], b[6:-1]))
        for a, b in zip(mine.segments, theirs.segments, strict=True)
    )


def holds(body: Body, spans: frozenset[Span], unit: UnitRecord) -> bool:
    """Whether ``spans`` lie inside what ``body``, of ``unit``, has from its own source file.

    The bodies of two functions do not overlap, but for those that one macro wrote.
    """
    own = _absolute(_spans(body, _owners(body), {None}), unit)
    if body.span is None:
        return False
    file = str(unit.absolute(Path(body.span.file)))
    here = [span for span in own if span.file == file]
    asked = [span for span in spans if span.file == file]
    if not here or not asked:
        return False
    first, last = min((s.line, s.col) for s in here), max((s.end_line, s.end_col) for s in here)
    return all(first <= (s.line, s.col) and (s.end_line, s.end_col) <= last for s in asked)


def _absolute(spans: Iterable[Span], unit: UnitRecord) -> frozenset[Span]:
    return frozenset(replace(span, file=str(unit.absolute(Path(span.file)))) for span in spans)


def _owners(body: Body) -> list[int | None]:
    """For each scope, the inlined function's scope that it belongs to; ``None`` for the body's own."""
    owners: list[int | None] = []
    for i, scope in enumerate(body.scopes):
        owners.append(i if scope.inlined is not None else None if scope.parent is None else owners[scope.parent])
    return owners


def _spans(body: Body, owners: list[int | None], chosen: Collection[int | None]) -> frozenset[Span]:
    found: set[Span] = set()
    for i, scope in enumerate(body.scopes):
        if scope.inlined is not None and scope.span is not None:
            caller = None if scope.parent is None else owners[scope.parent]
            if caller in chosen and owners[i] == i:
                found.add(scope.span)
    for block in body.blocks:
        for source in (*(statement.source for statement in block.statements), block.terminator.source):
            if source.span is not None and source.scope is not None and owners[source.scope] in chosen:
                found.add(source.span)
    return frozenset(found)
