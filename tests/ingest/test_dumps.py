"""Whole dumps of real crates: a small one in every run of the tests, sixteen by ``./x conformance --corpus dumps``."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from mirgen.cargo.build import CargoBuild
from mirgen.testing import dumps
from mirgen.testing.dumps import Outcome, Run
from mirgen.testing.lanes import Lane, find_lanes

LANES = [lane for lane in find_lanes() if lane.target == "host"]
SAMPLE = "itoa"

#: The crates of ingestion.md's trial.
TRIAL = (
    "sha2 libm glam xxhash-rust num-traits rand_chacha nalgebra half blake3 arrayvec itoa ryu base64 crc32fast "
    "hashbrown zerocopy"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> CargoBuild:
    """The sample, compiled by the oldest compiler."""
    return dumps.compile_crates(LANES[0], [SAMPLE], tmp_path_factory.mktemp("sample"))


def shim(made: CargoBuild, *arguments: str) -> str:
    """What one run of the shim prints."""
    (unit,) = (unit for unit in made.units if unit.crate_name == SAMPLE)
    command = [str(made.shim), "dump", "--unit", str(unit.record), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_corpus_is_the_trials_and_fixed() -> None:
    assert dumps.crates() == tuple(sorted(TRIAL.split()))
    versions = re.findall(r'^\S+ = .*?"(.*?)".*optional = true', (dumps.DUMPS / "Cargo.toml").read_text(), re.MULTILINE)
    assert len(versions) == 16 and all(version.startswith("=") for version in versions)


@pytest.mark.parametrize("lane", LANES, ids=str)
def test_every_body_of_a_small_crate(lane: Lane, tmp_path: Path) -> None:
    (outcome,) = dumps.examine(lane, [SAMPLE], tmp_path)
    assert (outcome.crate, outcome.lane, outcome.status, outcome.reason) == (SAMPLE, lane.name, "pass", "")
    assert outcome.bodies > 50


def parsed(made: CargoBuild, text: str, folder: Path) -> Outcome:
    """The outcome of a text in place of the one that rustc printed."""
    source, out = folder / "changed.mir", folder / "out.json"
    source.write_text(text)
    command = [str(made.shim), "parse", str(source), "--release", LANES[0].rustc.release, "--crate-name", SAMPLE]
    return dumps.judge(SAMPLE, LANES[0], dumps.measured([*command, "--out", str(out), "--all"]), out)


def test_one_unknown_line_refuses_the_crate(made: CargoBuild, tmp_path: Path) -> None:
    text = Path(shim(made, "--emit-text")).read_text()
    assert parsed(made, text, tmp_path).status == "pass"
    changed = [text.replace(" = Add(", f" = Frobnicate{number}(", number) for number in (1, 2)]
    outcomes = [parsed(made, one, tmp_path) for one in changed]
    assert {outcome.status for outcome in outcomes} == {"refused"}
    (reason,) = dumps.classes(outcomes)  # one kind, whatever the line and the name
    assert reason.startswith("refused: ")
    assert not re.search(r"\d", reason)


def test_a_lost_body_is_wrong(made: CargoBuild, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    shim(made, "--all", "--out", str(out))
    document = json.loads(out.read_text())
    run = Run(0, 1.0, 1.0, 1, "")
    assert dumps.judge(SAMPLE, LANES[0], run, out).status == "pass"
    del document["bodies"][3]
    out.write_text(json.dumps(document))
    assert dumps.judge(SAMPLE, LANES[0], run, out).status == "wrong"


def test_other_failures_are_wrong(tmp_path: Path) -> None:
    outcome = dumps.judge("x", LANES[0], Run(1, 1.0, 1.0, 1, "cannot do it\nat all, 17 times\n"), tmp_path / "none")
    assert (outcome.status, outcome.reason) == ("wrong", "at all, .. times")


def test_two_functions_within_bounds(made: CargoBuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "index.json"
    shim(made, "--index-only", "--out", str(index))
    headers = [entry["header"] for entry in json.loads(index.read_text())["index"] if entry["kind"] == "fn"]
    (unit,) = (unit for unit in made.units if unit.crate_name == SAMPLE)

    def outcome() -> Outcome:
        return dumps.read_large(made.shim, unit, LANES[0], tmp_path)

    monkeypatch.setattr(dumps, "LARGE_FUNCTIONS", tuple(headers[:2]))
    found = outcome()
    assert (found.status, found.bodies) == ("pass", 2)
    assert 0 < found.seconds < dumps.LARGE_SECONDS and 0 < found.peak_bytes < dumps.LARGE_BYTES
    for name, bound, reason in (("SECONDS", 0.0, "too slow"), ("BYTES", 1, "too much memory")):
        with monkeypatch.context() as patch:
            patch.setattr(dumps, f"LARGE_{name}", bound)
            assert (outcome().status, outcome().reason) == ("wrong", reason)
    monkeypatch.setattr(dumps, "LARGE_FUNCTIONS", (headers[0], "no::such"))
    assert outcome().reason == "no `no::such`"


def test_scores_count_bodies() -> None:
    outcomes = [
        Outcome("a", "1.95-host", 10, "pass"),
        Outcome("b", "1.95-host", 5, "refused", "x"),
        Outcome("c", "1.95-host", 2, "wrong", "y"),
        Outcome("d", "1.95-host", 3, "wrong", "y"),
    ]
    assert dumps.scores(outcomes) == {"pass": 10, "refused": 5, "wrong": 5, "of": 20}
    assert dumps.classes(outcomes) == {"refused: x": 5, "wrong: y": 5}
