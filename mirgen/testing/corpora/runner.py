"""Runs a corpus in parallel, keeps what is known of each program, and goes on where an earlier run stopped."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from mirgen.cargo.toolchain import find_shim, probe
from mirgen.testing.corpora.facade import SOURCE
from mirgen.testing.corpora.program import DoesNotCompileError, Outcome, Program, Source
from mirgen.testing.corpora.sources import ROOT

STATUSES: Final = ("pass", "refused", "wrong", "crash")
_WORK: Final = ROOT / "target" / "corpora"

#: What differs from one reason to the next of its kind.
_PARTICULAR: Final = re.compile(r"\(asm!\(.*|`[^`]*`|\"[^\"]*\"|\d+(?!\d*:)")
_T = TypeVar("_T")

#: What is done with a program.
Examine: TypeAlias = Callable[[Program], Sequence[Outcome]]


@dataclass(frozen=True, slots=True)
class Result:
    """What is known of a program: each entry's outcome, or rustc's first error where it does not compile."""

    name: str
    outcomes: tuple[Outcome, ...] = ()
    not_compiled: str = ""


def sample(items: Sequence[_T], count: int | None, seed: int) -> list[_T]:
    """``count`` of the items at random, in their order; all where it is ``None``."""
    if count is None or count >= len(items):
        return list(items)
    chosen = random.Random(seed).sample(range(len(items)), count)
    return [items[index] for index in sorted(chosen)]


def run_entries(program: Program) -> list[Outcome]:
    """What becomes of a program's entries.  What panics must be known to pass natively to count as wrong."""
    outcomes = program.outcome()
    wrong = [outcome.name for outcome in outcomes if outcome.status == "wrong"]
    failing = program.failing_natively(wrong) if wrong else set[str]()
    return [outcome for outcome in outcomes if outcome.name not in failing]


def examine(source: Source, rustc: Path, label: str, what: Examine) -> Result:
    """One program from text to result."""
    program = Program(source, probe(rustc), find_shim(), _WORK / label / re.sub(r"[^\w.-]", "+", source.name))
    try:
        outcomes = what(program)
        return Result(source.name, tuple(outcomes), "" if outcomes or not source.entries else "fails natively too")
    except DoesNotCompileError as error:
        return Result(source.name, (), _first_error(error.output))
    except Exception as error:  # whatever it is, one program must not stop the corpus
        names = source.entries or (source.name,)
        return Result(source.name, tuple(Outcome(name, "crash", (repr(error),)) for name in names))
    finally:
        program.remove()


def _first_error(output: str) -> str:
    errors = [line for line in output.splitlines() if line.startswith("error")]
    return errors[0] if errors else "rustc failed"


class Journal:
    """Results in a file, a line each, which count as long as neither mirgen nor the facade has changed."""

    def __init__(self, label: str, rustc: Path) -> None:
        self._path = _WORK / f"{label}.jsonl"
        self._state = _state(rustc)
        self._path.parent.mkdir(parents=True, exist_ok=True)

    def known(self) -> dict[str, Result]:
        """By name."""
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.is_file() else []
        found: dict[str, Result] = {}
        for line in lines:
            entry = json.loads(line)
            if entry["state"] == self._state:
                outcomes = tuple(Outcome(o["name"], o["status"], tuple(o["reasons"])) for o in entry["outcomes"])
                found[entry["name"]] = Result(entry["name"], outcomes, entry["not_compiled"])
        return found

    def add(self, result: Result) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"state": self._state, **asdict(result)}) + "\n")


def _state(rustc: Path) -> str:
    """Everything that results depend on."""
    state = hashlib.sha256(SOURCE.read_bytes())
    state.update(repr((probe(rustc).identity, find_shim().stat().st_mtime_ns)).encode())
    for path in sorted((ROOT / "mirgen").rglob("*.py")):
        state.update(path.read_bytes())
    return state.hexdigest()[:16]


def run(
    sources: Iterable[Callable[[], Source]], names: Sequence[str], rustc: Path, label: str, jobs: int,
    what: Examine = run_entries, *, fresh: bool = False,
) -> Iterator[Result]:  # fmt: skip
    """Every program's result as it comes; those known from an earlier run first, unless ``fresh``."""
    journal = Journal(label, rustc)
    known = {} if fresh else journal.known()
    yield from (known[name] for name in names if name in known)
    todo = [make for name, make in zip(names, sources, strict=True) if name not in known]
    with ProcessPoolExecutor(jobs, initializer=_quiet, max_tasks_per_child=200) as pool:
        for future in as_completed([pool.submit(_examine, make, rustc, label, what) for make in todo]):
            result = future.result()
            journal.add(result)
            yield result


def _quiet() -> None:
    """Workers leave an interrupt to their parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["RUSTC_ICE"] = "0"


def _examine(make: Callable[[], Source], rustc: Path, label: str, what: Examine) -> Result:
    return examine(make(), rustc, label, what)


def scores(results: Iterable[Result]) -> dict[str, int]:
    """How many entries have each status, of those that compile."""
    counts = Counter(outcome.status for result in results for outcome in result.outcomes)
    return {**{status: counts[status] for status in STATUSES}, "of": counts.total()}


def scores_by(
    results: Iterable[Result], group: Callable[[Result, Outcome], str]
) -> dict[str, dict[str, int]]:  # fmt: skip
    """The scores of groups of entries, in the order of their names."""
    found: dict[str, list[Outcome]] = {}
    for result in results:
        for outcome in result.outcomes:
            found.setdefault(group(result, outcome), []).append(outcome)
    return {name: scores([Result(name, tuple(outcomes))]) for name, outcomes in sorted(found.items())}


def not_compiled(results: Iterable[Result]) -> dict[str, int]:
    """How many programs do not compile under the facade, or fail natively, by kind of reason."""
    return dict(Counter(reason_class(result.not_compiled) for result in results if result.not_compiled).most_common())


def classes(results: Iterable[Result]) -> dict[str, int]:
    """How many entries did not pass for each kind of reason (its first), the most frequent first."""
    counts = Counter[str]()
    for result in results:
        for outcome in result.outcomes:
            if outcome.status != "pass":
                counts[f"{outcome.status}: {reason_class(outcome.reasons[0])}"] += 1
    return dict(counts.most_common())


def reason_class(reason: str) -> str:
    """A reason without what is particular to one program."""
    return _PARTICULAR.sub("..", reason.splitlines()[0])[:300]
