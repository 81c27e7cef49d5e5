"""The text of a panic, read out of MIR: string constants, and what ``format_args!`` made.

``core::fmt::Arguments`` is a pair ``{ template, args }``.  For a plain string, ``template`` points at it and ``args``
is ``len << 1 | 1``; else the template is a sequence of parts, each a length byte and that many bytes of text, or a
placeholder, and ``args`` points at an array of ``Argument``, each a pointer to a value and the function that formats it
(see ``library/core/src/fmt``).  Nothing of ``core::fmt`` runs: the function names trait and type, and what lies behind
the pointer is shown by its type (:mod:`mirgen.lower.shown`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from mirgen.lower.context import FunctionContext
from mirgen.lower.operand import lower_operand, operand_ty
from mirgen.lower.shown import Shown, hidden, show, show_address, show_text, word_of
from mirgen.lower.types import I64
from mirgen.lower.value import Pair, Scalar
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
    ZstConst,
)  # fmt: skip
from mirgen.mir.place import Place as MirPlace
from mirgen.mir.ty import FnDefTy, PointerTy, StrTy, Ty

#: How far definitions are followed.
_DEPTH = 24

#: What a trait of ``core::fmt`` is called in a format string.
_TRAITS: Final = {
    "Display": "", "Debug": "?", "LowerHex": "x", "UpperHex": "X", "Octal": "o", "Binary": "b", "LowerExp": "e",
    "UpperExp": "E", "Pointer": "p",
}  # fmt: skip
_FORMATTER = re.compile(r"<.* as (?:core|std)::fmt::(?P<trait>\w+)>::fmt")

# Bits of a placeholder's first byte, and of `FormattingOptions::flags`.
_FLAGS, _WIDTH, _PRECISION, _INDEX, _WIDTH_INDIRECT, _PRECISION_INDIRECT = (1 << n for n in range(6))
_SIGN_PLUS, _SIGN_MINUS, _ALTERNATE, _ZERO, _LOWER_HEX, _UPPER_HEX, _HAS_WIDTH, _HAS_PRECISION = (
    1 << n for n in range(21, 29)
)  # fmt: skip
_ALIGN_AT, _ALIGNS = 29, ("<", ">", "^", "")
_FILL = (1 << 21) - 1


@dataclass(frozen=True, slots=True)
class _Hole:
    """A placeholder: which value, and what stands after the colon but for width, precision and trait."""

    value: int
    trait: str = ""
    flags: int = 0x20 | 3 << _ALIGN_AT
    width: int | None = None
    precision: int | None = None
    width_indirect: bool = False
    precision_indirect: bool = False

    def text(self, implicit: bool) -> str:
        fill, align = chr(self.flags & _FILL), _ALIGNS[self.flags >> _ALIGN_AT & 3]
        spec = (fill if fill != " " and align else "") + align
        spec += "+" if self.flags & _SIGN_PLUS else ""
        spec += "-" if self.flags & _SIGN_MINUS else ""
        spec += "#" if self.flags & _ALTERNATE else ""
        spec += "0" if self.flags & _ZERO else ""
        if self.width is not None:
            spec += f"{self.width}$" if self.width_indirect else str(self.width)
        if self.precision is not None:
            spec += f".{self.precision}$" if self.precision_indirect else f".{self.precision}"
        spec += "x" if self.flags & _LOWER_HEX else "X" if self.flags & _UPPER_HEX else ""
        spec += self.trait
        return "{" + ("" if implicit else str(self.value)) + (f":{spec}" if spec else "") + "}"


@dataclass(frozen=True, slots=True)
class Message:
    """A message with the values that it shows."""

    parts: tuple[str | _Hole, ...]
    values: tuple[Shown, ...] = ()

    def __add__(self, other: Message) -> Message:
        by = len(self.values)
        return Message((*self.parts, *(_moved(part, by) for part in other.parts)), (*self.values, *other.values))

    @property
    def format(self) -> str:
        """A Rust format string: literal braces are doubled."""
        out: list[str] = []
        following = 0
        for part in self.parts:
            if isinstance(part, str):
                out.append(part.replace("{", "{{").replace("}", "}}"))
            else:
                implicit = part.value == following
                following += implicit
                out.append(part.text(implicit))
        return "".join(out)


def _moved(part: str | _Hole, by: int) -> str | _Hole:
    if isinstance(part, str):
        return part
    return replace(
        part,
        value=part.value + by,
        width=part.width + by if part.width is not None and part.width_indirect else part.width,
        precision=part.precision + by if part.precision is not None and part.precision_indirect else part.precision,
    )


def plain(text: str) -> Message:
    """A message that shows no value."""
    return Message((text,))


def shown(value: Shown, trait: str = "") -> Message:
    """A message that is one value."""
    return Message((_Hole(0, trait),), (value,))


def message_of_text(fx: FunctionContext, operand: Operand) -> Message | None:
    """The text of a ``&str`` (or ``&&str``) operand, constant or not; ``None`` where it is neither."""
    text = literal_text(fx, operand)
    if text is not None:
        return plain(text)
    value, ty = lower_operand(fx, operand), operand_ty(fx, operand)
    if isinstance(value, Pair) and isinstance(ty, PointerTy) and isinstance(ty.pointee, StrTy):
        return shown(show_text(fx, value.first, value.second))
    return None


def literal_text(fx: FunctionContext, operand: Operand) -> str | None:
    """The text of a ``&str`` (or ``&&str``) operand that comes from a constant; ``None`` where it does not."""
    found = _pointer(fx, operand, 0)
    if found is None:
        return None
    if found.length is None:
        found = _load_slice(fx, found)
    return None if found is None else _text(fx, found)


def message_of_value(fx: FunctionContext, operand: Operand, trait: str) -> Message:
    """What ``trait`` makes of the value behind a reference."""
    ty = operand_ty(fx, operand)
    value = lower_operand(fx, operand)
    if not isinstance(ty, PointerTy):
        return shown(hidden(ty), trait)
    if isinstance(value, Pair) and isinstance(ty.pointee, StrTy):
        return shown(show_text(fx, value.first, value.second), trait)
    if isinstance(value, Scalar):
        return shown(show(fx, value.value, ty.pointee), trait)
    return shown(hidden(ty.pointee), trait)


def message_of_object(fx: FunctionContext, operand: Operand, trait: str) -> Message:
    """What ``trait`` makes of a ``&dyn``, where it can be seen what was made into one."""
    source = _unsized(fx, operand)
    return shown(hidden(None), trait) if source is None else message_of_value(fx, source, trait)


def message_of_arguments(fx: FunctionContext, operand: Operand) -> Message | None:
    """The message of a ``core::fmt::Arguments`` operand; ``None`` where it was made elsewhere."""
    parts = _arguments(fx, operand, 0)
    if parts is None:
        return None
    template, word, args = parts
    if word is not None and word & 1:
        text = _text(fx, _Bytes(template.alloc, template.offset, word >> 1))
    elif template.length is not None:
        text = _text(fx, template)
    else:
        return _formatted(fx, _decode(_tail(fx, template)), args)
    return None if text is None else plain(text)


def message_of_option(fx: FunctionContext, operand: Operand) -> Message | None:
    """The message in an ``Option<Arguments>``: empty for ``None``; ``None`` where it was made elsewhere."""
    definition = _value(fx, operand)
    match definition:
        case r.AdtAggregate(variant="None"):
            return Message(())
        case r.AdtAggregate(variant="Some", operands=(inner,)):
            return message_of_arguments(fx, inner)
        case Constant(IndirectConst(_, alloc, offset)):
            memory = fx.cx.program.allocs.get(alloc)
            # The template is never null: that is `None`.
            if isinstance(memory, MemoryAlloc) and not any(at.at == offset for at in memory.relocations):
                return Message(()) if not any(memory.data[offset : offset + 8]) else None
            found = _constant_arguments(fx, alloc, offset)
            if found is None or found[1] is None:
                return None
            text = _text(fx, _Bytes(found[0].alloc, found[0].offset, found[1] >> 1))
            return None if text is None else plain(text)
        case _:
            return None


# ---- format_args! --------------------------------------------------------------------------------------------


def _decode(data: bytes | None) -> list[str | _Hole] | None:
    """The parts of a template."""
    if data is None:
        return None
    out: list[str | _Hole] = []
    at = following = 0

    def number(size: int) -> int:
        nonlocal at
        at += size
        return int.from_bytes(data[at - size : at], "little")

    while at < len(data):
        code = number(1)
        if code == 0:
            return out
        if code <= 0x80:
            length = code if code < 0x80 else number(2)
            out.append(data[at : at + length].decode(errors="replace"))
            at += length
        elif code >= 0xC0:
            flags = number(4) if code & _FLAGS else _Hole(0).flags
            width = number(2) if code & _WIDTH else None
            precision = number(2) if code & _PRECISION else None
            following = number(2) if code & _INDEX else following
            indirect = bool(code & _WIDTH_INDIRECT), bool(code & _PRECISION_INDIRECT)
            out.append(_Hole(following, "", flags, width, precision, *indirect))
            following += 1
        else:
            return None
    return None


def _formatted(fx: FunctionContext, parts: list[str | _Hole] | None, args: Operand | None) -> Message | None:
    """The parts with what the arguments show."""
    if parts is None:
        return None
    holes = [part for part in parts if isinstance(part, _Hole)]
    count = 1 + max((index for hole in holes for index in _indices(hole)), default=-1)
    elements = None if args is None else _elements(fx, args)
    if elements is None or len(elements) < count:
        return Message(tuple(parts), (hidden(None),) * count)
    traits, values = zip(*(_argument(fx, element) for element in elements), strict=True) if elements else ((), ())
    return Message(
        tuple(replace(part, trait=traits[part.value]) if isinstance(part, _Hole) else part for part in parts), values
    )


def _indices(hole: _Hole) -> list[int]:
    indices = [hole.value]
    indices += [hole.width] if hole.width is not None and hole.width_indirect else []
    indices += [hole.precision] if hole.precision is not None and hole.precision_indirect else []
    return indices


def _elements(fx: FunctionContext, args: Operand) -> tuple[Operand, ...] | None:
    """The elements of the array that ``args`` points at."""
    array = _array(fx, args, 0)
    if array is None:
        return None
    match _definition(fx, array):
        case r.ArrayAggregate(operands=operands):
            return operands
        case _:
            return None


def _array(fx: FunctionContext, operand: Operand, depth: int) -> int | None:
    """The local to which a pointer points."""
    place = _place(operand)
    if depth > _DEPTH or place is None or place.proj:
        return None
    match _definition(fx, place.local):
        case r.Use(inner) | r.Cast(operand=inner):
            return _array(fx, inner, depth + 1)
        case r.CopyForDeref(source):
            return _array(fx, Copy(source), depth + 1)
        case r.Ref(place=source) | r.RawPtr(place=source) if not source.proj:
            return source.local
        case r.Ref(place=source) | r.RawPtr(place=source) if source.proj == (Deref(),):
            return _array(fx, Copy(MirPlace(source.local)), depth + 1)
        case _:
            return None


def _argument(fx: FunctionContext, element: Operand) -> tuple[str, Shown]:
    """The trait (as a format string has it) and value of one ``Argument``."""
    definition = _value(fx, element)
    if isinstance(definition, r.AdtAggregate) and len(definition.operands) == 1:
        definition = _value(fx, definition.operands[0])
    match definition:
        case r.AdtAggregate(variant="Count", operands=(count,)):
            value = lower_operand(fx, count)
            if isinstance(value, Scalar):
                return "", word_of(fx.b.zext(value.value, I64))
        case r.AdtAggregate(variant="Placeholder", operands=(pointer, formatter, *_)):
            found = _formatter(fx, formatter)
            value = lower_operand(fx, pointer)
            if found is not None and isinstance(value, Scalar):
                trait, ty = found
                return trait, show_address(fx, value.value) if trait == "p" else show(fx, value.value, ty)
            return "", hidden(None if found is None else found[1])
        case _:
            pass
    return "", hidden(None)


def _formatter(fx: FunctionContext, operand: Operand) -> tuple[str, Ty] | None:
    """Trait and type of a formatting function behind casts."""
    definition = _value(fx, operand)
    for _ in range(_DEPTH):
        if not isinstance(definition, r.Cast):
            break
        definition = _value(fx, definition.operand)
    if not (isinstance(definition, Constant) and isinstance(definition.const, ZstConst)):
        return None
    item = definition.const.ty
    if not (isinstance(item, FnDefTy) and item.sig.inputs and isinstance(item.sig.inputs[0], PointerTy)):
        return None
    match = _FORMATTER.fullmatch(item.path)
    trait = None if match is None else _TRAITS.get(match["trait"])
    return None if trait is None else (trait, item.sig.inputs[0].pointee)


# ---- definitions ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Bytes:
    """``offset`` into an allocation; ``length`` where the pointer is wide."""

    alloc: int
    offset: int
    length: int | None


def _definition(fx: FunctionContext, local: int) -> r.Rvalue | None:
    """The right-hand side of the only assignment to ``local``."""
    if fx.definitions is None:
        fx.definitions = _definitions(fx.body)
    return fx.definitions.get(local)


def _definitions(body: Body) -> dict[int, r.Rvalue]:
    """The locals that are assigned once and as a whole, with what they are assigned."""
    found: dict[int, r.Rvalue] = {}
    others: set[int] = set()
    for block in body.blocks:
        for statement in block.statements:
            if isinstance(statement, s.Assign):
                local = statement.place.local
                if statement.place.proj or local in found:
                    others.add(local)
                found[local] = statement.rvalue
        if isinstance(block.terminator, s.Call):
            others.add(block.terminator.destination.local)
    return {local: value for local, value in found.items() if local not in others}


def _value(fx: FunctionContext, operand: Operand) -> r.Rvalue | Constant | None:
    """What an operand is made of, through copies."""
    for _ in range(_DEPTH):
        if isinstance(operand, Constant):
            return operand
        place = _place(operand)
        if place is None or place.proj:
            return None
        definition = _definition(fx, place.local)
        if not isinstance(definition, r.Use):
            return definition
        operand = definition.operand
    return None


def _unsized(fx: FunctionContext, operand: Operand) -> Operand | None:
    """The reference that was made into a trait object's."""
    for _ in range(_DEPTH):
        definition = _value(fx, operand)
        match definition:
            case r.Cast(cast=cast, operand=inner):
                if cast.startswith("PointerCoercion(Unsize"):
                    return inner
                operand = inner
            case r.Ref(place=source) | r.RawPtr(place=source) if source.proj == (Deref(),):
                operand = Copy(MirPlace(source.local))
            case _:
                return None
    return None


def _place(operand: Operand) -> MirPlace | None:
    return operand.place if isinstance(operand, Copy | Move) else None


def _arguments(fx: FunctionContext, operand: Operand, depth: int) -> tuple[_Bytes, int | None, Operand | None] | None:
    """Template, the word in ``args`` (``None`` where it is a pointer), and ``args`` where it is an operand."""
    if depth > _DEPTH:
        return None
    if isinstance(operand, Constant):
        const = operand.const
        found = _constant_arguments(fx, const.alloc, const.offset) if isinstance(const, IndirectConst) else None
        return None if found is None else (*found, None)
    place = _place(operand)
    if place is None or place.proj:
        return None
    match _definition(fx, place.local):
        case r.Use(inner):
            return _arguments(fx, inner, depth + 1)
        case r.AdtAggregate(operands=(template, args)):
            at = _pointer(fx, template, depth + 1)
            return None if at is None else (at, _word(fx, args, depth + 1), args)
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
    match _definition(fx, place.local):
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
    match _definition(fx, place.local):
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
