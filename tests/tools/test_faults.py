"""Planted faults: the table fits the code, and a sample of it is caught."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from mirgen.errors import InternalError
from mirgen.testing.faults.table import FAULTS
from mirgen.testing.faults.trial import Fault, attempt, check_unbroken, planted

ROOT = Path(__file__).resolve().parents[2]
#: Each is caught by one quick file.
SAMPLE = ("niche-last", "table-slot")


def text_of(fault: Fault) -> str:
    return (ROOT / "mirgen" / fault.file).read_text()


def test_there_are_enough() -> None:
    assert len(FAULTS) >= 40
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert len({(fault.file, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_changes_the_program(fault: Fault) -> None:
    """``planted`` raises where the text to change is not there exactly once."""
    before = text_of(fault)
    assert ast.dump(ast.parse(planted(fault, before))) != ast.dump(ast.parse(before))


def test_each_is_a_mistake_of_meaning(tmp_path: Path) -> None:
    """A name that does not exist would be caught by anything."""
    for fault in FAULTS:
        (tmp_path / f"{fault.name.replace('-', '_')}.py").write_text(planted(fault, text_of(fault)))
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F821,F822,F823"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_names_tests_of_the_suite() -> None:
    for test in {test for fault in FAULTS for test in fault.tests}:
        file, _, name = test.partition("[")[0].partition("::")
        tree = ast.parse((ROOT / file).read_text())
        assert not name or name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test


@pytest.mark.parametrize("text", ["a = 1\n", "a = 2\nb = 2\n"])
def test_a_fault_that_does_not_fit_is_an_error(text: str) -> None:
    with pytest.raises(InternalError, match="`gone`: its text stands"):
        planted(Fault("gone", "lower/arith.py", " = 2", " = 3", "", ()), text)


@pytest.mark.slow
def test_a_sample_is_caught() -> None:
    faults = [fault for fault in FAULTS if fault.name in SAMPLE]
    assert len(faults) == len(SAMPLE)
    check_unbroken(ROOT, list({fault.tests[0] for fault in faults}))
    assert [verdict.fault for fault in faults if not (verdict := attempt(ROOT, fault)).caught_by] == []


@pytest.mark.slow
def test_what_no_test_sees_survives() -> None:
    """Documentation breaks nothing."""
    harmless = Fault(
        "harmless", "lower/ops/shift.py", '"""``x << by``."""', '"""."""', "", ("tests/mir/test_names.py",)
    )
    assert attempt(ROOT, harmless).caught_by == ""
