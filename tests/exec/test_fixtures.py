"""Every fixture: PTX by both code generators for all generations of GPUs through ptxas, and the simulator against the
native build, under every order of threads; or refused with the code that the fixture leads to expect.
"""

from __future__ import annotations

import pytest

from mirgen.testing.conformance import SIMULATOR, WAYS, Outcome, examine, forget_texts
from mirgen.testing.fixture import Fixture
from mirgen.testing.lanes import REFUSALS, Lane, expected_refusal
from tests.exec.lanes import FIXTURES, LANES, checks_of, sample, sampled

pytestmark = [pytest.mark.cuda, pytest.mark.slow]

#: Profiles differ in overflow checks, and in how much rustc inlines.
DEV_PROFILE = ("saxpy", "block_reduce", "params", "mandelbrot")


def verdict(fixture: Fixture, lane: Lane, outcomes: list[Outcome]) -> list[str]:
    """What is not as it must be, one line for each kernel and reason; nothing may be missing."""
    wrong = {(o.kernel, o.detail): str(o) for o in outcomes if o.status in ("wrong", "crash")}
    lines = list(wrong.values())
    for kernel in fixture.kernels:
        seen = {o.check for o in outcomes if o.kernel == kernel.name}
        every = set(checks_of(fixture))
        if expected_refusal(kernel.needs, lane) is not None:
            every = {"refusal"}
        lines += [f"{kernel.name}: {check} was not tried" for check in sorted(every - seen)]
    return lines


@pytest.mark.parametrize(("lane", "fixture"), sampled(), ids=lambda value: str(getattr(value, "crate", value)))
def test_fixture(lane: Lane, fixture: Fixture) -> None:
    lines = verdict(fixture, lane, list(examine(fixture, lane, checks=checks_of(fixture))))
    forget_texts(fixture, lane)
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("crate", DEV_PROFILE)
def test_unoptimised_profile(crate: str) -> None:
    checks = (SIMULATOR, "llvm sm_90", "nvvm sm_90")
    outcomes = list(examine(sample(crate), LANES[0], "dev", checks, {"forward": WAYS["forward"]}))
    assert {outcome.status for outcome in outcomes} == {"pass"}, "\n".join(map(str, outcomes))


@pytest.mark.nvptx64
def test_the_lane_with_core_is_there() -> None:
    assert "nvptx64" in {lane.target for lane in LANES}


def test_every_need_has_its_code() -> None:
    """A misspelt need would only make a kernel disappear from all lanes."""
    needs = {need for fixture in FIXTURES.values() for kernel in fixture.kernels for need in kernel.needs}
    assert needs <= REFUSALS.keys()
