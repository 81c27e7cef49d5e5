"""Asking rustc for the layout of every type that the reached bodies hold."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mirgen.analysis.references import closure_of_types
from mirgen.cargo.dump import CrateDump
from mirgen.cargo.shim import run_shim
from mirgen.ingest import load_layouts
from mirgen.layout.data import Layout
from mirgen.mir.ty import Ty, UnsupportedTy

_UNSIZED_OR_GENERIC = frozenset({"param", "alias", "error"})


def ask_layouts(
    held: Iterable[tuple[CrateDump, frozenset[Ty]]], shim: Path, work: Path, layouts: dict[tuple[str, str], Layout],
    failures: dict[tuple[str, str], str],
) -> None:  # fmt: skip
    """Add the layouts of types (each with the dump that printed it) to ``layouts``, by ``Ty.key``, and rustc's reason
    for each type that has none to ``failures``.  What is known is not asked again."""
    by_dump: dict[int, tuple[CrateDump, set[Ty]]] = {}
    for dump, types in held:
        by_dump.setdefault(id(dump), (dump, set()))[1].update(types)
    for dump, types in by_dump.values():
        wanted = {
            ty.text for ty in closure_of_types(types)
            if not (isinstance(ty, UnsupportedTy) and ty.what in _UNSIZED_OR_GENERIC)
        }  # fmt: skip
        for number, (table, _) in enumerate(dump.type_tables()):
            known = layouts.keys() | failures.keys()
            roots = [i for i, ty in enumerate(table) if ty["text"] in wanted and (dump.crate, ty["text"]) not in known]
            if roots:
                _ask(dump, table, roots, shim, work / f"{dump.unit.record.stem}-{number}", layouts, failures)


def _ask(
    dump: CrateDump, table: list[dict[str, Any]], roots: list[int], shim: Path, stem: Path,
    layouts: dict[tuple[str, str], Layout], failures: dict[tuple[str, str], str],
) -> None:  # fmt: skip
    query = stem.with_name(f"{stem.name}.types.json")
    out = stem.with_name(f"{stem.name}.layout.json")
    query.parent.mkdir(parents=True, exist_ok=True)
    query.write_text(json.dumps({"types": table, "roots": roots}))
    args = ["layouts", "--unit", str(dump.unit.record), "--types", str(query), "--out", str(out)]
    # The second opinion costs a whole code generation of the crate: for the user's own only.
    run_shim(shim, args if dump.unit.primary else [*args, "--quick"])
    unit = load_layouts(out, dump.crate)
    layouts.update(unit.layouts)
    failures.update(unit.failures)
