"""sha2's kernel, a megabyte of MIR text, from rustc's JSON to LLVM IR text: how long it takes, and which part of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import pytest

from mirgen.cargo import dump, layouts
from mirgen.pipeline import Progress, lower, read_program
from mirgen.targets.host import HostTarget
from mirgen.targets.nvptx import NvptxTarget
from mirgen.testing.conformance import build_options
from tests.exec.lanes import LANES, sample

P = ParamSpec("P")
R = TypeVar("R")

#: Seconds of this process, whatever else the machine does.  It takes about an eighth of that.
BOUND = 5.0


class Clock:
    """Counts the processor time of functions."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, name: str, function: Callable[P, R]) -> Callable[P, R]:
        """``function``, whose time counts under ``name``."""

        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - start

        return wrapped


@pytest.mark.slow
def test_sha2_from_json_to_llvm_ir(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    # All that is read on the way counts, also the levels of the tower that turn out not to be enough.
    monkeypatch.setattr(dump, "load_mir", clock.timed("read MIR", dump.load_mir))
    monkeypatch.setattr(layouts, "load_layouts", clock.timed("read layouts", layouts.load_layouts))
    options = build_options(sample("crates_sha2"), LANES[0], ["sha256"])
    progress = Progress(quiet=True)
    with LANES[0].active():
        _, closed = read_program(options.cargo, options.kernels, progress)
    texts = [
        clock.timed(f"lower for {target.name}", lower)(closed, target, progress).text
        for target in (NvptxTarget(), HostTarget())
    ]
    statements = sum(len(block.statements) + 1 for body in closed.reached_bodies("sha256") for block in body.blocks)
    lowering = clock.seconds["lower for nvptx"]
    parts = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in clock.seconds.items())
    with capsys.disabled():
        print(f"\nsha256: {statements} MIR statements, {statements / lowering:,.0f}/s lowered; {parts}")
    assert statements > 5000
    assert all(len(text) > 200_000 for text in texts)
    assert clock.seconds["read MIR"] > 0 and clock.seconds["read layouts"] > 0
    assert sum(clock.seconds.values()) - clock.seconds["lower for host"] < BOUND
