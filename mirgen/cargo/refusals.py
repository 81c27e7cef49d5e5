"""What rustc's messages say when it refuses a copy of a crate: what it lacks, which items are private, which questions
are at fault."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mirgen.cargo.overlay import Overlay, Private, private_item
from mirgen.cargo.queries import Query
from mirgen.cargo.unit import UnitRecord

_DEFINED = re.compile(r"^note: the [\w ]+ `\w+` is defined here\n *--> (.+?):(\d+):(\d+)$", re.MULTILINE)
_SNIPPET = re.compile(r"^ *(?:-->|:::) (.+?):(\d+):\d+$")
_MARGIN = re.compile(r"^ *(\d+) +\|( +/)?")
_END_OF_SEVERAL = re.compile(r"^ +\| +\|_")
_FEATURE = re.compile(r"^ *= help: add `#!\[feature\((\w+)\)\]` to the crate attributes to enable$", re.MULTILINE)
_NOT_LINKED = re.compile(r"^error\[E0433\]: cannot find `(core|alloc)` in the crate root$", re.MULTILINE)
#: rustc says this of every alias where there is another error in the crate.
_WITHOUT_ALIAS = re.compile(r"^error: item does not contain any opaque types\n(?:.+\n)*", re.MULTILINE)
_POSITION = re.compile(r"^ *--> (.+?):(\d+):\d+$", re.MULTILINE)


def unstable_features(output: str) -> frozenset[str]:
    """The library features that must be enabled for what the questions name."""
    return frozenset(_FEATURE.findall(output))


def crates_without_name(output: str) -> frozenset[str]:
    """The standard library's crates that have no name in the crate: it must say ``extern crate`` for them."""
    return frozenset(_NOT_LINKED.findall(output))


def private_items(output: str, unit: UnitRecord) -> frozenset[Private]:
    """The items that rustc's privacy errors name."""
    found: list[tuple[str, str, str]] = []
    if "error[E0603]" in output:
        found += _DEFINED.findall(output)
    if "error[E0624]" in output:
        found += _private_members(output)
    items = (private_item(unit.absolute(Path(file)), int(line), int(col)) for file, line, col in found)
    return frozenset(item for item in items if item is not None)


def _private_members(output: str) -> list[tuple[str, str, str]]:
    """Methods and associated constants: rustc shows their definitions as snippets, whose margins have the lines.

    Of a file that is not what it compiled (a copy was) it shows positions only, the definition's first line first.
    """
    found: list[tuple[str, str, str]] = []
    for block in output.split("\nerror")[0 if output.startswith("error") else 1 :]:
        file, line, first, shown = "", "", "", True
        for text in block.splitlines() if block.removeprefix("error").startswith("[E0624]") else ():
            if position := _SNIPPET.match(text):
                if shown or position[1] != file:
                    file, line, first, shown = position[1], position[2], "", False
            elif margin := _MARGIN.match(text):
                line, shown = margin[1], True
                first = line if margin[2] else first
            if text.endswith(" defined here") and file:
                found.append((file, first if _END_OF_SEVERAL.match(text) else line, "0"))
    return found


def at_fault(output: str, overlay: Overlay, queries: Sequence[Query]) -> set[str]:
    """The questions at which rustc's errors point."""
    return _pointed_at(_WITHOUT_ALIAS.sub("", output), overlay, queries) or _pointed_at(output, overlay, queries)


def _pointed_at(output: str, overlay: Overlay, queries: Sequence[Query]) -> set[str]:
    faulty: set[str] = set()
    lines: dict[str, list[str]] = {}
    for file, line in _POSITION.findall(output):
        path = Path(file)
        relative = path.relative_to(overlay.original) if path.is_relative_to(overlay.original) else path
        copy = overlay.copy / relative
        if copy not in overlay.changed:
            continue
        text = lines.setdefault(str(copy), copy.read_text(encoding="utf-8").splitlines())
        at = text[int(line) - 1] if int(line) <= len(text) else ""
        faulty |= {query.name for query in queries if re.search(rf"\bfn {query.name}[<_(]", at)}
    return faulty
