"""Expressions of any type: choices, blocks, calls, projections, references."""

from __future__ import annotations

from collections.abc import Callable

from mirgen.testing.fuzz.numbers import primitive_rules
from mirgen.testing.fuzz.patterns import VALUE, pattern
from mirgen.testing.fuzz.scope import Cx, Function, Loop, Passed, Place, Trait, Var
from mirgen.testing.fuzz.tree import Node, expr, joined, text
from mirgen.testing.fuzz.types import (
    BOOL,
    CHAR,
    FLOATS,
    INTS,
    U32,
    USIZE,
    Array,
    Bool,
    Char,
    Enum,
    Float,
    Int,
    NonZero,
    Slice,
    Tuple,
    Ty,
    option,
    result,
)
from mirgen.testing.fuzz.values import constructor, leaf

MAX_DEPTH = 4


def some_scalar(cx: Cx) -> Ty:
    """A type without parts."""
    ints: list[Ty] = list(INTS.values())
    return cx.weighted(
        [
            (7, cx.pick(ints)),
            (1, BOOL),
            (0.6, CHAR),
            (1.5, cx.pick(FLOATS)),
            (0.4, NonZero(cx.pick(list(INTS.values())))),
        ]
    )


def some_type(cx: Cx, depth: int = 2) -> Ty:
    """A type of any kind."""
    if depth == 0 or cx.chance(45):
        return some_scalar(cx)
    named: list[Ty] = [*cx.structs, *cx.enums]
    match cx.below(7):
        case 0 | 1 if named:
            return cx.pick(named)
        case 2:
            return Tuple(tuple(some_type(cx, depth - 1) for _ in range(2 + cx.below(2))))
        case 3:
            return Array(some_type(cx, depth - 1), 1 + cx.below(5))
        case 4 | 5:
            return option(some_type(cx, depth - 1))
        case 6:
            return result(some_type(cx, depth - 1), some_type(cx, depth - 1))
        case _:
            return some_scalar(cx)


def expression(cx: Cx, ty: Ty) -> Node:
    """An expression of type ``ty``."""
    if cx.depth >= MAX_DEPTH or cx.fuel <= 0 or cx.chance(15 + 10 * cx.depth):
        return leaf(cx, ty)
    cx.spend()
    cx.depth += 1
    try:
        scalars = primitive_rules(cx, ty)
        if scalars and cx.chance(62):
            return cx.weighted(scalars)(cx)
        return _general(cx, ty)(cx, ty)
    finally:
        cx.depth -= 1


def _general(cx: Cx, ty: Ty) -> Callable[[Cx, Ty], Node]:
    scalar = isinstance(ty, Int | Float | Bool | Char | NonZero)
    rules: list[tuple[float, Callable[[Cx, Ty], Node]]] = [
        (5, leaf), (0 if scalar else 8, constructor), (2, _if), (2.5, _match), (1, _block), (3, _call), (1, _indexed),
        (1, _projected), (1, _loop), (1, _unwrapped), (0.6, _dereferenced),
    ]  # fmt: skip
    if not cx.pure:
        rules.append((1, _replaced))
    if not cx.const:
        rules += [(0.8, _closure)]
    if cx.generic and not cx.const:
        rules += [(1, _method), (0.7, _generic)]
    return cx.weighted(rules)


def _if(cx: Cx, ty: Ty) -> Node:
    places = [place for place in cx.places() if isinstance(place.ty, Enum | Tuple)]
    if places and cx.chance(40):
        place = cx.pick(places)
        test = pattern(cx, place.ty, VALUE, depth=2)
        with cx.scope():
            cx.vars += test.binds
            then = cx.expr(ty)
        return expr(ty, "(if let ", test.text, " = ", place.text, " { ", then, " } else { ", cx.expr(ty), " })")
    return expr(ty, "(if ", cx.expr(BOOL), " { ", cx.expr(ty), " } else { ", cx.expr(ty), " })")


def match_arms(cx: Cx, subject: Ty, bound: str, mutable: bool, body: Callable[[], Node], *, end: str = ",") -> Node:
    """Some arms for ``subject``, the last of which always matches."""
    arms: list[Node] = []
    for _ in range(1 + cx.below(4)):
        test = pattern(cx, subject, bound, mutable=mutable, depth=2)
        with cx.scope():
            cx.vars += test.binds
            guard = text()
            if cx.chance(25):
                with cx.guard():
                    guard = text(" if ", cx.expr(BOOL))
            arms.append(text(test.text, guard, " => ", body(), end + "\n"))
        if not test.refutable and not guard.parts:
            return text(*arms)
    return text(*arms, "_ => ", body(), end + "\n")


def subject(cx: Cx) -> tuple[Node, Ty]:
    """What to look at in a ``match``: a place, or a value."""
    places = [place for place in cx.places() if not isinstance(place.ty, Float)]
    if places and cx.chance(60):
        place = cx.pick(places)
        return place.text, place.ty
    ty = cx.weighted([
        (3.0, cx.pick(list(INTS.values()))), (1, CHAR), (2, Tuple((some_scalar(cx), some_type(cx, 1)))),
        (2, option(some_type(cx, 1))),
    ])  # fmt: skip
    return cx.expr(ty), ty


def _match(cx: Cx, ty: Ty) -> Node:
    what, of = subject(cx)
    return expr(ty, "(match ", what, " {\n", match_arms(cx, of, VALUE, False, lambda: cx.expr(ty)), "})")


def _block(cx: Cx, ty: Ty) -> Node:
    with cx.scope():
        parts: list[Node] = []
        for _ in range(1 + cx.below(2)):
            of = some_type(cx, 1)
            value = cx.expr(of)
            name = cx.declare(of, mutable=cx.chance(50))
            mut = "mut " if cx.vars[-1].mutable else ""
            parts.append(text(f"let {mut}{name}: {of} = ", value, "; "))
        return expr(ty, "({ ", *parts, cx.expr(ty), " })")


def _indexed(cx: Cx, ty: Ty) -> Node:
    count = 2 + cx.below(2)
    return expr(ty, "[", joined(", ", [cx.expr(ty) for _ in range(count)]), "][", cx.expr(USIZE), f" % {count}]")


def _projected(cx: Cx, ty: Ty) -> Node:
    other = some_type(cx, 1)
    if cx.chance(50):
        return expr(ty, "(", cx.expr(ty), ", ", cx.expr(other), ").0")
    structs = [(struct, name) for struct in cx.structs for name, of in struct.fields if of == ty]
    if structs:
        struct, name = cx.pick(structs)
        return expr(ty, cx.expr(struct), f".{name}")
    return expr(ty, "(", cx.expr(other), ", ", cx.expr(ty), ").1")


def _loop(cx: Cx, ty: Ty) -> Node:
    """A loop with a value; its label may be used inside for others to come."""
    if not cx.room(30) or cx.pure:
        return leaf(cx, ty)
    label, counter = cx.fresh("'l"), cx.fresh("n")
    times = 1 + cx.below(4)
    with cx.scope(), cx.repeated(times):
        cx.vars.append(Var(U32, counter, False))
        cx.loops.append(Loop(label, ty))
        body = text("if ", cx.expr(BOOL), f" {{ break {label} ", cx.expr(ty), "; } ")
        if cx.chance(30):
            body = text(body, "if ", cx.expr(BOOL), f" {{ continue {label}; }} ")
        cx.loops.pop()
        last = cx.expr(ty)
    return expr(
        ty, f"({{ let mut {counter} = 0u32; {label}: loop {{ {counter} += 1; if {counter} > {times} {{ break ", last,
        "; } ", body, "} })",
    )  # fmt: skip


def _unwrapped(cx: Cx, ty: Ty) -> Node:
    of = option(ty) if cx.chance(60) else result(ty, some_scalar(cx))
    value = cx.expr(of)
    if cx.const or cx.chance(40):
        good, bad = ("Some(n)", "None") if of.variants[0].name == "None" else ("Ok(n)", "Err(_)")
        return expr(ty, "(match ", value, f" {{ {good} => n, {bad} => ", cx.expr(ty), " })")
    if cx.chance(30):
        return expr(
            ty,
            value,
            ".unwrap_or_else(|",
            *(() if of.variants[0].name == "None" else ("_",)),
            "| ",
            _read_only(cx, ty),
            ")",
        )
    if of.variants[0].name == "None" and cx.chance(40):
        name = cx.declare(ty, "m")
        inner = _read_only(cx, ty)
        cx.vars = [var for var in cx.vars if var.place != name]
        return expr(ty, value, ".map_or(", cx.expr(ty), f", |{name}| ", inner, ")")
    return expr(ty, value, ".unwrap_or(", cx.expr(ty), ")")


def _read_only(cx: Cx, ty: Ty) -> Node:
    """A closure's body that changes nothing, not even the hash: it borrows what others borrow."""
    with cx.guard(), cx.only([var for var in cx.vars if not var.mutable]):
        saved, cx.fuel = cx.fuel, 0
        found = leaf(cx, ty)
        cx.fuel = saved
        return found


def _dereferenced(cx: Cx, ty: Ty) -> Node:
    if cx.chance(50):
        return expr(ty, "(*&", cx.expr(ty), ")")
    places = [place for place in cx.places(ty) if not str(place.text).endswith(")")]
    if len(places) < 2:
        return leaf(cx, ty)
    first, second = cx.pick(places), cx.pick(places)
    with cx.guard():
        return expr(ty, "(*(if ", cx.expr(BOOL), " { &", first.text, " } else { &", second.text, " }))")


def _replaced(cx: Cx, ty: Ty) -> Node:
    places = cx.places(ty, mutable=True)
    if not places:
        return leaf(cx, ty)
    place = cx.pick(places)
    with cx.without([place.root]):
        value = cx.expr(ty)
    return expr(ty, "core::mem::replace(&mut ", place.text, ", ", value, ")")


def _closure(cx: Cx, ty: Ty) -> Node:
    """A closure that is called where it stands."""
    of = some_type(cx, 1)
    argument = cx.expr(of)
    with cx.scope(), cx.inside(ty):
        name = cx.declare(of, "a")
        body = cx.expr(ty)
    value = cx.fresh("a")
    closure = text(f"(|{name}: {of}, h: &mut u64| -> {ty} {{ ", body, " })")
    return expr(ty, f"({{ let {value}: {of} = ", argument, "; ", closure, f"({value}, &mut *h) }})")


# ------------------------------------------------------------------------------------------------ calls


def _call(cx: Cx, ty: Ty) -> Node:
    found = [function for function in cx.functions if function.result == ty and _may_call(cx, function)]
    if not found:
        return leaf(cx, ty)
    return call(cx, cx.pick(found))


def _may_call(cx: Cx, function: Function) -> bool:
    if not cx.room(function.cost * (4 if function.recursive else 1)):
        return False
    return not cx.pure or all(passed != "mut" for _, passed in function.params)


def callable_here(cx: Cx) -> list[Function]:
    """Functions whose cost is no matter here."""
    return [function for function in cx.functions if _may_call(cx, function)]


def call(cx: Cx, function: Function) -> Node:
    """A call; what is borrowed for writing is used by no other argument."""
    chosen: dict[int, Place] = {}
    roots: list[Var] = []
    for index, (ty, passed) in enumerate(function.params):
        if passed == "mut" and not isinstance(ty, Slice):
            with cx.without(roots):
                places = cx.places(ty, mutable=True)
            if places and cx.chance(80):
                chosen[index] = cx.pick(places)
                roots.append(chosen[index].root)
        if isinstance(ty, Slice):
            with cx.without(roots):
                places = [p for p in cx.places(mutable=passed == "mut") if isinstance(p.ty, Array) and p.ty.of == ty.of]
            if places:
                chosen[index] = cx.pick(places)
                roots.append(chosen[index].root)
    arguments: list[Node] = []
    with cx.without(roots):
        for index, (ty, passed) in enumerate(function.params):
            if index == 0 and function.recursive:
                arguments.append(text("(", cx.expr(U32), " & 3)"))
            else:
                arguments.append(_argument(cx, ty, passed, chosen.get(index)))
    cx.cost += cx.times * function.cost * (4 if function.recursive else 1)
    return expr(function.result, f"{function.name}(", *(text(argument, ", ") for argument in arguments), "&mut *h)")


def _argument(cx: Cx, ty: Ty, passed: Passed, chosen: Place | None) -> Node:
    if isinstance(ty, Slice):
        sign = "&mut " if passed == "mut" else "&"
        if chosen is None:
            return text(sign, "{ ", cx.expr(Array(ty.of, 1 + cx.below(4))), " }")
        assert isinstance(chosen.ty, Array)
        if cx.const or cx.chance(50):
            return text(sign, chosen.text)
        low = cx.below(chosen.ty.length)
        high = low + 1 + cx.below(chosen.ty.length - low)
        shown = str(chosen.text)
        base = f"({shown})" if shown.startswith("*") else shown
        return text(f"{sign}{base}[{low}..{high}]")
    if passed == "value":
        return cx.expr(ty)
    if chosen is not None:
        return text("&mut ", chosen.text)
    if passed == "ref":
        places = cx.places(ty)
        if places and cx.chance(70):
            return text("&", cx.pick(places).text)
    return text("&mut { ", cx.expr(ty), " }") if passed == "mut" else text("&", cx.expr(ty))


def _method(cx: Cx, ty: Ty) -> Node:
    """A trait's method, where one has this type."""
    traits = [one for one in cx.traits if one.result == ty and cx.room(one.cost)]
    if not traits:
        return leaf(cx, ty)
    return method(cx, cx.pick(traits))


def method(cx: Cx, trait: Trait) -> Node:
    """A call of a trait's method on something that implements it."""
    ty, of = trait.result, cx.pick(trait.implementors)
    argument = cx.expr(trait.param)
    places = cx.places(of)
    receiver = cx.pick(places).text if places else leaf(cx, of)
    cx.cost += cx.times * trait.cost
    match cx.below(4):
        case 0:
            return expr(ty, f"<{of} as {trait.name}>::{trait.method}(&", receiver, ", ", argument, ", &mut *h)")
        case 1:
            return expr(ty, f"{trait.name}::{trait.method}(&", receiver, ", ", argument, ", &mut *h)")
        case 2:
            return expr(ty, f"through_{trait.name}(&", receiver, ", ", argument, ", &mut *h)")
        case _:
            return expr(ty, "(&", receiver, f" as &dyn {trait.name}).{trait.method}(", argument, ", &mut *h)")


def _generic(cx: Cx, ty: Ty) -> Node:
    """A generic function of the prelude."""
    other = some_type(cx, 1)
    match cx.below(4):
        case 0:
            return expr(ty, "select(", cx.expr(BOOL), ", ", cx.expr(ty), ", ", cx.expr(ty), ")")
        case 1:
            return expr(ty, "second(", cx.expr(other), ", ", cx.expr(ty), ")")
        case 2:
            return expr(ty, "swapped((", cx.expr(ty), ", ", cx.expr(other), ")).1")
        case _:
            name = cx.fresh("a")
            with cx.scope(), cx.inside(ty):
                cx.vars.append(Var(ty, name, True))
                body = cx.expr(ty)
            return expr(ty, "twice(", cx.expr(ty), f", &mut *h, |mut {name}: {ty}, h: &mut u64| ", body, ")")
