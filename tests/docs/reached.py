"""A plugin of pytest: which constructs of MIR each test brings to the lowering, and how that ended.

``python -m pytest -p tests.docs.reached --reached FILE ..`` writes JSON: for each test the constructs of every
statement and terminator that was lowered, each with how that ended (:class:`mirgen.testing.constructs.Row`).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ParamSpec

import pytest

from mirgen.errors import UnsupportedError
from mirgen.lower import function, module
from mirgen.lower.context import FunctionContext, ModuleContext
from mirgen.mir.body import Body, FnKey
from mirgen.mir.statement import Statement, Terminator
from mirgen.testing.constructs import IMPOSSIBLE, LOWERED, alloc_constructs, constructs_of, type_constructs

_seen: dict[str, dict[str, set[str]]] = {}
_running: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reached", type=Path, required=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    _running[:] = [item.nodeid.partition("[")[0]]


def pytest_sessionfinish(session: pytest.Session) -> None:
    found = {
        test: {construct: sorted(ends) for construct, ends in sorted(constructs.items())}
        for test, constructs in _seen.items()
    }
    Path(str(session.config.getoption("--reached"))).write_text(json.dumps(found, indent=1))


P = ParamSpec("P")


def _recorded(lower: Callable[P, None], held: Callable[..., Iterable[str]]) -> Callable[P, None]:
    """``lower``, with a note of what is ``held`` in its arguments and how it ended."""

    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        ends = [IMPOSSIBLE]
        try:
            lower(*args, **kwargs)
            ends = [LOWERED]
        except UnsupportedError as error:
            ends = [diagnostic.code for diagnostic in error.diagnostics]
            raise
        finally:
            seen = _seen.setdefault(_running[0], {})
            for name in held(*args, **kwargs):
                seen.setdefault(name, set()).update(ends)

    return wrapper


def _in_statement(fx: FunctionContext, part: Statement | Terminator) -> set[str]:
    """What the text of a statement shows, the types of its locals, and what its constants point at."""
    names = {*constructs_of(part)}
    for local in _numbers(part, "local"):
        names.update(type_constructs(fx.body.locals[local].ty))
    for alloc in _numbers(part, "alloc"):
        names.update(alloc_constructs(fx.cx.program, alloc))
    return names


def _in_body(cx: ModuleContext, key: FnKey, body: Body, *rest: object) -> set[str]:
    """The types of a body's locals: one without a layout ends the body before its first statement."""
    del cx, key, rest
    return {name for local in body.locals for name in type_constructs(local.ty)}


def _numbers(part: object, called: str) -> Iterator[int]:
    """The fields of this name, wherever they are."""
    if not dataclasses.is_dataclass(part):
        return
    for field in dataclasses.fields(part):
        value: Any = getattr(part, field.name)
        for each in value if isinstance(value, tuple) else (value,):  # pyright: ignore[reportUnknownVariableType]
            if field.name == called and isinstance(each, int):
                yield each
            else:
                yield from _numbers(each, called)  # pyright: ignore[reportUnknownArgumentType]


function.lower_statement = _recorded(function.lower_statement, _in_statement)
function.lower_terminator = _recorded(function.lower_terminator, _in_statement)
module.lower_body = _recorded(module.lower_body, _in_body)
