"""The items of a random program: types, functions, traits with their implementations, and the entry."""

from __future__ import annotations

from mirgen.testing.fuzz.exprs import call, some_scalar, some_type
from mirgen.testing.fuzz.folds import fold, fold_function
from mirgen.testing.fuzz.scope import Cx, Function, Passed, Trait, Var
from mirgen.testing.fuzz.stmts import block, statement
from mirgen.testing.fuzz.tree import Node, item, text
from mirgen.testing.fuzz.types import (
    INTS,
    U32,
    U64,
    Enum,
    Slice,
    Struct,
    Ty,
    Variant,
    comparable,
    declaration,
    option,
    result,
)

_INLINE = ((4, "#[inline(never)]\n"), (4, ""), (1, "#[inline]\n"), (1, "#[inline(always)]\n"))


def types(cx: Cx) -> list[Node]:
    """Structs and enums, with what folds them."""
    found: list[Node] = []
    for _ in range(1 + cx.below(2)):
        struct = _struct(cx)
        found += [item(declaration(struct)), fold_function(cx, struct)]
        cx.structs.append(struct)
    for _ in range(1 + cx.below(2)):
        enum = _enum(cx)
        found += [item(declaration(enum)), fold_function(cx, enum)]
        cx.enums.append(enum)
    return found


def _struct(cx: Cx) -> Struct:
    named = cx.chance(70)
    fields = tuple((f"f{index}" if named else str(index), some_type(cx, 1)) for index in range(1 + cx.below(4)))
    attributes = cx.weighted([(6, ""), (1, "#[repr(C)]\n"), (0.5, "#[repr(align(16))]\n")])
    equal = all(comparable(ty) for _, ty in fields) and cx.chance(60)
    return Struct(cx.fresh("S"), fields, named, attributes, equal)


def _enum(cx: Cx) -> Enum:
    name = cx.fresh("E")
    if cx.chance(35):
        # No payloads, perhaps discriminants of its own.
        given, attributes, next_one = cx.chance(60), "", 0
        if given:
            ty = cx.pick([INTS[word] for word in ("u8", "i8", "i16", "u32", "i64")])
            attributes = f"#[repr({ty})]\n"
            next_one = -cx.below(40) if ty.signed else cx.below(9)
        variants: list[Variant] = []
        for index in range(2 + cx.below(4)):
            variants.append(Variant(f"V{index}", (), False, next_one if given else None))
            next_one += 1 + cx.below(20)
        return Enum(name, f"{name}::", tuple(variants), attributes, cx.chance(60))
    variants = []
    for index in range(1 + cx.below(4)):
        named = cx.chance(40)
        count = cx.below(3)
        fields = tuple((f"g{at}" if named else str(at), some_type(cx, 1)) for at in range(count))
        variants.append(Variant(f"V{index}", fields, named and count > 0))
    equal = all(comparable(ty) for variant in variants for _, ty in variant.fields) and cx.chance(50)
    attributes = cx.weighted([(6, ""), (1, "#[repr(u8)]\n"), (0.5, "#[repr(C)]\n")])
    return Enum(name, f"{name}::", tuple(variants), attributes, equal)


def constant(cx: Cx) -> tuple[Node, Var]:
    """A constant or static that rustc computes, and how it is read."""
    ty = some_type(cx, 3)
    before = cx.const, cx.calm, cx.functions
    cx.const, cx.calm, cx.functions, cx.fuel = True, True, [], 25
    seed = cx.rng.getrandbits(64)
    with cx.only([]), cx.inside(None):
        value = cx.expr(ty)
    cx.const, cx.calm, cx.functions = before
    word = "const" if before[0] or cx.chance(50) else "static"
    name = cx.fresh("K")
    made = item(f"{word} {name}: {ty} = {{ let mut hash = {seed}u64; let h = &mut hash; ", value, " };")
    return made, Var(ty, name, False)


def _parameters(cx: Cx) -> tuple[tuple[tuple[Ty, Passed], ...], list[str]]:
    """Parameters, put into scope, and how they are declared."""
    params: list[tuple[Ty, Passed]] = []
    words: list[str] = []
    for _ in range(cx.below(4)):
        passed: Passed = cx.weighted([(4, "value"), (2, "ref"), (2, "mut")])
        ty: Ty = some_type(cx)
        if passed != "value" and cx.chance(35):
            ty = Slice(some_scalar(cx))
        name = cx.fresh("p")
        if passed == "value":
            mutable = cx.chance(40)
            cx.vars.append(Var(ty, name, mutable))
            words.append(f"{'mut ' if mutable else ''}{name}: {ty}")
        else:
            place = name if isinstance(ty, Slice) else f"*{name}"
            cx.vars.append(Var(ty, place, passed == "mut"))
            words.append(f"{name}: &{'mut ' if passed == 'mut' else ''}{ty}")
        params.append((ty, passed))
    return tuple(params), words


def _result(cx: Cx) -> Ty:
    if cx.chance(25):
        return option(some_scalar(cx)) if cx.chance(60) else result(some_type(cx, 1), some_scalar(cx))
    return some_type(cx)


def function(cx: Cx, fuel: int) -> Node:
    """A function that those after it may call; some call themselves."""
    name, ty = cx.fresh("fn_"), _result(cx)
    recursive = cx.chance(15)
    cx.fuel, cx.times, cx.cost = fuel, 1, 0
    with cx.only(cx.constants), cx.inside(ty):
        params, words = _parameters(cx)
        parts: list[Node] = []
        if recursive:
            words = ["left: u32", *words]
            parts.append(text("if left == 0 { return ", cx.expr(ty), "; }\n"))
            parts.append(block(cx, 3))
            parts.append(_again(cx, Function(name, params, ty, 1)))
        while cx.fuel > 0:
            parts.append(statement(cx))
        cx.fuel = 12
        parts.append(text(cx.expr(ty), "\n"))
    const = "const " if cx.const else ""
    head = f"{cx.weighted(_INLINE)}{const}fn {name}({', '.join([*words, 'h: &mut u64'])}) -> {ty} {{\n"
    left: tuple[tuple[Ty, Passed], ...] = ((U32, "value"),) if recursive else ()
    cx.functions.append(Function(name, (*left, *params), ty, cx.cost, recursive))
    return item(head, *parts, "}")


def _again(cx: Cx, function: Function) -> Node:
    """The call of itself, with one less."""
    _, *inner = call(cx, function).parts
    found = cx.fresh("v")
    cx.vars.append(Var(function.result, found, True))
    return text(f"let mut {found}: {function.result} = {function.name}(left - 1, ", *inner, ";\n")


def trait(cx: Cx, fuel: int) -> list[Node]:
    """A trait, some that implement it, a generic function over it."""
    name, method = cx.fresh("T"), cx.fresh("m")
    param, ty = some_scalar(cx), some_type(cx, 1)
    candidates: list[Ty] = [*cx.structs, *cx.enums, INTS["u16"], INTS["i64"]]
    implementors = tuple(dict.fromkeys(cx.pick(candidates) for _ in range(1 + cx.below(3))))
    head = f"fn {method}(&self, k: {param}, h: &mut u64) -> {ty}"
    found: list[Node] = []
    most = 0

    def body(self_type: Ty | None) -> Node:
        nonlocal most
        cx.fuel, cx.times, cx.cost = fuel, 1, 0
        own = [] if self_type is None else [Var(self_type, "*self", False)]
        with cx.only([*cx.constants, *own, Var(param, "k", False)]), cx.inside(ty):
            parts = [statement(cx) for _ in range(1 + cx.below(2))]
            cx.fuel = max(cx.fuel, 5)
            parts.append(text(cx.expr(ty), "\n"))
        most = max(most, cx.cost)
        return text(*parts)

    default = cx.chance(40)
    if default:
        found.append(item(f"trait {name} {{ {head} {{\n", body(None), "} }"))
    else:
        found.append(item(f"trait {name} {{ {head}; }}"))
    for number, of in enumerate(implementors):
        if default and number == 0:
            found.append(item(f"impl {name} for {of} {{}}"))
        else:
            found.append(item(f"impl {name} for {of} {{ {head} {{\n", body(of), "} }"))
    inline = cx.weighted([(3, ""), (1, "#[inline(never)]\n")])
    generic = f"{inline}fn through_{name}<A: {name}>(a: &A, k: {param}, h: &mut u64) -> {ty} {{ a.{method}(k, h) }}"
    found.append(item(generic))
    cx.traits.append(Trait(name, method, param, ty, implementors, most))
    return found


def entry(cx: Cx, fuel: int) -> Node:
    """``run``, which no program lacks: from one number to the hash of everything that was seen on the way."""
    cx.fuel, cx.times, cx.cost = fuel, 1, 0
    seed = cx.rng.getrandbits(64)
    with cx.only([*cx.constants, Var(U64, "x", False)]), cx.inside(U64):
        parts: list[Node] = []
        while cx.fuel > 0:
            parts.append(statement(cx))
        rest = [fold(cx, var.place, var.ty) for var in cx.vars if not isinstance(var.ty, Slice)]
    const = "const " if cx.const else ""
    head = f"#[inline(never)]\npub {const}fn run(x: u64) -> u64 {{\nlet mut hash = x ^ {seed};\nlet h = &mut hash;\n"
    return text(head, *parts, *rest, "hash\n}\n")
