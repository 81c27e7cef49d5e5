"""What stands at an impl that a header names by its span: of which trait, for which type.

rustc's headers say where an impl is, not of what.  Where the side channel, which says it, is not to be had, the span's
own text is: it is the impl's head as it was written.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from mirgen.mir.names import skip_group

_SPAN = re.compile(r"^<impl at (?P<file>.+):(?P<line>\d+):(?P<col>\d+): (?P<end_line>\d+):(?P<end_col>\d+)>$")
_HEAD = re.compile(r"(?:unsafe\s+)?impl\b\s*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PATH = re.compile(r"(?:::)?(?:[A-Za-z_]\w*\s*::\s*)*[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class ImplHead:
    """The path of an impl's ``trait``, as it is written but without arguments (``None`` where it is inherent), and the
    last name of its ``type`` (``None`` where that has no name)."""

    trait: str | None
    type: str | None

    @property
    def trait_name(self) -> str | None:
        """The last name of the trait's path."""
        return None if self.trait is None else self.trait.rpartition("::")[2]


def impl_head(segment: str, folder: Path = Path()) -> ImplHead | None:
    """What a header's segment ``<impl at FILE:L:C: L:C>`` implements; ``folder`` is where relative files are.

    ``None`` where that is not certain: a macro's arguments tell it.
    """
    match = _SPAN.match(segment)
    if match is None:
        return None
    start, end = (int(match["line"]), int(match["col"])), (int(match["end_line"]), int(match["end_col"]))
    return read_head(_text(str(folder / match["file"]), start, end))


def inherent_type(segment: str) -> str | None:
    """The last name of the type whose inherent impl a header's segment is.

    ``None`` where that is not certain: an impl of a trait, of a type without a name, or one that a macro wrote.
    """
    head = impl_head(segment)
    return head.type if head is not None and head.trait is None else None


def read_head(head: str) -> ImplHead | None:
    """The names in ``impl<..> path::Trait<..> for path::Name<..>``; ``None`` for any other text."""
    text = _COMMENT.sub(" ", head).strip()
    word = _HEAD.match(text)
    if word is None:
        return None
    at = word.end()
    if text.startswith("<", at):
        at = skip_group(text, at)
    rest = re.sub(r"^(?:const\s+)?!?", "", text[at:].strip())
    first, rest = _path(rest)
    if not rest or re.match(r"where\b", rest):
        return ImplHead(None, first.rpartition("::")[2]) if first is not None else None
    if re.fullmatch(r"\$\w+", rest):  # the macro's argument is the type
        return ImplHead(None, None)
    if first is None or not re.match(r"for\b", rest):
        return None
    ty = _path(rest.removeprefix("for").strip())[0]
    return ImplHead(first, None if ty is None else ty.rpartition("::")[2])


def _path(text: str) -> tuple[str | None, str]:
    """The path with which a text begins, without arguments and spaces, and what stands behind it."""
    path = _PATH.match(text)
    if path is None:
        return None, text
    end = skip_group(text, path.end()) if text.startswith("<", path.end()) else path.end()
    return re.sub(r"\s+", "", path[0]), text[end:].strip()


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
