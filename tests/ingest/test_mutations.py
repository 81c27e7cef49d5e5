"""1,000 damaged documents: each loads or raises InvalidInputError, never anything else."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from mirgen.errors import InvalidInputError
from mirgen.ingest import load_layouts, load_mir
from mirgen.mir.printer import format_bodies
from mirgen.mir.verify import find_problems

_VALUES: list[Any] = [
    None, True, 0, 1, -1, 2, 7, 99, 2**31, 2**64, -(2**70), 10**400, 1.5, "", "0x", "0xff", "u32", "9" * 5000, "\u0000",
    "\ud800", [], [0], [[1, 0]], {}, {"kind": "use"}, {"kind": "deref"}, {"local": 0, "proj": []},
]  # fmt: skip


def _nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of the document."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        items = list(enumerate(cast("list[Any]", value)))
    for key, child in items:
        yield cast("Any", value), key
        yield from _nodes(child)


def _damage(document: Any, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        nodes = list(_nodes(document))
        container, key = rng.choice(nodes)
        other, other_key = rng.choice(nodes)
        match rng.randrange(7):
            case 0:
                del container[key]
            case 1:
                container[key] = rng.choice(_VALUES)
            case 2:
                container[key] = json.loads(json.dumps(other[other_key]))
            case 3 if isinstance(container[key], int):
                container[key] += rng.choice((-1, 1, 1000))
            case 4 if isinstance(container[key], str):
                text = container[key]
                at = rng.randrange(len(text) + 1)
                container[key] = text[:at] + rng.choice(("", "x", "0", "::", "'", "<", "{", "\n")) + text[at + 1 :]
            case 5 if isinstance(container[key], list) and container[key]:
                container[key].append(json.loads(json.dumps(rng.choice(container[key]))))
            case 6 if isinstance(container[key], list):
                rng.shuffle(container[key])
            case _:
                container[rng.choice(("kind", "ty", "local", "extra")) if isinstance(container, dict) else 0] = 3


def _damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    at, end = sorted(rng.randrange(len(data)) for _ in range(2))
    match rng.randrange(4):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[end:]
        case 2:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case _:
            return data[:at] + data[at:end] * 2 + data[end:]


def _runs(document: dict[str, Any], count: int, load: Callable[[bytes], object]) -> tuple[int, int]:
    rng = random.Random(20)
    good = bad = 0
    pristine = json.dumps(document)
    for i in range(count):
        if i % 4:
            mutant = json.loads(pristine)
            _damage(mutant, rng)
            data = json.dumps(mutant).encode()
        else:
            data = _damaged_bytes(pristine.encode(), rng)
        try:
            load(data)
            good += 1
        except InvalidInputError as e:
            assert e.message and "pydantic" not in str(e) and "Traceback" not in str(e)
            bad += 1
    return good, bad


def test_mir_documents(every_construct: dict[str, Any]) -> None:
    def load(data: bytes) -> None:
        unit = load_mir(data)
        format_bodies(unit.bodies, unit.allocs, verbose=True)
        format_bodies(unit.bodies, unit.allocs)
        for body in unit.bodies:
            assert all(str(problem) for problem in find_problems(body))

    good, bad = _runs(every_construct, 1000, load)
    assert good > 50 and bad > 500


def test_layout_documents(some_layouts: dict[str, Any]) -> None:
    good, bad = _runs(some_layouts, 1000, lambda data: load_layouts(data, "t"))
    assert good > 20 and bad > 500


@pytest.mark.parametrize("depth", [100, 10_000])
def test_deep_layouts(some_layouts: dict[str, Any], depth: int) -> None:
    inner = json.dumps(some_layouts["layouts"][0]["layout"])
    whole = some_layouts["layouts"][9]
    shell = json.dumps({**whole["layout"], "variants": {**whole["layout"]["variants"], "variants": ["@"]}})
    head, tail = shell.split('"@"')
    text = json.dumps({**some_layouts, "layouts": [{**whole, "layout": "@"}]})
    text = text.replace('"@"', head * depth + inner + tail * depth)
    with pytest.raises(InvalidInputError):
        load_layouts(text.encode(), "t")
