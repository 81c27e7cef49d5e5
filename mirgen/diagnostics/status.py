"""cargo's status lines: a verb right-aligned in 12 columns."""

from __future__ import annotations

import os
import sys

from mirgen.diagnostics.colour import Palette, wants_colour

_WIDTH = 12


def status_line(verb: str, rest: str) -> str:
    """``verb`` (yellow for ``Warning``, else green) and ``rest``, for stderr."""
    colours = Palette(wants_colour(sys.stderr, os.environ))
    padded = verb.rjust(_WIDTH)
    return f"{colours.warning(padded) if verb == 'Warning' else colours.note(padded)} {rest}"
