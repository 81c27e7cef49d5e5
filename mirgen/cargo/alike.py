"""Questions about types that hold closures, which have no name: the question makes closures of its own, which capture
values of the same types and take and give the same, and the answer is about types with these.

So are asked the drop glue of such a type (dropping a closure is dropping what it captured; nothing else about it can be
told from the glue's body) and what a projection of one is.  In the answer the program's closures are put in the place
of the question's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mirgen.cargo.implementations import Parameter, closure_source, nameless, replaced, signature_of
from mirgen.cargo.made import MAKER
from mirgen.cargo.methods import DROP_PATH
from mirgen.cargo.queries import query_source
from mirgen.cargo.source import PARAMETER, Names, type_source
from mirgen.mir.names import erase_regions
from mirgen.mir.ty import ClosureTy, CoroutineTy, FnDefTy, Ty

_REGION: Final = re.compile(r"'a\b(?!')")


@dataclass(frozen=True, slots=True)
class Alike:
    """``fn``, drop glue, with names in the place of closures: aliases of an ``impl Trait``, all of one function."""

    fn: FnDefTy
    parameters: tuple[Parameter, ...]

    def source(self, name: str, names: Names) -> str:
        """The question's text.

        Raises:
            UnnameableError: a type cannot be written.
        """
        return _beside_closures(name, self.parameters, query_source(name, self.fn, names), names)


@dataclass(frozen=True, slots=True)
class AlikeProjection:
    """``text``, a projection's, with such names."""

    text: str
    parameters: tuple[Parameter, ...]

    def source(self, name: str, names: Names) -> str:
        """A function ``name`` that takes a pointer to what the projection is: rustc prints that type.

        Raises:
            UnnameableError: a type cannot be written.
        """
        question = f"pub fn {name}(_: *const {type_source(self.text, names)}) {{}}"
        return _beside_closures(name, self.parameters, question, names)


def alike(glue: FnDefTy) -> Alike | None:
    """The question for drop glue of a type that holds closures or functions' own types; ``None`` for other functions
    and types."""
    if not glue.path.startswith(DROP_PATH):
        return None
    named = _named(nameless(glue.sig.inputs, captured=True))
    if named is None:
        return None
    instead, parameters = named
    inputs = tuple(replace(ty, text=replaced(ty.text, instead)) for ty in glue.sig.inputs)
    fn = replace(glue, path=replaced(glue.path, instead), sig=replace(glue.sig, inputs=inputs))
    return Alike(fn, parameters)


def alike_projection(text: str, closures: Iterable[Ty]) -> AlikeProjection | None:
    """The question what a projection is that is of ``closures``; ``None`` where one cannot be made."""
    named = _named(nameless(closures, captured=True))
    return None if named is None else AlikeProjection(replaced(text, named[0]), named[1])


def _named(
    items: Iterable[ClosureTy | FnDefTy | CoroutineTy],
) -> tuple[list[tuple[Ty, str]], tuple[Parameter, ...]] | None:
    """Names for ``items``, and what they stand for; ``None`` where there are none, or one cannot be made."""
    # An outer one's text holds the inner ones'.
    ordered = sorted(items, key=lambda item: -len(item.text))
    instead: list[tuple[Ty, str]] = [(item, f"{PARAMETER}{i}/#0") for i, item in enumerate(ordered)]
    parameters: list[Parameter] = []
    for i, item in enumerate(ordered):
        signature = signature_of(item)
        if isinstance(item, CoroutineTy) or signature is None or getattr(item, "closure_kind", "Fn") is None:
            return None
        parameters.append(Parameter(f"{PARAMETER}{i}", item, erase_regions(replaced(signature, instead))))
    return (instead, tuple(parameters)) if parameters else None


def _beside_closures(name: str, parameters: Sequence[Parameter], question: str, names: Names) -> str:
    aliases = [f"pub type {each.name} = impl {each.bound(names)};" for each in parameters]
    text = "\n".join([f"mod {name}_alike {{", *aliases, _maker(name, parameters, names), question, "}"])
    # No answer depends on regions; one for all makes every type the one that the others' bounds speak of.
    return _REGION.sub("'static", text.replace("<'a>(", "("))


def _maker(name: str, parameters: Sequence[Parameter], names: Names) -> str:
    """The function that makes all closures: one defines every alias, whose bounds may speak of each other."""
    instead = [(each.item, f"{each.name}/#0") for each in parameters]
    captured: list[str] = []
    made: list[str] = []
    for closure in parameters:
        assert not isinstance(closure.item, CoroutineTy)
        upvars = closure.item.upvars if isinstance(closure.item, ClosureTy) else ()
        made.append(closure_source(closure.item, [f"u{len(captured) + i}" for i in range(len(upvars))]))
        captured += [type_source(replaced(ty.text, instead), names) for ty in upvars]
    every = [closure.name for closure in parameters]
    # rustc takes an alias that an earlier one's bound speaks of as named already.
    defined = ", ".join(every[::-1])
    takes = ", ".join(f"mut u{i}: {ty}" for i, ty in enumerate(captured))
    gives = ", ".join(every)
    return f"#[define_opaque({defined})] fn {name}{MAKER}({takes}) -> ({gives},) {{ ({', '.join(made)},) }}"
