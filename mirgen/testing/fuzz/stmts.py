"""Statements: bindings, assignments, branches, borrows, and the hash that makes their effects visible."""

from __future__ import annotations

from collections.abc import Callable

from mirgen.testing.fuzz.drops import dropping
from mirgen.testing.fuzz.exprs import call, callable_here, match_arms, method, some_scalar, some_type
from mirgen.testing.fuzz.folds import fold
from mirgen.testing.fuzz.loops import for_loop, jump, while_loop
from mirgen.testing.fuzz.patterns import REFERENCE, VALUE, pattern, slice_pattern
from mirgen.testing.fuzz.scope import Cx, Place, Var
from mirgen.testing.fuzz.tree import Node, stmt, text
from mirgen.testing.fuzz.types import BOOL, U64, Array, Bool, Enum, Float, Int, Slice, Struct, Tuple, option, result


def block(cx: Cx, most: int) -> Node:
    """Statements in a scope of their own."""
    with cx.scope():
        return text(*(statement(cx) for _ in range(1 + cx.below(most))))


def statement(cx: Cx) -> Node:
    """One statement, or a few that belong together."""
    if cx.fuel <= 0:
        return _folded(cx)
    cx.spend()
    nested = len(cx.loops) < 2 and cx.depth < 3
    rules: list[tuple[float, Callable[[Cx], Node]]] = [
        (7, _let), (2, _destructured), (5, _assigned), (3, _operated), (4, _folded), (2.5, _called), (1, _left),
        (0.7, _swapped), (1.2, _tried), (0.4, _panicking),
    ]  # fmt: skip
    if cx.traits:
        rules.append((2.5, _asked))
    if nested:
        rules += [(3, _if), (3, _match), (2, _borrowed), (2.5, _repeating), (1, _slices)]
        if not cx.const:
            rules += [(1.5, _closure), (1, dropping(block))]
    return cx.weighted(rules)(cx)


def _nested(cx: Cx, most: int = 3) -> Node:
    """A block further in."""
    cx.depth += 1
    try:
        return block(cx, most)
    finally:
        cx.depth -= 1


def _let(cx: Cx) -> Node:
    ty = some_type(cx)
    value = cx.expr(ty)
    mutable = cx.chance(65)
    name = cx.declare(ty, mutable=mutable)
    return stmt(f"let {'mut ' if mutable else ''}{name}: {ty} = ", value, ";")


def _destructured(cx: Cx) -> Node:
    """A pattern that always matches, or ``let .. else``."""
    places = [place for place in cx.places() if isinstance(place.ty, Tuple | Array | Struct | Enum)]
    if places and cx.chance(70):
        place = cx.pick(places)
        value, ty = place.text, place.ty
    else:
        ty = cx.pick(
            [
                Tuple((some_type(cx, 1), some_scalar(cx))),
                Array(some_scalar(cx), 2 + cx.below(3)),
                option(some_scalar(cx)),
            ]
        )
        value = cx.expr(ty)
    test = pattern(cx, ty, VALUE, depth=3)
    if not test.refutable:
        made = stmt("let ", test.text, f": {ty} = ", value, ";")
    else:
        otherwise = _diverging(cx)
        if otherwise is None:
            return _folded(cx)
        made = stmt("let ", test.text, f": {ty} = ", value, " else { ", otherwise, " };")
    cx.vars += test.binds
    return made


def _diverging(cx: Cx) -> Node | None:
    """Something that ends here."""
    if cx.loops and cx.chance(60):
        return jump(cx)
    if cx.returns is None:
        return None
    return text("return ", cx.expr(cx.returns), ";")


def _assigned(cx: Cx) -> Node:
    places = cx.places(mutable=True)
    if not places:
        return _let(cx)
    place = cx.pick(places)
    return stmt(place.text, " = ", cx.expr(place.ty), ";")


def _operated(cx: Cx) -> Node:
    places = [place for place in cx.places(mutable=True) if isinstance(place.ty, Int | Float | Bool)]
    if not places:
        return _folded(cx)
    place = cx.pick(places)
    match place.ty:
        case Int() as ty:
            if cx.chance(20):
                operator = cx.pick(["+=", "-=", "*="])
                return stmt(place.text, f" {operator} (", cx.expr(ty), f" & {cx.pick([1, 3])});")
            if cx.chance(30):
                return stmt(place.text, f" {cx.pick(['<<=', '>>='])} ", cx.expr(ty), f" & {min(ty.bits - 1, ty.high)};")
            return stmt(place.text, f" {cx.pick(['^=', '&=', '|='])} ", cx.expr(ty), ";")
        case Float() as ty:
            return stmt(place.text, f" {cx.pick(['+=', '-=', '*=', '/='])} ", cx.expr(ty), ";")
        case _:
            return stmt(place.text, f" {cx.pick(['^=', '&=', '|='])} ", cx.expr(BOOL), ";")


def _folded(cx: Cx) -> Node:
    places = cx.places()
    if not places:
        return stmt("{ let m = ", cx.expr(U64), "; mix(h, m); }")
    place = cx.pick(places)
    return fold(cx, str(place.text), place.ty)


def _called(cx: Cx) -> Node:
    found = callable_here(cx)
    if not found:
        return _assigned(cx)
    function = cx.pick(found)
    name = cx.fresh("v")
    made = stmt(f"let mut {name}: {function.result} = ", call(cx, function), ";")
    cx.vars.append(Var(function.result, name, True))
    return made


def _asked(cx: Cx) -> Node:
    """A trait's method."""
    traits = [one for one in cx.traits if cx.room(one.cost)]
    if not traits:
        return _called(cx)
    trait = cx.pick(traits)
    name = cx.fresh("v")
    made = stmt(f"let mut {name}: {trait.result} = ", method(cx, trait), ";")
    cx.vars.append(Var(trait.result, name, True))
    return made


def _left(cx: Cx) -> Node:
    """Perhaps a jump or a return."""
    if cx.loops:
        return stmt("if ", cx.expr(BOOL), " { ", jump(cx), " }")
    if cx.returns is None or not cx.chance(40):
        return _folded(cx)
    return stmt("if ", cx.expr(BOOL), " & (*h & 3 == 0) { return ", cx.expr(cx.returns), "; }")


def _swapped(cx: Cx) -> Node:
    places = cx.places(mutable=True)
    if not places:
        return _let(cx)
    first = cx.pick(places)
    others = [place for place in places if place.ty == first.ty and place.root is not first.root]
    if not others:
        return _assigned(cx)
    return stmt("core::mem::swap(&mut ", first.text, ", &mut ", cx.pick(others).text, ");")


def _tried(cx: Cx) -> Node:
    """``?``, where the function gives what it takes."""
    returns = cx.returns
    if not isinstance(returns, Enum) or returns.prefix or cx.const:
        return _assigned(cx)
    ty = some_scalar(cx)
    of = option(ty)
    if returns.variants[0].name == "Ok":
        of = result(ty, returns.variants[1].fields[0][1])
    value = cx.expr(of)
    name = cx.declare(ty, mutable=True)
    return stmt(f"let mut {name}: {ty} = ", value, "?;")


def _panicking(cx: Cx) -> Node:
    """A panic on purpose, which seldom comes to pass."""
    test = f"*h & 0x1ff == {cx.below(512)}"
    match cx.below(3):
        case 0:
            return stmt(f'if {test} {{ panic!("reached {cx.below(100)}"); }}')
        case 1:
            return stmt(f"assert!(!({test}));")
        case _:
            return stmt(f"if {test} {{ unreachable!(); }}")


def _if(cx: Cx) -> Node:
    parts: list[str | Node] = []
    for index in range(1 + (cx.chance(25))):
        places = [place for place in cx.places() if isinstance(place.ty, Enum | Tuple)]
        parts.append(" else if " if index else "if ")
        if places and cx.chance(45):
            place = cx.pick(places)
            sign = "&mut " if place.mutable and cx.chance(60) else "&" if cx.chance(50) else ""
            bound = REFERENCE if sign else VALUE
            test = pattern(cx, place.ty, bound, mutable=sign == "&mut ", depth=2)
            hidden = [place.root] if sign else []
            with cx.scope(), cx.without(hidden):
                cx.vars += test.binds
                body = _nested(cx)
            parts += ["let ", test.text, f" = {sign}", place.text, " {\n", body, "}"]
        else:
            parts += [cx.expr(BOOL), " {\n", _nested(cx), "}"]
    if cx.chance(60):
        parts += [" else {\n", _nested(cx), "}"]
    return stmt(*parts)


def _match(cx: Cx) -> Node:
    """Arms that may change what they look at."""
    places = [place for place in cx.places() if not isinstance(place.ty, Float)]
    if not places:
        return _if(cx)
    enums = [place for place in places if isinstance(place.ty, Enum)]
    place = cx.pick(enums) if enums and cx.chance(60) else cx.pick(places)
    sign = "&mut " if place.mutable and cx.chance(50) else "&" if cx.chance(30) else ""
    with cx.without([place.root] if sign else []):
        arms = match_arms(
            cx, place.ty, REFERENCE if sign else VALUE, sign == "&mut ",
            lambda: text("{\n", _nested(cx, 2), "}"), end="",
        )  # fmt: skip
    return stmt(f"match {sign}", place.text, " {\n", arms, "}")


def _borrowed(cx: Cx) -> Node:
    """A reference that lives through a block."""
    mutable = cx.chance(65)
    places = cx.places(mutable=mutable)
    places = [place for place in places if not str(place.text).endswith(")")]
    if not places:
        return _let(cx)
    place = cx.pick(places)
    name = cx.fresh("r")
    with cx.scope():
        hold = cx.without([place.root]) if mutable else cx.frozen([place.root])
        with hold:
            cx.vars.append(Var(place.ty, f"*{name}", mutable))
            if mutable and cx.chance(30):
                # A reference to the reference.
                cx.vars.pop()
                outer = cx.fresh("r")
                cx.vars.append(Var(place.ty, f"**{outer}", True))
                head = text(f"let mut {name} = &mut ", place.text, f"; let {outer} = &mut {name};\n")
            else:
                head = text(f"let {name} = {'&mut ' if mutable else '&'}", place.text, ";\n")
            body = _nested(cx)
    return stmt("{\n", head, body, "}")


def _repeating(cx: Cx) -> Node:
    return for_loop(cx, _nested) if cx.chance(60) and not cx.const else while_loop(cx, _nested)


def _slices(cx: Cx) -> Node:
    """A part of an array by reference, taken apart by its pattern."""
    mutable = cx.chance(50)
    arrays = [
        place
        for place in cx.places(mutable=mutable)
        if isinstance(place.ty, Array) and not isinstance(place.ty.of, Float)
    ]
    if not arrays:
        return _destructured(cx)
    place = cx.pick(arrays)
    assert isinstance(place.ty, Array)
    name = cx.fresh("s")
    sign = "&mut " if mutable else "&"
    part = _range(cx, place) if not cx.const else ""
    arms: list[Node] = []
    with cx.scope(), cx.without([place.root]):
        for _ in range(1 + cx.below(3)):
            test = slice_pattern(cx, place.ty.of, mutable=mutable)
            with cx.scope():
                cx.vars += test.binds
                arms.append(text(test.text, " => {\n", _nested(cx, 2), "}\n"))
            if not test.refutable:
                break
        else:
            arms.append(text("_ => {\n", _nested(cx, 1), "}\n"))
    shown = str(place.text)
    base = f"({shown})" if shown.startswith("*") else shown
    head = f"let {name}: {sign}{Slice(place.ty.of)} = {sign}{base}{part};\n"
    return stmt("{\n", head, f"match {name} {{\n", *arms, "}\n}")


def _range(cx: Cx, place: Place) -> str:
    assert isinstance(place.ty, Array)
    low = cx.below(place.ty.length)
    high = low + cx.below(place.ty.length - low + 1)
    return cx.pick(
        ["", f"[{low}..]", f"[..{high}]", f"[{low}..{high}]", f"[..={low}]", f"[(*h as usize) % {place.ty.length}..]"]
    )


def _closure(cx: Cx) -> Node:
    """A closure with a name, called a few times while others may look at what it holds, or not."""
    how = cx.pick(["shared", "unique", "moved"])
    ty, of = some_type(cx, 1), some_type(cx, 1)
    held = [var for var in cx.vars if not isinstance(var.ty, Slice) and cx.chance(60)]
    if how == "moved":
        held = [var for var in held if var.place.isidentifier()]
    name = cx.fresh("c")
    inner = held if how == "unique" else [Var(var.ty, var.place, False) for var in held]
    with cx.only(inner), cx.inside(ty):
        argument = cx.declare(of, "a")
        body = text(block(cx, 2) if cx.chance(50) else text(), cx.expr(ty), "\n")
    changes = [var for var in held if var.mutable] if how == "unique" else []
    word = "move " if how == "moved" else ""
    head = f"let mut {name} = {word}|{argument}: {of}, h: &mut u64| -> {ty} {{\n"
    frozen = held if how == "shared" else [var for var in held if not var.mutable]
    with cx.scope(), cx.without(changes), cx.frozen(frozen):
        calls: list[Node] = []
        for _ in range(1 + cx.below(2)):
            value = cx.expr(of)
            found = cx.fresh("v")
            how_called = f"{name}(" if not cx.generic or cx.chance(70) else f"call_object(&mut {name}, "
            calls.append(stmt(f"let {found}: {ty} = {how_called}", value, ", &mut *h);"))
            cx.vars.append(Var(ty, found, False))
            calls.append(fold(cx, found, ty))
            if cx.chance(40):
                calls.append(statement(cx))
    return stmt("{\n", head, body, "};\n", *calls, "}")
