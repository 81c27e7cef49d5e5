"""``generate(seed)``: a random program, the same for the same seed.

A program is a module with ``pub fn run(x: u64) -> u64``.  It is well typed and free of undefined behaviour by
construction (it contains no ``unsafe``), always ends, and may panic.  All it computes goes into a hash, ``h``, which
it also takes its own surprises from; so no branch can be decided before it runs.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from mirgen.testing.fuzz import items
from mirgen.testing.fuzz.exprs import expression
from mirgen.testing.fuzz.scope import Cx
from mirgen.testing.fuzz.tree import Node, text
from mirgen.testing.fuzz.types import Ty

#: Nodes of a function and of the entry.
FUNCTION_FUEL, ENTRY_FUEL, METHOD_FUEL = 30, 50, 10

#: So many neighbours are alike in whether they have generics, which cost a build much time: they are built together.
ALIKE = 400

HEAD = "use crate::prelude::*;\n\n"


@dataclass(frozen=True, slots=True)
class Program:
    """A program with where it came from; ``const`` where rustc can evaluate it."""

    seed: int
    const: bool
    tree: Node

    @property
    def source(self) -> str:
        """The module's text."""
        return HEAD + str(self.tree)


def generate(seed: int) -> Program:
    """The program of a seed; every third is a constant's."""
    rng = random.Random(seed)
    const = rng.random() < 0.34

    def expr(ty: Ty) -> Node:
        return expression(cx, ty)

    cx = Cx(rng, const, expr, generic=seed // ALIKE % 4 == 0)
    found = items.types(cx)
    for _ in range(cx.below(3)):
        made, var = items.constant(cx)
        found.append(made)
        cx.constants.append(var)
    for _ in range(1 + cx.below(2)):
        found.append(items.function(cx, cx.below(FUNCTION_FUEL) + 5))
    if cx.generic and not const and cx.chance(45):
        found += items.trait(cx, METHOD_FUEL)
        found.append(items.function(cx, FUNCTION_FUEL))
    found.append(items.entry(cx, ENTRY_FUEL))
    return Program(seed, const, text(*found))
