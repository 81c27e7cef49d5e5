"""Batch after batch of random programs, until the time is over; what is at fault is made smaller and written down."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from mirgen.testing.conformance import ARCHS
from mirgen.testing.fuzz.generator import Program, generate
from mirgen.testing.fuzz.runner import Setup, Verdict, examine
from mirgen.testing.fuzz.shrink import shrink
from mirgen.testing.lanes import Lane

PROFILES: Final[tuple[Literal["dev", "release"], ...]] = ("dev", "release")
#: What stops nobody from calling a run clean, but is told.
QUIET: Final = ("pass", "refused")


@dataclass(slots=True)
class Tally:
    """What has been found so far."""

    programs: int = 0
    statuses: Counter[str] = field(default_factory=Counter[str])
    refusals: Counter[str] = field(default_factory=Counter[str])

    def add(self, verdict: Verdict) -> None:
        self.programs += 1
        self.statuses[verdict.status] += 1
        if verdict.status == "refused":
            self.refusals[verdict.reason] += 1

    def __str__(self) -> str:
        return f"programs={self.programs} wrong={self.statuses['wrong']} crash={self.statuses['crash']}"


@dataclass(frozen=True, slots=True)
class Campaign:
    """A run from one seed on; ``shrink_for`` are the seconds for each new fault."""

    lane: Lane
    folder: Path
    batch: int
    shrink_for: float
    profile: Literal["dev", "release"] | None = None

    def setup(self, number: int, name: str) -> Setup:
        """How the batch of that number is examined: profiles and architectures take turns."""
        profile = self.profile or PROFILES[number % len(PROFILES)]
        return Setup(self.lane, profile, self.folder / name, ARCHS[number % len(ARCHS)])

    def run(self, seeds: Iterator[range], until: float, say: Callable[[str], None]) -> Tally:
        """Examines batches of seeds until the time ``until`` of the monotonic clock, or until none is left."""
        tally = Tally()
        known: set[tuple[str, str, str]] = set()
        for number, batch in enumerate(seeds):
            if time.monotonic() >= until:
                break
            start = time.monotonic()
            setup = self.setup(number, "batch")
            verdicts = examine([generate(seed) for seed in batch], setup)
            for verdict in verdicts:
                tally.add(verdict)
            seconds = time.monotonic() - start
            where = f"seeds {batch.start}..{batch.stop} {setup.profile} {setup.arch}"
            say(f"{where} {seconds:.0f} s: {tally}")
            for verdict in verdicts:
                if verdict.status == "pass" or verdict.fault in known:
                    if verdict.status not in QUIET:
                        say(f"  again {verdict.fault}: seed {verdict.program.seed}")
                    continue
                known.add(verdict.fault)
                say(f"  {verdict}")
                say(f"  written to {self.report(verdict, number)}")
        return tally

    def report(self, verdict: Verdict, number: int) -> Path:
        """Writes down a program at fault, as small as time allows."""
        setup = self.setup(number, "shrink")
        small = verdict.program

        def shows(programs: Sequence[Program]) -> list[bool]:
            return [found.fault == verdict.fault for found in examine(programs, setup)]

        if verdict.status in ("wrong", "crash") and shows([small])[0]:
            small = shrink(small, shows, self.shrink_for)
            (verdict,) = examine([small], setup)
        path = self.folder / "faults" / f"{verdict.program.seed}-{setup.profile}.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written(verdict))
        return path


def written(verdict: Verdict) -> str:
    """A program at fault with everything that there is to know of it."""
    head = [
        f"seed {verdict.program.seed}, profile {verdict.profile}, lane {verdict.lane}: {verdict.status}",
        *verdict.detail.splitlines(),
        f"again: ./x fuzz --seed {verdict.program.seed} --count 1 --profile {verdict.profile}",
    ]
    return "".join(f"// {line}\n" for line in head) + verdict.program.source
