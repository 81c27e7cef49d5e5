"""Structs that a library declares inside functions, moved to their module, where they have a path.

rustc prints ``<IntoIter<T, A> as Drop>::drop::DropGuard<'_, u8, Global>``, which no source can name; so neither the
type's layout nor what dropping it means can be asked for.  In the copy of the library that mirgen builds such a struct
stands at the end of its file, and the function imports it under its own name.  What the functions mean stays the same,
and every other item its place.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mirgen.mir.names import skip_group

#: What a moved struct is called, before its own name and its number in the file.
PREFIX = "Mirgen"
#: Sources of the standard library are formatted by rustfmt: the indentation says what stands in what.
_STRUCT = re.compile(r"^(?P<indent> {8,})struct (?P<name>\w+)", re.MULTILINE)
_FUNCTION = re.compile(r"(?:[\w()]+ )*fn \w")
_OTHER_SCOPE = re.compile(r"(?:pub(?:\([^)]*\))? )?mod \w|macro_rules!|(?:pub )?macro ")


def hoisted(text: str) -> str:
    """The text of a library's source file with the structs inside its functions at its end."""
    lines = text.splitlines()
    moved: list[str] = []
    out: list[str] = []
    done = 0
    for found in _STRUCT.finditer(text):
        start = found.end("indent")
        end = _end(text, start)
        above = text.count("\n", 0, start)
        if start < done or end is None or not _may_move(lines, above, len(found["indent"])):
            continue
        name = f"{PREFIX}{found['name']}{len(moved)}"
        item = text[start:end]
        moved.append(item.replace(found["name"], name, 1))
        out += [text[done:start], f"use self::{name} as {found['name']};", "\n" * item.count("\n")]
        done = end
    return "".join(out) + text[done:] + "".join(f"\n{item}\n" for item in moved)


@functools.lru_cache(maxsize=256)
def hoisted_lines(file: Path) -> tuple[str, ...]:
    """The lines of a library's source file with the structs inside its functions at its end."""
    return tuple(hoisted(file.read_text(encoding="utf-8")).splitlines())


def moved_lines(file: Path) -> list[int]:
    """Where (1-based) structs begin that :func:`hoisted` moves to the end of ``file``."""
    return [number for number, line in enumerate(hoisted_lines(file), 1) if line.startswith(f"struct {PREFIX}")]


def _end(text: str, start: int) -> int | None:
    """Where the struct that begins at ``start`` ends: behind its `;` or its braces."""
    at = start
    while at < len(text):
        if text[at] == ";":
            return at + 1
        if text[at] in "<([":
            at = skip_group(text, at)
        elif text[at] == "{":
            return skip_group(text, at)
        else:
            at += 1
    return None


def _may_move(lines: Sequence[str], at: int, indent: int) -> bool:
    """Whether the item at line ``at`` (0-based) has no attributes and is in a function of the file's own module."""
    if lines[at - 1].lstrip().startswith("#["):
        return False
    heads = [*_heads(lines, at, indent)]
    return any(map(_FUNCTION.match, heads)) and not any(map(_OTHER_SCOPE.match, heads))


def _heads(lines: Sequence[str], at: int, indent: int) -> Iterator[str]:
    """The first lines of everything around line ``at``, from the inside out."""
    for line in reversed(lines[:at]):
        text = line.lstrip()
        own = len(line) - len(text)
        if text and own < indent and not text.startswith(("}", ")", "where", "//", "#", "{")):
            indent = own
            yield text
