"""Rust's ``format!`` for reported values: what a message says natively, to the letter."""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal
from math import isinf, isnan

import numpy as np

from mirgen.runtime.errors import Site
from mirgen.runtime.rust_values import Address, Character, Float, Group, Hidden, Integer, Text, Value, Words
from mirgen.targets.host_abi import PLACE
from mirgen.targets.message_template import Hole, pieces

_SPEC = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<^>]))?(?P<sign>[+-])?(?P<alternate>#)?(?P<zero>0(?!\$))?"
    r"(?:(?P<width>\d+)(?P<width_from>\$)?)?(?:\.(?P<precision>\d+)(?P<precision_from>\$)?)?"
    r"(?P<trait>[xX]?\?|[xXobeEp]?)",
    re.DOTALL,
)
_RADIX = {"x": 16, "X": 16, "o": 8, "b": 2}
_ESCAPES = {"\0": "\\0", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"}
_EXACT = Context(prec=2000, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True, slots=True)
class _Spec:
    fill: str = " "
    align: str = ""
    plus: bool = False
    alternate: bool = False
    zero: bool = False
    width: int = 0
    precision: int | None = None
    trait: str = ""


def fill_message(message: str, kinds: Sequence[str] = (), words: Sequence[int] = (), text: bytes = b"") -> str:
    """A Rust format string with its values.

    ``kinds`` says what the ``words`` are; what it leaves out is unsigned.  ``text`` is what lies behind those that are
    addresses.  A value that is not known says so.
    """
    reader = Words(words, text)
    if kinds and kinds[0] == PLACE:
        reader.read_place()
        kinds = kinds[1:]
    values = [reader.read(kind) for kind in kinds] if kinds else [Integer(word, 64) for word in words]
    return "".join(piece if isinstance(piece, str) else _filled(piece, values) for piece in pieces(message))


def _filled(hole: Hole, values: Sequence[Value]) -> str:
    spec = _spec(hole.spec, values)
    return "<value>" if hole.index >= len(values) or spec is None else format_value(values[hole.index], spec)


def place_of(site: Site, words: Sequence[int], text: bytes) -> str | None:
    """Where a panic is reported: what its caller said, or the site's own place."""
    if site.args[:1] != (PLACE,):
        return site.location
    return Words(words, text).read_place() or site.location


def _spec(text: str, values: Sequence[Value]) -> _Spec | None:
    match = _SPEC.fullmatch(text)
    if match is None:
        return None

    def number(name: str) -> int | None:
        if match[name] is None or match[f"{name}_from"] is None:
            return None if match[name] is None else int(match[name])
        index = int(match[name])
        value = values[index] if index < len(values) else None
        return value.value if isinstance(value, Integer) else None

    return _Spec(
        match["fill"] or " ", match["align"] or "", match["sign"] == "+", bool(match["alternate"]),
        bool(match["zero"]), number("width") or 0, number("precision"), match["trait"],
    )  # fmt: skip


def format_value(value: Value, spec: _Spec) -> str:
    """One value as one placeholder prints it."""
    debug = spec.trait.endswith("?")
    match value:
        case bool():
            return _pad("true" if value else "false", spec)
        case Integer():
            return _integer(value, spec)
        case Float():
            return _float(value, spec)
        case Text(text, missing):
            shown = f'"{"".join(_escape(c, quote=chr(34)) for c in text)}"' if debug else _pad(text, spec)
            return shown + (f"<{missing} bytes more>" if missing else "")
        case Character(text):
            return f"'{_escape(text, quote=chr(39))}'" if debug else _pad(text, spec)
        case Address(address):
            return _pad_number("", "0x", f"{address:x}", replace(spec, width=18, zero=True) if spec.alternate else spec)
        case Group():
            return _group(value, spec)
        case Hidden(note):
            return note


def _group(group: Group, spec: _Spec) -> str:
    items = [format_value(item, spec) for item in group.items]
    items += [f"<{group.missing} elements more>"] if group.missing else []
    if not items and group.head == "(":
        return _pad("()", spec)
    if not items and group.head != "[":
        return group.head
    start, end = ("[", "]") if group.head == "[" else ("(" if group.head == "(" else f"{group.head}(", ")")
    if spec.alternate and items:
        lines = "".join(f"{item},\n" for item in items)
        return f"{start}\n" + "".join(f"    {line}\n" for line in lines.splitlines()) + end
    comma = "," if group.head == "(" and len(items) == 1 else ""
    return f"{start}{', '.join(items)}{comma}{end}"


def _integer(value: Integer, spec: _Spec) -> str:
    trait = spec.trait.removesuffix("?")
    if trait in _RADIX:
        pattern = value.value & ((1 << value.bits) - 1)
        prefix = f"0{trait.lower()}" if spec.alternate else ""
        return _pad_number("+" if spec.plus else "", prefix, format(pattern, trait), spec)
    if trait in ("e", "E"):
        return _exponent(Decimal(value.value), value.value < 0, spec)
    sign = "-" if value.value < 0 else "+" if spec.plus else ""
    return _pad_number(sign, "", str(abs(value.value)), spec)


# ---- floats --------------------------------------------------------------------------------------------------


def _float(value: Float, spec: _Spec) -> str:
    raw = value.pattern.to_bytes(value.bits // 8, "little")
    (number,) = struct.unpack("<f" if value.bits == 32 else "<d", raw)
    if isnan(number):
        return _pad_number("", "", "NaN", spec)
    negative = bool(value.pattern >> (value.bits - 1))
    sign = "-" if negative else "+" if spec.plus else ""
    if isinf(number):
        return _pad_number(sign, "", "inf", spec)
    exact = abs(Decimal(number))
    shortest = abs(Decimal(repr(number) if value.bits == 64 else str(np.float32(number))))
    precision = spec.precision
    trait = spec.trait.removesuffix("?")
    wide = exact != 0 and (exact < _limit(value.bits, "1e-4") or exact >= _limit(value.bits, "1e16"))
    if trait in ("e", "E") or (spec.trait.endswith("?") and precision is None and wide):
        return _exponent(exact if precision is not None else shortest, negative, spec)
    if precision is not None:
        return _pad_number(sign, "", format(_round(exact, Decimal(1).scaleb(-precision)), "f"), spec)
    digits = format(shortest, "f")
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    if spec.trait.endswith("?") and "." not in digits:
        digits += ".0"
    return _pad_number(sign, "", digits, spec)


def _limit(bits: int, text: str) -> Decimal:
    """A power of ten as the float type has it."""
    return Decimal(float(text)) if bits == 64 else Decimal(float(np.float32(text)))


def _exponent(number: Decimal, negative: bool, spec: _Spec) -> str:
    """``1.5e3``."""
    number = abs(number)
    exponent = number.adjusted() if number else 0
    mantissa = number.scaleb(-exponent, _EXACT)
    if spec.precision is not None:
        mantissa = _round(mantissa, Decimal(1).scaleb(-spec.precision))
        if mantissa >= 10:
            mantissa, exponent = _round(mantissa / 10, Decimal(1).scaleb(-spec.precision)), exponent + 1
        digits = format(mantissa, "f")
    else:
        digits = format(mantissa, "f")
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    letter = "E" if spec.trait == "E" else "e"
    return _pad_number("-" if negative else "+" if spec.plus else "", "", f"{digits}{letter}{exponent}", spec)


def _round(number: Decimal, to: Decimal) -> Decimal:
    return number.quantize(to, ROUND_HALF_EVEN, _EXACT)


# ---- text ----------------------------------------------------------------------------------------------------


def _escape(character: str, *, quote: str) -> str:
    """A character as ``{:?}`` prints it between such quotes."""
    if character == quote:
        return f"\\{character}"
    found = _ESCAPES.get(character)
    if found is not None:
        return found
    category = unicodedata.category(character)
    if category in ("Mn", "Me") or not character.isprintable():
        return f"\\u{{{ord(character):x}}}"
    return character


def _pad(text: str, spec: _Spec) -> str:
    """Text: cut to the precision, then filled to the width."""
    cut = text if spec.precision is None else text[: spec.precision]
    return _fill(cut, spec, spec.align or "<")


def _pad_number(sign: str, prefix: str, digits: str, spec: _Spec) -> str:
    if spec.zero:
        return f"{sign}{prefix}{digits.rjust(spec.width - len(sign) - len(prefix), '0')}"
    return _fill(f"{sign}{prefix}{digits}", spec, spec.align or ">")


def _fill(text: str, spec: _Spec, align: str) -> str:
    missing = max(0, spec.width - len(text))
    before = {"<": 0, ">": missing, "^": missing // 2}[align]
    return f"{spec.fill * before}{text}{spec.fill * (missing - before)}"
