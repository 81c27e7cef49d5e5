"""The table of constructs: it is whole, it is up to date, and its tests reach what their rows say."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from mirgen import intrinsics
from mirgen.diagnostics import CODES
from mirgen.lower.ops import compare
from mirgen.lower.panic_text import ASSERTS
from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir import ty as t
from mirgen.testing.constructs import GROUPS, IMPOSSIBLE, LOWERED, SECTIONS, document

ROOT = Path(__file__).resolve().parents[2]
ROWS = [row for rows in SECTIONS.values() for row in rows]


def names(union: object) -> set[str]:
    """The classes of a union."""
    return {member.__name__ for member in get_args(union)}


def patterns(file: str, *functions: str) -> Iterator[str]:
    """The strings that functions of the lowering match against."""
    tree = ast.parse((ROOT / "mirgen" / "lower" / file).read_text())
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name in functions:
            for node in ast.walk(function):
                if isinstance(node, ast.MatchValue) and isinstance(node.value, ast.Constant):
                    yield str(node.value.value)


def operators() -> set[str]:
    """Those that ``arith.py`` matches, and those that it has in tables."""
    matched = {*patterns("arith.py", "_int_binary", "_bitwise", "lower_unary")}
    listed = {*compare.PREDICATES, *get_args(get_type_hints(r.UnaryOp)["op"])}
    return {*matched, *listed, "AddWithOverflow", "SubWithOverflow", "MulWithOverflow", "Offset"}


def casts() -> set[str]:
    plain = {*patterns("cast.py", "lower_cast")}
    return {*plain, *(f"PointerCoercion({kind})" for kind in patterns("cast.py", "_coerce")), "Cast"}


def types() -> set[str]:
    return names(t.Ty) - {"FloatTy"} | {"f16", "f32", "f64", "f128"}


def groups() -> set[str]:
    return {f"intrinsics of {group.__name__.rpartition('.')[2]}.py" for group in GROUPS} | {"simd intrinsics"}


EXPECTED = {
    "Statements": names(s.Statement),
    "Terminators": names(s.Terminator),
    "Places": names(p.Projection),
    "Operands": names(p.Operand),
    "Constants": names(p.Const),
    "What constants point at": names(m.Alloc),
    "Values": names(r.Rvalue),
    "Operators": operators(),
    "Casts": casts(),
    "Assertions": {*ASSERTS},
    "Types": types(),
    "Intrinsics": groups(),
}


@pytest.mark.parametrize("title", EXPECTED)
def test_every_construct_has_its_row(title: str) -> None:
    assert {row.construct for row in SECTIONS[title]} == EXPECTED[title]


def test_there_is_no_other_section() -> None:
    assert list(EXPECTED) == list(SECTIONS)


def test_every_file_of_intrinsics_is_a_group() -> None:
    """Those with a table."""
    found = {
        file.stem
        for file in Path(intrinsics.__file__).parent.glob("*.py")
        if any(isinstance(node, ast.FunctionDef) and node.name == "table" for node in ast.parse(file.read_text()).body)
    }
    assert found == {group.__name__.rpartition(".")[2] for group in GROUPS}


def test_codes_are_codes() -> None:
    assert {row.end for row in ROWS} - {LOWERED, IMPOSSIBLE} <= {*CODES}


def test_the_page_is_up_to_date() -> None:
    page = ROOT / "docs" / "constructs.md"
    assert page.read_text() == document(), "run: python -m mirgen.testing.constructs > docs/constructs.md"


@pytest.mark.slow
def test_tests_reach_what_their_rows_say(tmp_path: Path) -> None:
    """All of them run once more, and the lowering notes what it is given."""
    out = tmp_path / "reached.json"
    tests = sorted({f"tests/{row.test}" for row in ROWS})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.docs.reached"]
    done = subprocess.run([*command, "--reached", str(out), *tests], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    reached: dict[str, dict[str, list[str]]] = json.loads(out.read_text())
    missed = [
        f"{row.test} does not bring `{row.construct}` to end as {row.end}"
        for row in ROWS
        if row.end not in reached.get(f"tests/{row.test}", {}).get(row.construct, ())
    ]
    assert not missed, "\n".join(missed)
