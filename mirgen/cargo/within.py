"""Items declared inside a function: a question that names one stands in that function, where it has a name."""

from __future__ import annotations

import re
from pathlib import Path

from mirgen.cargo.callee import split_arguments
from mirgen.cargo.dump import CrateDump
from mirgen.cargo.unit import UnitRecord
from mirgen.ingest import Header
from mirgen.mir.body import Body
from mirgen.mir.names import erase_regions, skip_group

_DECLARED = re.compile(r"(?:const\s+)?([A-Za-z_]\w*)")
_COMMENT = re.compile(r"//[^\n]*")
_PATH = re.compile(r"(?<![\w:>}])(?:[A-Za-z_]\w*::)+(?=[A-Za-z_])")


def function_around(path: str, home: CrateDump) -> Header | None:
    """The function of ``home``, which printed ``path``, that declares what it names; ``None`` where there is none, or
    there are several."""
    found: dict[str, Header] = {}
    for match in _PATH.finditer(erase_regions(path)):
        segments = match[0].removesuffix("::").split("::")
        for length in range(len(segments), 0, -1):
            function = "::".join(segments[:length])
            named = [h for h in home.by_name.get(segments[length - 1], ()) if h.header == function and h.kind == "fn"]
            if len(named) == 1:
                found[function] = named[0]
                break
    return next(iter(found.values())) if len(found) == 1 else None


def body_start(function: Header, home: CrateDump) -> tuple[Path, tuple[int, int]] | None:
    """The file, and the line and column (1-based) behind the brace that opens the function's body.

    ``None`` where the source does not have it there: a macro wrote the function.
    """
    span = home.bodies([function])[function].span  # of what it returns, or of where that would stand
    if span is None:
        return None
    file = UnitRecord.load(home.unit.record).absolute(Path(span.file))
    lines = file.read_text(encoding="utf-8").splitlines()
    col = span.end_col - 1
    for number in range(span.end_line, len(lines) + 1):
        at = lines[number - 1].find("{", col)
        end = lines[number - 1].find(";", col)
        if at >= 0 and not 0 <= end < at:
            return file, (number, at + 2)
        if end >= 0:
            return None
        col = 0
    return None


def declared_parameters(body: Body, name: str, home: CrateDump) -> list[str] | None:
    """The generic parameters, other than regions, that the source of the function ``name`` declares, in their order;
    ``None`` where the source does not have its head in front of what it returns: a macro wrote the function."""
    if body.span is None:
        return None
    file = UnitRecord.load(home.unit.record).absolute(Path(body.span.file))
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)[: body.span.end_line]
    text = _COMMENT.sub("", "".join(lines))
    heads = list(re.finditer(rf"\bfn\s+{re.escape(name)}\s*(?=[<(])", text))
    if not heads:
        return None
    at = heads[-1].end()
    declared = split_arguments(text[at + 1 : skip_group(text, at) - 1]) if text[at] == "<" else []
    found = [_DECLARED.match(part.strip()) for part in declared if not part.strip().startswith("'")]
    return None if None in found else [match[1] for match in found if match is not None]


def unrooted(text: str, function: Header) -> str:
    """A question's text as it reads inside ``function``."""
    return " ".join(text.replace(f"crate::{function.header}::", "").split())
