"""PTX by function."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mirgen.view.listing import Item, Line, Place, in_order, with_callees

_HEAD = re.compile(r"^\s*(?:\.(?:visible|weak|extern|common)\s+)*\.(?P<kind>entry|func)\b")
_NAME = re.compile(r"\.(?:entry|func)\s*(?:\([^)]*\)\s*)?(?P<name>[\w$%]+)")
_FILE = re.compile(r'^\s*\.file\s+(?P<number>\d+)\s+"(?P<file>[^"]*)"', re.MULTILINE)
_LOC = re.compile(r"^\s*\.loc\s+(?P<file>\d+)\s+(?P<line>\d+)\s+\d+")
#: Labels that only serve debug information.
_MARK = re.compile(r"^\s*\$L__(?:tmp|func_begin|func_end)\d+:\s*$")
_CALL = re.compile(r"^\s*(?:@!?%p\d+\s+)?call(?:\.uni)?\s*(?:\([^)]*\),?\s*)?(?P<callee>[\w$]+)")


def ptx_items(text: str, kernels: Sequence[str]) -> tuple[Item, ...]:
    """The functions of a PTX module that have a body; ``.loc`` lines become the lines' sources."""
    files = {int(match["number"]): match["file"] for match in _FILE.finditer(text)}
    items = [_item(chunk, files) for chunk in _functions(text.splitlines())]
    calls = {item.name: _callees(item) for item in items}
    return in_order(with_callees(items, calls), kernels)


def _functions(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines of each function with a body, from its head (with the comments above) to its last brace."""
    above: list[str] = []
    chunk: list[str] = []
    depth = 0
    for line in lines:
        if not chunk:
            if _HEAD.match(line):
                chunk = [*above, line]
                above = []
                depth = line.count("{") - line.count("}")
                if line.rstrip().endswith(";"):
                    chunk = []
            else:
                above = [*above, line] if line.lstrip().startswith("//") else []
            continue
        chunk.append(line)
        code = line.partition("//")[0]
        depth += code.count("{") - code.count("}")
        if depth == 0 and code.strip() == "}":
            yield chunk
            chunk = []
        elif depth == 0 and code.rstrip().endswith(";") and not any("{" in part for part in chunk):
            chunk = []


def _item(chunk: Sequence[str], files: dict[int, str]) -> Item:
    head = next(line for line in chunk if _HEAD.match(line))
    match = _NAME.search("\n".join(chunk))
    kind = _HEAD.match(head)
    assert match is not None and kind is not None
    lines: list[Line] = []
    here: Place | None = None
    for text in chunk:
        loc = _LOC.match(text)
        if loc is not None:
            line = int(loc["line"])
            here = (files[int(loc["file"])], line) if line and int(loc["file"]) in files else here
            continue
        if not _MARK.match(text):
            lines.append(Line(text, here))
    return Item(match["name"], kind["kind"] == "entry", tuple(lines))


def _callees(item: Item) -> list[str]:
    """Functions called directly; LLVM writes a call over several lines."""
    text = "\n".join(line.text for line in item.lines)
    joined = re.sub(r"call(\.uni)?\s*\n\s*", r"call\1 ", text)
    joined = re.sub(r"\),?\s*\n\s*", "), ", joined)
    return [match["callee"] for match in map(_CALL.match, joined.splitlines()) if match is not None]
