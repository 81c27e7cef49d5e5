"""`./x faults`: forty and more ways to break the lowering, and the tests that notice each.

Every fault is planted in a copy of the package, on which tests of the suite run until one fails.  Before that, the same
tests pass on a copy without fault.  Prints a line for each fault and writes faults-result.json; the last line says how
many were caught.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from mirgen.errors import InternalError
from mirgen.testing.faults.table import FAULTS
from mirgen.testing.faults.trial import Fault, Verdict, attempt, check_unbroken

ROOT = Path(__file__).resolve().parents[1]


def chosen(names: Sequence[str]) -> list[Fault]:
    """The faults of these names, all where there are none; raises ``KeyError`` for an unknown one."""
    by_name = {fault.name: fault for fault in FAULTS}
    return [by_name[name] for name in names] if names else list(FAULTS)


def shown(verdict: Verdict) -> str:
    """One line."""
    result = f"caught by {verdict.caught_by}" if verdict.caught_by else "SURVIVED"
    return f"{verdict.fault:24} {verdict.seconds:6.1f} s  {result}"


def run(faults: Sequence[Fault], jobs: int) -> list[Verdict]:
    """All of them, each printed when it is done."""

    def tried(fault: Fault) -> Verdict:
        verdict = attempt(ROOT, fault)
        print(shown(verdict), flush=True)
        return verdict

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(tried, faults))


def main() -> int:
    """0 when every fault was caught."""
    parser = argparse.ArgumentParser(prog="./x faults", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this fault (repeatable)")
    parser.add_argument("--list", action="store_true", help="names and meanings, without running anything")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once (default 2)")
    parser.add_argument("--json", type=Path, default=ROOT / "faults-result.json", help="where the result goes")
    arguments = parser.parse_args()
    try:
        faults = chosen(arguments.only)
    except KeyError as error:
        parser.error(f"no fault is called {error}; --list names them")
    if arguments.list:
        for fault in faults:
            print(f"{fault.name:24} {fault.meaning}")
        return 0
    tests = list(dict.fromkeys(test for fault in faults for test in fault.tests))
    try:
        print("   Checking that the tests pass without any fault", file=sys.stderr, flush=True)
        check_unbroken(ROOT, tests)
        verdicts = run(faults, arguments.jobs)
    except InternalError as error:
        print(f"x faults: {error}", file=sys.stderr)
        return 2
    caught = sum(bool(verdict.caught_by) for verdict in verdicts)
    result = {"caught": caught, "of": len(verdicts), "faults": [asdict(verdict) for verdict in verdicts]}
    arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    print(f"faults: caught={caught} survived={len(verdicts) - caught} of={len(verdicts)}")
    return 0 if caught == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
