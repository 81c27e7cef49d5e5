"""MIR by function, each statement with the user's own line that it comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mirgen.diagnostics import user_location
from mirgen.mir.body import Body, Program
from mirgen.mir.names import readable
from mirgen.mir.printer import format_body
from mirgen.view.listing import Item, Line, Place

_BLOCK = re.compile(r"^    bb(\d+)(?: \(cleanup\))?: \{$")


def mir_items(program: Program, reached: Mapping[str, Sequence[Body]]) -> tuple[Item, ...]:
    """The kernels, each with every body that it reaches (its own first), then those bodies one by one."""
    kernels = [
        Item(kernel.name, True, _joined([_lines(body, program) for body in reached[kernel.name]]))
        for kernel in program.kernels
    ]
    own = {id(reached[kernel.name][0]) for kernel in program.kernels}
    others = {id(body): body for body in program.functions.values() if id(body) not in own}
    return (*kernels, *(Item(readable(body.name), False, _lines(body, program)) for body in others.values()))


def _joined(parts: Sequence[tuple[Line, ...]]) -> tuple[Line, ...]:
    lines: list[Line] = []
    for part in parts:
        lines += [Line(""), *part] if lines else part
    return tuple(lines)


def _lines(body: Body, program: Program) -> tuple[Line, ...]:
    """The printed body; a statement's line knows its source."""
    lines: list[Line] = []
    block: int | None = None
    index = 0
    for text in format_body(body, program.allocs).splitlines():
        match = _BLOCK.match(text)
        if match is not None:
            block, index = int(match[1]), 0
            lines.append(Line(text))
        elif block is not None and text.startswith("        "):
            lines.append(Line(text, _source(body, block, index)))
            index += 1
        else:
            block = None
            lines.append(Line(text))
    return tuple(lines)


def _source(body: Body, block: int, index: int) -> Place | None:
    """The place of a statement, or of the terminator behind the last one."""
    code = body.blocks[block]
    statement = code.statements[index] if index < len(code.statements) else code.terminator
    location = user_location(body, statement.source)
    return None if location is None else (location.file, location.line)
