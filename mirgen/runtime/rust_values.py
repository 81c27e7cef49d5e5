"""Values that a panic reported as words, by their kinds (:mod:`mirgen.lower.shown`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

_WORD = 8
#: Bits and sign of Rust's integers.
INTEGERS: dict[str, tuple[int, bool]] = {
    **{f"{sign}{bits}": (bits, sign == "i") for sign in "iu" for bits in (8, 16, 32, 64, 128)},
    "isize": (64, True),
    "usize": (64, False),
}


@dataclass(frozen=True, slots=True)
class Integer:
    value: int
    bits: int


@dataclass(frozen=True, slots=True)
class Float:
    """``pattern`` as the hardware has it."""

    pattern: int
    bits: int


@dataclass(frozen=True, slots=True)
class Text:
    """``missing`` bytes at the end were not reported."""

    value: str
    missing: int = 0


@dataclass(frozen=True, slots=True)
class Character:
    value: str


@dataclass(frozen=True, slots=True)
class Address:
    value: int


@dataclass(frozen=True, slots=True)
class Group:
    """A tuple (``(``), an array or slice (``[``), or an enum's variant (its name)."""

    head: str
    items: tuple[Value, ...]
    missing: int = 0


@dataclass(frozen=True, slots=True)
class Hidden:
    """A value that is not shown: what is said instead."""

    note: str


Value: TypeAlias = bool | Integer | Float | Text | Character | Address | Group | Hidden


class Words:
    """Reads values one after the other."""

    def __init__(self, words: Sequence[int], text: bytes) -> None:
        self._words = list(words)
        self._text = text
        self._short = False

    def read_place(self) -> str | None:
        """``file:line:col``; ``None`` where it was not reported."""
        if len(self._words) < 3:
            self._words.clear()
            return None
        file = self._take(self._skip_address())
        where = self._next()
        return f"{file.decode(errors='replace')}:{where & 0xFFFF_FFFF}:{where >> 32}"

    def read(self, kind: str) -> Value:
        """The next value."""
        if kind.startswith("?"):
            return Hidden(f"<value of type {kind[1:]}>" if kind[1:] else "<value>")
        if self._short or len(self._words) < _count(kind):
            self._short = True  # a later value that fits would be read from the wrong words
            return Hidden("<value not reported>")
        return self._read(kind)

    def _read(self, kind: str) -> Value:
        if kind in INTEGERS:
            bits, signed = INTEGERS[kind]
            pattern = self._next() | (self._next() << 64 if bits == 128 else 0)
            pattern &= (1 << bits) - 1
            return Integer(pattern - (1 << bits) if signed and pattern >> (bits - 1) else pattern, bits)
        match kind[:1], kind:
            case _, "bool":
                return bool(self._next() & 1)
            case _, "char":
                code = self._next() & 0xFFFF_FFFF
                return Character(chr(code)) if _is_scalar(code) else Hidden(f"<{code:#x}, which is no char>")
            case _, "f32" | "f64":
                bits = int(kind[1:])
                return Float(self._next() & ((1 << bits) - 1), bits)
            case _, "*":
                return Address(self._next())
            case _, "str":
                size = self._skip_address()
                taken = self._take(size)
                return Text(taken.decode(errors="replace"), size - len(taken))
            case "[", _ if ";" in _outside(kind[1:-1]):
                elem, _, length = kind[1:-1].rpartition(";")
                return Group("[", tuple(self._read(elem) for _ in range(int(length))))
            case "[", _:
                return self._slice(kind[1:-1])
            case "(", _:
                return Group("(", tuple(map(self._read, _split(kind[1:-1]))))
            case _:
                name, _, inside = kind.partition("<")
                return self._variant(name, _split(inside[:-1]))

    def _slice(self, elem: str) -> Value:
        width = 1 if elem == "bool" else 4 if elem == "char" else _bits(elem) // 8
        size = self._skip_address()
        taken = self._take(size)
        items: list[Value] = []
        for at in range(0, len(taken) - width + 1, width):
            one = int.from_bytes(taken[at : at + width], "little")
            items.append(Words([one & (1 << 64) - 1, one >> 64], b"").read(elem))
        return Group("[", tuple(items), size // width - len(items))

    def _variant(self, name: str, kinds: Sequence[str]) -> Value:
        """``Option`` and ``Result``: the variant's number, then what every variant would hold."""
        number = self._next()
        held = [self._read(kind) for kind in kinds]
        if name == "Option":
            return Group("Some", (held[0],)) if number == 1 else Group("None", ())
        return Group("Err" if number == 1 else "Ok", (held[1 if number == 1 else 0],))

    def _skip_address(self) -> int:
        self._next()
        return self._next()

    def _take(self, size: int) -> bytes:
        taken, self._text = self._text[:size], self._text[size:]
        return taken

    def _next(self) -> int:
        return self._words.pop(0)


def _bits(kind: str) -> int:
    return INTEGERS[kind][0] if kind in INTEGERS else int(kind[1:])


def _is_scalar(code: int) -> bool:
    return code < 0xD800 or 0xE000 <= code <= 0x10FFFF


def _count(kind: str) -> int:
    """The words of a value of some kind."""
    if kind in ("i128", "u128", "str"):
        return 2
    match kind[:1]:
        case "[":
            elem, semicolon, length = kind[1:-1].rpartition(";")
            return _count(elem) * int(length) if semicolon else 2
        case "(":
            return sum(map(_count, _split(kind[1:-1])))
        case _ if "<" in kind:
            return 1 + sum(map(_count, _split(kind.partition("<")[2][:-1])))
        case _:
            return 1


def _outside(text: str) -> str:
    """What of a list of kinds stands in no bracket."""
    out: list[str] = []
    depth = 0
    for character in text:
        depth -= character in ")]>"
        if depth == 0:
            out.append(character)
        depth += character in "([<"
    return "".join(out)


def _split(text: str) -> list[str]:
    """The kinds of a list."""
    parts: list[str] = [""]
    depth = 0
    for character in text:
        depth += (character in "([<") - (character in ")]>")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]
