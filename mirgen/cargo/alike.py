"""The drop glue of types that hold closures, which have no name: asked about the same types with closures of the
question's own, which capture values of the same types.

Dropping a closure is dropping what it captured; nothing else about it can be told from the glue's body.  The answer is
made concrete by putting the program's closures in the place of the question's.
"""

from __future__ import annotations

import re
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
        aliases = [f"pub type {each.name} = impl {each.bound(names)};" for each in self.parameters]
        text = "\n".join([
            f"mod {name}_alike {{", *aliases, self._maker(name, names), query_source(name, self.fn, names), "}",
        ])  # fmt: skip
        # Dropping does not depend on regions; one for all makes every type the one that the others' bounds speak of.
        return _REGION.sub("'static", text.replace("<'a>(", "("))

    def _maker(self, name: str, names: Names) -> str:
        """The function that makes all closures: one defines every alias, whose bounds may speak of each other."""
        instead = [(each.item, f"{each.name}/#0") for each in self.parameters]
        captured: list[str] = []
        made: list[str] = []
        for closure in self.parameters:
            assert not isinstance(closure.item, CoroutineTy)
            upvars = closure.item.upvars if isinstance(closure.item, ClosureTy) else ()
            made.append(closure_source(closure.item, [f"u{len(captured) + i}" for i in range(len(upvars))]))
            captured += [type_source(replaced(ty.text, instead), names) for ty in upvars]
        every = [closure.name for closure in self.parameters]
        # rustc takes an alias that an earlier one's bound speaks of as named already.
        defined = ", ".join(every[::-1])
        takes = ", ".join(f"mut u{i}: {ty}" for i, ty in enumerate(captured))
        gives = ", ".join(every)
        return f"#[define_opaque({defined})] fn {name}{MAKER}({takes}) -> ({gives},) {{ ({', '.join(made)},) }}"


def alike(glue: FnDefTy) -> Alike | None:
    """The question for drop glue of a type that holds closures or functions' own types; ``None`` for other functions
    and types."""
    if not glue.path.startswith(DROP_PATH):
        return None
    # An outer one's text holds the inner ones'.
    ordered = sorted(nameless(glue.sig.inputs, captured=True), key=lambda item: -len(item.text))
    instead: list[tuple[Ty, str]] = [(item, f"{PARAMETER}{i}/#0") for i, item in enumerate(ordered)]
    closures: list[Parameter] = []
    for i, item in enumerate(ordered):
        signature = signature_of(item)
        if isinstance(item, CoroutineTy) or signature is None or getattr(item, "closure_kind", "Fn") is None:
            return None
        closures.append(Parameter(f"{PARAMETER}{i}", item, erase_regions(replaced(signature, instead))))
    if not closures:
        return None
    inputs = tuple(replace(ty, text=replaced(ty.text, instead)) for ty in glue.sig.inputs)
    fn = replace(glue, path=replaced(glue.path, instead), sig=replace(glue.sig, inputs=inputs))
    return Alike(fn, tuple(closures))
