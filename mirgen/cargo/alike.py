"""Questions about types that hold closures, which have no name: the question makes closures of its own, which capture
values of the same types and take and give the same, and the answer is about types with these.

So are asked the drop glue of such a type (dropping a closure is dropping what it captured; nothing else about it can be
told from the glue's body) and what a projection of one is.  In the answer the program's closures are put in the place
of the question's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mirgen.cargo.implementations import Named, Parameter, closures_made, nameless
from mirgen.cargo.made import MAKER
from mirgen.cargo.methods import DROP_PATH
from mirgen.cargo.queries import query_source
from mirgen.cargo.source import Names, type_source
from mirgen.mir.ty import CoroutineTy, FnDefTy, Ty

_REGION: Final = re.compile(r"'a\b(?!')")


@dataclass(frozen=True, slots=True)
class Alike:
    """``fn``, drop glue, with names in the place of closures: aliases of an ``impl Trait``, all of one function."""

    fn: FnDefTy
    named: Named

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The names, and what they stand for."""
        return self.named.parameters

    def source(self, name: str, names: Names) -> str:
        """The question's text.

        Raises:
            UnnameableError: a type cannot be written.
        """
        return _beside_closures(name, self.named, query_source(name, self.fn, names), names)


def alike(glue: FnDefTy) -> Alike | None:
    """The question for drop glue of a type that holds closures or functions' own types; ``None`` for other functions
    and types."""
    named = _named(glue.sig.inputs) if glue.path.startswith(DROP_PATH) else None
    return None if named is None else Alike(named.function(glue), named)


@dataclass(frozen=True, slots=True)
class AlikeProjection:
    """A projection's ``text``, with such names."""

    text: str
    named: Named

    def source(self, name: str, names: Names) -> str:
        """A function ``name`` that takes a pointer to what the projection is: rustc prints that type.

        Raises:
            UnnameableError: a type cannot be written.
        """
        question = f"pub fn {name}(_: *const {type_source(self.text, names)}) {{}}"
        return _beside_closures(name, self.named, question, names)


def alike_projection(text: str, closures: Iterable[Ty]) -> AlikeProjection | None:
    """The question what a projection is that is of ``closures``; ``None`` where one cannot be made."""
    named = _named(closures)
    return None if named is None else AlikeProjection(named.text(text), named)


def _named(types: Iterable[Ty]) -> Named | None:
    """Names for the closures and functions' own types in ``types``, if there are any, and nothing else without one."""
    items = [*nameless(types, captured=True)]
    return None if any(isinstance(item, CoroutineTy) for item in items) else Named.of(items)


def _beside_closures(name: str, named: Named, question: str, names: Names) -> str:
    aliases = [f"pub type {each.name} = impl {each.bound(names)};" for each in named.parameters]
    text = "\n".join([f"mod {name}_alike {{", *aliases, _maker(name, named, names), question, "}"])
    # No answer depends on regions; one for all makes every type the one that the others' bounds speak of.
    return _REGION.sub("'static", text.replace("<'a>(", "("))


def _maker(name: str, named: Named, names: Names) -> str:
    """The function that makes all closures: one defines every alias, whose bounds may speak of each other."""
    closures = closures_made([each.item for each in named.parameters], names, named.instead)
    assert closures is not None
    captured, made = closures
    every = [each.name for each in named.parameters]
    # rustc takes an alias that an earlier one's bound speaks of as named already.
    defined, gives = ", ".join(every[::-1]), ", ".join(every)
    return f"#[define_opaque({defined})] fn {name}{MAKER}({captured}) -> ({gives},) {{ ({', '.join(made)},) }}"
