"""Listings: functions that can be shown, line by line, each line with the Rust line that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mirgen.diagnostics import Palette, SourceMap

#: Functions that mirgen adds to every program; they are no code of the user's.
OWN_PREFIX = "__mirgen_"

#: A Rust file and a line in it, 1-based.
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Line:
    """``source`` is the Rust line that the text comes from, where anything says so."""

    text: str
    source: Place | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One function: ``name`` is what users type, ``kernel`` whether it is an entry."""

    name: str
    kernel: bool
    lines: tuple[Line, ...]


def interleave(
    lines: Iterable[Line], sources: SourceMap, comment: str = "//", colours: Palette | None = None
) -> Iterator[str]:
    """The lines' texts, with a comment that shows the Rust line wherever it becomes another one."""
    colours = colours or Palette()
    last: Place | None = None
    for line in lines:
        if line.source is not None and line.source != last:
            last = line.source
            yield colours.help(f"{comment} {_quote(last, sources)}".rstrip())
        yield line.text


def _quote(place: Place, sources: SourceMap) -> str:
    file, number = place
    text = sources.lines(file)
    quoted = text[number - 1].rstrip() if text is not None and 0 < number <= len(text) else ""
    return f"{file}:{number}: {quoted}"


def with_callees(items: Sequence[Item], calls: Mapping[str, Iterable[str]]) -> tuple[Item, ...]:
    """The items, each kernel followed by the lines of everything that it reaches, mirgen's own functions apart."""
    by_name = {item.name: item for item in items}
    return tuple(_joined(item, by_name, calls) if item.kernel else item for item in items)


def _joined(kernel: Item, by_name: Mapping[str, Item], calls: Mapping[str, Iterable[str]]) -> Item:
    reached = {kernel.name: kernel}
    todo = [kernel.name]
    while todo:
        for name in calls.get(todo.pop(), ()):
            if name not in reached and name in by_name and not name.startswith(OWN_PREFIX):
                reached[name] = by_name[name]
                todo.append(name)
    lines: list[Line] = []
    for item in reached.values():
        lines += [Line(""), *item.lines] if lines else item.lines
    return Item(kernel.name, True, tuple(lines))


def in_order(items: Iterable[Item], kernels: Sequence[str]) -> tuple[Item, ...]:
    """Kernels first, in the order of ``kernels``; then the other functions; mirgen's own are left out."""
    rank = {name: number for number, name in enumerate(kernels)}
    shown = [item for item in items if not item.name.startswith(OWN_PREFIX)]
    return tuple(sorted(shown, key=lambda item: rank.get(item.name, len(rank))))
