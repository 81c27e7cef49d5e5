"""Closures that a question makes to stand for the program's own, as rustc's answer names them."""

from __future__ import annotations

import re
from typing import Final

from mirgen.cargo.overlay import MODULE
from mirgen.cargo.source import PARAMETER
from mirgen.mir.names import skip_group
from mirgen.mir.ty import ClosureTy

#: The functions that make them, with the numbers of the names that they have in the question.
MAKER: Final = "mirgen_made_"
_MADE: Final = re.compile(rf"(?:\w+::)*{MODULE}\w*(?:::\w+)*::{MAKER}(\d+)::\{{closure#0\}}")
_TEXT: Final = re.compile(rf"\{{{_MADE.pattern}")


def is_made(ty: ClosureTy) -> bool:
    """Whether a question made the closure."""
    return _MADE.fullmatch(ty.path) is not None


def with_names(text: str) -> str:
    """A text of the answer with the question's names for the closures that it made."""
    while (match := _TEXT.search(text)) is not None:
        text = f"{text[: match.start()]}{PARAMETER}{match[1]}{text[skip_group(text, match.start()) :]}"
    return text
