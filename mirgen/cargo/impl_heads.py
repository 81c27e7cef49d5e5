"""What stands at an impl that a header names by its span: whose inherent methods are inside, or which trait's.

rustc's headers say where an impl is, not of what.  Where the side channel, which says it, is not to be had, the span's
own text is: it is the impl's head as it was written.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from mirgen.mir.names import skip_group

_SPAN = re.compile(r"^<impl at (?P<file>.+):(?P<line>\d+):(?P<col>\d+): (?P<end_line>\d+):(?P<end_col>\d+)>$")
_HEAD = re.compile(r"(?:unsafe\s+)?impl\b\s*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PATH = re.compile(r"(?:::)?(?:[A-Za-z_]\w*\s*::\s*)*[A-Za-z_]\w*")


def inherent_type(segment: str) -> str | None:
    """The last name of the type whose inherent impl a header's segment ``<impl at FILE:L:C: L:C>`` is.

    ``None`` where that is not certain: an impl of a trait, of a type without a name, or one that a macro wrote.
    """
    parts = _first_path(_head(segment, Path()))
    # `impl Trait for X` has more behind the first path.
    return parts[0].rpartition("::")[2] if parts and (not parts[1] or parts[1].startswith("where")) else None


def implemented_trait(segment: str, folder: Path) -> str | None:
    """The trait's path as it is written in the head of an impl, without arguments; ``folder`` is where relative files
    are.  ``None`` where that is not certain."""
    parts = _first_path(_head(segment, folder))
    return parts[0] if parts and re.match(r"for\b", parts[1]) else None


def _head(segment: str, folder: Path) -> str:
    """The text at the span that a header's segment gives."""
    match = _SPAN.match(segment)
    if match is None:
        return ""
    start, end = (int(match["line"]), int(match["col"])), (int(match["end_line"]), int(match["end_col"]))
    return _text(str(folder / match["file"]), start, end)


def _first_path(head: str) -> tuple[str, str] | None:
    """The path in ``impl<..> path::Name<..>`` without arguments and spaces, and what follows it."""
    text = _COMMENT.sub(" ", head).strip()
    word = _HEAD.match(text)
    if word is None:
        return None
    at = word.end()
    if text.startswith("<", at):
        at = skip_group(text, at)
    rest = text[at:].strip()
    path = _PATH.match(rest)
    if path is None:
        return None
    end = skip_group(rest, path.end()) if rest.startswith("<", path.end()) else path.end()
    return re.sub(r"\s+", "", path[0]), rest[end:].strip()


@functools.lru_cache(maxsize=1 << 12)
def _text(file: str, start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text between two places (1-based, the second past the end); nothing where the file does not have them."""
    lines = _lines(file)[start[0] - 1 : end[0]]
    if len(lines) != end[0] - start[0] + 1:
        return ""
    lines[-1] = lines[-1][: end[1] - 1]
    lines[0] = lines[0][start[1] - 1 :]
    return "\n".join(lines)


@functools.lru_cache(maxsize=256)
def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return []
