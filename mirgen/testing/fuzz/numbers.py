"""Expressions of numbers, ``bool`` and ``char``: every operation that core has for them and that all lanes define."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mirgen.testing.fuzz.scope import Cx
from mirgen.testing.fuzz.tree import Node, expr, text
from mirgen.testing.fuzz.types import (
    BOOL,
    CHAR,
    FLOATS,
    INTS,
    U32,
    Bool,
    Char,
    Enum,
    Float,
    Int,
    NonZero,
    Ty,
    comparable,
)
from mirgen.testing.fuzz.values import some_int

Rule = tuple[float, Callable[[Cx], Node]]

_COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")


def int_rules(cx: Cx, ty: Int) -> list[Rule]:
    """How to make an integer."""

    def sub(of: Ty = ty) -> Node:
        return cx.expr(of)

    def by() -> Node:
        """A shift that is in range."""
        return text("(", sub(U32), f" & {ty.bits - 1})")

    def wrapping(cx: Cx) -> Node:
        name = cx.pick(["add", "add", "sub", "sub", "mul"])
        return expr(ty, sub(), f".wrapping_{name}(", sub(), ")")

    def saturating(cx: Cx) -> Node:
        return expr(ty, sub(), f".saturating_{cx.pick(['add', 'sub', 'mul'])}(", sub(), ")")

    def checked(cx: Cx) -> Node:
        name = cx.pick(["add", "sub", "mul", "div", "rem"])
        call = text(sub(), f".checked_{name}(", sub(), ")")
        if cx.const or cx.chance(50):
            return expr(ty, "(match ", call, " { Some(n) => n, None => ", sub(), " })")
        return expr(ty, call, ".unwrap_or(", sub(), ")")

    def overflowing(cx: Cx) -> Node:
        name = cx.pick(["add", "sub", "mul"])
        return expr(ty, "({ let (n, o) = ", sub(), f".overflowing_{name}(", sub(), "); if o { n ^ 1 } else { n } })")

    def bits(cx: Cx) -> Node:
        return expr(ty, "(", sub(), f" {cx.pick(['&', '|', '^'])} ", sub(), ")")

    def shift(cx: Cx) -> Node:
        operator = cx.pick(["<<", ">>"])
        return expr(ty, "(", sub(), f" {operator} ", by(), ")")

    def shift_by_any(cx: Cx) -> Node:
        name = "shl" if cx.chance(50) else "shr"
        match cx.below(3):
            case 0:
                return expr(ty, sub(), f".wrapping_{name}(", sub(U32), ")")
            case 1:
                call = text(sub(), f".checked_{name}(", sub(U32), ")")
                return expr(ty, "(match ", call, " { Some(n) => n, None => ", sub(), " })")
            case _:
                return expr(ty, sub(), f".overflowing_{name}(", sub(U32), ").0")

    def division(cx: Cx) -> Node:
        return expr(ty, "(", sub(), f" {cx.pick(['/', '%'])} (", sub(), f" | {cx.pick([1, 2, 6])}))")

    def euclid(cx: Cx) -> Node:
        name = cx.pick(["wrapping_div_euclid", "wrapping_rem_euclid", "wrapping_div", "wrapping_rem"])
        return expr(ty, sub(), f".{name}((", sub(), " | 1))")

    def unary(cx: Cx) -> Node:
        names = [".wrapping_neg()", ".swap_bytes()", ".reverse_bits()", ".to_be()"]
        names += [".wrapping_abs()", ".signum()"] if ty.signed else []
        return expr(ty, sub(), cx.pick(names)) if cx.chance(65) else expr(ty, "(!", sub(), ")")

    def rotate(cx: Cx) -> Node:
        return expr(ty, sub(), f".rotate_{cx.pick(['left', 'right'])}(", sub(U32), ")")

    def counts(cx: Cx) -> Node:
        name = cx.pick(["leading_zeros", "trailing_zeros", "count_ones", "leading_ones", "trailing_ones"])
        call = text(sub(_any_int(cx)), f".{name}()")
        return expr(ty, call) if ty == U32 else expr(ty, "(", call, f" as {ty})")

    def power(cx: Cx) -> Node:
        return expr(ty, sub(), ".wrapping_pow((", sub(U32), f" & {cx.pick([1, 3, 7])}))")

    def distance(cx: Cx) -> Node:
        of = ty.unsigned
        call = text(sub(), ".abs_diff(", sub(), ")")
        return expr(ty, call) if of == ty else expr(ty, "(", call, f" as {ty})")

    def between(cx: Cx) -> Node:
        if cx.chance(60):
            return expr(ty, sub(), f".{cx.pick(['min', 'max'])}(", sub(), ")")
        low, high = sorted((some_int(cx, ty), some_int(cx, ty)))
        return expr(ty, sub(), f".clamp({_written(ty, low)}, {_written(ty, high)})")

    def cast(cx: Cx) -> Node:
        return expr(ty, "(", sub(_castable(cx, ty)), f" as {ty})")

    def bytes_(cx: Cx) -> Node:
        order = cx.pick(["le", "be", "ne"])
        other = cx.pick(["le", "be"])
        return expr(ty, f"{ty}::from_{order}_bytes(", sub(), f".to_{other}_bytes())")

    def convert(cx: Cx) -> Node:
        other = _any_int(cx)
        if other.low >= ty.low and other.high <= ty.high and "size" not in ty.name + other.name:
            return expr(ty, f"{ty}::from(", sub(other), ")")
        if cx.chance(50):
            return expr(ty, f"{ty}::try_from(", sub(other), ").unwrap_or(", sub(), ")")
        return expr(ty, f"(match {ty}::try_from(", sub(other), ") { Ok(n) => n, Err(_) => ", sub(), " })")

    def logarithm(cx: Cx) -> Node:
        call = text("(", sub(ty.unsigned), " | 1).ilog2()")
        return expr(ty, "(", call, f" as {ty})")

    def raw(cx: Cx) -> Node:
        """What may overflow: the one operand small, most of the time."""
        operator = cx.pick(["+", "-", "*"])
        if cx.chance(85):
            small = 7 if operator == "*" else 31
            return expr(ty, "((", sub(), f" >> {ty.bits // 2}) {operator} (", sub(), f" & {small}))")
        return expr(ty, "(", sub(), f" {operator} ", sub(), ")")

    def negated(cx: Cx) -> Node:
        return expr(ty, "(-(", sub(), " >> 1))") if ty.signed else wrapping(cx)

    def nonzero(cx: Cx) -> Node:
        return expr(ty, sub(NonZero(ty)), ".get()")

    panicking = 0 if cx.calm else 1
    everywhere: list[Rule] = [
        (6, wrapping), (2, saturating), (3, checked), (2, overflowing), (5, bits), (4, shift), (3, shift_by_any),
        (2 * panicking, division), (2, euclid), (3, unary), (1.5, rotate), (2, counts), (1, power),
        (1, distance), (6, cast), (1, bytes_), (1, logarithm), (3 * panicking, raw),
        (0.5 * panicking, negated), (1, nonzero),
    ]  # fmt: skip
    return everywhere if cx.const else [*everywhere, (2, between), (2, convert)]


def _written(ty: Int, value: int) -> str:
    return f"({value}{ty})" if value != ty.low or not ty.signed else f"{ty}::MIN"


def _any_int(cx: Cx) -> Int:
    return cx.pick(list(INTS.values()))


def _castable(cx: Cx, ty: Int) -> Ty:
    """A type of which ``as`` makes an integer."""
    enums: list[Ty] = [enum for enum in cx.enums if enum.plain]
    choices: list[tuple[float, Ty]] = [(6, _any_int(cx)), (1, BOOL), (1, CHAR), (2, cx.pick(FLOATS))]
    if enums:
        choices.append((2, cx.pick(enums)))
    return cx.weighted(choices)


def float_rules(cx: Cx, ty: Float) -> list[Rule]:
    """How to make a float; nothing whose result's sign or payload is left open for NaN gets into anything but a hash
    that takes all NaNs as one."""

    def sub(of: Ty = ty) -> Node:
        return cx.expr(of)

    def arithmetic(cx: Cx) -> Node:
        return expr(ty, "(", sub(), f" {cx.pick(['+', '-', '*', '/', '+', '-', '*', '%'])} ", sub(), ")")

    def unary(cx: Cx) -> Node:
        return expr(ty, "(-", sub(), ")") if cx.chance(50) else expr(ty, sub(), cx.pick([".abs()", ".recip()"]))

    def cast(cx: Cx) -> Node:
        return expr(ty, "(", sub(cx.pick([_any_int(cx), cx.pick(FLOATS)])), f" as {ty})")

    def from_bits(cx: Cx) -> Node:
        return expr(ty, f"{ty}::from_bits(", sub(INTS[f"u{ty.bits}"]), ")")

    def choice(cx: Cx) -> Node:
        return expr(
            ty, "({ let (a, b) = (", sub(), ", ", sub(), f"); if a {cx.pick(_COMPARISONS)} b {{ a }} else {{ b }} }})"
        )

    return [(8, arithmetic), (3, unary), (3, cast), (1, from_bits), (1, choice)]


def bool_rules(cx: Cx) -> list[Rule]:
    """How to make a truth value."""

    def compare(cx: Cx) -> Node:
        of = cx.weighted([(6.0, _any_int(cx)), (2, cx.pick(FLOATS)), (1, CHAR), (1, BOOL)])
        return expr(BOOL, "(", cx.expr(of), f" {cx.pick(_COMPARISONS)} ", cx.expr(of), ")")

    def logic(cx: Cx) -> Node:
        return expr(BOOL, "(", cx.expr(BOOL), f" {cx.pick(['&&', '||', '&', '|', '^'])} ", cx.expr(BOOL), ")")

    def inverse(cx: Cx) -> Node:
        return expr(BOOL, "(!", cx.expr(BOOL), ")")

    def asked(cx: Cx) -> Node:
        match cx.below(4):
            case 0:
                return expr(BOOL, cx.expr(cx.pick(FLOATS)), cx.pick([".is_nan()", ".is_finite()", ".is_infinite()"]))
            case 1:
                return expr(BOOL, cx.expr(CHAR), cx.pick([".is_ascii_digit()", ".is_ascii_lowercase()", ".is_ascii()"]))
            case 2:
                ty = cx.pick([ty for ty in INTS.values() if ty.signed])
                return expr(BOOL, cx.expr(ty), cx.pick([".is_negative()", ".is_positive()"]))
            case _:
                ty = cx.pick([ty for ty in INTS.values() if not ty.signed])
                return expr(BOOL, cx.expr(ty), ".is_power_of_two()")

    def same(cx: Cx) -> Node:
        places = [place for place in cx.places() if comparable(place.ty)]
        if not places:
            return compare(cx)
        place = cx.pick(places)
        with cx.frozen([place.root]):
            other = cx.expr(place.ty)
        return expr(BOOL, "(", place.text, f" {cx.pick(['==', '!='])} ", other, ")")

    def variant(cx: Cx) -> Node:
        places = [place for place in cx.places() if isinstance(place.ty, Enum)]
        if not places:
            return inverse(cx)
        place = cx.pick(places)
        assert isinstance(place.ty, Enum)
        chosen = cx.pick(place.ty.variants)
        end = " { .. }" if chosen.fields else ""
        return expr(BOOL, "matches!(", place.text, f", {place.ty.prefix}{chosen.name}{end})")

    everywhere: list[Rule] = [(6, compare), (3, logic), (1, inverse), (2, asked), (2, variant)]
    return everywhere if cx.const else [*everywhere, (3, same)]


def char_rules(cx: Cx) -> list[Rule]:
    """How to make a character."""

    def from_byte(cx: Cx) -> Node:
        return expr(CHAR, "(", cx.expr(INTS["u8"]), " as char)")

    def from_number(cx: Cx) -> Node:
        return expr(
            CHAR,
            "(match char::from_u32(",
            cx.expr(U32),
            f" & {cx.pick(['0xffff', '0x1fffff'])}) {{ Some(c) => c, None => 'x' }})",
        )

    def case(cx: Cx) -> Node:
        return expr(CHAR, cx.expr(CHAR), cx.pick([".to_ascii_uppercase()", ".to_ascii_lowercase()"]))

    return [(3, from_byte), (2, from_number), (1, case)]


def primitive_rules(cx: Cx, ty: Ty) -> list[Rule]:
    """How to make a value of a type that has no parts; empty for others."""
    match ty:
        case Int():
            return int_rules(cx, ty)
        case Float():
            return float_rules(cx, ty)
        case Bool():
            return bool_rules(cx)
        case Char():
            return char_rules(cx)
        case NonZero():
            return [(1, lambda cx: _nonzero(cx, ty))]
        case _:
            return []


def _nonzero(cx: Cx, ty: NonZero) -> Node:
    made = text(f"core::num::NonZero::<{ty.of}>::new(", cx.expr(ty.of), ")")
    return expr(ty, "(match ", made, f" {{ Some(n) => n, None => core::num::NonZero::<{ty.of}>::MIN }})")
