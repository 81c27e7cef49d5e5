"""Exit codes are an API (docs/cli.md): 0 ok, 1 internal, 2 usage, 101 rustc, 102 cargo metadata, 103 refused by
mirgen, 104 CUDA tool, 105 device, 110 output."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from mirgen.diagnostics import MessageFormat, Palette, Renderer, SourceMap, report, wants_colour
from mirgen.errors import Diagnostic, InvalidInputError, Location, MirgenError, ToolError, UnsupportedError
from mirgen.runtime.errors import DeviceError, OutputError

OK = 0
INTERNAL = 1
USAGE = 2
RUSTC = 101
METADATA = 102
REFUSED = 103
CUDA_TOOL = 104
DEVICE = 105
OUTPUT = 110
INTERRUPTED = 130

_RUST_TOOLS = frozenset({"rustc", "cargo", "rust-src", "mirgen-rustc", "mirgen"})
_DEVICE_TOOLS = frozenset({"simulator", "device", "driver", "cuda driver", "cuda"})
_PLACE = re.compile(r"^(?P<file>.*):(?P<line>\d+):(?P<col>\d+)$")


def exit_code(error: MirgenError) -> int:
    """The documented code of an error."""
    match error:
        case OutputError():
            return OUTPUT
        case UnsupportedError():
            return REFUSED
        case InvalidInputError():
            return USAGE
        case DeviceError():
            return DEVICE
        case ToolError() if error.tool == "cargo" and "metadata" in error.message:
            return METADATA
        case ToolError() if error.tool in _RUST_TOOLS:
            return RUSTC
        case ToolError():
            return DEVICE if error.tool.lower() in _DEVICE_TOOLS else CUDA_TOOL
        case _:
            return INTERNAL


def show(error: MirgenError, form: MessageFormat = "human", roots: Sequence[Path] = ()) -> None:
    """Show ``error`` on stderr (stdout for ``json``).  What cargo says is neither said again nor dressed up.

    Sources are looked up in ``roots``: rustc names them relative to the workspace.
    """
    if isinstance(error, ToolError) and error.tool == "cargo" and not error.message:
        return
    if isinstance(error, ToolError) and exit_code(error) == METADATA and form != "json":
        sys.stderr.write(error.output)
        return
    renderer = Renderer(SourceMap(roots), Palette(wants_colour(sys.stderr, os.environ) and form == "human"))
    stream = sys.stdout if form == "json" else sys.stderr
    stream.write(_device(error, renderer, form) if isinstance(error, DeviceError) else report(error, renderer, form))
    if isinstance(error, UnsupportedError) and form == "human":
        stream.write(_more(error))
    stream.flush()


def show_warning(warning: Diagnostic, form: MessageFormat, roots: Sequence[Path] = ()) -> None:
    """Show ``warning`` where errors are shown."""
    colours = Palette(wants_colour(sys.stderr, os.environ) and form == "human")
    renderer = Renderer(SourceMap(roots), colours)
    match form:
        case "human":
            sys.stderr.write(renderer.human(warning, "warning") + "\n")
        case "short":
            sys.stderr.write(renderer.short(warning, "warning"))
        case "json":
            sys.stdout.write(renderer.json(warning, "warning"))


def _more(error: UnsupportedError) -> str:
    """rustc's closing line, for our codes."""
    known = sorted({d.code for d in error.diagnostics if d.code})
    if not known:
        return ""
    if len(known) == 1:
        return f"\nFor more information about this error, try `cargo mirgen explain {known[0]}`.\n"
    return (
        f"\nSome errors have detailed explanations: {', '.join(known)}.\n"
        f"For more information about an error, try `cargo mirgen explain {known[0]}`.\n"
    )


def _device(error: DeviceError, renderer: Renderer, form: MessageFormat) -> str:
    """A kernel that failed: the place in its source, as for any other error; kernel, block and thread."""
    match = _PLACE.match(error.location or "")
    at = None
    if match is not None:
        line, col = int(match["line"]), int(match["col"])
        at = Location(match["file"], line, col, line, col + 1)
    notes = [f"in kernel `{error.kernel}`" + "".join(_index(w, v) for w, v in _indices(error))]
    notes += [f"at {error.location}"] if error.location and match is None else []
    diagnostic = Diagnostic("", error.message, at, notes=notes)
    match form:
        case "human":
            return renderer.human(diagnostic)
        case "short":
            return renderer.short(diagnostic)
        case "json":
            return renderer.json(diagnostic)


def _indices(error: DeviceError) -> list[tuple[str, tuple[int, int, int] | None]]:
    return [("block", error.block), ("thread", error.thread)]


def _index(what: str, value: tuple[int, int, int] | None) -> str:
    return "" if value is None else f", {what} ({value[0]}, {value[1]}, {value[2]})"
