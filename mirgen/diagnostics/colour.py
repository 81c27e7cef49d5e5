"""Whether to colour, and the few colours used (rustc's)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TextIO

ColourChoice = Literal["auto", "always", "never"]


def wants_colour(stream: TextIO, env: Mapping[str, str], choice: ColourChoice | None = None) -> bool:
    """``choice`` is ``--color`` where given; then ``CARGO_TERM_COLOR``, ``NO_COLOR``, a terminal."""
    chosen = choice or env.get("CARGO_TERM_COLOR", "auto")
    if chosen in ("always", "never"):
        return chosen == "always"
    if env.get("NO_COLOR") or env.get("TERM") == "dumb":
        return False
    return stream.isatty()


@dataclass(frozen=True, slots=True)
class Palette:
    """Wraps text in colours, or leaves it alone."""

    on: bool = False

    def _wrap(self, codes: str, text: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self.on and text else text

    def error(self, text: str) -> str:
        return self._wrap("1;91", text)

    def internal(self, text: str) -> str:
        return self._wrap("1;95", text)

    def warning(self, text: str) -> str:
        return self._wrap("1;93", text)

    def note(self, text: str) -> str:
        return self._wrap("1;92", text)

    def help(self, text: str) -> str:
        return self._wrap("1;96", text)

    def frame(self, text: str) -> str:
        """Arrows, line numbers and rules; secondary labels too."""
        return self._wrap("1;94", text)

    def strong(self, text: str) -> str:
        return self._wrap("1", text)
