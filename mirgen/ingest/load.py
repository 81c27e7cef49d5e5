"""Reading a MIR document."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mirgen.errors import InvalidInputError
from mirgen.ingest import wire
from mirgen.ingest.allocs import number_allocs, resolve_allocs
from mirgen.ingest.convert import BodyReader, resolve_spans
from mirgen.ingest.decode import decode, paused_gc, read_source
from mirgen.ingest.types import resolve_types
from mirgen.ingest.unit import Compiler, Header, MirUnit
from mirgen.mir.body import TrivialConst


def load_mir(source: Path | str | bytes, *, first_alloc: int = 0) -> MirUnit:
    """Reads one ``mirgen-mir`` document: a path, or the bytes themselves.

    Allocations are renumbered densely from ``first_alloc``.  Raises :class:`InvalidInputError` for anything that is
    not a whole, consistent document of this version; ``where`` is the file and the path inside the JSON.
    """
    data, name = read_source(source)
    document = decode(wire.MirDocument, data, name)
    try:
        with paused_gc():
            return _unit(document, first_alloc)
    except InvalidInputError as e:
        raise InvalidInputError(e.message, f"{name}: {e.where}" if e.where else name) from None


def compiler_of(w: wire.Compiler) -> Compiler:
    """The wire's compiler as plain data."""
    return Compiler(w.release, w.commit_hash, w.commit_date, w.host, w.llvm_version, w.grammar)


def _unit(document: wire.MirDocument, first_alloc: int) -> MirUnit:
    crate = document.crate_name
    types = resolve_types(document.types, crate)
    spans = resolve_spans(document.spans, document.files)
    ids = number_allocs(document.allocs, first_alloc)
    reader = BodyReader(crate, types, spans, ids, first_alloc + len(ids))
    bodies = tuple([reader.body(w, f"bodies[{i}]") for i, w in enumerate(document.bodies)])
    consts, unknown = _trivial_consts(document.trivial_consts, reader, ids)
    return MirUnit(
        crate=crate,
        compiler=compiler_of(document.compiler),
        target=document.target,
        flags=document.flags,
        notes=document.notes,
        types=types,
        index=tuple([Header(h.header, h.instance, h.kind, h.line, h.args, h.output) for h in document.index]),
        bodies=bodies,
        trivial_consts=consts,
        unknown_consts=unknown,
        allocs=resolve_allocs(document, ids) | reader.literals,
    )


def _trivial_consts(
    consts: tuple[wire.TrivialConst, ...], reader: BodyReader, ids: Mapping[int, int]
) -> tuple[dict[str, TrivialConst], frozenset[str]]:
    out: dict[str, TrivialConst] = {}
    unknown: set[str] = set()
    for i, w in enumerate(consts):
        try:
            if isinstance(w.value, wire.PlaceOperand):
                raise InvalidInputError("a place is not a constant")
            ty = reader.ty(w.ty)
            if isinstance(w.value, wire.ConstOperand) and getattr(w.value.const, "alloc", None) not in {None, *ids}:
                unknown.add(w.header)
                continue
            value = TrivialConst(ty, reader.operand(w.value))
        except InvalidInputError as e:
            raise InvalidInputError(e.message, f"trivial_consts[{i}]") from None
        if out.setdefault(w.header, value) != value:
            unknown.add(w.header)
    return {h: v for h, v in out.items() if h not in unknown}, frozenset(unknown)
