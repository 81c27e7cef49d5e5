"""Smaller programs that show the same fault.

Each round tries many reductions of the tree at once, in one build: statements and items that are left out, expressions
that become one of their own parts or the least value of their type.  Reductions that are no Rust are sorted out by
rustc.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mirgen.testing.fuzz.generator import Program
from mirgen.testing.fuzz.tree import NOTHING, Node, Path, expr
from mirgen.testing.fuzz.types import simplest

#: Reductions in one build.
WIDTH = 24

#: For each program, whether it shows the fault.
Shows = Callable[[Sequence[Program]], list[bool]]


@dataclass(frozen=True, slots=True)
class Edit:
    """A node to exchange, and what is saved by that."""

    path: Path
    new: Node
    saved: int


def edits(tree: Node) -> list[Edit]:
    """All single reductions, those first that save most."""
    return sorted(_edits(tree), key=lambda edit: -edit.saved)


def _edits(tree: Node) -> Iterator[Edit]:
    for path, node in tree.walk():
        if node.kind in ("stmt", "item"):
            yield Edit(path, NOTHING, node.size)
        if node.kind == "expr" and node.ty is not None:
            least = expr(node.ty, simplest(node.ty))
            if str(node) != str(least):
                yield Edit(path, least, node.size)
            for _, inner in node.walk():
                if inner is not node and inner.kind == "expr" and inner.ty == node.ty:
                    yield Edit(path, inner, node.size - inner.size)


def applied(tree: Node, chosen: Sequence[Edit]) -> Node:
    """The tree with these edits, but for those inside another's node."""
    done: list[Path] = []
    for edit in chosen:
        if not any(_meet(edit.path, path) for path in done):
            tree = tree.replaced(edit.path, edit.new)
            done.append(edit.path)
    return tree


def _meet(one: Path, other: Path) -> bool:
    length = min(len(one), len(other))
    return one[:length] == other[:length]


def shrink(program: Program, shows: Shows, seconds: float = 120) -> Program:
    """The smallest program found in that time; ``program`` itself shows the fault."""
    end = time.monotonic() + seconds
    offset = 0
    while time.monotonic() < end:
        found = edits(program.tree)
        chunk = found[offset : offset + WIDTH]
        if not chunk:
            break
        shown = shows([_with(program, [edit]) for edit in chunk])
        good = [edit for edit, yes in zip(chunk, shown, strict=True) if yes]
        if not good:
            offset += WIDTH
            continue
        # Most reductions go together; else the first half of them, .., else the best one, which does.
        together: list[list[Edit]] = [good]
        while len(together[-1]) > 1:
            together.append(together[-1][: (len(together[-1]) + 1) // 2])
        candidates = [_with(program, some) for some in together]
        kept = shows(candidates)
        program = next((one for one, yes in zip(candidates, kept, strict=True) if yes), candidates[-1])
        offset = 0
    return program


def _with(program: Program, chosen: Sequence[Edit]) -> Program:
    return dataclasses.replace(program, tree=applied(program.tree, chosen))
