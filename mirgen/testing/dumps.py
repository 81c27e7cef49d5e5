"""Whole dumps of real crates (``fixtures/dumps``): the shim has to know every line that rustc prints of them, and to
find two functions in a very large one in little time and memory.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from mirgen.cargo.build import CargoBuild, Unit, cargo_build
from mirgen.cargo.options import CargoOptions
from mirgen.errors import InvalidInputError, MirgenError
from mirgen.ingest import load_mir
from mirgen.testing.lanes import Lane

DUMPS: Final = Path(__file__).resolve().parents[2] / "fixtures" / "dumps"

#: Documents up to this size are also read into mirgen's own MIR, with all its checks; larger ones take minutes.
LOADED_BYTES: Final = 8 << 20

#: Two functions of nalgebra's whole dump, inlined as far as in a root crate: seconds of processor time, so that other
#: work of the machine does not count, and bytes that they may take.
LARGE: Final = "nalgebra"
LARGE_FUNCTIONS: Final = ("linalg::lu::gauss_step", "linalg::lu::gauss_step_swap")
LARGE_SECONDS: Final = 3.0
LARGE_BYTES: Final = 500_000_000

#: The shim's exit status where rustc's text holds what it does not know.
_UNKNOWN_TEXT: Final = 103

#: What differs from one unknown text to the next of its kind.
_PARTICULAR: Final = re.compile(r"`[^`]*`|\"[^\"]*\"|\d+")

Status = Literal["pass", "refused", "wrong"]

#: Runs a command: its status, seconds by the clock and of processor time, and the peak of its memory.  A process of
#: its own, because what a child is told to have used at most includes what its parent used before.
_MEASURE: Final = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, done.stderr]))
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the shim."""

    status: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    stderr: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the bodies of one crate's dump in one lane.

    A single unknown line refuses the whole document, so that all bodies have one status.  ``wrong``: rustc, the shim
    or mirgen failed, or a body is missing.  ``reason`` is the class of what went wrong; ``note`` what else to know.
    """

    crate: str
    lane: str
    bodies: int
    status: Status
    reason: str = ""
    note: str = ""
    seconds: float = 0.0
    peak_bytes: int = 0

    def __str__(self) -> str:
        figures = f"{self.bodies:6} bodies {self.seconds:6.1f} s {self.peak_bytes / 1e6:5.0f} MB"
        said = "; ".join(filter(None, [self.reason, self.note]))
        return f"{self.crate:24} {self.status:8}{figures}" + (f"  ({said})" if said else "")


def scores(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """How many bodies have each status, and of how many."""
    counts = Counter({"pass": 0, "refused": 0, "wrong": 0})
    for outcome in outcomes:
        counts[outcome.status] += outcome.bodies
    return {**counts, "of": counts.total()}


def classes(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """How many bodies did not pass for each reason, the most frequent first."""
    counts = Counter[str]()
    for outcome in outcomes:
        if outcome.status != "pass":
            counts[f"{outcome.status}: {outcome.reason}"] += outcome.bodies
    return dict(counts.most_common())


def crates() -> tuple[str, ...]:
    """The crates of the fixture; each is a feature of it."""
    manifest = tomllib.loads((DUMPS / "Cargo.toml").read_text())
    return tuple(sorted(manifest["dependencies"]))


def compile_crates(lane: Lane, chosen: Collection[str], target_dir: Path) -> CargoBuild:
    """Metadata of the chosen crates and of what they depend on, by stock rustc.

    Raises:
        ToolError: cargo or rustc failed.
    """
    options = CargoOptions(
        manifest_path=DUMPS / "Cargo.toml",
        profile="release",
        target=lane.target,
        features=tuple(sorted(chosen)),
        target_dir=target_dir,
        locked=True,
        quiet=True,
    )
    with lane.active():
        return cargo_build(options)


def examine(lane: Lane, chosen: Collection[str], target_dir: Path) -> Iterator[Outcome]:
    """Every body of the chosen crates and of what they depend on; of :data:`LARGE`, two in its whole dump."""
    try:
        made = compile_crates(lane, chosen, target_dir)
    except MirgenError as error:
        for crate in sorted(chosen):
            yield Outcome(crate, lane.name, 1, "wrong", _class(str(error) or "cargo failed"))
        return
    for unit in sorted(made.units, key=lambda unit: unit.crate_name):
        if not unit.primary and unit.crate_name not in ("core", "alloc"):
            yield read_unit(made.shim, unit, lane, target_dir)
    for unit in made.units:
        if unit.crate_name == LARGE:
            yield read_large(made.shim, unit, lane, target_dir)


def read_unit(shim: Path, unit: Unit, lane: Lane, folder: Path) -> Outcome:
    """A whole dump as dependencies are dumped, with the side channel where rustc can print it."""
    out = folder / f"{unit.record.stem}.all.json"
    try:
        run = measured([str(shim), "dump", "--unit", str(unit.record), "--out", str(out), "--all"])
        return judge(unit.crate_name, lane, run, out)
    finally:
        out.unlink(missing_ok=True)


def judge(crate: str, lane: Lane, run: Run, out: Path) -> Outcome:
    """The outcome of a run of the shim that was to read every body into the document ``out``."""
    if run.status:
        status: Status = "refused" if run.status == _UNKNOWN_TEXT else "wrong"
        return Outcome(crate, lane.name, 1, status, _reason(run), "", run.seconds, run.peak_bytes)
    document = json.loads(out.read_bytes())
    wanted = [entry["header"] for entry in document["index"] if entry["kind"] != "trivial_const"]
    found = [body["header"] for body in document["bodies"] if not body["ctfe"]]
    failure = "" if sorted(wanted) == sorted(found) else "bodies that the index lacks, or the other way round"
    note = "; ".join(map(_class, document["notes"]))
    bodies = len(document["bodies"]) + len(document["trivial_consts"])
    if not failure and out.stat().st_size <= LOADED_BYTES:
        try:
            load_mir(out)
        except InvalidInputError as error:
            failure = _class(error.message)
    return Outcome(crate, lane.name, bodies, "wrong" if failure else "pass", failure, note, run.seconds, run.peak_bytes)


def read_large(shim: Path, unit: Unit, lane: Lane, folder: Path) -> Outcome:
    """Two functions of a whole dump that is inlined as far as a root crate is; rustc's own time does not count."""
    name = f"{unit.crate_name}, two functions"
    printed = [str(shim), "dump", "--unit", str(unit.record), "--thresholds", "root", "--emit-text"]
    done = subprocess.run(printed, capture_output=True, text=True)
    if done.returncode:
        return Outcome(name, lane.name, 2, "wrong", "rustc printed no text")
    text, out = Path(done.stdout.strip()), folder / f"{unit.record.stem}.two.json"
    try:
        command = [str(shim), "parse", str(text), "--release", lane.rustc.release, "--crate-name", unit.crate_name]
        command += ["--out", str(out), *(part for function in LARGE_FUNCTIONS for part in ("--function", function))]
        run = measured(command)
        size = f"{text.stat().st_size / 1e6:.0f} MB of text, {run.cpu_seconds:.2f} s of processor time"
        if run.status:
            refused = run.status == _UNKNOWN_TEXT
            return Outcome(name, lane.name, 2, "refused" if refused else "wrong", _reason(run), size)
        headers = {body.header for body in load_mir(out).bodies}
    finally:
        text.unlink(missing_ok=True)
        out.unlink(missing_ok=True)
    failures = [f"no `{function}`" for function in LARGE_FUNCTIONS if function not in headers]
    failures += ["too slow"] if run.cpu_seconds >= LARGE_SECONDS else []
    failures += ["too much memory"] if run.peak_bytes >= LARGE_BYTES else []
    status: Status = "wrong" if failures else "pass"
    return Outcome(name, lane.name, 2, status, "; ".join(failures), size, run.seconds, run.peak_bytes)


def measured(command: Sequence[str]) -> Run:
    """Run the shim; its seconds and its peak."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _MEASURE, *command], capture_output=True, text=True, check=True
    )
    return Run(*json.loads(done.stdout))


def _reason(run: Run) -> str:
    """The class of a failure of the shim."""
    last = (run.stderr.strip().splitlines() or [f"status {run.status}"])[-1]
    try:
        report: Mapping[str, Any] = json.loads(last)
    except json.JSONDecodeError:
        return _class(last)
    return _class(str(report.get("message", last)))


def _class(message: str) -> str:
    """A message without what is particular to one place."""
    return _PARTICULAR.sub("..", message.splitlines()[0])
