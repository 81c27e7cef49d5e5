"""SASS by kernel, from ``nvdisasm``'s JSON."""

from __future__ import annotations

import io
import json
import posixpath
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from mirgen.errors import ToolError
from mirgen.link import require_tool
from mirgen.view.listing import Item, Line, Place, in_order

#: Instructions whose last operand is the place that they go to.
_JUMPS = ("BRA", "BSSY", "JMP", "CALL", "BRX", "WARPSYNC")
_TARGET = re.compile(r"^0x([0-9a-f]+)$")


@dataclass(frozen=True, slots=True)
class Disassembly:
    """What nvdisasm says of a cubin: functions with their instructions, source files by number, and inner labels
    (section, offset, name) from the symbol table."""

    functions: list[dict[str, Any]]
    files: list[str] = field(default_factory=list[str])
    labels: tuple[tuple[str, int, str], ...] = ()


def disassemble(cubin: bytes) -> Disassembly:
    """Runs nvdisasm.

    Raises:
        ToolError: it is not installed, or it refuses the cubin.
    """
    tool = require_tool("nvdisasm")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(tool.path), "-json", "-g", file.name]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError("nvdisasm", "refused the cubin", command=command, output=done.stderr, status=done.returncode)
    try:
        return _parse(json.loads(done.stdout), _inner_labels(cubin))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ToolError("nvdisasm", f"printed something that was not expected ({error})", command=command) from error


def _parse(document: list[Any], labels: tuple[tuple[str, int, str], ...]) -> Disassembly:
    functions = cast("list[dict[str, Any]]", document[1])
    files: list[str] = []
    if len(document) > 2:
        table = cast("dict[str, list[Any]]", document[2])
        files = [posixpath.join(table["directories"][file["dir-idx"]], file["file"]) for file in table["files"]]
    return Disassembly(functions, files, labels)


def _inner_labels(cubin: bytes) -> tuple[tuple[str, int, str], ...]:
    """Functions inside a kernel's section, which the JSON calls by name only."""
    from elftools.elf.elffile import ELFFile

    elf: Any = ELFFile(io.BytesIO(cubin))
    table: Any = elf.get_section_by_name(".symtab")
    found: list[tuple[str, int, str]] = []
    for symbol in table.iter_symbols():
        section = symbol["st_shndx"]
        if str(symbol.name).startswith("$") and isinstance(section, int):
            name = str(elf.get_section(section).name).removeprefix(".text.")
            found.append((name, int(symbol["st_value"]), str(symbol.name)))
    return tuple(found)


def sass_items(disassembly: Disassembly, kernels: Sequence[str]) -> tuple[Item, ...]:
    """One item for each kernel, with offsets and labels; padding at the end is left out."""
    items = [_item(function, disassembly, kernels) for function in disassembly.functions]
    return in_order(items, kernels)


def _item(function: dict[str, Any], of: Disassembly, kernels: Sequence[str]) -> Item:
    name = str(function["function-name"])
    instructions = cast("list[dict[str, Any]]", function["sass-instructions"])
    size = int(function["length"]) // max(1, len(instructions))
    while instructions and instructions[-1]["opcode"] == "NOP":
        instructions = instructions[:-1]
    targets = {target for one in instructions if (target := _target(one)) is not None}
    inner = {offset: label for section, offset, label in of.labels if section == name}
    lines = [Line(f"{name}:")]
    for number, one in enumerate(instructions):
        offset = number * size
        lines += [Line(f"{inner[offset]}:")] if offset in inner else []
        lines += [Line(f".L_{offset:04x}:")] if offset in targets else []
        lines.append(Line(f"    /*{offset:04x}*/ {_text(one)}", _source(one, of.files)))
    return Item(name, name in kernels, tuple(lines))


def _target(instruction: dict[str, Any]) -> int | None:
    if str(instruction["opcode"]).split(".")[0] not in _JUMPS:
        return None
    match = _TARGET.match(str(instruction.get("operands", "")).rpartition(",")[2])
    return int(match[1], 16) if match is not None else None


def _text(instruction: dict[str, Any]) -> str:
    operands = str(instruction.get("operands", ""))
    target = _target(instruction)
    if target is not None:
        operands = f"{operands.rpartition(',')[0]},.L_{target:04x}".lstrip(",")
    predicate = str(instruction.get("predicate", ""))
    return f"{predicate:>5} {instruction['opcode']} {operands.replace(',', ', ')}".rstrip()


def _source(instruction: dict[str, Any], files: Sequence[str]) -> Place | None:
    number, line = instruction.get("source-file-id"), instruction.get("source-line")
    if isinstance(number, int) and isinstance(line, int) and line and 0 <= number < len(files):
        return (files[number], line)
    return None
