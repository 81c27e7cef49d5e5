"""What a worker process is asked and what it answers: plain JSON objects, one a line.

A request is ``{"job": NAME, ...}``.  The worker answers with any number of ``{"stage": TEXT}`` (what it is about to
do; the last one names the culprit when the process dies) and then one ``{"ok": {...}}`` or ``{"error": {...}}``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

#: Tells the parent what the worker is about to do.
Report = Callable[[str], None]

#: The values of one request or answer: JSON.
Json = dict[str, Any]


class CodegenJob(TypedDict):
    """Generate code for one architecture from an IR text file; results are files in ``out``.

    ``libdevice`` is the path of libdevice, or empty where the text needs none.  ``output`` is ``ptx`` or ``ltoir``.
    """

    text: str
    out: str
    cpu: str
    compute: str
    dialect: str
    ptx_version: int
    kernels: list[str]
    opt_level: int
    libdevice: str
    output: str
    debug: bool


class LinkJob(TypedDict):
    """Link PTX or LTO-IR files to one cubin (file ``out``) with nvJitLink."""

    inputs: list[tuple[str, str]]
    out: str
    cpu: str
    opt_level: int
    lto: bool
    debug: bool


class ToolFailure(Exception):
    """A tool said no, inside the worker; the parent makes a ToolError of it."""

    def __init__(self, tool: str, message: str, output: str = "") -> None:
        super().__init__(message)
        self.tool = tool
        self.message = message
        self.output = output
