"""Source lines with carets and labels, as rustc draws them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from mirgen.diagnostics.colour import Palette
from mirgen.errors import Location

_TAB = "    "
#: A span over more lines than this shows its first and its last ones only.
_MANY_LINES = 8


@dataclass(frozen=True, slots=True)
class Mark:
    """One place to underline in the file shown."""

    location: Location
    label: str
    primary: bool


def display_width(text: str) -> int:
    """Columns that ``text`` takes in a terminal, tabs as four."""
    return sum(_char_width(ch) for ch in text)


def _char_width(ch: str) -> int:
    if ch == "\t":
        return len(_TAB)
    if unicodedata.combining(ch):
        return 0
    return 2 if unicodedata.east_asian_width(ch) in "WF" else 1


def gutter_width(marks: Sequence[Mark]) -> int:
    """Digits of the largest line number shown."""
    return max(len(str(m.location.end_line)) for m in marks)


def draw(lines: Sequence[str], marks: Sequence[Mark], width: int, colours: Palette) -> list[str]:
    """The snippet of one file: ``marks`` over its ``lines``.  ``width`` is that of the line numbers' gutter."""
    bar = colours.frame(f"{'':{width}} |")
    out = [bar]
    multi = next((m for m in marks if m.primary and m.location.end_line > m.location.line), None)
    inner = "  " if multi else ""
    shown: dict[int, list[Mark]] = {}
    for m in marks:
        if m is not multi:
            shown.setdefault(m.location.line, []).append(m)
    if multi:
        for number in (multi.location.line, multi.location.end_line):
            shown.setdefault(number, [])
        span = range(multi.location.line, multi.location.end_line + 1)
        few = span if len(span) <= _MANY_LINES else [*span[:3], *span[-2:]]
        for number in few:
            shown.setdefault(number, [])
    last: int | None = None
    for number in sorted(shown):
        if not 0 < number <= len(lines):
            continue
        if last is not None and number == last + 2 and last + 1 <= len(lines):
            out.append(_source_line(lines, last + 1, width, inner, multi, colours))
        elif last is not None and number > last + 1:
            out.append(colours.frame("..."))
        last = number
        out.append(_source_line(lines, number, width, inner, multi, colours))
        if multi and number == multi.location.line and not _starts_at_indent(lines, multi):
            out.append(_open_line(lines, multi, bar, colours))
        side = _side(number, inner, multi, after=True, colours=colours)
        for m in sorted(shown[number], key=lambda m: (m.location.col, not m.primary), reverse=True):
            out.append(f"{bar} {side}{_underline(lines[number - 1], m, colours)}")
        if multi and number == multi.location.end_line:
            out.append(_close_line(lines, multi, bar, colours))
    return out if last is not None else []


def _source_line(
    lines: Sequence[str], number: int, width: int, inner: str, multi: Mark | None, colours: Palette
) -> str:
    text = lines[number - 1].rstrip("\r").replace("\t", _TAB)
    side = _side(number, inner, multi, after=False, colours=colours, lines=lines)
    return f"{colours.frame(f'{number:<{width}} |')} {side}{text}".rstrip()


def _side(
    number: int,
    inner: str,
    multi: Mark | None,
    *,
    after: bool,
    colours: Palette,
    lines: Sequence[str] | None = None,
) -> str:
    """The stroke left of the source that ties a many-line span together."""
    if multi is None:
        return inner
    first, end = multi.location.line, multi.location.end_line
    if number == first:
        if after:
            return colours.error("| ")
        return colours.error("/ ") if lines is not None and _starts_at_indent(lines, multi) else inner
    return colours.error("| ") if first < number <= end else inner


def _starts_at_indent(lines: Sequence[str], mark: Mark) -> bool:
    return not lines[mark.location.line - 1][: mark.location.col - 1].strip()


def _open_line(lines: Sequence[str], mark: Mark, bar: str, colours: Palette) -> str:
    before = display_width(lines[mark.location.line - 1][: mark.location.col - 1])
    return f"{bar}  {colours.error('_' * (before + 1) + '^')}"


def _close_line(lines: Sequence[str], mark: Mark, bar: str, colours: Palette) -> str:
    last = lines[mark.location.end_line - 1] if mark.location.end_line <= len(lines) else ""
    before = display_width(last[: max(mark.location.end_col - 2, 0)])
    label = f" {mark.label}" if mark.label else ""
    return f"{bar} {colours.error('|' + '_' * (before + 1) + '^' + label)}"


def _underline(line: str, mark: Mark, colours: Palette) -> str:
    at = mark.location
    start = display_width(line[: at.col - 1])
    end_col = at.end_col if at.end_line == at.line else len(line) + 1
    length = max(1, display_width(line[at.col - 1 : end_col - 1]))
    text = ("^" if mark.primary else "-") * length + (f" {mark.label}" if mark.label else "")
    return " " * start + (colours.error(text) if mark.primary else colours.frame(text))
