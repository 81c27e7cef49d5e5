"""LLVM IR by function, and the user's own Rust lines out of its debug information."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mirgen.diagnostics import is_users_own
from mirgen.view.listing import Item, Line, Place, in_order, with_callees

_NAME = r'(?:"(?P<quoted>[^"]*)"|(?P<plain>[\w.$-]+))'
_DEFINE = re.compile(rf"^define\b.*?@{_NAME}\(")
_CALLEE = re.compile(rf"\bcall\b.*?@{_NAME}\(")
_DBG = re.compile(r",? !dbg !(\d+)")
_NODE = re.compile(r"^!(?P<number>\d+) = (?P<distinct>distinct )?!(?P<kind>DI\w+)\((?P<fields>.*)\)$", re.MULTILINE)
_FIELD = re.compile(r'(\w+): ("[^"]*"|[^,]+)')


def llvm_items(text: str, kernels: Sequence[str]) -> tuple[Item, ...]:
    """The functions that ``text`` defines; positions become the lines' sources."""
    table = LineTable(text)
    items: list[Item] = []
    calls: dict[str, list[str]] = {}
    for name, lines in _functions(text.splitlines()):
        items.append(Item(name, name in kernels, tuple(_line(line, table) for line in lines)))
        calls[name] = [_name(match) for match in map(_CALLEE.search, lines) if match is not None]
    return in_order(with_callees(items, calls), kernels)


def _functions(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    name, chunk = "", list[str]()
    for line in lines:
        match = None if chunk else _DEFINE.match(line)
        if match is not None:
            name, chunk = _name(match), [line]
        elif chunk:
            chunk.append(line)
            if line.startswith("}"):
                yield name, chunk
                chunk = []


def _name(match: re.Match[str]) -> str:
    return match["plain"] if match["quoted"] is None else match["quoted"]


def _line(text: str, table: LineTable) -> Line:
    match = _DBG.search(text)
    if match is None:
        return Line(text)
    return Line(_DBG.sub("", text), None if text.startswith("define") else table.users(int(match[1])))


@dataclass(frozen=True, slots=True)
class _Node:
    kind: str
    fields: dict[str, str]
    text: str

    def reference(self, field: str) -> int | None:
        value = self.fields.get(field, "")
        return int(value[1:]) if value.startswith("!") and value[1:].isdecimal() else None


class LineTable:
    """The positions of an LLVM module."""

    def __init__(self, text: str) -> None:
        self._nodes = {
            int(match["number"]): _Node(match["kind"], dict(_FIELD.findall(match["fields"])), match["fields"])
            for match in _NODE.finditer(text)
        }

    def users(self, number: int) -> Place | None:
        """The innermost position of node ``number`` that lies in the user's own source, through inlined calls; else
        the innermost."""
        chosen = self._users(number)
        return self._place(number if chosen is None else chosen)

    def _users(self, number: int) -> int | None:
        at: int | None = number
        while at is not None:
            place = self._place(at)
            if place is not None and is_users_own(place[0]):
                return at
            node = self._nodes.get(at)
            at = None if node is None else node.reference("inlinedAt")
        return None

    def _place(self, number: int) -> Place | None:
        node = self._nodes.get(number)
        if node is None or node.kind != "DILocation":
            return None
        line = int(node.fields.get("line", "0"))
        scope = node.reference("scope")
        file = None if scope is None else self._file(scope)
        return (file, line) if file is not None and line else None

    def _file(self, scope: int) -> str | None:
        node = self._nodes.get(scope)
        number = None if node is None else node.reference("file")
        file = None if number is None else self._nodes.get(number)
        if file is None:
            return None
        return posixpath.join(file.fields.get("directory", "").strip('"'), file.fields.get("filename", "").strip('"'))

    def moved(self, match: re.Match[str]) -> str:
        """The definition of one position, moved to the user's own source."""
        if match["kind"] != "DILocation":
            return match[0]
        chosen = self._users(int(match["number"]))
        if chosen is None:
            return match[0]
        return f"!{match['number']} = {match['distinct'] or ''}!DILocation({self._nodes[chosen].text})"


def at_users_lines(text: str) -> str:
    """The module with every position in a library moved out to the user's own line that called it: the line tables
    of PTX and SASS then speak of the user's source only."""
    table = LineTable(text)
    return _NODE.sub(table.moved, text)
