"""A panic's message for CUDA's ``printf``: text with the numbers that it can print.

Words are 64 bits each, and a signed number is extended by its sign, so that ``%lld`` and ``%llu`` print what Rust does.
Widths and alignments are left out; a value that ``printf`` has no words for says what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from mirgen.targets.message_template import pieces

_RADIX: Final = {"x": "llx", "X": "llX", "o": "llo"}
_SIGNED: Final = frozenset({"i8", "i16", "i32", "i64", "isize"})
_UNSIGNED: Final = frozenset({"u8", "u16", "u32", "u64", "usize"})

Conversion = Literal["word", "bool", "f32"]
_OTHERS: Final[dict[str, tuple[str, Conversion]]] = {
    "bool": ("%s", "bool"), "f32": ("%.9g", "f32"), "f64": ("%.17g", "word"), "*": ("0x%llx", "word"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Printed:
    """``format`` for ``printf``, and the numbers of the values (of one word) that it takes, made into what."""

    format: str
    values: tuple[tuple[int, Conversion], ...]


def printed(message: str, kinds: Sequence[str]) -> Printed:
    """A Rust format string over values of ``kinds`` as one for ``printf``."""
    values: list[tuple[int, Conversion]] = []
    out: list[str] = []
    for piece in pieces(message):
        if isinstance(piece, str):
            out.append(piece.replace("%", "%%"))
            continue
        kind = kinds[piece.index] if piece.index < len(kinds) else "?"
        found = _conversion(kind, piece.spec)
        if found is None:
            out.append(_note(kind))
            continue
        out.append(found[0])
        values.append((piece.index, found[1]))
    return Printed("".join(out), tuple(values))


def _conversion(kind: str, spec: str) -> tuple[str, Conversion] | None:
    trait = spec[-1:]
    if kind in _UNSIGNED and trait in _RADIX:
        return ("0x%" if "#" in spec else "%") + _RADIX[trait], "word"
    if trait in ("b", "e", "E", "x", "X", "o"):
        return None
    if kind in _SIGNED:
        return "%lld", "word"
    if kind in _UNSIGNED:
        return "%llu", "word"
    return _OTHERS.get(kind)


def _note(kind: str) -> str:
    name = kind.lstrip("?").replace("%", "%%")
    return f"<value of type {name}>" if name else "<value>"
