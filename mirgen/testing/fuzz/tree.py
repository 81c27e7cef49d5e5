"""Programs as trees: text with nodes in it, so that a part can be taken out or exchanged for something smaller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mirgen.testing.fuzz.types import Ty

#: ``expr`` has a type and stands in parentheses where it needs them; ``stmt`` may be left out; ``item`` is a function
#: or a type; ``text`` only holds others together.
Kind: TypeAlias = Literal["expr", "stmt", "item", "text"]
#: The way from a root to one of its nodes: an index among the parts at each step.
Path: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A piece of a program."""

    kind: Kind
    parts: tuple[str | Node, ...]
    ty: Ty | None = None

    def __str__(self) -> str:
        found: list[str] = []
        _render(self, found)
        return "".join(found)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return 1 + sum(part.size for part in self.parts if isinstance(part, Node))

    def walk(self, path: Path = ()) -> Iterator[tuple[Path, Node]]:
        """All nodes below and with this one, outer ones first."""
        yield path, self
        for index, part in enumerate(self.parts):
            if isinstance(part, Node):
                yield from part.walk((*path, index))

    def replaced(self, path: Path, new: Node) -> Node:
        """The same tree with another node at ``path``."""
        if not path:
            return new
        index = path[0]
        child = self.parts[index]
        if not isinstance(child, Node):
            raise ValueError(f"no node at {path}")
        parts = (*self.parts[:index], child.replaced(path[1:], new), *self.parts[index + 1 :])
        return Node(self.kind, parts, self.ty)


#: What is left of a statement that was taken out.
NOTHING = Node("text", ())


def expr(ty: Ty, *parts: str | Node) -> Node:
    """An expression of type ``ty``."""
    return Node("expr", parts, ty)


def stmt(*parts: str | Node) -> Node:
    """A statement, on a line of its own."""
    return Node("stmt", (*parts, "\n"))


def text(*parts: str | Node) -> Node:
    """Parts in a row."""
    return Node("text", parts)


def item(*parts: str | Node) -> Node:
    """A function, a type or an implementation."""
    return Node("item", (*parts, "\n"))


def joined(separator: str, nodes: list[Node]) -> Node:
    """Nodes with a separator between them."""
    parts: list[str | Node] = []
    for index, node in enumerate(nodes):
        parts += [separator, node] if index else [node]
    return Node("text", tuple(parts))


def _render(node: Node, found: list[str]) -> None:
    for part in node.parts:
        if isinstance(part, str):
            found.append(part)
        else:
            _render(part, found)
