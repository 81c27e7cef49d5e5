"""Exit codes are an API (docs/cli.md): 0 ok, 1 internal, 2 usage, 101 rustc, 102 cargo metadata, 103 refused by
mirgen, 104 CUDA tool, 105 device, 110 output."""

from __future__ import annotations

import os
import sys

from mirgen.diagnostics import MessageFormat, Palette, Renderer, SourceMap, report, wants_colour
from mirgen.errors import InvalidInputError, MirgenError, ToolError, UnsupportedError
from mirgen.runtime.errors import DeviceError

OK = 0
INTERNAL = 1
USAGE = 2
RUSTC = 101
METADATA = 102
REFUSED = 103
CUDA_TOOL = 104
DEVICE = 105
OUTPUT = 110

_RUST_TOOLS = frozenset({"rustc", "cargo", "rust-src", "mirgen-rustc"})
_DEVICE_TOOLS = frozenset({"simulator", "device", "driver", "cuda driver", "cuda"})


def exit_code(error: MirgenError) -> int:
    """The documented code of an error."""
    if isinstance(error, UnsupportedError):
        return REFUSED
    if isinstance(error, InvalidInputError):
        return USAGE
    if isinstance(error, ToolError):
        if error.tool == "cargo" and error.message == "cargo metadata failed":
            return METADATA
        if error.tool in _RUST_TOOLS:
            return RUSTC
        return DEVICE if error.tool.lower() in _DEVICE_TOOLS else CUDA_TOOL
    if isinstance(error, DeviceError):
        return DEVICE
    return INTERNAL


def show(error: MirgenError, form: MessageFormat = "human") -> None:
    """Show ``error`` on stderr (stdout for ``json``).  What cargo has already said is not said again."""
    if isinstance(error, ToolError) and error.tool == "cargo" and not error.message:
        return
    renderer = Renderer(SourceMap(), Palette(wants_colour(sys.stderr, os.environ)))
    stream = sys.stdout if form == "json" else sys.stderr
    stream.write(report(error, renderer, form))
