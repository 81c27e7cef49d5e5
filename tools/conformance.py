"""`./x conformance`: every fixture in every lane, by both code generators, for all generations of GPUs.

One line for each fixture and lane says how many kernels passed each check; what is wrong follows, a line each.  A run
of everything writes tests/conformance.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from mirgen.testing.conformance import CHECKS, REFUSAL, Outcome, examine
from mirgen.testing.fixture import Fixture, fixture_paths, load_fixture
from mirgen.testing.lanes import Lane, find_lanes

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "tests" / "conformance.json"
STATUSES = ("pass", "refused", "wrong", "crash")


def line(fixture: Fixture, lane: Lane, outcomes: list[Outcome], seconds: float) -> str:
    """How many of its kernels passed each check, and how many were refused as they must be."""
    parts: list[str] = []
    for check in CHECKS:
        tried = [outcome for outcome in outcomes if outcome.check == check]
        if tried:
            passed = sum(outcome.status == "pass" for outcome in tried)
            parts.append(f"{check.replace('sm_', '')} {passed}/{len(tried)}")
    refusals = [outcome for outcome in outcomes if outcome.check == REFUSAL]
    if refusals:
        parts.append(f"refused {sum(outcome.status == 'refused' for outcome in refusals)}/{len(refusals)}")
    return f"{fixture.crate:18} {lane.name:13} {'  '.join(parts)}  ({seconds:.0f} s)"


def run(lane: Lane, fixtures: list[Fixture], profile: str) -> list[Outcome]:
    """One lane, with its lines printed as they come."""
    every: list[Outcome] = []
    for fixture in fixtures:
        start = time.perf_counter()
        outcomes = list(examine(fixture, lane, profile))
        text = [line(fixture, lane, outcomes, time.perf_counter() - start)]
        bad = {(o.kernel, o.status, o.detail): o for o in outcomes if o.status in ("wrong", "crash")}
        text += [f"    {outcome}" for outcome in bad.values()]
        print("\n".join(text), flush=True)
        every += outcomes
    return every


def scores(outcomes: list[Outcome]) -> dict[str, int]:
    """How many outcomes of each status, and of how many."""
    counts = Counter(outcome.status for outcome in outcomes)
    return {**{status: counts[status] for status in STATUSES}, "of": len(outcomes)}


def write(outcomes: list[Outcome]) -> None:
    """The scores by lane and fixture."""
    lanes: dict[str, dict[str, dict[str, int]]] = {}
    for lane in sorted({outcome.lane for outcome in outcomes}):
        mine = [outcome for outcome in outcomes if outcome.lane == lane]
        crates = sorted({outcome.crate for outcome in mine})
        lanes[lane] = {crate: scores([outcome for outcome in mine if outcome.crate == crate]) for crate in crates}
    RESULT.write_text(json.dumps({"version": 1, "fixtures": scores(outcomes), "lanes": lanes}, indent=1) + "\n")


def main() -> int:
    """Everything that was asked for; 0 when nothing is wrong."""
    lanes, paths = find_lanes(), list(fixture_paths(ROOT / "fixtures" / "crates"))
    parser = argparse.ArgumentParser(prog="./x conformance", description=__doc__)
    parser.add_argument("--lane", action="append", choices=[lane.name for lane in lanes], help="only this lane")
    parser.add_argument("--fixture", action="append", choices=[path.name for path in paths], help="only this fixture")
    parser.add_argument("--profile", default="release", choices=["release", "dev"], help="cargo's (default release)")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, len(lanes)), help="lanes at a time")
    arguments = parser.parse_args()
    chosen = [lane for lane in lanes if arguments.lane is None or lane.name in arguments.lane]
    fixtures = [load_fixture(path) for path in paths if arguments.fixture is None or path.name in arguments.fixture]
    if "nvptx64" not in {lane.target for lane in lanes}:
        print("no lane for nvptx64: run tools/debian-rustc .toolchains/rust-1.96", file=sys.stderr)
    with ProcessPoolExecutor(max(1, arguments.jobs)) as pool:
        started = [pool.submit(run, lane, fixtures, arguments.profile) for lane in chosen]
        outcomes = [outcome for future in started for outcome in future.result()]
    total = scores(outcomes)
    if arguments.lane is None and arguments.fixture is None and arguments.profile == "release":
        write(outcomes)
    print("fixtures: " + " ".join(f"{status}={total[status]}" for status in (*STATUSES, "of")))
    return 1 if total["wrong"] or total["crash"] else 0


if __name__ == "__main__":
    sys.exit(main())
