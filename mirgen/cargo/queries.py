"""Asking rustc for the body of an instance that its inliner left behind.

A function that does nothing but call ``utils::get::<u64>`` is added, in a copy of the crate's sources, to the file in
which the call was written: there the path can be named, private or not.  rustc resolves it and inlines it, and the
added function's body *is* the instance's.  Each question has a small tower of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mirgen.cargo.callee import parse_callee, same_callee, short
from mirgen.cargo.made import with_names
from mirgen.cargo.overlay import MODULE
from mirgen.cargo.source import PARAMETERS_NUMBER, Names, callee_source, type_source
from mirgen.ingest import Header
from mirgen.mir.body import Block, Body, FnKey
from mirgen.mir.place import Copy, Move, Place
from mirgen.mir.rvalue import AdtAggregate
from mirgen.mir.statement import Assign, Return
from mirgen.mir.ty import FnDefTy, Ty

#: Functions outside of that module have it in their own names.
INSIDE = f"{MODULE}_"
#: What the caller of a question that makes closures has behind the question's name.
CLOSURES = "_closures"
_LEVELS = 4
_IMPL = re.compile(r"<impl at [^<>]*>")


@dataclass(frozen=True, slots=True)
class Query:
    """One question about ``key``: ``name`` is the added function, ``file`` the source file (absolute) it is added to.

    ``fn`` is the function whose body is asked for; ``None`` where it is a constant's value, ``path`` as ``key`` has it.
    ``feature`` must be enabled in the crate.  ``at`` is where in the file the text goes, line and column, if not to its
    end: inside a function's body, where what is asked about has a name.  ``inside`` is then that body's header; where
    the text is a macro's, every function that this wrote gets the question.  ``generic``: the answer has ``parameters``
    in the place of some types.  ``which``: where rustc does not answer so, it is asked which implementation ``fn``, a
    trait's method, means; those of ``items`` are closures that the question makes, where that can be.  ``simpler`` is
    the text without these.  ``address``: what is asked is which function a constant holds the address of;
    ``projection``: which type a projection is.
    """

    name: str
    key: FnKey
    file: Path
    text: str
    fn: FnDefTy | None = None
    feature: str | None = None
    at: tuple[int, int] | None = None
    inside: str | None = None
    which: bool = False
    simpler: str | None = None
    items: tuple[Ty, ...] = ()
    generic: bool = False
    parameters: Mapping[str, Ty] = field(default_factory=dict[str, Ty])
    address: bool = False
    projection: bool = False


def query_source(name: str, fn: FnDefTy, names: Names) -> str:
    """A tower of functions with ``fn``'s signature; the outermost is ``name``.

    Raises:
        UnnameableError: a type or the path cannot be written.
    """
    sig = fn.sig
    params = ", ".join(f"a{i}: {type_source(ty.text, names)}" for i, ty in enumerate(sig.inputs))
    args = ", ".join(f"a{i}" for i in range(len(sig.inputs)))
    output = type_source(sig.output.text, names)
    callee = callee_source(fn.path, names)
    lines: list[str] = []
    for level in range(_LEVELS):
        own = name if level == _LEVELS - 1 else f"{name}_{level}"
        lines.append(f"#[inline] pub unsafe fn {own}<'a>({params}) -> {output} {{ unsafe {{ {callee}({args}) }} }}")
        callee = own
    return "\n".join(lines)


def address_source(name: str, path: str, names: Names) -> str:
    """A function in which rustc says what the function ``path`` is: its type.

    Raises:
        UnnameableError: the path cannot be written.
    """
    return f"pub fn {name}() {{ ::core::hint::black_box({callee_source(path, names)}); }}"


def addressed(body: Body) -> FnDefTy | None:
    """The function that the body of an :func:`address_source` has to do with."""
    found = {local.ty.text: local.ty for local in body.locals if isinstance(local.ty, FnDefTy)}
    return next(iter(found.values())) if len(found) == 1 else None


def chosen_level(headers: Sequence[Header], name: str, inside: str | None = None) -> list[Header]:
    """The tower's functions of query ``name`` among ``headers``, outermost first (that which makes closures may be
    before the others); only that in the body ``inside``.

    Questions shift what stands behind them on their line.
    """
    if inside is not None:
        wanted = _IMPL.sub("<impl>", f"{inside}::{name}")
        found = [header for header in headers if _IMPL.sub("<impl>", header.header) == wanted]
        return found if len(found) == 1 else []
    order = {
        own: i
        for i, own in enumerate((f"{name}{CLOSURES}", name, *(f"{name}_{i}" for i in reversed(range(_LEVELS - 1)))))
    }
    found = [h for h in headers if f"{MODULE}" in h.header and h.header.rpartition("::")[2] in order]
    return sorted(found, key=lambda header: order[header.header.rpartition("::")[2]])


def answers(body: Body, fn: FnDefTy) -> bool:
    """Whether ``body`` holds ``fn`` inlined, and is not merely a call of it: then it may stand for ``fn``."""
    inlined = (scope.inlined.partition(" - shim(")[0] for scope in body.scopes if scope.inlined is not None)
    wanted = PARAMETERS_NUMBER.sub("", fn.path)
    is_inlined = any(same_callee(PARAMETERS_NUMBER.sub("", with_names(name)), wanted) for name in inlined)
    return is_inlined or _completes(body, wanted) or _constructs(body, fn)


def _completes(body: Body, wanted: str) -> bool:
    """Whether what the question itself calls is ``wanted`` with its trait's arguments.

    rustc leaves out arguments that are their parameters' defaults, as generic code has them: ``FromResidual`` where it
    says ``FromResidual<<Self as Try>::Residual>`` of a concrete type.
    """
    asked = parse_callee(wanted)
    if asked.trait is None or asked.trait[1].endswith(">"):
        return False
    told = [asked.method, *map(short, (*asked.trait, *asked.generics))]
    within: list[bool] = []  # whether all that is inlined around a scope's code, up to the body's own, are questions
    for scope in body.scopes:
        outside = scope.parent is None or within[scope.parent]
        within.append(outside and (scope.inlined is None or MODULE in scope.inlined))
        if scope.inlined is None or within[-1] or not outside:
            continue
        found = parse_callee(PARAMETERS_NUMBER.sub("", scope.inlined.partition(" - shim(")[0]))
        if found.trait is not None:
            owner, trait = found.trait
            if [found.method, *map(short, (owner, trait.partition("<")[0], *found.generics))] == told:
                return True
    return False


def _constructs(body: Body, fn: FnDefTy) -> bool:
    """Whether ``fn`` makes a struct or variant of its arguments, for which rustc has no call."""
    match body.blocks:
        case (Block(statements=(Assign(place=Place(0, ()), rvalue=AdtAggregate() as made),), terminator=Return()),):
            given = [operand.place for operand in made.operands if isinstance(operand, Copy | Move)]
            name = made.variant or parse_callee(made.path).method
            return given == [Place(1 + i) for i in range(len(fn.sig.inputs))] and parse_callee(fn.path).method == name
        case _:
            return False
