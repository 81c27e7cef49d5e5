"""cargo's status lines: a verb right-aligned in 12 columns."""

from __future__ import annotations

import os
import sys

from mirgen.diagnostics.colour import Palette, wants_colour

_WIDTH = 12
_DOUBTFUL = frozenset({"Warning", "SKIP"})
_BAD = frozenset({"FAIL", "TIMEOUT"})


def status_line(verb: str, rest: str) -> str:
    """``verb`` (green, but for those that tell of no good) and ``rest``, for stderr."""
    colours = Palette(wants_colour(sys.stderr, os.environ))
    paint = colours.warning if verb in _DOUBTFUL else colours.error if verb in _BAD else colours.note
    return f"{paint(verb.rjust(_WIDTH))} {rest}"
