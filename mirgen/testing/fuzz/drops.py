"""Values with ``Drop``: each writes its number into a log when it goes, so that when and whether it goes is seen."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from mirgen.testing.fuzz.scope import Cx
from mirgen.testing.fuzz.tree import Node, stmt, text
from mirgen.testing.fuzz.types import BOOL, U32


def dropping(block: Callable[[Cx, int], Node]) -> Callable[[Cx], Node]:
    """The rule for a block in which such values live; ``block`` makes what stands between."""

    def made(cx: Cx) -> Node:
        log, values = cx.fresh("log"), [cx.fresh("d") for _ in range(1 + cx.below(3))]
        parts: list[Node] = []
        moved: set[str] = set()
        stays = cx.inside(None) if cx.chance(60) else contextlib.nullcontext()
        with stays, cx.scope():
            for name in values:
                parts.append(_new(cx, log, name))
                if cx.chance(50):
                    parts.append(_step(cx, log, values[: values.index(name) + 1], moved))
                if cx.chance(40):
                    cx.depth += 1
                    parts.append(block(cx, 2))
                    cx.depth -= 1
        return stmt(f"let {log} = core::cell::Cell::new(*h);\n{{\n", *parts, f"}}\nmix(h, {log}.get());")

    return made


def _new(cx: Cx, log: str, name: str) -> Node:
    number = text(cx.expr(U32))
    return stmt(f"let mut {name} = Noted::new(&{log}, ", number, ");")


def _step(cx: Cx, log: str, values: list[str], moved: set[str]) -> Node:
    """Something that moves a value, or not."""
    free = [value for value in values if value not in moved]
    if not free:
        return text()
    value = cx.pick(free)
    match cx.below(7):
        case 0:
            moved.add(value)
            return stmt("if ", cx.expr(BOOL), f" {{ drop({value}); }}")
        case 1:
            if cx.chance(30):
                return stmt(f"let _ = {value};")
            moved.add(value)
            return stmt(f"drop({value});")
        case 2:
            return stmt(f"{value} = Noted::new(&{log}, ", cx.expr(U32), ");")
        case 3:
            moved.add(value)
            other = cx.fresh("d")
            return stmt(f"let {other} = if ", cx.expr(BOOL), f" {{ Some({value}) }} else {{ None }};")
        case 4:
            moved.add(value)
            other = cx.fresh("d")
            return stmt(f"let {other} = ({value}, Noted::new(&{log}, ", cx.expr(U32), "));")
        case 5:
            moved.add(value)
            other = cx.fresh("d")
            first = cx.fresh("d")
            return stmt(
                f"let {other} = [{value}, Noted::new(&{log}, ", cx.expr(U32), f")]; let [{first}, _] = {other};"
            )
        case _:
            return stmt(f"{value}.number ^= ", cx.expr(U32), ";")
