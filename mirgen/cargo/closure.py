"""Closing a program: from the kernels' bodies to every function, allocation and constant that they reach.

rustc's inliner has made generic code concrete inside the tower; what it left as calls is looked up, crate by crate, in
dumps asked for on demand.  A callee without a body is left to lowering when it is an intrinsic or one of the standard
library's diverging functions (a panic); any other is reported, once, with the chain that led to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mirgen.analysis.drops import UnknownDropError, glue_of, glued
from mirgen.analysis.fold import LiteralCall, literal_calls, looks_literal, uninit_body
from mirgen.analysis.references import CalleeUse, References, allocations_of, references
from mirgen.cargo.callee import PATH_HEAD, Callee, definition_path, parse_callee, short
from mirgen.cargo.dump import CrateDump
from mirgen.cargo.homonyms import Homonyms
from mirgen.cargo.join import Ambiguous, find_body, find_promoted, is_open
from mirgen.cargo.methods import Methods, dyn_call
from mirgen.cargo.objects import Made, NotUnderstoodError, Objects
from mirgen.ingest import Header
from mirgen.mir.body import Alloc, Body, FnAlloc, FnKey, MemoryAlloc, OtherAlloc
from mirgen.mir.coroutine import dropped, resumed
from mirgen.mir.names import closure_of_shim, erase_regions
from mirgen.mir.place import Constant, UnevaluatedConst
from mirgen.mir.statement import SourceInfo, Span
from mirgen.mir.ty import AdtTy, ClosureTy, CoroutineTy, FnDefTy, FnPtrTy, PointerTy, Ty
from mirgen.mir.tyof import place_ty

_MAYBE_UNINIT = frozenset({"core::mem::MaybeUninit", "std::mem::MaybeUninit"})
#: What a call runs.
Item: TypeAlias = FnDefTy | ClosureTy | CoroutineTy
#: A closure's number, the function around it and what that is inside of.
_ENOUGH = 3
STANDARD_CRATES = frozenset({"core", "alloc", "std"})


@dataclass(frozen=True, slots=True)
class Reached:
    """A body and how it was reached: ``parent`` called it at ``source``.

    ``is_made``: mirgen made the body, so that no inliner of rustc's gets at its calls.
    """

    body: Body
    dump: CrateDump
    parent: Reached | None = None
    source: SourceInfo | None = None
    is_made: bool = False

    @property
    def kernel(self) -> Reached:
        """Where it all began."""
        return self if self.parent is None else self.parent.kernel

    def chain(self) -> tuple[str, ...]:
        """Names from the kernel down to this body."""
        names: list[str] = []
        at: Reached | None = self
        while at is not None:
            names.append(at.body.name)
            at = at.parent
        return tuple(reversed(names))


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A callee for which rustc gave no body.  ``reason`` is a short tag, see :mod:`mirgen.cargo.unresolved`."""

    path: str
    crate: str
    reason: str
    source: SourceInfo
    reached: Reached
    fn: FnDefTy | None = None

    @property
    def may_be_inlined(self) -> bool:
        """Whether the call may vanish when rustc's inliner is given a larger budget."""
        return not self.reached.is_made and self._is_open

    @property
    def _is_open(self) -> bool:
        """Whether rustc has a body for it, as far as can be told."""
        if self.reason in ("precompiled", "unknown"):
            return any(part in self.path for part in ("<impl ", "::<", "dyn "))
        return self.reason in ("generic", "trait", "ambiguous")

    @property
    def may_be_asked(self) -> bool:
        """Whether a question can bring a body."""
        return self._is_open or self.reached.is_made or self.reason in ("glue", "table", "address")

    @property
    def has_no_name(self) -> bool:
        """Whether a closure's type is in the path: no question can be put about it."""
        return "{" in self.path

    @property
    def is_standard(self) -> bool:
        """Whether the standard library's sources hold it, whatever its generic arguments are."""
        parsed = parse_callee(self.path)
        heads = PATH_HEAD.findall(" ".join(parsed.trait)) if parsed.trait else [*parsed.segments[:1]]
        return bool(heads) and all(name in STANDARD_CRATES for name in heads)


@dataclass(frozen=True, slots=True)
class Unevaluated:
    """A constant that rustc left as a path, and where; or the value of a ``call`` in the body of one."""

    const: UnevaluatedConst
    source: SourceInfo
    reached: Reached
    call: LiteralCall | None = None

    @property
    def key(self) -> FnKey:
        """The crate that printed it and its full path: the key of :attr:`Program.constants`."""
        return self.reached.dump.crate, self.const.full_path


@dataclass(frozen=True, slots=True)
class KnownConstant:
    """A constant's ``value``, printed in ``dump``; where it is ``None``, the constant is what ``body`` computes."""

    dump: CrateDump
    value: Constant | None
    body: Body | None = None

    @property
    def ty(self) -> Ty | None:
        """The constant's type, where that is known."""
        if self.body is not None:
            return self.body.locals[0].ty
        return None if self.value is None else self.value.const.ty


@dataclass(slots=True)
class Closure:
    """What is reached from some bodies.  ``functions`` is keyed by the callee's text in the crate that printed it."""

    functions: dict[FnKey, Reached] = field(default_factory=dict[FnKey, Reached])
    allocs: dict[int, Alloc] = field(default_factory=dict[int, Alloc])
    unresolved: list[Unresolved] = field(default_factory=list[Unresolved])
    #: addresses that only panicking blocks take, without a body or only for the message: (the body, the callee's text)
    empty_addresses: list[tuple[Body, str]] = field(default_factory=list[tuple[Body, str]])
    #: types of which rustc must be asked whether they need to be dropped, with the dump that printed them
    undecided: dict[tuple[str, str], tuple[Ty, CrateDump]] = field(
        default_factory=dict[tuple[str, str], tuple[Ty, CrateDump]]
    )
    constants: dict[FnKey, KnownConstant] = field(default_factory=dict[FnKey, KnownConstant])
    unevaluated: dict[FnKey, Unevaluated] = field(default_factory=dict[FnKey, Unevaluated])
    objects: Objects = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class GenericAnswer:
    """A generic body of which an instance is to be made; ``items`` are what its type parameters' names stand for."""

    dump: CrateDump
    header: Header
    items: Mapping[str, Ty]


@dataclass(frozen=True, slots=True)
class NormalType:
    """What a projection is: an entry of a document's type table, in which the question's closures stand for ``items``,
    by the question's names for them."""

    table: Sequence[dict[str, Any]]
    index: int
    items: Mapping[str, Ty]


class Resolver:
    """Looks callees up in the dumps of a build's crates."""

    def __init__(
        self, dumps: Callable[[str], list[CrateDump]], is_intrinsic: Callable[[str], bool],
        homonyms: Homonyms, externs: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """``externs`` are the crates that others name by their own names."""
        self._homonyms = homonyms
        self._dumps = dumps
        self.is_intrinsic = is_intrinsic
        self.methods = Methods(frozenset(externs))
        #: Bodies that answer questions put to rustc (:mod:`mirgen.cargo.ask`).
        self.answers: dict[FnKey, tuple[CrateDump, Header]] = {}
        #: Generic bodies of which instances are to be made; their parameters stand for types without a name.
        self.generic_answers: dict[FnKey, GenericAnswer] = {}
        #: What projections of types without a name are, by the crate that printed them and their text; ``None`` where
        #: rustc cannot be asked.
        self.projections: dict[FnKey, NormalType | None] = {}
        #: Values of constants that rustc's text has as paths only.
        self.constants: dict[FnKey, KnownConstant] = {}
        #: Functions whose addresses constants hold, by the crate that printed the constant and what it calls them.
        self.addresses: dict[FnKey, FnDefTy] = {}
        #: Spans inside the implementation that a trait's method means, where it must be instantiated.
        self.implementations: dict[FnKey, frozenset[Span]] = {}
        #: Whether types need to be dropped, by ``Ty.key``.
        self.drops: dict[tuple[str, str], bool] = {}
        #: What bodies mention, by their ``id``; each is held, for the ``id`` of one that is gone could be another's.
        self._references: dict[int, tuple[Body, References]] = {}
        self._found: dict[FnKey, tuple[CrateDump, Header] | str] = {}

    def forget(self) -> None:
        """Look everything up anew: dumps have been replaced."""
        self._found.clear()

    def references(self, body: Body) -> References:
        known = self._references.get(id(body))
        if known is None:
            known = self._references[id(body)] = body, references(body)
        return known[1]

    def find_address(self, instance: str, home: CrateDump) -> tuple[CrateDump, Header] | str:
        """Where the body of the function is whose address a constant holds, or the reason's tag why it is nowhere;
        ``home`` printed the constant."""
        header = _exact(instance, home)
        if header is not None:
            return home, header
        fn = self.addresses.get((home.crate, instance))
        if fn is not None:
            return self.find(fn, home)
        return self.closure_of(instance, home) or "address"

    def find(self, item: Item, home: CrateDump) -> tuple[CrateDump, Header] | str:
        """Where ``item``'s body is, or the reason's tag why it is nowhere; ``home`` printed the call."""
        key = (item.crate, item.path)
        if key in self.answers:
            return self.answers[key]
        if key not in self._found:
            self._found[key] = self._look_up(item, home)
        return self._found[key]

    def _look_up(self, item: Item, home: CrateDump) -> tuple[CrateDump, Header] | str:
        if not isinstance(item, FnDefTy):
            return self._find_closure(item, home)
        coroutine = dropped(item)
        if coroutine is None:
            return self._find(item, home)
        found = self._find_closure(coroutine, home)
        return found if isinstance(found, str) else found[0].drop_of(found[1]) or "generic"

    def _find(self, fn: FnDefTy, home: CrateDump) -> tuple[CrateDump, Header] | str:
        parsed = parse_callee(fn.path)
        if parsed.generics:
            return "generic"
        crates = self.candidate_crates(fn, home)
        for ask_more in (False, True):
            for dump in (home, *crates):
                if ask_more and not (parsed.method in dump.by_name and dump.know_instances()):
                    continue

                is_settled = self._settled_in(dump, parsed, fn.crate)
                found = find_body(fn, dump.crate, dump.by_name, blind=dump.is_blind, is_settled=is_settled)
                if isinstance(found, Ambiguous) and not ask_more:
                    break
                if isinstance(found, Ambiguous):
                    return "ambiguous"
                if found is not None:
                    return dump, found
        if "core::arch::" in fn.path:
            return "simd"
        if parsed.trait and (crates or not self._standard(fn)):
            return "trait"
        if self._standard(fn):
            # Arguments that are their parameters' defaults are not printed: `RawVecInner<Global>` is `RawVecInner`.
            return "generic" if self._dumps("core") else "precompiled"
        return "unknown"

    def _settled_in(self, dump: CrateDump, path: Callee, printed_by: str) -> Callable[[Header], bool]:
        """Whether a trait's method in ``dump``, which fits ``path`` by last segments, must be what that means."""
        return lambda header: self._homonyms.are_settled(path, printed_by, dump.crate, header, dump.unit.record)

    def find_constant(self, constant: Unevaluated) -> KnownConstant | None:
        """The value of a constant, or the body that computes it."""
        key, const, home = constant.key, constant.const, constant.reached.dump
        if key not in self.constants:
            trivial = home.trivial_const(key[1])
            if trivial is not None and isinstance(trivial.value, Constant):
                self.constants[key] = KnownConstant(home, trivial.value)
            elif const.promoted is not None:
                found = self._find_promoted(const, home)
                if found is not None:
                    self.constants[key] = found
            elif (ty := _uninit_of_core(const)) is not None:
                self.constants[key] = KnownConstant(home, None, uninit_body(ty))
            elif (body := _written(const, home)) is not None:
                self.constants[key] = KnownConstant(home, None, body)
        return self.constants.get(key)

    def _find_promoted(self, const: UnevaluatedConst, home: CrateDump) -> KnownConstant | None:
        owner = parse_callee(const.path)
        for ask_more in (False, True):
            for dump in (home, *self.crates_in(const.path, home)):
                if ask_more and not (owner.method in dump.by_name and dump.know_instances()):
                    continue
                is_settled = self._settled_in(dump, owner, home.crate)
                found = find_promoted(const, home.crate, dump.crate, dump.by_name, is_settled)
                if isinstance(found, Header) and (const.ty is None or not _is_generic(found, const.ty)):
                    return KnownConstant(dump, None, dump.bodies([found])[found])
        return None

    def _find_closure(self, closure: ClosureTy | CoroutineTy, home: CrateDump) -> tuple[CrateDump, Header] | str:
        """A closure's body stands under its own path in the crate that wrote it; in generic code it has no instance."""
        method, wanted = parse_callee(closure.path).method, short(closure.path)
        for dump in (home, *self.candidate_crates(closure, home)):
            if any("<impl at" in header.header for header in dump.by_name.get(method, ())):
                dump.know_instances()
            matches = [
                header
                for header in dump.by_name.get(method, ())
                if closure.path == header.header or (header.instance is not None and wanted == short(header.instance))
            ]
            if len(matches) > 1:
                # The body takes its closure by a type that is written in full.
                mine = [f"{{{start}{erase_regions(closure.path)} " for start in ("", "static ")]
                matches = [h for h in matches if any(m in erase_regions(arg) for arg in h.args[:1] for m in mine)]
            if len(matches) > 1:
                return "ambiguous"
            if matches:
                return dump, matches[0]
        return "generic"

    def closure_of(self, instance: str, home: CrateDump) -> tuple[CrateDump, Header] | None:
        """The body of the closure that became the function pointer ``instance``, which ``home`` printed."""
        closure = closure_of_shim(instance)
        if closure is None:
            return None
        path = closure[1:].partition(" closure_kind_ty=")[0]
        standard = [dump for name in sorted(STANDARD_CRATES) for dump in self._dumps(name)]
        dumps = {id(dump): dump for dump in (home, *self.crates_in(path, home), *standard)}
        for dump in dumps.values():
            bodies = dump.by_name.get(path.rpartition("::")[2], ())
            owned = {h: h.args[0].removeprefix("&'{erased} ") for h in bodies if h.args}
            # Another crate may name the item that it is inside of by another module.
            tails = {h: _common_tail(path, text[1:]) for h, text in owned.items() if short(text) == short(closure)}
            best = [header for header, length in tails.items() if length == max(tails.values())]
            if best:
                enough = min(_ENOUGH, len(parse_callee(path).segments))
                return (dump, best[0]) if len(best) == 1 and tails[best[0]] >= enough else None
        return None

    def candidate_crates(self, fn: Item, home: CrateDump) -> list[CrateDump]:
        definition = definition_path(fn.text) if isinstance(fn, FnDefTy) else None
        names = [definition[0]] if definition and parse_callee(fn.path).trait is None else []
        # What answers a question or is an instance may name anything of the crate that it is for.
        dumps = [dump for name in dict.fromkeys((*names, home.crate)) for dump in self._dumps(name)]
        more = [dump for dump in self.crates_in(fn.path, home) if not any(dump is known for known in dumps)]
        return [dump for dump in (*dumps, *more) if dump is not home]

    def crates_in(self, path: str, home: CrateDump) -> list[CrateDump]:
        """Dumps of the crates that ``path`` names, each once, but for ``home``."""
        names = dict.fromkeys(PATH_HEAD.findall(erase_regions(path)))
        dumps = (dump for name in names for dump in self._dumps(name))
        found = {id(dump): dump for dump in dumps if dump is not home}
        return list(found.values())

    @staticmethod
    def _standard(fn: FnDefTy) -> bool:
        """Whether nothing but the standard library's items is in the path (a closure is the user's)."""
        heads = PATH_HEAD.findall(fn.path)
        return bool(heads) and all(name in STANDARD_CRATES for name in heads) and "{closure" not in fn.path


def _common_tail(path: str, closure: str) -> int:
    """How many segments at the end of ``path`` the path of a closure's type has too."""
    mine = parse_callee(path).segments[::-1]
    theirs = parse_callee(closure.partition(" closure_kind_ty=")[0]).segments[::-1]
    return next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs)))


def _uninit_of_core(const: UnevaluatedConst) -> AdtTy | None:
    """The type of ``const { MaybeUninit::uninit() }`` in a function of core.

    ``array::from_fn`` fills ``[const { MaybeUninit::uninit() }; N]``.  Nothing can name such a constant of a generic
    function, but core has no inline constant of type ``MaybeUninit`` with another value.
    """
    parsed = parse_callee(const.path)
    inline = parsed.method.startswith("{constant#") and parsed.segments[0] in ("core", "std")
    return const.ty if inline and isinstance(const.ty, AdtTy) and const.ty.path in _MAYBE_UNINIT else None


def _is_generic(header: Header, ty: Ty) -> bool:
    """Whether a promoted constant of type ``ty`` is an instance of what ``header`` is of."""
    return is_open(header.output) and short(header.output) != short(ty.text)


def _written(const: UnevaluatedConst, home: CrateDump) -> Body | None:
    """The literal data that a constant is which rustc cannot be asked for: an item of the standard library, or the
    discriminant that an enum gives to a variant."""
    method = parse_callee(const.path).method
    kind = "const" if home.crate in STANDARD_CRATES else "anon" if method.startswith("{constant#") else ""
    matches = [h for h in home.by_name.get(method, ()) if h.kind == kind and h.header == const.path]
    if len(matches) != 1:
        return None
    body = home.bodies(matches)[matches[0]]
    return body if looks_literal(body) else None


def called_item(fn: FnDefTy) -> Item | None:
    """What a call of ``fn`` runs: through the ``Fn`` traits, the closure or function that is the first argument;
    a coroutine that is resumed.

    ``None`` where that is a function pointer, whose target other references name.
    """
    if (coroutine := resumed(fn)) is not None:
        return coroutine
    if fn.sig.abi != "rust-call" or not fn.sig.inputs:
        return fn
    receiver = fn.sig.inputs[0]
    while isinstance(receiver, PointerTy):
        receiver = receiver.pointee
    if isinstance(receiver, ClosureTy | FnDefTy):
        return receiver
    return None if isinstance(receiver, FnPtrTy) else fn


def is_standard_panic(use: CalleeUse) -> bool:
    """Whether a diverging call is one of the standard library's: their only meaning on a GPU is to panic."""
    heads = set(PATH_HEAD.findall(use.fn.path))
    return use.diverges and (use.fn.crate in STANDARD_CRATES or bool(heads & STANDARD_CRATES))


#: A function that is to be read: its key, its dump and header, and what reached it where.
_Wanted: TypeAlias = tuple[FnKey, CrateDump, Header, Reached, SourceInfo]


def close(roots: Iterable[Reached], resolver: Resolver) -> Closure:
    """Everything that ``roots`` reach.  Bodies are read in rounds, one call of the shim per crate and round."""
    closure = Closure(objects=Objects(resolver.methods))
    queue = list(roots)
    seen_unresolved: set[FnKey] = set()
    while queue:
        wanted: list[_Wanted] = []
        requested: set[FnKey] = set()
        computed: list[Reached] = []
        for reached in queue:
            refs = resolver.references(reached.body)
            glue = _glue(refs, reached, resolver, closure)
            #: what a constant's body calls runs in rustc
            is_constant = reached.body.kind != "fn"
            for use in (*refs.callees, *glue):
                if is_constant and use.called:
                    continue
                if use.unread:
                    closure.empty_addresses.append((reached.body, use.fn.path))
                    continue
                item = called_item(use.fn)
                if item is None:  # a function pointer behind the Fn traits
                    continue
                key = (item.crate, item.path)
                if key in closure.functions or key in requested or key in seen_unresolved:
                    continue
                if resolver.is_intrinsic(use.fn.path) or is_standard_panic(use):
                    closure.objects.note_reading(use)
                    continue
                found = _dispatched(item, use, reached, closure) or resolver.find(item, reached.dump)
                if isinstance(found, Made):
                    closure.functions[key] = _made(found)
                    continue
                if isinstance(found, str) and use.doomed and not use.called:
                    closure.empty_addresses.append((reached.body, use.fn.path))
                elif isinstance(found, str):
                    seen_unresolved.add(key)
                    fn = item if isinstance(item, FnDefTy) else use.fn
                    reason = "glue" if use in glue else found
                    closure.unresolved.append(Unresolved(fn.path, fn.crate, reason, use.source, reached, fn))
                else:
                    requested.add(key)
                    wanted.append((key, *found, reached, use.source))
            wanted += _allocations(refs.allocs, reached, closure, resolver, requested, seen_unresolved)
            calls = literal_calls(reached.body) if is_constant else []
            for constant in (
                *(Unevaluated(const, source, reached) for const, source in refs.unevaluated),
                *(Unevaluated(call.const, source, reached, call) for call, source in calls),
            ):
                if constant.key in closure.constants or constant.key in closure.unevaluated:
                    continue
                known = resolver.find_constant(constant)
                if known is None:
                    closure.unevaluated[constant.key] = constant
                    continue
                closure.constants[constant.key] = known
                body = reached.body if known.body is None else known.body
                holder = Reached(body, known.dump, reached, constant.source)
                if known.value is not None:
                    wanted += _allocations(
                        allocations_of(known.value), holder, closure, resolver, requested, seen_unresolved
                    )
                else:
                    computed.append(holder)
            _note_objects(refs, reached, closure)
        queue = [*_read(wanted, closure), *computed, *_shims(closure)]
    return closure


def _dispatched(item: Item, use: CalleeUse, reached: Reached, closure: Closure) -> Made | str | None:
    """The function made for what is called on a trait object, or the reason's tag why there is none; ``None`` for any
    other function."""
    if not isinstance(item, FnDefTy):
        return None
    objects = closure.objects
    glue = objects.drop_glue(item, reached, use.source)
    call = dyn_call(item)
    if glue is not None or call is None:
        return glue
    is_virtual = objects.methods.is_virtual(item, call)
    if is_virtual is None:
        return "table"
    try:
        return objects.method(item, call, reached, use.source) if is_virtual else None
    except NotUnderstoodError:
        return "dyn"


def _made(found: Made) -> Reached:
    return Reached(found.body, found.dump, found.parent, found.source, is_made=True)


def _note_objects(refs: References, reached: Reached, closure: Closure) -> None:
    """Take over the trait objects that a body makes."""
    constants: dict[FnKey, Ty] = {}
    for const, _ in refs.unevaluated:
        key = (reached.dump.crate, const.full_path)
        known = closure.constants.get(key)
        if known is not None and (ty := known.ty) is not None:
            constants[key] = ty
    closure.objects.note_casts(reached, refs.casts, constants)


def _shims(closure: Closure) -> list[Reached]:
    """The bodies behind trait objects' methods that have come to be wanted."""
    new: list[Reached] = []
    for made in closure.objects.wanted():
        reached = closure.functions[made.key] = _made(made)
        new.append(reached)
    return new


def _glue(refs: References, reached: Reached, resolver: Resolver, closure: Closure) -> list[CalleeUse]:
    """The drop glue that a body's drops call."""
    uses: list[CalleeUse] = []
    for place, source in refs.drops:
        ty = place_ty(reached.body.locals, place)
        try:
            types = glued(ty, lambda inner: resolver.drops.get(inner.key))
        except UnknownDropError as unknown:
            closure.undecided |= {inner.key: (inner, reached.dump) for inner in unknown.types}
            continue
        uses += [CalleeUse(glue_of(inner), source, called=True, diverges=False) for inner in types]
    return uses


def _read(wanted: Sequence[_Wanted], closure: Closure) -> list[Reached]:
    by_dump: dict[int, tuple[CrateDump, list[Header]]] = {}
    for _, dump, header, _, _ in wanted:
        by_dump.setdefault(id(dump), (dump, []))[1].append(header)
    bodies = {ident: dump.bodies(headers) for ident, (dump, headers) in by_dump.items()}
    known = {id(reached.body): reached for reached in closure.functions.values()}
    new: list[Reached] = []
    for key, dump, header, parent, source in wanted:
        body = bodies[id(dump)][header]
        reached = known.get(id(body))
        if reached is None:
            reached = known[id(body)] = Reached(body, dump, parent, source)
            new.append(reached)
        closure.functions[key] = reached
    return new


def _allocations(
    numbers: Iterable[int], reached: Reached, closure: Closure, resolver: Resolver, requested: set[FnKey],
    unresolved: set[FnKey],
) -> list[_Wanted]:  # fmt: skip
    """Take over the allocations that ``numbers`` reach; functions whose address they hold are wanted too."""
    wanted: list[_Wanted] = []
    source = SourceInfo(reached.body.span, None)
    stack = list(numbers)
    while stack:
        number = stack.pop()
        if number in closure.allocs:
            continue
        alloc = closure.allocs[number] = reached.dump.allocs[number]
        if isinstance(alloc, MemoryAlloc):
            stack.extend(relocation.alloc for relocation in alloc.relocations)
        elif isinstance(alloc, OtherAlloc) and alloc.what == "vtable":
            closure.objects.note_table(number, alloc, reached)  # else lowering refuses it
        elif isinstance(alloc, FnAlloc):
            key = (reached.dump.crate, alloc.instance)
            if key in closure.functions or key in requested or key in unresolved:
                continue
            found = resolver.find_address(alloc.instance, reached.dump)
            if isinstance(found, str):
                unresolved.add(key)
                fn = resolver.addresses.get(key)
                closure.unresolved.append(Unresolved(alloc.instance, key[0], found, source, reached, fn))
            else:
                requested.add(key)
                wanted.append((key, *found, reached, source))
    return wanted


def _exact(path: str, dump: CrateDump) -> Header | None:
    """The one body of this crate that is spelled ``path``."""
    matches = [h for h in dump.by_name.get(parse_callee(path).method, ()) if path in (h.header, h.instance)]
    return matches[0] if len(matches) == 1 else None
