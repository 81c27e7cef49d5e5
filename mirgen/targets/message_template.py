"""A reported message as it is kept: Rust's format string, over values by their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_PART: Final = re.compile(r"\{\{|\}\}|\{(?P<index>\d*)(?::(?P<spec>(?:[{}][<^>])?[^{}]*))?\}")


@dataclass(frozen=True, slots=True)
class Hole:
    """Where the value ``index`` stands, formatted as ``spec`` (what is behind the colon) says."""

    index: int
    spec: str


def pieces(message: str) -> Iterator[str | Hole]:
    """The message's text and holes in order; a hole without a number takes the next of those."""
    end = following = 0
    for match in _PART.finditer(message):
        yield message[end : match.start()]
        end = match.end()
        if match[0] in ("{{", "}}"):
            yield match[0][0]
            continue
        yield Hole(int(match["index"]) if match["index"] else following, match["spec"] or "")
        following += not match["index"]
    yield message[end:]
