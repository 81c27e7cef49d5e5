"""`./x conformance`: every fixture in every lane, by both code generators, for all generations of GPUs; with
`--corpus dumps`, rustc's whole text of sixteen real crates in every lane of the host; and on the compiler that has its
library's sources, with `--corpus ui`, rustc's own programs that are to be run and pass, with `--corpus coretests` and
`alloctests` the standard library's tests, with `--corpus mir-opt` and `codegen` the bodies of rustc's other tests.

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
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mirgen.cargo.toolchain import find_shim, probe
from mirgen.errors import MirgenError
from mirgen.testing import dumps
from mirgen.testing.conformance import CHECKS, REFUSAL, Outcome, examine
from mirgen.testing.corpora import bodies, library, runner, ui
from mirgen.testing.corpora.facade import build_facade
from mirgen.testing.corpora.program import Outcome as ProgramOutcome
from mirgen.testing.corpora.program import Source
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
    for reason, count in classes.items():
        print(f"    {count:6} {reason}")
    print("dumps: " + " ".join(f"{name}={count}" for name, count in total.items()))
    return total["pass"] == total["of"]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Programs to examine, by name, and how many were left out for each reason.

    ``group`` says to which score an outcome counts; without it, there is one.
    """

    names: Sequence[str]
    sources: Sequence[Callable[[], Source]]
    outside: Mapping[str, int]
    what: runner.Examine = runner.run_entries
    group: Callable[[runner.Result, ProgramOutcome], str] | None = None


def ui_corpus(lane: Lane, arguments: argparse.Namespace) -> Corpus:
    """rustc's own programs that are to be run and pass."""
    every = list(ui.ui_tests(find_sources()))
    tests = runner.sample([test for test in every if not test.outside], arguments.sample, arguments.seed)
    outside = Counter(test.outside for test in every if test.outside)
    return Corpus([test.name for test in tests], [test.source for test in tests], outside)


def bodies_corpus(lane: Lane, arguments: argparse.Namespace) -> Corpus:
    """rustc's own files whose MIR or LLVM IR is compared."""
    every = list(bodies.bodies_tests(find_sources(), arguments.corpus))
    tests = runner.sample([test for test in every if not test.outside], arguments.sample, arguments.seed)
    outside = Counter(test.outside for test in every if test.outside)
    names, sources = [test.name for test in tests], [test.source for test in tests]
    return Corpus(names, sources, outside, bodies.examine_bodies, lambda _, outcome: outcome.name.partition(" ")[0])


def library_corpus(lane: Lane, arguments: argparse.Namespace) -> Corpus:
    """The tests of the standard library, some dozens of a module in one program."""
    toolchain = probe(lane.rustc.path)
    facade = build_facade(toolchain, find_shim())
    found = library.modules(find_sources(), arguments.corpus)
    modules = [each for each in found if arguments.module is None or each.name in arguments.module]
    with ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        started = [pool.submit(library.prepared, module, toolchain, facade.sysroot) for module in modules]
        prepared = [future.result() for future in started]
    every = [(each, test) for each in prepared for test in each.tests]
    chosen = runner.sample(every, arguments.sample, arguments.seed)
    groups = [(each, [test for owner, test in chosen if owner is each]) for each in prepared]
    programs = [(each, part) for each, tests in groups for part in library.programs(tests)]
    sources = [partial(each.source, part) for each, part in programs]
    names = [each.name_of(part) for each, part in programs]
    outside = sum((Counter(each.outside) for each in prepared), Counter[str]())
    return Corpus(names, sources, outside, group=lambda result, _: result.name.partition("+")[0])


CORPORA: Mapping[str, Callable[[Lane, argparse.Namespace], Corpus]] = {
    "ui": ui_corpus,
    "coretests": library_corpus,
    "alloctests": library_corpus,
    "mir-opt": bodies_corpus,
    "codegen": bodies_corpus,
}


def run_corpus(lanes: list[Lane], arguments: argparse.Namespace) -> bool:
    """A corpus that nobody here wrote; whether nothing in it computes something else or makes mirgen fail."""
    able = [lane for lane in lanes if lane.target == "host" and "core" in lane.offers]
    if not able:
        print("no lane has its library's sources: run tools/debian-rustc .toolchains/rust-1.96", file=sys.stderr)
        return False
    outcomes = [run_corpus_in(lane, arguments) for lane in able]
    return all(outcomes)


def run_corpus_in(lane: Lane, arguments: argparse.Namespace) -> bool:
    """One lane of a corpus, with what did not pass as it comes."""
    name: str = arguments.corpus
    corpus = CORPORA[name](lane, arguments)
    results: list[runner.Result] = []
    for result in runner.run(
        corpus.sources, corpus.names, lane.rustc.path, f"{name}-{lane}", max(1, arguments.jobs), corpus.what,
        fresh=arguments.fresh,
    ):  # fmt: skip
        results.append(result)
        for outcome in result.outcomes:
            if outcome.status != "pass":
                print(f"{lane.name:10} {result.name}: {outcome}"[:400], flush=True)
    total, classes = runner.scores(results), runner.classes(results)
    groups = {} if corpus.group is None else runner.scores_by(results, corpus.group)
    for reason, programs in classes.items():
        print(f"    {programs:6} {reason}")
    for reason, programs in runner.not_compiled(results).items():
        print(f"    {programs:6} not compiled: {reason}")
    for reason, programs in Counter(corpus.outside).most_common():
        print(f"    {programs:6} of the whole corpus left out: {reason}")
    for group, score in groups.items():
        print(f"{name} {group}: " + " ".join(f"{key}={value}" for key, value in score.items()))
    kept = True
    if arguments.sample is None and arguments.module is None:
        part = {"scores": total, "classes": classes, **({"groups": groups} if groups else {})}
        kept = keep(name, lane, part)
    print(f"{name}: " + " ".join(f"{key}={value}" for key, value in total.items()), flush=True)
    return kept and not total["wrong"] and not total["crash"]


def keep(name: str, lane: Lane, part: dict[str, Any]) -> bool:
    """Write a corpus's score, which may only rise; whether it did not fall."""
    kept: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.is_file() else {}
    known: dict[str, Any] = kept.get(name, {})
    old: dict[str, int] = known.get(lane.name, {}).get("scores", {"pass": 0, "of": 1})
    new: dict[str, int] = part["scores"]
    if new["pass"] * old["of"] < old["pass"] * new["of"]:
        print(f"{name}: the score fell: pass={old['pass']} of={old['of']} is kept", file=sys.stderr)
        return False
    write({name: {**known, lane.name: part}})
    return True


def main() -> int:
    """Everything that was asked for; 0 when nothing is wrong."""
    lanes, paths = find_lanes(), list(fixture_paths(ROOT / "fixtures" / "crates"))
    parser = argparse.ArgumentParser(prog="./x conformance", description=__doc__)
    parser.add_argument(
        "--corpus", default="fixtures", choices=["fixtures", "dumps", *CORPORA], help="which (default fixtures)"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="only N programs (or tests), chosen by --seed")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default 1)")
    parser.add_argument("--fresh", action="store_true", help="try again what an earlier run of a corpus has tried")
    parser.add_argument("--module", action="append", help="only this module of coretests or alloctests")
    parser.add_argument("--lane", action="append", choices=[lane.name for lane in lanes], help="only this lane")
    parser.add_argument("--fixture", action="append", choices=[path.name for path in paths], help="only this fixture")
    parser.add_argument("--crate", action="append", choices=dumps.crates(), help="only this crate of the dumps")
    parser.add_argument("--profile", default="release", choices=["release", "dev"], help="cargo's (default release)")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, len(lanes)), help="lanes at a time")
    arguments = parser.parse_args()
    chosen = [lane for lane in lanes if arguments.lane is None or lane.name in arguments.lane]
    if "nvptx64" not in {lane.target for lane in lanes}:
        print("no lane for nvptx64: run tools/debian-rustc .toolchains/rust-1.96", file=sys.stderr)
    if arguments.corpus in CORPORA:
        try:
            return 0 if run_corpus(chosen, arguments) else 1
        except MirgenError as error:
            print(f"conformance: {error}", file=sys.stderr)
            return 1
    if arguments.corpus == "dumps":
        return 0 if run_dumps(chosen, arguments) else 1
    return 0 if run_fixtures(chosen, arguments, paths) else 1


if __name__ == "__main__":
    sys.exit(main())
