"""`./x fuzz`: random Rust programs, natively and by mirgen.

Every program runs natively and on the simulator, without and with optimisation, and becomes PTX that ptxas takes; a
third of them rustc evaluates as constants too.  All have to give the same, panics with their messages and places
included.  A program that does not is made smaller and written to target/fuzz/faults, with the command to repeat it.
The last line says how many there were.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from mirgen.testing.fuzz.campaign import Campaign
from mirgen.testing.lanes import find_lanes

ROOT = Path(__file__).resolve().parents[1]


def batches(first: int, count: int | None, size: int) -> Iterator[range]:
    """Ranges of seeds, without end where no count is given."""
    at = first
    while count is None or at < first + count:
        end = at + size if count is None else min(at + size, first + count)
        yield range(at, end)
        at = end


def main() -> int:
    """As many programs as were asked for, or as the time allows; 0 when nothing is wrong."""
    lanes = {lane.name: lane for lane in find_lanes() if lane.target == "host"}
    parser = argparse.ArgumentParser(prog="./x fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, help="how long (default 1, without end with --count)")
    parser.add_argument("--seed", type=int, help="the first program (default by chance)")
    parser.add_argument("--count", type=int, help="how many programs at most")
    parser.add_argument("--batch", type=int, default=80, help="programs in one crate (default 80)")
    parser.add_argument("--profile", choices=["dev", "release"], help="only this one (default both in turn)")
    parser.add_argument(
        "--lane", choices=lanes, default=next(iter(lanes), None), help="which compiler (default oldest)"
    )
    parser.add_argument("--shrink", type=float, default=60, help="seconds for each new fault (default 60)")
    parser.add_argument("--folder", type=Path, default=ROOT / "target" / "fuzz", help="where builds and faults go")
    arguments = parser.parse_args()
    if arguments.lane is None:
        print("x fuzz: no rustc from 1.95 on", file=sys.stderr)
        return 2
    seed = secrets.randbelow(1 << 32) if arguments.seed is None else arguments.seed
    minutes = arguments.minutes
    if minutes is None:
        minutes = float("inf") if arguments.count is not None else 1
    campaign = Campaign(lanes[arguments.lane], arguments.folder, arguments.batch, arguments.shrink, arguments.profile)

    def say(line: str) -> None:
        print(line, flush=True)

    start = time.monotonic()
    tally = campaign.run(batches(seed, arguments.count, arguments.batch), start + 60 * minutes, say)
    taken = time.monotonic() - start
    for reason, count in tally.refusals.most_common():
        say(f"refused: {count} {reason}")
    if tally.statuses["invalid"]:
        say(f"invalid: {tally.statuses['invalid']}")
    say(f"{tally.programs / max(taken, 1) * 60:.0f} programs in a minute, {taken / 60:.1f} minutes, first seed {seed}")
    say(f"fuzz: {tally}")
    return 1 if any(tally.statuses[status] for status in ("wrong", "crash", "invalid")) else 0


if __name__ == "__main__":
    sys.exit(main())
