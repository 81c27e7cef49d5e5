"""Asking rustc for the layout of every type that the reached bodies hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mirgen.analysis.references import closure_of_types
from mirgen.cargo.callee import parse_callee
from mirgen.cargo.dump import CrateDump
from mirgen.cargo.join import is_open
from mirgen.cargo.shim import run_shim
from mirgen.ingest import LayoutUnit, load_layouts
from mirgen.layout.data import Layout
from mirgen.mir.ty import Ty, UnsupportedTy

#: How many crates are asked at a time.
_PARALLEL = 2
_GENERIC = frozenset({"param", "error"})


def ask_layouts(
    held: Iterable[tuple[CrateDump, frozenset[Ty]]], shim: Path, work: Path, layouts: dict[tuple[str, str], Layout],
    failures: dict[tuple[str, str], str],
) -> None:  # fmt: skip
    """Add the layouts of types (each with the dump that printed it) to ``layouts``, by ``Ty.key``, and rustc's reason
    for each type that has none to ``failures``.  What is known is not asked again."""
    by_unit: dict[Path, tuple[CrateDump, set[str]]] = {}
    for dump, types in held:
        texts = {
            ty.text for ty in closure_of_types(types)
            if not (isinstance(ty, UnsupportedTy) and (ty.what in _GENERIC or is_open_projection(ty)))
        }  # fmt: skip
        by_unit.setdefault(dump.unit.record, (dump, set()))[1].update(texts)
    known = layouts.keys() | failures.keys()
    questions = [
        (dump, wanted)
        for dump, texts in by_unit.values()
        if (wanted := sorted(text for text in texts if (dump.crate, text) not in known))
    ]
    with ThreadPoolExecutor(_PARALLEL) as pool:
        asked = [pool.submit(_ask, dump, wanted, shim, work) for dump, wanted in questions]
    for unit in (answer.result() for answer in asked):
        layouts.update(unit.layouts)
        failures.update(unit.failures)


def is_open_projection(ty: UnsupportedTy) -> bool:
    """Whether a type is a projection that rustc cannot resolve: of a parameter, or with one among its arguments."""
    if ty.what != "alias":
        return False
    parsed = parse_callee(ty.text)
    return parsed.trait is None or any(map(is_open, (*parsed.trait, *parsed.generics)))


def _ask(dump: CrateDump, texts: list[str], shim: Path, work: Path) -> LayoutUnit:
    stem = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
    query = work / f"{dump.unit.record.stem}-{stem}.types.json"
    out = query.with_name(f"{dump.unit.record.stem}-{stem}.layout.json")
    query.parent.mkdir(parents=True, exist_ok=True)
    types = [{"text": text} for text in texts]
    query.write_text(json.dumps({"types": types, "roots": list(range(len(types)))}))
    args = ["layouts", "--unit", str(dump.unit.record), "--types", str(query), "--out", str(out)]
    # The second opinion costs a whole code generation of the crate: for the user's own only.
    run_shim(shim, args if dump.unit.primary else [*args, "--quick"])
    return load_layouts(out, dump.crate)
