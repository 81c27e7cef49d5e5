"""What a panic's message shows of a value: its kind, in Rust's words, and 64-bit words that the host renders it from.

Words are values, taken where the message is made, so that no address of a local escapes into the cold path: a variable
whose address did would live in memory, in hot loops too.  Only the bytes behind a ``str`` or slice are left where they
are; their address and length are words, and the target copies them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from llvmlite import ir

from mirgen.layout.data import FieldsArbitrary, ReprScalar, VariantsMultiple
from mirgen.layout.data import Scalar as ScalarLayout
from mirgen.lower import types
from mirgen.lower.context import FunctionContext
from mirgen.lower.discriminant import lower_discriminant, tag_layout
from mirgen.lower.operand import offset_align
from mirgen.lower.value import Memory, Scalar
from mirgen.mir.ty import (
    AdtTy,
    ArrayTy,
    BoolTy,
    CharTy,
    FloatTy,
    IntTy,
    PointerTy,
    SliceTy,
    StrTy,
    TupleTy,
    Ty,
)  # fmt: skip

#: Elements of an array that are words of their own; a longer one is not shown.
_LONGEST_ARRAY: Final = 8
_OPTIONS: Final = {"Option": ("None", "Some"), "Result": ("Ok", "Err")}
_WORD: Final = ScalarLayout("i64", False, True, 0, 2**64 - 1)
#: The start of a kind that is not rendered; a type may follow.
HIDDEN: Final = "?"


@dataclass(frozen=True, slots=True)
class Shown:
    """``kind`` is a Rust type without references (``i32``, ``str``, ``Option<[u8; 2]>``), or ``?`` and the type where
    the value is not shown.  ``texts`` are the words that are addresses; the number of bytes there is the next word."""

    kind: str
    words: tuple[ir.Value, ...] = ()
    texts: tuple[int, ...] = ()

    def and_(self, other: Shown, kind: str) -> Shown:
        """Both one after the other, under a kind for both."""
        at = len(self.words)
        return Shown(kind, (*self.words, *other.words), (*self.texts, *(at + text for text in other.texts)))


def flat(values: Sequence[Shown]) -> tuple[list[ir.Value], list[int]]:
    """The words of several values, and which of them are addresses."""
    words: list[ir.Value] = []
    texts: list[int] = []
    for value in values:
        texts += [len(words) + text for text in value.texts]
        words += value.words
    return words, texts


def hidden(ty: Ty | None) -> Shown:
    """A value that the message does not show, but says so."""
    return Shown(HIDDEN if ty is None else f"{HIDDEN}{_readable(ty)}")


def word_of(value: ir.Value) -> Shown:
    """A number that is no more than a word: unsigned."""
    return Shown("usize", (value,))


def show_address(fx: FunctionContext, ptr: ir.Value) -> Shown:
    """What ``{:p}`` of the pointer at ``ptr`` prints."""
    return Shown("*", (fx.b.ptrtoint(fx.load(ptr, types.PTR, 8), types.I64),))


def show_text(fx: FunctionContext, pointer: ir.Value, length: ir.Value) -> Shown:
    """A ``str`` at ``pointer``."""
    return Shown("str", (fx.b.ptrtoint(pointer, types.I64), length), (0,))


def show(fx: FunctionContext, ptr: ir.Value, ty: Ty) -> Shown:
    """The value of type ``ty`` that lies at ``ptr``."""
    if not _is_plain(fx, ty):
        return hidden(ty)
    return _show(fx, ptr, ty, fx.layout(ty).align)


# ---- types ---------------------------------------------------------------------------------------------------


def _is_plain(fx: FunctionContext, ty: Ty) -> bool:
    """Whether a value of ``ty`` is shown."""
    match ty:
        case FloatTy(bits=bits):
            return bits in (32, 64)
        case IntTy() | BoolTy() | CharTy():
            return True
        case PointerTy(is_ref=True, pointee=StrTy()):
            return True
        case PointerTy(is_ref=True, pointee=SliceTy(elem=elem)):
            return isinstance(elem, IntTy | BoolTy | CharTy | FloatTy) and _is_plain(fx, elem)
        case PointerTy(is_ref=True, pointee=pointee):
            return _is_plain(fx, pointee)
        case PointerTy(is_ref=False):
            return fx.cx.find_layout(ty) is not None and isinstance(fx.layout(ty).repr, ReprScalar)
        case ArrayTy(elem=elem, length=length):
            return length is not None and length <= _LONGEST_ARRAY and _has_layout(fx, elem) and _is_plain(fx, elem)
        case TupleTy(elems=elems):
            return _has_layout(fx, ty) and all(_is_plain(fx, elem) for elem in elems)
        case AdtTy(args=args):
            if _option(ty) is None or not _has_layout(fx, ty):
                return False
            return all(_is_flat(arg) and _is_plain(fx, arg) for arg in args)
        case _:
            return False


def _is_flat(ty: Ty) -> bool:
    """Whether a value of ``ty`` can be read where there may be none: nothing is behind a pointer but bytes."""
    match ty:
        case PointerTy(is_ref=True, pointee=pointee):
            return isinstance(pointee, StrTy | SliceTy)
        case ArrayTy(elem=elem):
            return _is_flat(elem)
        case TupleTy(elems=elems) | AdtTy(args=elems):
            return all(map(_is_flat, elems))
        case _:
            return True


def _has_layout(fx: FunctionContext, ty: Ty) -> bool:
    return fx.cx.find_layout(ty) is not None


def _option(ty: AdtTy) -> tuple[str, str] | None:
    """The variants of core's ``Option`` and ``Result``."""
    crate, _, name = ty.path.replace("::option::", "::").replace("::result::", "::").rpartition("::")
    return _OPTIONS.get(name) if crate in ("core", "std") else None


def _readable(ty: Ty) -> str:
    return ty.text.replace("'{erased} ", "").replace("&'{erased}", "&").replace("<'{erased}>", "")


# ---- values --------------------------------------------------------------------------------------------------


def _show(fx: FunctionContext, ptr: ir.Value, ty: Ty, align: int) -> Shown:
    match ty:
        case IntTy(bits=bits, signed=signed):
            return Shown(ty.text, _words(fx, fx.load(ptr, ir.IntType(bits), align), signed=signed))
        case BoolTy():
            return Shown("bool", _words(fx, fx.load(ptr, types.I8, 1), signed=False))
        case CharTy():
            return Shown("char", _words(fx, fx.load(ptr, types.I32, align), signed=False))
        case FloatTy(bits=bits):
            return Shown(ty.text, _words(fx, fx.load(ptr, ir.IntType(bits), align), signed=False))
        case PointerTy(is_ref=True, pointee=StrTy()):
            return show_text(fx, *_wide(fx, ptr))
        case PointerTy(is_ref=True, pointee=SliceTy(elem=elem)):
            start, count = _wide(fx, ptr)
            size = fx.layout(elem).size
            bytes_ = count if size == 1 else fx.b.mul(count, types.usize(size))
            return Shown(f"[{elem.text}]", (fx.b.ptrtoint(start, types.I64), bytes_), (0,))
        case PointerTy(is_ref=True, pointee=pointee):
            return _show(fx, fx.load(ptr, types.PTR, 8), pointee, fx.layout(pointee).align)
        case PointerTy():
            return show_address(fx, ptr)
        case ArrayTy(elem=elem, length=int(length)):
            size = fx.layout(elem).size
            shown = [_show(fx, fx.offset(ptr, n * size), elem, offset_align(align, n * size)) for n in range(length)]
            return _joined(shown, f"[{shown[0].kind}; {length}]" if shown else "[(); 0]")
        case TupleTy(elems=elems):
            shown = [_field(fx, ptr, ty, n, elem, align) for n, elem in enumerate(elems)]
            comma = "," if len(shown) == 1 else ""
            return _joined(shown, f"({', '.join(one.kind for one in shown)}{comma})")
        case AdtTy():
            return _enum(fx, ptr, ty, align)
        case _:
            raise fx.internal(f"`{ty.text}` in a panic's message")


def _joined(shown: list[Shown], kind: str) -> Shown:
    every = Shown(kind)
    for one in shown:
        every = every.and_(one, kind)
    return every


def _field(fx: FunctionContext, ptr: ir.Value, ty: Ty, index: int, elem: Ty, align: int) -> Shown:
    fields = fx.layout(ty).fields
    if not isinstance(fields, FieldsArbitrary):
        raise fx.internal(f"the layout of `{ty.text}`")
    at = fields.offsets[index]
    return _show(fx, fx.offset(ptr, at), elem, offset_align(align, at))


def _enum(fx: FunctionContext, ptr: ir.Value, ty: AdtTy, align: int) -> Shown:
    """The variant's number, then what the variants hold; of another variant it means nothing."""
    layout = fx.layout(ty)
    name = ty.path.rpartition("::")[2]
    held = (1, 1) if name == "Option" else (0, 1)
    if not isinstance(layout.variants, VariantsMultiple):
        return hidden(ty)
    found = lower_discriminant(fx, Memory(ptr, layout, align), ty, tag_layout(_WORD))
    if not isinstance(found, Scalar):
        raise fx.internal(f"the discriminant of `{ty.text}`")
    variant = found.value
    whole = Shown("", (variant,))
    kinds: list[str] = []
    for index, arg in zip(held[-len(ty.args) :], ty.args, strict=True):
        fields = layout.variants.variants[index].fields
        if not isinstance(fields, FieldsArbitrary):
            raise fx.internal(f"the layout of `{ty.text}`")
        at = fields.offsets[0] if fields.offsets else 0
        part = _show(fx, fx.offset(ptr, at), arg, offset_align(align, at))
        part = _only_if(fx, part, fx.b.icmp_unsigned("==", variant, types.usize(index)))
        kinds.append(part.kind)
        whole = whole.and_(part, "")
    return Shown(f"{name}<{', '.join(kinds)}>", whole.words, whole.texts)


def _only_if(fx: FunctionContext, part: Shown, condition: ir.Value) -> Shown:
    """``part`` with no bytes to copy where it is not what lies there."""
    words = list(part.words)
    for text in part.texts:
        words[text + 1] = fx.b.select(condition, words[text + 1], types.usize(0))
    return Shown(part.kind, tuple(words), part.texts)


def _wide(fx: FunctionContext, ptr: ir.Value) -> tuple[ir.Value, ir.Value]:
    return fx.load(ptr, types.PTR, 8), fx.load(fx.offset(ptr, 8), types.I64, 8)


def _words(fx: FunctionContext, value: ir.Value, *, signed: bool) -> tuple[ir.Value, ...]:
    """An integer as words, low first; a signed one is extended so."""
    ty = value.type
    if not isinstance(ty, ir.IntType):
        raise fx.internal(f"{ty} as words")
    if ty.width > 64:
        high = fx.b.lshr(value, types.const_int(ty, 64))
        return fx.b.trunc(value, types.I64), fx.b.trunc(high, types.I64)
    if ty.width == 64:
        return (value,)
    return (fx.b.sext(value, types.I64) if signed else fx.b.zext(value, types.I64),)
