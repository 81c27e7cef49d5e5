"""Patterns with what they bind, and ``match``, ``if let`` and kin around them."""

from __future__ import annotations

from dataclasses import dataclass, field

from mirgen.testing.fuzz.scope import Cx, Var
from mirgen.testing.fuzz.tree import Node, joined, text
from mirgen.testing.fuzz.types import USIZE, Array, Bool, Char, Enum, Float, Int, Struct, Tuple, Ty
from mirgen.testing.fuzz.values import some_int

#: What a name is bound to: the value, or a reference to it.
VALUE, REFERENCE = "{}", "*{}"


@dataclass(slots=True)
class Pattern:
    """A pattern, whether it may fail to match, and the variables that it binds."""

    text: Node
    refutable: bool
    binds: list[Var] = field(default_factory=list[Var])


def pattern(cx: Cx, ty: Ty, bound: str, *, mutable: bool = False, depth: int = 2, binding: bool = True) -> Pattern:
    """A pattern for ``ty``.  ``bound`` is how names are used, ``mutable`` whether what they stand for may change."""
    if depth == 0 or cx.chance(18):
        return _name(cx, ty, bound, mutable) if binding and cx.chance(75) else Pattern(text("_"), False)
    inner = _inner(cx, ty, bound, mutable, depth - 1, binding)
    if inner is None:
        return _name(cx, ty, bound, mutable) if binding else Pattern(text("_"), False)
    if inner.refutable and not inner.binds and cx.chance(20):
        other = _inner(cx, ty, bound, mutable, depth - 1, False)
        if other is not None and other.refutable:
            inner = Pattern(text("(", inner.text, " | ", other.text, ")"), True)
    if binding and not inner.binds and not isinstance(ty, Float) and cx.chance(25):
        name = _name(cx, ty, bound, mutable)
        return Pattern(text(name.text, " @ ", inner.text), inner.refutable, name.binds)
    return inner


def _name(cx: Cx, ty: Ty, bound: str, mutable: bool) -> Pattern:
    name = cx.fresh("b")
    declared = cx.chance(30) and bound == VALUE
    return Pattern(text(f"mut {name}" if declared else name), False, [Var(ty, bound.format(name), mutable or declared)])


def _inner(cx: Cx, ty: Ty, bound: str, mutable: bool, depth: int, binding: bool) -> Pattern | None:
    def part(of: Ty) -> Pattern:
        return pattern(cx, of, bound, mutable=mutable, depth=depth, binding=binding)

    match ty:
        case Int():
            low, high = sorted((some_int(cx, ty), some_int(cx, ty)))
            shape = cx.below(5)
            word = (
                f"{_plain(ty, low)}..={_plain(ty, high)}" if shape < 2
                else f"({_plain(ty, low)}..)" if shape == 2
                else _plain(ty, low)
            )  # fmt: skip
            if shape == 2 and low == ty.low:
                word = _plain(ty, high)
            return Pattern(text(word), True)
        case Bool():
            return Pattern(text(cx.pick(["true", "false"])), True)
        case Char():
            return Pattern(text(cx.pick(["'a'..='z'", "'0'", "'\\0'..='\\x7f'", "('\\u{80}'..)", "('A' | 'Z')"])), True)
        case Float():
            return Pattern(text(cx.pick([f"1.0{ty}", f"0.0{ty}", f"-1.5{ty}..=3.5{ty}"])), True)
        case Tuple() if ty.of:
            return _all("(", [part(of) for of in ty.of], ")")
        case Array():
            return _elements([part(ty.of) for _ in range(ty.length)], cx, ty.length)
        case Struct():
            return _fields(cx, ty.name, ty.fields, ty.named, [part(of) for _, of in ty.fields], False)
        case Enum():
            variant = cx.pick(ty.variants)
            name = ty.prefix + variant.name
            parts = [part(of) for _, of in variant.fields]
            return _fields(cx, name, variant.fields, variant.named, parts, len(ty.variants) > 1)
        case _:
            return None


def _plain(ty: Int, value: int) -> str:
    """An integer in a pattern: no parentheses around a range's end, and no name, which matches no reference."""
    return f"{value}{ty}"


def _all(before: str, parts: list[Pattern], after: str, refutable: bool = False) -> Pattern:
    return Pattern(
        text(before, joined(", ", [part.text for part in parts]), after),
        refutable or any(part.refutable for part in parts),
        [var for part in parts for var in part.binds],
    )


def _elements(parts: list[Pattern], cx: Cx, length: int) -> Pattern:
    """An array's elements, perhaps not all of them."""
    if length > 1 and cx.chance(50):
        kept, at = parts[: 1 + cx.below(length - 1)], 0
        at = cx.below(len(kept) + 1)
        whole = _all("[", kept, "]")
        texts = [part.text for part in kept]
        whole.text = text("[", joined(", ", [*texts[:at], text(".."), *texts[at:]]), "]")
        return whole
    return _all("[", parts, "]")


def _fields(
    cx: Cx, name: str, fields: tuple[tuple[str, Ty], ...], named: bool, parts: list[Pattern], refutable: bool
) -> Pattern:
    if not fields:
        return Pattern(text(name), refutable)
    if not named:
        return _all(f"{name}(", parts, ")", refutable)
    chosen = [index for index in range(len(fields)) if cx.chance(70)]
    kept = [
        Pattern(text(f"{fields[index][0]}: ", parts[index].text), parts[index].refutable, parts[index].binds)
        for index in chosen
    ]
    end = " }" if len(kept) == len(fields) else ", .. }" if kept else ".. }"
    return _all(f"{name} {{ ", kept, end, refutable)


def slice_pattern(cx: Cx, of: Ty, *, mutable: bool) -> Pattern:
    """A pattern for a slice behind a reference: some elements, and perhaps a rest, of which the length is used."""
    parts = [pattern(cx, of, REFERENCE, mutable=mutable, depth=1) for _ in range(cx.below(4))]
    binds = [var for part in parts for var in part.binds]
    texts = [part.text for part in parts]
    if cx.chance(65):
        at = cx.below(len(texts) + 1)
        rest = ".."
        if cx.chance(50):
            name = cx.fresh("r")
            rest = f"{name} @ .."
            binds.append(Var(USIZE, f"{name}.len()", False))
        irrefutable = not texts
        texts.insert(at, text(rest))
        return Pattern(text("[", joined(", ", texts), "]"), not irrefutable, binds)
    return Pattern(text("[", joined(", ", texts), "]"), True, binds)
