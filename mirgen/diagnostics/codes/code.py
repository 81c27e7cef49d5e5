"""One code."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True, slots=True)
class Code:
    """``title`` is one line without a full stop; ``explanation`` says what happened, why, and what to do."""

    name: str
    title: str
    explanation: str


def code(name: str, title: str, explanation: str) -> Code:
    """A :class:`Code` with its explanation's indentation removed."""
    return Code(name, title, dedent(explanation).strip("\n") + "\n")
