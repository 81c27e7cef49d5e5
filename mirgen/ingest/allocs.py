"""Allocations of a document to :mod:`mirgen.mir.body`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from mirgen.errors import InvalidInputError
from mirgen.ingest import wire
from mirgen.mir import body as m

_MAX_ALIGN = 1 << 29
_POINTER_SIZE = 8


def number_allocs(allocs: Sequence[wire.Alloc], first: int) -> dict[int, int]:
    """The document's ids to a dense numbering from ``first``, in the document's order."""
    out: dict[int, int] = {}
    for i, w in enumerate(allocs):
        if w.id in out:
            raise InvalidInputError(f"alloc{w.id} is given twice", f"allocs[{i}].id")
        out[w.id] = first + i
    return out


def resolve_allocs(document: wire.MirDocument, ids: Mapping[int, int]) -> dict[int, m.Alloc]:
    """Contents by new number.  Checks sizes, ranges and relocations."""
    own = frozenset(header.header for header in document.index if header.kind in ("static", "static_mut"))

    def identity(path: str | None) -> str:
        """rustc leaves the crate out of the paths of the crate's own statics."""
        return f"{document.crate_name}::{path}" if path in own else path or ""

    return {ids[w.id]: _convert(w, ids, identity, f"allocs[{i}]") for i, w in enumerate(document.allocs)}


def _convert(w: wire.Alloc, ids: Mapping[int, int], identity: Callable[[str | None], str], where: str) -> m.Alloc:
    match w:
        case wire.MemoryAlloc():
            return replace(_memory(w, ids, where), identity=identity(w.static))
        case wire.FnAlloc():
            return m.FnAlloc(w.instance)
        case wire.OtherAlloc():
            return m.OtherAlloc(w.kind, w.text)


def _memory(w: wire.MemoryAlloc, ids: Mapping[int, int], where: str) -> m.MemoryAlloc:
    try:
        data = bytes.fromhex(w.bytes) if w.bytes.isalnum() or not w.bytes else None
    except ValueError:
        data = None
    if data is None:
        raise InvalidInputError("not hexadecimal digits in pairs", f"{where}.bytes")
    if len(data) != w.size:
        raise InvalidInputError(f"{len(data)} bytes, but size is {w.size}", f"{where}.bytes")
    if not 0 < w.align <= _MAX_ALIGN or w.align & (w.align - 1):
        raise InvalidInputError(f"alignment {w.align} is no power of two up to {_MAX_ALIGN}", f"{where}.align")
    end = 0
    for start, stop in w.uninit:
        if not end <= start < stop <= w.size or (end and start == end):
            raise InvalidInputError("ranges must be ordered, apart and inside the allocation", f"{where}.uninit")
        end = stop
    relocations: list[m.Relocation] = []
    end = 0
    for i, x in enumerate(sorted(w.relocations, key=lambda x: x.at)):
        if x.alloc not in ids:
            raise InvalidInputError(f"alloc{x.alloc} is not in `allocs`", f"{where}.relocations[{i}]")
        if x.size != _POINTER_SIZE:
            raise InvalidInputError(f"pointer of {x.size} bytes", f"{where}.relocations[{i}]")
        if not end <= x.at <= w.size - x.size:
            raise InvalidInputError("pointers overlap or leave the allocation", f"{where}.relocations[{i}]")
        end = x.at + x.size
        relocations.append(m.Relocation(x.at, x.size, ids[x.alloc], x.offset))
    return m.MemoryAlloc(w.static, w.align, data, w.uninit, tuple(relocations))
