"""Random programs: the same for the same seed, all of them Rust, equal in all lanes; and a fault does not go unseen."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from llvmlite import ir

from mirgen.errors import Diagnostic, InternalError, Location, ToolError, UnsupportedError
from mirgen.lower.ops import compare
from mirgen.testing.fuzz.campaign import written
from mirgen.testing.fuzz.generator import ALIKE, Program, generate
from mirgen.testing.fuzz.native import Panicked, Value, run_native
from mirgen.testing.fuzz.runner import Setup, blamed_by, examine, fault_of, inputs_of
from mirgen.testing.fuzz.shrink import applied, edits, shrink
from mirgen.testing.lanes import find_lanes

ROOT = Path(__file__).resolve().parents[2]
LANE = next(iter(lane for lane in find_lanes() if lane.target == "host"), None)
with_rustc = pytest.mark.skipif(LANE is None, reason="no rustc from 1.95 on")
slow = pytest.mark.slow
#: Seeds whose programs have generics, and some whose have none.
GENERIC, PLAIN = range(4 * ALIKE, 4 * ALIKE + 8), range(ALIKE, ALIKE + 12)


def setup(folder: Path, profile: str) -> Setup:
    assert LANE is not None
    return Setup(LANE, "dev" if profile == "dev" else "release", folder)


# ------------------------------------------------------------------------------------------------ the generator


def test_a_seed_has_one_program() -> None:
    script = "from mirgen.testing.fuzz.generator import generate; print(generate(7).source, end='')"
    env = {**os.environ, "PYTHONHASHSEED": "1"}
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, check=True)
    assert generate(7).source == other.stdout
    assert len({generate(seed).source for seed in range(40)}) == 40


def test_programs_are_rich() -> None:
    """Whatever a program may contain stands in some."""
    text = "".join(generate(seed).source for seed in (*range(150), *range(4 * ALIKE, 4 * ALIKE + 150)))
    for part in (
        "i128", "u128", "isize", "usize", "f32", "f64", "char", "bool", "NonZero", "Option<", "Result<", "#[repr(",
        "&mut ", "for ", "while ", "while let ", "loop {", "break 'l", "continue 'l", "match ", "if let ", " @ ", "..=",
        " | ", "let Some", "wrapping_", "checked_", "saturating_", "overflowing_", " << ", " as ", "trait ", "dyn ",
        "#[inline(never)]", "left - 1", "Noted::new", "drop(", "move |", "const fn", "static K", "mem::replace",
        "mem::swap", "panic!(", "assert!(", "?;", ".iter_mut()", ".rev()", "step_by", "select(", "twice(", " if ",
    ):  # fmt: skip
        assert part in text, part


@with_rustc
def test_rustc_takes_them_all(tmp_path: Path) -> None:
    """Also: most do not panic, some do, and what a program gives depends on what it is given."""
    assert LANE is not None
    programs = {seed: generate(seed) for seed in (*range(2 * ALIKE, 2 * ALIKE + 40), *range(40))}
    sources = {seed: program.source for seed, program in programs.items()}
    found = run_native(LANE.rustc.path, tmp_path / "src", sources, {seed: inputs_of(seed) for seed in sources}, "dev")
    results = [result for results in found.values() for result in results]
    panics = sum(isinstance(result, Panicked) for result in results)
    assert 0 < panics < len(results) / 4
    values = [result for result in results if isinstance(result, Value)]
    assert len({value.hash for value in values}) > 0.9 * len(values)


# ------------------------------------------------------------------------------------------------ the lanes


@slow
@with_rustc
@pytest.mark.cuda
@pytest.mark.parametrize("profile", ["dev", "release"])
def test_a_sample_is_equal_in_all_lanes(profile: str, tmp_path: Path) -> None:
    programs = [generate(seed) for seed in (*GENERIC, *PLAIN)]
    assert any(program.const for program in programs)
    verdicts = examine(programs, setup(tmp_path, profile))
    assert {verdict.status for verdict in verdicts} == {"pass"}, "\n".join(map(str, verdicts))


@slow
@with_rustc
@pytest.mark.cuda
def test_a_planted_fault_is_found_and_made_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``<=`` for every ``<`` of integers."""
    sound = compare.integers

    def faulty(b: ir.IRBuilder, op: str, x: ir.Value, y: ir.Value, *, signed: bool) -> ir.Value:
        return sound(b, "Le" if op == "Lt" else op, x, y, signed=signed)

    monkeypatch.setattr(compare, "integers", faulty)
    where = setup(tmp_path, "release")
    verdicts = examine([generate(seed) for seed in PLAIN], where)
    wrong = [verdict for verdict in verdicts if verdict.status == "wrong"]
    assert wrong
    first = min(wrong, key=lambda verdict: verdict.program.tree.size)

    def shows(programs: Sequence[Program]) -> list[bool]:
        return [verdict.fault == first.fault for verdict in examine(programs, where)]

    small = shrink(first.program, shows, seconds=20)
    assert small.tree.size < first.program.tree.size / 3
    (verdict,) = examine([small], where)
    report = written(verdict)
    assert f"./x fuzz --seed {first.program.seed} --count 1 --profile release" in report
    assert "run(" in report and "0x" in report
    monkeypatch.undo()
    assert shows([small]) == [False]


def test_who_is_to_blame_for_a_build() -> None:
    """Programs go by the numbers of their files and modules."""
    place = Location("src/p12.rs", 3, 1, 3, 9)
    refusal = UnsupportedError(Diagnostic("MG0361", "`p7::run::promoted[0]`"), Diagnostic("MG0201", "a call", place))
    assert blamed_by(refusal) == {7, 12}
    assert blamed_by(InternalError("a place", statement="_1 = <p3::S1 as p3::T2>::m(move _2)")) == {3}
    assert blamed_by(ToolError("ptxas", "ptxas died, step10::x")) == set()
    faults = {fault_of(InternalError(f"a value of {size} bytes in `p{size}::f`")) for size in (1, 4)}
    assert len(faults) == 1, "one fault, whatever the numbers"


@with_rustc
def test_the_command_says_how_it_went(tmp_path: Path) -> None:
    """Nothing, in no time; the last line is what others read."""
    command = [sys.executable, str(ROOT / "tools" / "fuzz.py"), "--minutes", "0", "--folder", str(tmp_path)]
    done = subprocess.run([*command, "--seed", "5"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "fuzz: programs=0 wrong=0 crash=0"


# ------------------------------------------------------------------------------------------------ making smaller


def test_what_matters_stays() -> None:
    """Where the fault is that a text occurs, little more is left than that text."""
    program = next(one for one in map(generate, range(100)) if "wrapping_mul" in str(one.tree) and one.tree.size > 200)

    def shows(programs: Sequence[Program]) -> list[bool]:
        return ["wrapping_mul" in str(one.tree) for one in programs]

    small = shrink(program, shows)
    assert "wrapping_mul" in str(small.tree)
    assert small.tree.size < 60 < program.tree.size


def test_edits_inside_one_another_are_not_made_twice() -> None:
    tree = generate(3).tree
    everything = edits(tree)
    assert everything[0].saved == max(edit.saved for edit in everything)
    assert str(applied(tree, everything[:1])) == str(applied(tree, [everything[0], *everything[:1]]))
    assert "pub fn run" in str(applied(tree, everything)) or "pub const fn run" in str(applied(tree, everything))
