"""The fixtures run as plain Rust: what every other lane is compared with."""

from __future__ import annotations

import dataclasses

import pytest

from mirgen.errors import ToolError
from mirgen.testing.conformance import native_program
from mirgen.testing.fixture import Fixture, differences, run_native, unexpected
from tests.exec.lanes import FIXTURES, LANES


@pytest.mark.slow
@pytest.mark.parametrize("fixture", FIXTURES.values(), ids=lambda fixture: fixture.crate)
def test_every_kernel_runs_natively(fixture: Fixture) -> None:
    program = native_program(fixture, LANES[0])
    for kernel in fixture.kernels:
        inputs = kernel.inputs()
        outputs = run_native(fixture, kernel, inputs, program)
        assert not unexpected(kernel, outputs), kernel.name
        # A kernel that writes nothing would agree with any other that writes nothing.
        assert differences(kernel, inputs, outputs), f"{kernel.name} left its outputs as they were"


def test_inputs_are_the_same_each_time() -> None:
    for fixture in FIXTURES.values():
        for kernel in fixture.kernels:
            one, other = kernel.inputs(), kernel.inputs()
            assert all(one[name].tobytes() == other[name].tobytes() for name in one), kernel.name


@pytest.mark.slow
def test_an_unknown_kernel_is_an_error() -> None:
    fixture = FIXTURES["saxpy"]
    kernel = fixture.kernels[0]
    program = native_program(fixture, LANES[0])
    with pytest.raises(ToolError, match="no kernel `nothing`"):
        run_native(fixture, dataclasses.replace(kernel, name="nothing"), kernel.inputs(), program)
