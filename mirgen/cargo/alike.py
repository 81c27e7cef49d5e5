"""The drop glue of types that hold closures, which have no name: asked about the same types with closures of the
question's own, which capture values of the same types.

Dropping a closure is dropping what it captured; nothing else about it can be told from the glue's body.  The answer is
made concrete by putting the program's closures in the place of the question's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from mirgen.cargo.implementations import Parameter, closure_source, replaced, signature_of
from mirgen.cargo.made import MAKER
from mirgen.cargo.methods import DROP_PATH
from mirgen.cargo.queries import query_source
from mirgen.cargo.source import PARAMETER, Names, type_source
from mirgen.mir.names import erase_regions
from mirgen.mir.ty import ClosureTy, CoroutineTy, FnDefTy, FnSig, Ty, parts

#: An alias of an ``impl Trait`` that one function defines: the name that the question gives a closure's type.
ALIAS_FEATURE: Final = "type_alias_impl_trait"
_REGION: Final = re.compile(r"'a\b(?!')")


@dataclass(frozen=True, slots=True)
class Alike:
    """``fn``, drop glue, with names in the place of closures."""

    fn: FnDefTy
    closures: tuple[Parameter, ...]

    def source(self, name: str, names: Names) -> str:
        """The question's text.

        Raises:
            UnnameableError: a type cannot be written.
        """
        made = [self._maker(number, closure, names) for number, closure in enumerate(self.closures)]
        text = "\n".join([f"mod {name}_alike {{", *made, query_source(name, self.fn, names), "}"])
        # Dropping does not depend on regions; one for all makes every type the one that the others' bounds speak of.
        return _REGION.sub("'static", text.replace("<'a>(", "("))

    def _maker(self, number: int, closure: Parameter, names: Names) -> str:
        instead = [(each.item, f"{each.name}/#0") for each in self.closures]
        upvars = closure.item.upvars if isinstance(closure.item, ClosureTy) else ()
        types = [type_source(replaced(ty.text, instead), names) for ty in upvars]
        takes = ", ".join(f"mut u{i}: {ty}" for i, ty in enumerate(types))
        assert not isinstance(closure.item, CoroutineTy)
        made = closure_source(closure.item, [f"u{i}" for i in range(len(types))])
        return (
            f"pub type {closure.name} = impl {closure.bound(names)};"
            f" #[define_opaque({closure.name})] fn {MAKER}{number}({takes}) -> {closure.name} {{ {made} }}"
        )


def alike(glue: FnDefTy) -> Alike | None:
    """The question for drop glue of a type that holds closures or functions' own types; ``None`` for other functions
    and types."""
    if not glue.path.startswith(DROP_PATH):
        return None
    items = {item.text: item for item in _nameless(glue.sig)}
    # An outer one's text holds the inner ones'.
    ordered = sorted(items.values(), key=lambda item: -len(item.text))
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


def _nameless(sig: FnSig) -> Iterator[ClosureTy | FnDefTy | CoroutineTy]:
    """The closures and functions' own types in a signature, and in what closures captured."""
    stack: list[Ty] = [*sig.inputs]
    while stack:
        ty = stack.pop()
        if isinstance(ty, ClosureTy | FnDefTy | CoroutineTy):
            yield ty
            stack.extend(ty.upvars if isinstance(ty, ClosureTy) else ())
        else:
            stack.extend(parts(ty))
