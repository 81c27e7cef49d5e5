"""Folding values into the hash: every bit of them, but which NaN a NaN is."""

from __future__ import annotations

from mirgen.testing.fuzz.scope import Cx
from mirgen.testing.fuzz.tree import Node, item, stmt, text
from mirgen.testing.fuzz.types import Array, Bool, Char, Enum, Float, Int, NonZero, Slice, Struct, Tuple, Ty


def fold(cx: Cx, place: str, ty: Ty) -> Node:
    """The statement that folds the value at ``place``."""
    return stmt(_folding(cx, place, ty))


def fold_function(cx: Cx, ty: Struct | Enum) -> Node:
    """The function that folds a type of the program."""
    const = "const " if cx.const else ""
    return item(f"{const}fn fold_{ty}(v: &{ty}, h: &mut u64) {{\n", _parts(cx, "(*v)", ty), "\n}")


def _folding(cx: Cx, place: str, ty: Ty) -> Node:
    if place.startswith("*"):
        place = f"({place})"
    match ty:
        case Int(bits=128):
            return text(f"mix(h, {place} as u64); mix(h, ({place} >> 64) as u64);")
        case Int() | Bool() | Char():
            return text(f"mix(h, {place} as u64);")
        case Float():
            return text(f"mix(h, bits_{ty}({place}));")
        case NonZero():
            return _folding(cx, f"{place}.get()", ty.of)
        case Struct() | Enum() if not isinstance(ty, Enum) or ty.prefix:
            return text(f"fold_{ty}(&{place}, h);")
        case _:
            return _parts(cx, place, ty)


def _parts(cx: Cx, place: str, ty: Ty) -> Node:
    match ty:
        case Tuple():
            return text(*(_folding(cx, f"{place}.{index}", of) for index, of in enumerate(ty.of)))
        case Struct():
            return text(*(_folding(cx, f"{place}.{name}", of) for name, of in ty.fields))
        case Array() if cx.const or cx.chance(50):
            index = cx.fresh("i")
            body = _folding(cx, f"{place}[{index}]", ty.of)
            return text(f"let mut {index} = 0usize; while {index} < {ty.length} {{ ", body, f" {index} += 1; }}")
        case Array():
            element = cx.fresh("e")
            return text(f"for {element} in {place}.iter() {{ ", _folding(cx, f"*{element}", ty.of), " }")
        case Enum():
            arms: list[Node] = []
            for number, variant in enumerate(ty.variants):
                names = [cx.fresh("f") for _ in variant.fields]
                folds = [_folding(cx, f"*{name}", of) for name, (_, of) in zip(names, variant.fields, strict=True)]
                if variant.named:
                    given = ", ".join(f"{of}: {name}" for name, (of, _) in zip(names, variant.fields, strict=True))
                    names_text = f" {{ {given} }}"
                else:
                    names_text = f"({', '.join(names)})" if names else ""
                arms.append(text(f"{ty.prefix}{variant.name}{names_text} => {{ mix(h, {number}); ", *folds, " }\n"))
            return text(f"match &{place} {{\n", *arms, "}")
        case Slice():
            raise ValueError("a slice is no value")
        case _:
            return _folding(cx, place, ty)
