"""The text of a panic, read out of MIR: string constants and the constant pieces of ``format_args!``.

``core::fmt::Arguments`` is a pair ``{ template, args }``.  For a plain string, ``template`` points at it and ``args``
is ``len << 1 | 1``; else the template is a sequence of parts, each a length byte and that many bytes of text, or a
placeholder (see ``library/core/src/fmt/mod.rs``).  Where they cannot be found the caller says something general.
"""

from __future__ import annotations

from dataclasses import dataclass

from mirgen.lower.context import FunctionContext
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir.body import Body, MemoryAlloc
from mirgen.mir.place import (
    Constant,
    Copy,
    Deref,
    Field,
    IndirectConst,
    Move,
    Operand,
    PointerConst,
    ScalarConst,
    SliceConst,
)  # fmt: skip
from mirgen.mir.place import Place as MirPlace

#: How far definitions are followed.
_DEPTH = 24


@dataclass(frozen=True, slots=True)
class _Bytes:
    """``offset`` into an allocation; ``length`` where the pointer is wide."""

    alloc: int
    offset: int
    length: int | None


def literal_text(fx: FunctionContext, operand: Operand) -> str | None:
    """The text of a ``&str`` (or ``&&str``) operand that comes from a constant; ``None`` where it does not."""
    found = _pointer(fx, operand, 0)
    if found is None:
        return None
    if found.length is None:
        found = _load_slice(fx, found)
    return None if found is None else _text(fx, found)


def message_of_arguments(fx: FunctionContext, operand: Operand) -> str | None:
    """The text of a ``core::fmt::Arguments`` operand, ``_`` for each formatted value; ``None`` where not known."""
    parts = _arguments(fx, operand, 0)
    if parts is None:
        return None
    template, word = parts
    if word is not None and word & 1:
        return _text(fx, _Bytes(template.alloc, template.offset, word >> 1))
    if template.length is not None:
        return _text(fx, template)
    return _decode(_tail(fx, template))


def _decode(data: bytes | None) -> str | None:
    """Text from a template of ``format_args!``."""
    if data is None:
        return None
    out: list[str] = []
    at = 0
    while at < len(data):
        code = data[at]
        at += 1
        if code == 0:
            return "".join(out)
        if code < 0x80:
            out.append(data[at : at + code].decode(errors="replace"))
            at += code
        elif code == 0x80:
            length = int.from_bytes(data[at : at + 2], "little")
            out.append(data[at + 2 : at + 2 + length].decode(errors="replace"))
            at += 2 + length
        elif code >= 0xC0:
            out.append("_")
            # flags, width, precision and index follow where their bit is set
            at += sum(size for bit, size in ((1, 4), (2, 2), (4, 2), (8, 2)) if code & bit)
        else:
            return None
    return None


# ---- definitions ---------------------------------------------------------------------------------------------


def _definition(body: Body, local: int) -> r.Rvalue | None:
    """The right-hand side of the only assignment to ``local``."""
    found: list[r.Rvalue] = []
    for block in body.blocks:
        for statement in block.statements:
            if isinstance(statement, s.Assign) and statement.place.local == local:
                if statement.place.proj:
                    return None
                found.append(statement.rvalue)
        if isinstance(block.terminator, s.Call) and block.terminator.destination.local == local:
            return None
    return found[0] if len(found) == 1 else None


def _place(operand: Operand) -> MirPlace | None:
    return operand.place if isinstance(operand, Copy | Move) else None


def _arguments(fx: FunctionContext, operand: Operand, depth: int) -> tuple[_Bytes, int | None] | None:
    """Template and the word in ``args`` (``None`` where it is a pointer)."""
    if depth > _DEPTH:
        return None
    if isinstance(operand, Constant):
        const = operand.const
        return _constant_arguments(fx, const.alloc, const.offset) if isinstance(const, IndirectConst) else None
    place = _place(operand)
    if place is None or place.proj:
        return None
    match _definition(fx.body, place.local):
        case r.Use(inner):
            return _arguments(fx, inner, depth + 1)
        case r.AdtAggregate(operands=(template, args)):
            found = _pointer(fx, template, depth + 1)
            return None if found is None else (found, _word(fx, args, depth + 1))
        case _:
            return None


def _constant_arguments(fx: FunctionContext, alloc: int, offset: int) -> tuple[_Bytes, int | None] | None:
    memory = fx.cx.program.allocs.get(alloc)
    if not isinstance(memory, MemoryAlloc):
        return None
    at = {relocation.at - offset: relocation for relocation in memory.relocations}
    template = at.get(0)
    if template is None:
        return None
    word = None if 8 in at else int.from_bytes(memory.data[offset + 8 : offset + 16], "little")
    return _Bytes(template.alloc, template.offset, None), word


def _pointer(fx: FunctionContext, operand: Operand, depth: int) -> _Bytes | None:
    """The constant memory that a pointer operand points at, through copies, casts and reborrows."""
    if depth > _DEPTH:
        return None
    if isinstance(operand, Constant):
        match operand.const:
            case SliceConst(_, alloc, meta):
                return _Bytes(alloc, 0, meta)
            case PointerConst(_, alloc, offset):
                return _Bytes(alloc, offset, None)
            case IndirectConst(_, alloc, offset):
                return _load_slice(fx, _Bytes(alloc, offset, None))
            case _:
                return None
    place = _place(operand)
    if place is None or any(not isinstance(projection, Field) for projection in place.proj):
        return None
    match _definition(fx.body, place.local):
        case r.Use(inner) | r.Cast(operand=inner):
            return _pointer(fx, inner, depth + 1)
        case r.CopyForDeref(source):
            return _pointer(fx, Copy(source), depth + 1)
        case r.Ref(place=source) | r.RawPtr(place=source) if source.proj == (Deref(),):
            return _pointer(fx, Copy(MirPlace(source.local)), depth + 1)
        case r.AdtAggregate(operands=(inner,)):
            return _pointer(fx, inner, depth + 1)
        case r.Ref(place=source) if not source.proj:
            # a reference to a local that holds the string
            return _pointer(fx, Copy(source), depth + 1)
        case _:
            return None


def _word(fx: FunctionContext, operand: Operand, depth: int) -> int | None:
    """A constant word, through the arithmetic of ``Arguments::from_str``."""
    if depth > _DEPTH:
        return None
    if isinstance(operand, Constant):
        return operand.const.bits if isinstance(operand.const, ScalarConst) else None
    place = _place(operand)
    if place is None or any(not isinstance(projection, Field) for projection in place.proj):
        return None
    match _definition(fx.body, place.local):
        case r.Use(inner) | r.Cast(operand=inner) | r.AdtAggregate(operands=(inner,)):
            return _word(fx, inner, depth + 1)
        case r.UnaryOp("PtrMetadata", inner):
            found = _pointer(fx, inner, depth + 1)
            return None if found is None else found.length
        case r.BinaryOp(op, left, right):
            one, two = _word(fx, left, depth + 1), _word(fx, right, depth + 1)
            if one is None or two is None:
                return None
            return {"Shl": one << (two & 63), "BitOr": one | two, "ShlUnchecked": one << (two & 63)}.get(op)
        case _:
            return None


# ---- memory --------------------------------------------------------------------------------------------------


def _load_slice(fx: FunctionContext, at: _Bytes) -> _Bytes | None:
    """Reads a wide pointer out of constant memory."""
    memory = fx.cx.program.allocs.get(at.alloc)
    if not isinstance(memory, MemoryAlloc):
        return None
    for relocation in memory.relocations:
        if relocation.at == at.offset and len(memory.data) >= at.offset + 16:
            length = int.from_bytes(memory.data[at.offset + 8 : at.offset + 16], "little")
            return _Bytes(relocation.alloc, relocation.offset, length)
    return None


def _tail(fx: FunctionContext, at: _Bytes) -> bytes | None:
    memory = fx.cx.program.allocs.get(at.alloc)
    return memory.data[at.offset :] if isinstance(memory, MemoryAlloc) else None


def _text(fx: FunctionContext, at: _Bytes) -> str | None:
    data = _tail(fx, at)
    if data is None or at.length is None or len(data) < at.length:
        return None
    return data[: at.length].decode(errors="replace")
