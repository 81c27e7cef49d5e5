"""How a test ended, and what that means for a test with its attributes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from mirgen.errors import Diagnostic, Location, MirgenError
from mirgen.testing.suite.marks import CrateTest

#: ``assembled``: it was compiled as far as can be, and not run.
Status = Literal["pass", "fail", "timeout", "assembled", "skip"]

#: What stands in a message for a value that cannot be shown.
_HIDDEN = re.compile(r"<value[^>]*>")


@dataclass(frozen=True, slots=True)
class Panic:
    """A panic: message, ``file:line:col`` and the whole of it as a diagnostic.  ``message`` is ``None`` where only the
    stop is known (GPU code without messages)."""

    message: str | None
    location: str | None
    shown: Diagnostic


@dataclass(frozen=True, slots=True)
class Ended:
    """How a test ended in a lane: by itself, in a panic, in other ``trouble``, or not at all.

    ``output`` is what it printed.  ``assembled`` says how it was compiled where it was not run at all.
    """

    seconds: float
    panic: Panic | None = None
    trouble: tuple[Diagnostic, ...] = ()
    error: MirgenError | None = None
    timed_out: bool = False
    output: str = ""
    assembled: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A test in a lane.  ``problems`` say why it failed, in a compiler's form, ``error`` where a tool or mirgen did;
    ``why`` is the same in one line; for ``skip`` it is the reason, for ``assembled`` by what."""

    test: CrateTest
    lane: str
    status: Status
    seconds: float = 0.0
    why: str = ""
    problems: tuple[Diagnostic, ...] = ()
    error: MirgenError | None = None
    output: str = ""


def judge(test: CrateTest, lane: str, ended: Ended, native: Ended | None = None) -> Run:
    """What ``ended`` means for the test; ``native`` is how it ended natively, where that is known."""

    def run(status: Status, *problems: Diagnostic) -> Run:
        why = problems[0].message if problems else str(ended.error or "")
        return Run(test, lane, status, ended.seconds, why, problems, ended.error, ended.output)

    if ended.assembled:
        return Run(test, lane, "assembled", ended.seconds, ended.assembled)
    if ended.timed_out:
        return run("timeout", *ended.trouble)
    if ended.error is not None or ended.trouble:
        return run("fail", *ended.trouble)
    problem = _other_than_natively(ended, native) or _unexpected(test, ended.panic)
    return run("pass") if problem is None else run("fail", problem)


def _unexpected(test: CrateTest, panic: Panic | None) -> Diagnostic | None:
    """What is wrong with a panic, or with the lack of one."""
    if test.should_panic is None:
        return None if panic is None else panic.shown
    if panic is None:
        return Diagnostic("", "test did not panic as expected", notes=[f"in test `{test.path}`"])
    if test.should_panic in (panic.message or ""):
        return None
    message = "panic did not contain expected string"
    if panic.message is None:
        message = "the panic's message is not known in this lane"
    shown = panic.shown
    notes = [f"      panic message: `{panic.message}`", f" expected substring: `{test.should_panic}`", *shown.notes]
    return Diagnostic("", message, shown.location, notes=notes)


def _other_than_natively(ended: Ended, native: Ended | None) -> Diagnostic | None:
    """In what this lane's end differs from the native one."""
    if native is None or native.error is not None or native.timed_out or _same(ended.panic, native.panic):
        return None
    return Diagnostic(
        "", "this is not what the native build does", _location(ended.panic or native.panic),
        notes=[f"here: {_told(ended.panic)}", f"natively: {_told(native.panic)}"],
    )  # fmt: skip


def _same(ours: Panic | None, theirs: Panic | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    if ours.message is None:
        return True
    pattern = ".*".join(map(re.escape, _HIDDEN.split(ours.message)))
    return ours.location == theirs.location and re.fullmatch(pattern, theirs.message or "", re.DOTALL) is not None


def _told(panic: Panic | None) -> str:
    return "no panic" if panic is None else f"panic at {panic.location}: {panic.message}"


def _location(panic: Panic | None) -> Location | None:
    return None if panic is None else panic.shown.location
