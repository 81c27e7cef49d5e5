"""Loops, all of which end, and the jumps out of them."""

from __future__ import annotations

from collections.abc import Callable

from mirgen.testing.fuzz.patterns import VALUE, pattern
from mirgen.testing.fuzz.scope import Cx, Loop, Var
from mirgen.testing.fuzz.tree import Node, stmt, text
from mirgen.testing.fuzz.types import BOOL, INTS, U32, USIZE, Array, Tuple, option

Body = Callable[[Cx], Node]


def jump(cx: Cx) -> Node:
    """``break`` or ``continue``, of the innermost loop or by label."""
    loops = [loop for loop in cx.loops if loop.value is None]
    if not loops:
        return text("mix(h, 1);")
    loop = cx.pick(loops)
    word = cx.pick(["break", "continue"])
    return text(f"{word} {loop.label};")


def for_loop(cx: Cx, body: Body) -> Node:
    """``for`` over a range, or over an array in one of many ways."""
    label = cx.fresh("'l")
    arrays = [place for place in cx.places() if isinstance(place.ty, Array)]
    if arrays and cx.chance(60):
        return _over_array(cx, body, label)
    ty = cx.pick([U32, USIZE, *INTS.values()])
    count = 1 + cx.below(5)
    start = cx.below(3) - (1 if ty.signed else 0)
    head = cx.weighted([
        (4, f"{start}..{start + count}"), (2, f"{start}..={start + count - 1}"),
        (2, f"({start}..{start + count}).rev()"),
        (1, f"({start}..{start + 2 * count}).step_by(2)"), (1, f"(*h & 1) as {ty}..{count}"),
    ])  # fmt: skip
    head = head.replace("(-1)..", "-1..")
    if not head.startswith("(*h"):
        head = head.replace(f"{start}..", f"{start}{ty}..", 1)
    with cx.scope(), cx.repeated(count):
        name = cx.fresh("i")
        cx.vars.append(Var(ty, name, False))
        inner = _inside(cx, label, body)
    return stmt(f"{label}: for {name} in {head} {{\n", inner, "}")


def _inside(cx: Cx, label: str, body: Body) -> Node:
    cx.loops.append(Loop(label, None))
    try:
        return body(cx)
    finally:
        cx.loops.pop()


def _over_array(cx: Cx, body: Body, label: str) -> Node:
    arrays = [place for place in cx.places() if isinstance(place.ty, Array)]
    place = cx.pick(arrays)
    assert isinstance(place.ty, Array)
    of = place.ty.of
    shown = str(place.text)
    shown = f"({shown})" if shown.startswith("*") else shown
    name, index = cx.fresh("e"), cx.fresh("i")
    value, shared = Var(of, name, False), Var(of, f"*{name}", False)
    number = Var(USIZE, index, False)
    ways: list[tuple[float, tuple[str, str, list[Var]]]] = [
        (3, (name, f"{shown}.iter()", [shared])),
        (2, (f"&{name}", f"&{shown}", [value])),
        (2, (f"({index}, {name})", f"{shown}.iter().enumerate()", [number, shared])),
        (1, (name, f"{shown}.iter().rev()", [shared])),
        (1, (name, f"{shown}.iter().skip(1)", [shared])),
        (1, (name, f"{shown}.iter().take(2)", [shared])),
        (1, (f"({name}, {index})", f"{shown}.iter().zip(0usize..)", [shared, number])),
        (1, (name, f"{shown}.iter().copied()", [value])),
    ]
    if place.mutable:
        ways += [
            (3, (name, f"{shown}.iter_mut()", [Var(of, f"*{name}", True)])),
            (1, (f"({index}, {name})", f"{shown}.iter_mut().enumerate()", [number, Var(of, f"*{name}", True)])),
        ]
    names, head, variables = cx.weighted(ways)
    with cx.scope(), cx.repeated(place.ty.length), cx.without([place.root]):
        cx.vars += variables
        inner = _inside(cx, label, body)
    return stmt(f"{label}: for {names} in {head} {{\n", inner, "}")


def while_loop(cx: Cx, body: Body) -> Node:
    """``while``, ``while let`` or ``loop`` with a counter that no jump can go around."""
    label, counter = cx.fresh("'l"), cx.fresh("n")
    times = 1 + cx.below(5)
    head, end = f"let mut {counter} = 0u32;\n", "}"
    with cx.scope(), cx.repeated(times):
        cx.vars.append(Var(U32, counter, False))
        match cx.below(3):
            case 0:
                test = text(f"{label}: while {counter} < {times} && ", cx.expr(BOOL), f" {{\n{counter} += 1;\n")
            case 1:
                of = option(cx.pick([U32, Tuple((U32, BOOL)), *INTS.values()]))
                found = pattern(cx, of, VALUE, depth=2)
                value = cx.expr(of)
                test = text(
                    f"{label}: while let ", found.text, " = ", value,
                    f" {{\n{counter} += 1; if {counter} > {times} {{ break {label}; }}\n",
                )  # fmt: skip
                cx.vars += found.binds
            case _:
                test = text(f"{label}: loop {{\n{counter} += 1; if {counter} > {times} {{ break {label}; }}\n")
        inner = _inside(cx, label, body)
    return stmt("{\n", head, test, inner, end, "\n}")
