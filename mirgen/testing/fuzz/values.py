"""Values of every type: literals, what is at hand, and constructors."""

from __future__ import annotations

from collections.abc import Callable

from mirgen.testing.fuzz.scope import Cx
from mirgen.testing.fuzz.tree import Node, expr, joined, text
from mirgen.testing.fuzz.types import (
    Array,
    Bool,
    Char,
    Enum,
    Float,
    Int,
    NonZero,
    Slice,
    Struct,
    Tuple,
    Ty,
)

_FLOATS = (
    "0.0",
    "-0.0",
    "1.0",
    "-1.5",
    "0.1",
    "3.25",
    "1e10",
    "-1e-10",
    "16777217.0",
    "255.5",
    "-129.0",
    "4294967296.0",
)
_CHARS = ("'a'", "'Z'", "'0'", "' '", "'\\u{e9}'", "'\\u{20ac}'", "'\\u{1f600}'", "'\\u{10ffff}'", "'\\n'")


def int_text(ty: Int, value: int) -> str:
    """An integer as it is written in Rust."""
    if value == ty.low and ty.signed:
        return f"{ty}::MIN"
    return f"({value}{ty})" if value < 0 else f"{value}{ty}"


def some_int(cx: Cx, ty: Int) -> int:
    """A number of the type: small, at an edge, a power of two or so, or anything."""
    match cx.below(6):
        case 0 | 1:
            value = cx.below(12)
        case 2:
            value = -cx.below(6) if ty.signed else cx.below(100)
        case 3:
            value = cx.pick([ty.low, ty.high, ty.high - 1, ty.low + 1])
        case 4:
            value = (1 << cx.below(ty.bits - 1)) - cx.below(3)
        case _:
            value = cx.rng.getrandbits(ty.bits) + ty.low
    return max(ty.low, min(ty.high, value))


def literal(cx: Cx, ty: Ty) -> Node:
    """A constant."""
    match ty:
        case Int():
            return expr(ty, int_text(ty, some_int(cx, ty)))
        case Float():
            if cx.chance(12):
                return expr(
                    ty, f"{ty}::{cx.pick(['INFINITY', 'NEG_INFINITY', 'NAN', 'MAX', 'MIN_POSITIVE', 'EPSILON'])}"
                )
            return expr(ty, f"({cx.pick(_FLOATS)}{ty})")
        case Bool():
            return expr(ty, cx.pick(["true", "false"]))
        case Char():
            return expr(ty, cx.pick(_CHARS))
        case NonZero():
            return expr(ty, f"core::num::NonZero::<{ty.of}>::{cx.pick(['MIN', 'MAX'])}")
        case _:
            return built(cx, ty, literal)


def entropy(cx: Cx, ty: Ty) -> Node:
    """A value that nobody knows before the program runs: from the hash."""
    shift = cx.below(48)
    bits = "*h" if cx.chance(30) else f"(*h >> {shift})"
    match ty:
        case Int():
            if cx.chance(40):
                return expr(ty, f"(({bits} & {cx.pick([1, 3, 7, 15, 63])}) as {ty})")
            return expr(ty, f"({bits} as {ty})" if ty.bits < 128 or cx.chance(50) else f"((*h as {ty}) << {shift})")
        case Float():
            if cx.chance(30):
                return expr(ty, f"{ty}::from_bits({bits} as u{ty.bits})")
            return expr(ty, f"(({bits} as i{cx.pick([8, 16, 32, 64])}) as {ty})")
        case Bool():
            return expr(ty, f"({bits} & 1 == 1)")
        case Char():
            return expr(ty, f"(({bits} as u8) as char)")
        case NonZero():
            value = f"core::num::NonZero::<{ty.of}>::new({bits} as {ty.of})"
            return expr(ty, f"(match {value} {{ Some(n) => n, None => core::num::NonZero::<{ty.of}>::MAX }})")
        case _:
            return built(cx, ty, entropy)


def leaf(cx: Cx, ty: Ty) -> Node:
    """Something short."""
    cx.spend()
    if cx.chance(70):
        places = cx.places(ty)
        if places:
            place = cx.pick(places).text
            return expr(ty, "(", place, ")") if str(place).startswith("*") else expr(ty, place)
    if isinstance(ty, Int | Float | Bool | Char | NonZero):
        return entropy(cx, ty) if cx.chance(60) else literal(cx, ty)
    return built(cx, ty, leaf)


def constructor(cx: Cx, ty: Ty) -> Node:
    """A value put together from expressions."""
    return built(cx, ty, lambda _, part: cx.expr(part))


def built(cx: Cx, ty: Ty, make: Callable[[Cx, Ty], Node]) -> Node:
    """A value of a type that has parts, which ``make`` gives."""
    match ty:
        case Tuple():
            return expr(ty, "(", joined(", ", [make(cx, part) for part in ty.of]), ")")
        case Array():
            if cx.chance(25):
                return expr(ty, "[", make(cx, ty.of), f"; {ty.length}]")
            return expr(ty, "[", joined(", ", [make(cx, ty.of) for _ in range(ty.length)]), "]")
        case Struct():
            values = [make(cx, field) for _, field in ty.fields]
            return expr(ty, "(", ty.name, _fields(ty.fields, ty.named, values), ")")
        case Enum():
            variant = cx.pick(ty.variants)
            values = [make(cx, field) for _, field in variant.fields]
            return expr(ty, "(", ty.path(variant), _fields(variant.fields, variant.named, values), ")")
        case Int() | Float() | Bool() | Char() | NonZero():
            return make(cx, ty)
        case Slice():
            raise ValueError("a slice is no value")


def _fields(fields: tuple[tuple[str, Ty], ...], named: bool, values: list[Node]) -> Node:
    if not fields:
        return text()
    if named:
        return text(
            " { ",
            joined(", ", [text(f"{name}: ", value) for (name, _), value in zip(fields, values, strict=True)]),
            " }",
        )
    return text("(", joined(", ", values), ")")
