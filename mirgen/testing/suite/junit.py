"""Results in JUnit's XML, as cargo-nextest writes them: a suite for each lane."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from mirgen.testing.suite.verdict import Run

#: What XML cannot hold, however written.
_UNFIT: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(crate: str, runs: Sequence[Run], shown: Callable[[Run], str]) -> bytes:
    """The whole file; ``shown`` gives all that there is to say about a test that failed."""
    root = ET.Element("testsuites", {"name": "mirgen", **_counts(runs)})
    for lane in dict.fromkeys(run.lane for run in runs):
        here = [run for run in runs if run.lane == lane]
        suite = ET.SubElement(
            root, "testsuite", {"name": f"{crate}::{lane}", **_counts(here), "skipped": _skipped(here)}
        )
        for run in here:
            _case(suite, run, shown)
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _case(suite: ET.Element, run: Run, shown: Callable[[Run], str]) -> None:
    about = {"name": run.test.path, "classname": f"{run.test.crate}::{run.lane}", "time": f"{run.seconds:.3f}"}
    case = ET.SubElement(suite, "testcase", about)
    if run.status == "skip":
        ET.SubElement(case, "skipped", {"message": _fit(run.why)})
    elif run.status == "assembled":
        ET.SubElement(case, "skipped", {"message": _fit(f"assembled by {run.why}, not run")})
    elif run.status in ("fail", "timeout"):
        kind = "test timeout" if run.status == "timeout" else "test failure"
        failure = ET.SubElement(case, "failure", {"type": kind, "message": _fit(run.why)})
        failure.text = _fit(shown(run))
    if run.output:
        ET.SubElement(case, "system-out").text = _fit(run.output)


def _counts(runs: Iterable[Run]) -> dict[str, str]:
    every = list(runs)
    failed = sum(run.status in ("fail", "timeout") for run in every)
    seconds = sum(run.seconds for run in every)
    return {"tests": str(len(every)), "failures": str(failed), "errors": "0", "time": f"{seconds:.3f}"}


def _skipped(runs: Iterable[Run]) -> str:
    return str(sum(run.status in ("skip", "assembled") for run in runs))


def _fit(text: str) -> str:
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)
