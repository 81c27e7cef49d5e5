"""Exit codes are an API (docs/cli.md): 0 ok, 1 internal, 2 usage, 4 no tests, 100 failed tests, 101 rustc, 102 cargo
metadata, 103 refused by mirgen, 104 CUDA tool, 105 device, 110 output."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from mirgen.diagnostics import MessageFormat, Palette, Renderer, SourceMap, report, wants_colour
from mirgen.errors import Diagnostic, InvalidInputError, MirgenError, ToolError, UnsupportedError
from mirgen.runtime.errors import DeviceError, OutputError

OK = 0
INTERNAL = 1
USAGE = 2
NO_TESTS = 4
TESTS_FAILED = 100
RUSTC = 101
METADATA = 102
REFUSED = 103
CUDA_TOOL = 104
DEVICE = 105
OUTPUT = 110
INTERRUPTED = 130

_RUST_TOOLS = frozenset({"rustc", "cargo", "rust-src", "mirgen-rustc", "mirgen"})
_DEVICE_TOOLS = frozenset({"simulator", "device", "driver", "cuda driver", "cuda"})


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
    diagnostic = error.diagnostic()
    match form:
        case "human":
            return renderer.human(diagnostic)
        case "short":
            return renderer.short(diagnostic)
        case "json":
            return renderer.json(diagnostic)


def check_writable(path: Path) -> None:
    """Refuses a file that cannot be written before a long run instead of after it."""
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        reason = "is a folder" if path.is_dir() else f"{folder} is no folder that can be written to"
        raise OutputError(f"{path}: cannot be written: {reason}")
