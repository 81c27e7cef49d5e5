"""`./x conformance`: every fixture in every lane, by both code generators, for all generations of GPUs; with
`--corpus dumps`, rustc's whole text of sixteen real crates in every lane of the host; with `--corpus ui`, rustc's own
programs that are to be run and pass, on the compiler that has its library's sources.

One line for each fixture (or crate) and lane says how many kernels passed each check (or how many bodies were read);
what is wrong follows, a line each.  A run of a whole corpus writes its part of tests/conformance.json.
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
from typing import Any

from mirgen.errors import MirgenError
from mirgen.testing import dumps
from mirgen.testing.conformance import CHECKS, REFUSAL, Outcome, examine
from mirgen.testing.corpora import runner, ui
from mirgen.testing.corpora.sources import find_sources
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


def write(part: dict[str, Any]) -> None:
    """Replaces one corpus's part of the scores that the repository keeps."""
    known: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.is_file() else {"version": 1}
    RESULT.write_text(json.dumps({**known, **part}, indent=1) + "\n")


def by_lane(outcomes: list[Outcome]) -> dict[str, dict[str, dict[str, int]]]:
    """The scores by lane and fixture."""
    lanes: dict[str, dict[str, dict[str, int]]] = {}
    for lane in sorted({outcome.lane for outcome in outcomes}):
        mine = [outcome for outcome in outcomes if outcome.lane == lane]
        crates = sorted({outcome.crate for outcome in mine})
        lanes[lane] = {crate: scores([outcome for outcome in mine if outcome.crate == crate]) for crate in crates}
    return lanes


def run_fixtures(lanes: list[Lane], arguments: argparse.Namespace, paths: list[Path]) -> bool:
    """The fixture crates; whether nothing is wrong."""
    fixtures = [load_fixture(path) for path in paths if arguments.fixture is None or path.name in arguments.fixture]
    with ProcessPoolExecutor(max(1, arguments.jobs)) as pool:
        started = [pool.submit(run, lane, fixtures, arguments.profile) for lane in lanes]
        outcomes = [outcome for future in started for outcome in future.result()]
    total = scores(outcomes)
    if arguments.lane is None and arguments.fixture is None and arguments.profile == "release":
        write({"fixtures": total, "lanes": by_lane(outcomes)})
    print("fixtures: " + " ".join(f"{status}={total[status]}" for status in (*STATUSES, "of")))
    return not total["wrong"] and not total["crash"]


def run_dumps_in(lane: Lane, crates: list[str]) -> list[dumps.Outcome]:
    """One lane of the dumps, with its lines printed as they come."""
    every: list[dumps.Outcome] = []
    for outcome in dumps.examine(lane, crates, dumps.DUMPS / "target" / f"lane-{lane}"):
        print(f"{lane.name:10} {outcome}", flush=True)
        every.append(outcome)
    return every


def run_dumps(lanes: list[Lane], arguments: argparse.Namespace) -> bool:
    """Whole dumps of real crates; whether every body was read."""
    crates, lanes = arguments.crate or list(dumps.crates()), [lane for lane in lanes if lane.target == "host"]
    with ProcessPoolExecutor(max(1, arguments.jobs)) as pool:
        started = [pool.submit(run_dumps_in, lane, crates) for lane in lanes]
        outcomes = [outcome for future in started for outcome in future.result()]
    total, classes = dumps.scores(outcomes), dumps.classes(outcomes)
    if arguments.lane is None and arguments.crate is None:
        lanes_of = {lane.name: dumps.scores([o for o in outcomes if o.lane == lane.name]) for lane in lanes}
        write({"dumps": {"scores": total, "classes": classes, "lanes": lanes_of}})
    for reason, bodies in classes.items():
        print(f"    {bodies:6} {reason}")
    print("dumps: " + " ".join(f"{name}={bodies}" for name, bodies in total.items()))
    return total["pass"] == total["of"]


def run_ui(lanes: list[Lane], arguments: argparse.Namespace) -> bool:
    """rustc's own programs; whether none of them computes something else or makes mirgen fail."""
    able = [lane for lane in lanes if lane.target == "host" and "core" in lane.offers]
    if not able:
        print("no lane has its library's sources: run tools/debian-rustc .toolchains/rust-1.96", file=sys.stderr)
        return False
    every = list(ui.ui_tests(find_sources()))
    tests = runner.sample([test for test in every if not test.outside], arguments.sample, arguments.seed)
    outside = Counter(test.outside for test in every if test.outside)
    right = True
    for lane in able:
        results: list[runner.Result] = []
        for result in runner.run(
            [test.source for test in tests], [test.name for test in tests], lane.rustc.path, f"ui-{lane}",
            max(1, arguments.jobs), fresh=arguments.fresh,
        ):  # fmt: skip
            results.append(result)
            for outcome in result.outcomes:
                if outcome.status != "pass":
                    print(f"{lane.name:10} {result.name}: {outcome}"[:400], flush=True)
        total, classes = runner.scores(results), runner.classes(results)
        not_compiled = sum(bool(result.not_compiled) for result in results)
        for reason, programs in classes.items():
            print(f"    {programs:6} {reason}")
        print(f"    {not_compiled:6} do not compile under the facade, or fail natively")
        for reason, programs in outside.most_common():
            print(f"    {programs:6} of the whole corpus left out: {reason}")
        if arguments.sample is None:
            write({"ui": {lane.name: {"scores": total, "classes": classes}}})
        print("ui: " + " ".join(f"{name}={programs}" for name, programs in total.items()), flush=True)
        right = right and not total["wrong"] and not total["crash"]
    return right


def main() -> int:
    """Everything that was asked for; 0 when nothing is wrong."""
    lanes, paths = find_lanes(), list(fixture_paths(ROOT / "fixtures" / "crates"))
    parser = argparse.ArgumentParser(prog="./x conformance", description=__doc__)
    parser.add_argument(
        "--corpus", default="fixtures", choices=["fixtures", "dumps", "ui"], help="which (default fixtures)"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="only N of the ui programs, chosen by --seed")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default 1)")
    parser.add_argument("--fresh", action="store_true", help="ui: try again what an earlier run has tried")
    parser.add_argument("--lane", action="append", choices=[lane.name for lane in lanes], help="only this lane")
    parser.add_argument("--fixture", action="append", choices=[path.name for path in paths], help="only this fixture")
    parser.add_argument("--crate", action="append", choices=dumps.crates(), help="only this crate of the dumps")
    parser.add_argument("--profile", default="release", choices=["release", "dev"], help="cargo's (default release)")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, len(lanes)), help="lanes at a time")
    arguments = parser.parse_args()
    chosen = [lane for lane in lanes if arguments.lane is None or lane.name in arguments.lane]
    if "nvptx64" not in {lane.target for lane in lanes}:
        print("no lane for nvptx64: run tools/debian-rustc .toolchains/rust-1.96", file=sys.stderr)
    if arguments.corpus == "ui":
        try:
            return 0 if run_ui(chosen, arguments) else 1
        except MirgenError as error:
            print(f"conformance: {error}", file=sys.stderr)
            return 1
    if arguments.corpus == "dumps":
        return 0 if run_dumps(chosen, arguments) else 1
    return 0 if run_fixtures(chosen, arguments, paths) else 1


if __name__ == "__main__":
    sys.exit(main())
