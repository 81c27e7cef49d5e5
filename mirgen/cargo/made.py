"""Closures that a question makes to stand for the program's own, as rustc's answer names them."""

from __future__ import annotations

import re
from typing import Final

from mirgen.cargo.overlay import MODULE
from mirgen.cargo.source import PARAMETER
from mirgen.mir.names import skip_group
from mirgen.mir.ty import ClosureTy

#: What the name of the function that makes them ends with; it makes them in the order of their names in the question.
MAKER: Final = "_mirgen_made"
_MADE: Final = re.compile(rf"(?:\w+::)*{MODULE}\w*(?:::\w+)*::\w+{MAKER}::\{{closure#(\d+)\}}")
_TEXT: Final = re.compile(rf"\{{{_MADE.pattern}")


def is_made(ty: ClosureTy) -> bool:
    """Whether a question made the closure."""
    return made_number(ty.path) is not None


def made_number(path: str) -> int | None:
    """The number of a closure's name in the question that made it; ``None`` for the path of any other."""
    match = _MADE.fullmatch(path)
    return None if match is None else int(match[1])


def with_names(text: str) -> str:
    """A text of the answer with the question's names for the closures that it made."""
    while (match := _TEXT.search(text)) is not None:
        text = f"{text[: match.start()]}{PARAMETER}{match[1]}{text[skip_group(text, match.start()) :]}"
    return text
