"""Messages to people: codes and their explanations, rustc's look, rustc's JSON, and where in the source to point."""

from mirgen.diagnostics.codes import CODES, Code, explain, find_code
from mirgen.diagnostics.colour import ColourChoice, Palette, wants_colour
from mirgen.diagnostics.origin import Frame, frames, is_users_own, short_file, to_location, user_location
from mirgen.diagnostics.render import Renderer
from mirgen.diagnostics.report import MessageFormat, report
from mirgen.diagnostics.sources import SourceMap
from mirgen.diagnostics.status import status_line

__all__ = [
    "CODES",
    "Code",
    "ColourChoice",
    "Frame",
    "MessageFormat",
    "Palette",
    "Renderer",
    "SourceMap",
    "explain",
    "find_code",
    "frames",
    "is_users_own",
    "report",
    "short_file",
    "status_line",
    "to_location",
    "user_location",
    "wants_colour",
]
