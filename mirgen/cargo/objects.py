"""Trait objects of a program: which types become which, and which methods are called on them.

Both are found in the bodies that are reached, so that they grow together with the program: a method that is called on a
``dyn Trait`` is wanted of every type that becomes one, and the bodies of these methods make objects and call methods in
turn.  Which function a type's method is remains rustc's answer: a shim's body calls it by the type's name, and that
call is looked up, asked for or instantiated like any other (:mod:`mirgen.analysis.objects`).

Traits are compared inside one crate by their whole texts, and across crates, which spell them differently, by where
they are defined, or by the last segments of paths.  What is taken for too much then is a question that rustc refuses,
never a wrong function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from mirgen.analysis.objects import (
    WORD,
    Signature,
    absent,
    choosing_dispatcher,
    drop_signature,
    unsized,
    with_pointee,
)  # fmt: skip
from mirgen.cargo.callee import definition_path, parse_callee, short
from mirgen.cargo.methods import DROP, DROP_PATH, DynCall, Methods, SlotKey, before, principal, without_bindings
from mirgen.errors import Diagnostic, UnsupportedError
from mirgen.layout.data import LayoutTable
from mirgen.mir.body import Alloc, Body, FnAlloc, FnKey, MemoryAlloc, OtherAlloc, Relocation
from mirgen.mir.names import erase_regions
from mirgen.mir.place import Constant, Operand, UnevaluatedConst
from mirgen.mir.statement import Call, SourceInfo
from mirgen.mir.ty import (
    DynTy,
    FnDefTy,
    PointerTy,
    Ty,
    UnsupportedTy,
)  # fmt: skip
from mirgen.mir.tyof import operand_ty, place_ty
from mirgen.mir.verify.context import is_open

if TYPE_CHECKING:
    from mirgen.analysis.references import CalleeUse
    from mirgen.cargo.closure import Reached
    from mirgen.cargo.dump import AllocNumbers, CrateDump

#: A trait in a ``dyn``, with arguments and associated types, as a crate spells it.
Node: TypeAlias = tuple[str, str]
#: Intrinsics that read a table.
_READERS = frozenset({"size_of_val", "align_of_val", "min_align_of_val"})
_ANY_READERS = frozenset({"vtable_size", "vtable_align"})


class NotUnderstoodError(Exception):
    """A trait object of a shape that is refused; the text says which."""


@dataclass(frozen=True, slots=True)
class _Object:
    """A type that becomes a trait object, first in ``reached``."""

    ty: Ty
    dump: CrateDump
    reached: Reached
    source: SourceInfo


@dataclass(frozen=True, slots=True)
class Made:
    """A function made here: its key and body, the dump whose words it is in, and what it is reached from."""

    key: FnKey
    body: Body
    dump: CrateDump
    parent: Reached
    source: SourceInfo


@dataclass(slots=True)
class Objects:
    """What some bodies do with trait objects."""

    methods: Methods
    #: types that become trait objects, by ``Ty.key``
    types: dict[tuple[str, str], _Object] = field(default_factory=dict[tuple[str, str], _Object])
    #: for each type that one becomes, and for each ``dyn``, which it is from there on
    _becomes: dict[tuple[str, str], set[Node]] = field(default_factory=dict[tuple[str, str], set[Node]])
    _upcasts: dict[Node, set[Node]] = field(default_factory=dict[Node, set[Node]])
    #: for each method the objects on which it is called, and from where
    called: dict[SlotKey, dict[Node, tuple[Reached, SourceInfo]]] = field(
        default_factory=dict[SlotKey, dict[Node, tuple["Reached", SourceInfo]]]
    )
    #: the shims in each type's table
    shims: dict[tuple[str, str], dict[SlotKey, FnKey]] = field(
        default_factory=dict[tuple[str, str], dict[SlotKey, FnKey]]
    )
    #: the shims that a dispatcher may call
    targets: dict[FnKey, set[FnKey]] = field(default_factory=dict[FnKey, set[FnKey]])
    dispatchers: dict[SlotKey, set[FnKey]] = field(default_factory=dict[SlotKey, set[FnKey]])
    #: where the trait of a ``dyn`` is defined, as the signature of a method that is called on it says
    defined: dict[Node, tuple[str, tuple[str, ...]]] = field(default_factory=dict[Node, tuple[str, tuple[str, ...]]])
    #: whether anything asks for the size or alignment of a trait object
    measured: bool = False
    #: allocations that are tables, and of which type
    allocs: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])

    # ---- objects that are made

    def note_casts(
        self, reached: Reached, casts: Sequence[tuple[Operand, Ty, SourceInfo]], constants: Mapping[FnKey, Ty]
    ) -> None:
        """The unsizing coercions of a body; ``constants`` gives types that its text lacks."""
        for operand, to, source in casts:
            from_ = _type_of(reached.body, operand, constants)
            change = None if from_ is None else unsized(from_, to)
            if change is None or not isinstance(change[1], DynTy):
                continue
            inner, outer = change
            node = (outer.crate, principal(outer.text))
            if isinstance(inner, DynTy):
                self._upcasts.setdefault((inner.crate, principal(inner.text)), set()).add(node)
            else:
                self.note_type(_Object(inner, reached.dump, reached, source), node)
                self.measured |= not (isinstance(to, PointerTy) and to.pointee == outer)

    def note_type(self, found: _Object, node: Node) -> None:
        self.types.setdefault(found.ty.key, found)
        self._becomes.setdefault(found.ty.key, set()).add(node)

    def note_table(self, number: int, alloc: OtherAlloc, reached: Reached) -> bool:
        """A table in a constant, ``vtable: impl Trait for T``; whether its type is understood."""
        text = alloc.text.removeprefix("vtable: ").removeprefix("impl ")
        bounds = before(text, " for ")
        if bounds == text:
            return False
        name = text[len(bounds) + len(" for ") :]
        ty = _known_type(name, reached.dump)
        if ty is None and "{" in erase_regions(name):  # a closure's or function's body is found by its type
            items = [header for header in reached.dump.index if header.kind in ("static", "static_mut", "const")]
            reached.dump.bodies(items)
            ty = _known_type(name, reached.dump)
            if ty is None:
                return False
        ty = ty or UnsupportedTy(name, reached.dump.crate, "vtable")
        found = _Object(ty, reached.dump, reached, SourceInfo(reached.body.span, None))
        self.note_type(found, (reached.dump.crate, principal(bounds)))
        self.allocs[number] = ty.key
        return True

    def held(self) -> Iterator[tuple[CrateDump, frozenset[Ty]]]:
        """The types of which tables need the layouts, each with the dump that printed it."""
        return ((found.dump, frozenset({found.ty})) for found in self.types.values())

    # ---- methods that are called

    def note_reading(self, use: CalleeUse) -> None:
        """Whether an intrinsic reads a table."""
        name = parse_callee(use.fn.path).method
        self.measured |= name in _ANY_READERS or (name in _READERS and "dyn " in use.fn.path)

    def drop_glue(self, fn: FnDefTy, reached: Reached, source: SourceInfo) -> Made | None:
        """The dispatcher that ``fn`` is, where it is a trait object's drop glue."""
        pointer = fn.sig.inputs[0] if len(fn.sig.inputs) == 1 else None
        is_object = isinstance(pointer, PointerTy) and isinstance(pointer.pointee, DynTy)
        if not (fn.path.startswith(DROP_PATH) and is_object):
            return None
        assert isinstance(pointer, PointerTy)
        node = (pointer.pointee.crate, principal(pointer.pointee.text))
        return self._dispatch(fn, DROP, drop_signature(pointer), node, reached, source)

    def method(self, fn: FnDefTy, call: DynCall, reached: Reached, source: SourceInfo) -> Made:
        """The dispatcher that ``fn``, a method in a table, is.

        Raises:
            NotUnderstoodError: how it is called is not understood.
        """
        signature = _signature(fn, reached.body)
        key, node = (fn.crate, call.trait, call.method, signature.text), (fn.crate, principal(call.of))
        definition = definition_path(fn.text)
        if call.is_own and definition is not None:
            self.defined[node] = (definition[0], definition[1][:-1])
        return self._dispatch(fn, key, signature, node, reached, source)

    def _dispatch(
        self, fn: FnDefTy, key: SlotKey, signature: Signature, node: Node, reached: Reached, source: SourceInfo
    ) -> Made:
        slot = self.methods.slot(key, signature)
        self.called.setdefault(key, {}).setdefault(node, (reached, source))
        name = (fn.crate, fn.path)
        self.targets.setdefault(name, set())
        self.dispatchers.setdefault(key, set()).add(name)
        body = self.methods.dispatcher(fn, replace(slot, signature=signature))
        return Made(name, body, reached.dump, reached, source)

    # ---- what follows

    def wanted(self) -> Iterator[Made]:
        """The shims that are wanted and were not given before."""
        for key, nodes in self.called.items():
            for name, found in self.types.items():
                if key in self.shims.get(name, ()):
                    continue
                reaches = self._reaches(name)
                node = next((node for node in nodes if node in reaches), None)
                if node is None:
                    continue
                words = self._words(key, node, found.ty.crate, reaches)
                shim_key, body = self.methods.shim(key, found.ty, found.source, words)
                self.shims.setdefault(name, {})[key] = shim_key
                for dispatcher_key in self.dispatchers[key]:
                    self.targets[dispatcher_key].add(shim_key)
                yield Made(shim_key, body, found.dump, *nodes[node])

    def _words(self, key: SlotKey, node: Node, crate: str, reaches: Set[Node]) -> str | None:
        """What ``crate`` calls the trait of ``node``, if the method is that trait's own and it is known there."""
        if without_bindings(node[1]) != key[1]:
            return None
        same = sorted(text for own, text in reaches if own == crate and self._may_be_one(node, (own, text)))
        return without_bindings(same[0]) if len(same) == 1 else None

    def _reaches(self, name: tuple[str, str]) -> set[Node]:
        """Every ``dyn`` that a type is somewhere."""
        every = {*self._upcasts, *(n for nodes in self._upcasts.values() for n in nodes)}
        every |= {node for nodes in self.called.values() for node in nodes}
        found: set[Node] = set()
        stack = list(self._becomes[name])
        while stack:
            node = stack.pop()
            if node in found:
                continue
            found.add(node)
            stack += self._upcasts.get(node, ())
            stack += (other for other in every if self._may_be_one(node, other))
        return found

    def _may_be_one(self, one: Node, other: Node) -> bool:
        """Whether the ``dyn`` of two crates may be of one trait; that of one crate is one by its text alone.

        Their arguments are compared by the last segments too.
        """
        if one[0] == other[0]:
            return False
        if one in self.defined and other in self.defined and self.defined[one] != self.defined[other]:
            return False
        texts = [short(node[1]) for node in (one, other)]
        same = one in self.defined and self.defined[one] == self.defined.get(other)
        return texts[0] == texts[1] or (same and _arguments(texts[0]) == _arguments(texts[1]))

    def check(self) -> None:
        """Refuses what may be one trait under two names: a crate exports it by another than its own.

        That is so where an object's trait is one of a crate, nothing is called on it under that name, and the crate
        calls methods on objects that nobody else makes.

        Raises:
            UnsupportedError: such a pair.
        """
        made = {node for nodes in (*self._becomes.values(), *self._upcasts.values()) for node in nodes}
        called = {node for nodes in self.called.values() for node in nodes}
        nodes = made | called
        for node in sorted(made - called):
            if any(self._may_be_one(node, other) for other in nodes):
                continue
            head = node[1].partition("::")[0]
            for other in sorted(called):
                if other[0] == head != node[0] and not any(self._may_be_one(other, each) for each in nodes):
                    raise UnsupportedError(
                        Diagnostic(
                            "MG0310",
                            f"whether the trait objects `dyn {node[1]}` of crate `{node[0]}` are those that crate "
                            f"`{other[0]}` calls `dyn {other[1]}` cannot be told",
                            helps=("name the trait as its own crate does, or call a method on such an object",),
                        )
                    )


def _arguments(trait: str) -> str:
    """A trait's generic arguments and associated types."""
    return trait.partition("<")[2]


def _type_of(body: Body, operand: Operand, constants: Mapping[FnKey, Ty]) -> Ty | None:
    if isinstance(operand, Constant) and isinstance(operand.const, UnevaluatedConst) and operand.const.ty is None:
        return constants.get((body.crate, operand.const.full_path))
    return operand_ty(body.locals, operand)


def _known_type(text: str, dump: CrateDump) -> Ty | None:
    """The type of that text, if a document of the crate holds it."""
    wanted = erase_regions(text)
    return next((ty for _, unit in dump.documents for ty in unit.types if erase_regions(ty.text) == wanted), None)


def _signature(fn: FnDefTy, body: Body) -> Signature:
    """How ``fn`` is called: what its own signature leaves open is as a call in ``body`` has it."""
    sig = fn.sig
    if sig.variadic or not sig.inputs:
        raise NotUnderstoodError(f"the signature of `{fn.path}`")
    inputs, output = sig.inputs, sig.output
    if any(map(is_open, (*inputs, output))):
        call = _call_of(fn, body)
        if call is None:
            raise NotUnderstoodError(f"the address of `{fn.path}`, whose signature rustc left open")
        given = [operand_ty(body.locals, arg) for arg in call.args]
        inputs = tuple(ty if actual is None else actual for ty, actual in zip(inputs, given, strict=True))
        output = place_ty(body.locals, call.destination)
    receiver = inputs[0]
    if with_pointee(receiver, receiver) is None:
        raise NotUnderstoodError(f"the receiver `{receiver.text}`")
    if any(map(is_open, (*inputs, output))):
        raise NotUnderstoodError(f"the signature of `{fn.path}`")
    return Signature(receiver, tuple(inputs[1:]), output, sig.abi)


def _call_of(fn: FnDefTy, body: Body) -> Call | None:
    for block in body.blocks:
        match block.terminator:
            case Call(func=Constant(const)) as call if const.ty == fn and len(call.args) == len(fn.sig.inputs):
                return call
            case _:
                pass
    return None


# ---- the tables ----------------------------------------------------------------------------------------------


#: Up to so many shims a word is a number: the code generators can inline what is called directly.
_FEW = 4


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a program: allocations by ``Ty.key``, functions that are added or take the place of others, and
    the functions that a dispatcher calls by address."""

    allocs: dict[tuple[str, str], int]
    functions: dict[FnKey, Body]
    targets: dict[FnKey, frozenset[FnKey]]


def make_tables(
    kernels: Sequence[Objects], methods: Methods, layouts: LayoutTable, allocs: dict[int, Alloc],
    numbers: AllocNumbers, waiting: Set[FnKey],
) -> Tables:  # fmt: skip
    """The tables that ``kernels`` need together; their contents are added to ``allocs``.

    ``waiting`` are the functions that reach a barrier.

    Raises:
        UnsupportedError: a type's layout is not known, or which trait an object is of.
    """
    for kernel in kernels:
        kernel.check()
    made = Tables({}, {}, {})
    used = {key for kernel in kernels for key in kernel.called}
    chosen = _numbered(kernels, methods, waiting, made)
    addresses: dict[FnKey, int] = {}

    def address(key: FnKey) -> int:
        if key not in addresses:
            addresses[key] = numbers.new()
            allocs[addresses[key]] = FnAlloc(key[1])
        return addresses[key]

    for name, found in {name: ob for kernel in kernels for name, ob in kernel.types.items()}.items():
        shims = {key: shim for kernel in kernels for key, shim in kernel.shims.get(name, {}).items()}
        in_constants = any(name in kernel.allocs.values() for kernel in kernels)
        layout = layouts.get(found.ty.key)
        if layout is None and not (shims or in_constants or any(kernel.measured for kernel in kernels)):
            continue  # a table that is not read: only its address tells the type's objects from others
        if layout is None:
            raise UnsupportedError(
                Diagnostic("MG0301", f"the layout of `{found.ty.text}`, which becomes a trait object, is not known")
            )
        words = [layout.size.to_bytes(WORD, "little"), layout.align.to_bytes(WORD, "little")]
        pointers: list[Relocation] = []
        for key, slot in methods.items():
            if key not in used:
                words.append(bytes(WORD))
                continue
            target = shims.get(key)
            if key in chosen:
                number = chosen[key].index(target) if target is not None else len(chosen[key])
                words.append(number.to_bytes(WORD, "little"))
                continue
            if target is None:
                target = (key[0], f"{key[1]}::{key[2]} - shim(absent, {key[0]})")
                made.functions.setdefault(target, absent(target[1], slot.signature))
            pointers.append(Relocation(WORD * len(words), WORD, address(target), 0))
            words.append(bytes(WORD))
        made.allocs[name] = numbers.new()
        table = MemoryAlloc(None, WORD, b"".join(words), (), tuple(pointers))
        allocs[made.allocs[name]] = table
    for kernel in kernels:
        for number, name in kernel.allocs.items():
            allocs[number] = allocs[made.allocs[name]]
        for key, targets in kernel.targets.items():
            if key not in made.functions:
                made.targets[key] = made.targets.get(key, frozenset()) | targets
    return made


def _numbered(
    kernels: Sequence[Objects], methods: Methods, waiting: Set[FnKey], made: Tables
) -> dict[SlotKey, list[FnKey]]:
    """The shims of each method whose words are numbers, in order; their dispatchers are added to ``made``."""
    chosen: dict[SlotKey, list[FnKey]] = {}
    for key, slot in methods.items():
        shims = sorted({own[key] for kernel in kernels for own in kernel.shims.values() if key in own})
        if len(shims) > _FEW and waiting.isdisjoint(shims):
            continue
        chosen[key] = shims
        for crate, path in {name for kernel in kernels for name in kernel.dispatchers.get(key, ())}:
            signature = Signature.of(methods.body((crate, path)))
            made.functions[crate, path] = choosing_dispatcher(path, crate, signature, slot.number, shims)
    return chosen
