"""Any :class:`MirgenError` as text.  The four kinds look different, so that one sees whose fault it is."""

from __future__ import annotations

import json
import shlex
from typing import Literal

from mirgen import __version__
from mirgen.diagnostics.render import Renderer
from mirgen.errors import (
    Diagnostic,
    InternalError,
    InvalidInputError,
    MirgenError,
    ToolError,
    UnsupportedError,
)

MessageFormat = Literal["human", "short", "json"]


def report(error: MirgenError, renderer: Renderer, form: MessageFormat = "human") -> str:
    """What to write for ``error`` (stderr; stdout for ``json``); ends with a newline."""
    if isinstance(error, UnsupportedError):
        parts = [_one(d, renderer, form) for d in error.diagnostics]
        return ("\n" if form == "human" else "").join(parts)
    match error:
        case InvalidInputError():
            human = _invalid(error, renderer)
        case ToolError():
            human = _tool(error, renderer)
        case InternalError():
            human = _internal(error, renderer)
        case _:
            human = renderer.human(Diagnostic("", str(error)))
    if form == "human":
        return human
    if form == "short":
        where = f"{error.where}: " if isinstance(error, InvalidInputError) and error.where else ""
        return where + human.split("\n", 1)[0] + "\n"
    message: dict[str, object] = {
        "$message_type": "diagnostic",
        "message": f"{error.tool}: {error.message}" if isinstance(error, ToolError) else str(error),
        "code": None,
        "level": "error: internal compiler error" if isinstance(error, InternalError) else "error",
        "spans": [],
        "children": [],
        "rendered": human,
    }
    return json.dumps(message, ensure_ascii=False) + "\n"


def _one(diagnostic: Diagnostic, renderer: Renderer, form: MessageFormat) -> str:
    match form:
        case "human":
            return renderer.human(diagnostic)
        case "short":
            return renderer.short(diagnostic)
        case "json":
            return renderer.json(diagnostic)


def _invalid(error: InvalidInputError, renderer: Renderer) -> str:
    c = renderer.colours
    out = c.error("error") + c.strong(f": {error.message}") + "\n"
    return out + (f"{c.frame(' --> ')}{error.where}\n" if error.where else "")


def _tool(error: ToolError, renderer: Renderer) -> str:
    c = renderer.colours
    status = f" (exit status {error.status})" if error.status > 0 else ""
    status = f" (killed by signal {-error.status})" if error.status < 0 else status
    out = [c.error("error") + c.strong(f": {error.tool}: {error.message}{status}")]
    output = error.output.strip("\n")
    if output:
        out += [c.frame(f" --- {error.tool} says"), output, c.frame(" ---")]
    if error.command:
        out.append(f"{c.frame('  =')} {c.strong('note')}: the command was `{shlex.join(error.command)}`")
    return "\n".join(out) + "\n"


def _internal(error: InternalError, renderer: Renderer) -> str:
    c = renderer.colours
    out = [c.internal("error: internal error of mirgen") + c.strong(f": {error.message}")]
    if error.statement:
        out.append(f"{c.frame('  =')} {c.strong('MIR')}: {error.statement}")
    out += [
        f"{c.frame('  =')} {c.strong('note')}: this is a fault of mirgen {__version__}, not of your code",
        f"{c.frame('  =')} {c.strong('help')}: please report it with this text, the output of `cargo mirgen doctor` "
        "and, if you can, the function",
    ]
    return "\n".join(out) + "\n"
