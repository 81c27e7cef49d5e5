"""Asking rustc which methods the table of a ``dyn Trait`` holds: those of the trait and of its supertraits.

Every other trait's method on a trait object is an ordinary function.  The question is a type with an attribute, on
which rustc prints the table as an error and compiles nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mirgen.cargo.callee import parse_callee, short
from mirgen.cargo.methods import DynCall
from mirgen.cargo.overlay import Overlay
from mirgen.cargo.queries import Query
from mirgen.cargo.source import Names, type_source

#: What a crate that holds such a question must enable.
TABLE_FEATURE = "rustc_attrs"
_TABLE = re.compile(r"^error: vtable entries: \[\n(.*?)^ *\]\n *--> (.+?):(\d+):\d+$", re.MULTILINE | re.DOTALL)
_METHOD = re.compile(r"^ *Method\((.*?)(?: - (?:shim|virtual).*)?\),$", re.MULTILINE)


def table_source(name: str, call: DynCall, names: Names) -> str:
    """The question about the type on which ``call`` is made, on one line.

    Raises:
        UnnameableError: the type cannot be written.
    """
    return f"#[rustc_dump_vtable] pub type {name} = {type_source(call.of, names, chr(39) + 'static')};"


def read_tables(output: str, overlay: Overlay, queries: Sequence[Query]) -> dict[str, frozenset[tuple[str, str]]]:
    """What rustc's ``output`` says of each question, by its name: traits, cut short, and methods."""
    tables: dict[str, frozenset[tuple[str, str]]] = {}
    for entries, file, line in _TABLE.findall(output):
        asked = _line(Path(file), int(line), overlay)
        for query in queries:
            if f" type {query.name} = " in asked:
                tables[query.name] = frozenset(_methods(entries))
    return tables


def refused_tables(output: str, overlay: Overlay, queries: Sequence[Query]) -> set[str]:
    """The questions at which other errors of rustc's point."""
    lines = [
        _line(Path(file), int(line), overlay) for file, line in re.findall(r"^ *--> (.+?):(\d+):\d+$", output, re.M)
    ]
    return {query.name for query in queries if any(f" type {query.name} = " in line for line in lines)}


def _methods(entries: str) -> list[tuple[str, str]]:
    methods = map(parse_callee, _METHOD.findall(entries))
    return [(short(parsed.trait[1]), parsed.method) for parsed in methods if parsed.trait is not None]


def _line(file: Path, line: int, overlay: Overlay) -> str:
    """A line of a file of the copy, which rustc may name as the original's."""
    path = overlay.copy / file.relative_to(overlay.original) if file.is_relative_to(overlay.original) else file
    if not path.is_absolute():
        path = overlay.copy / file
    if path not in overlay.changed:
        return ""
    lines = path.read_text(encoding="utf-8").splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else ""
