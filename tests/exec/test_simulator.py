"""Every fixture on the simulator: byte for byte what its native build computes, under every schedule."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.cargo.options import CargoOptions
from mirgen.pipeline import Progress, lower, read_program
from mirgen.runtime.abi import KernelSpec
from mirgen.runtime.module import Module
from mirgen.runtime.sim.launch import SimModule, SimOptions
from mirgen.runtime.simulated import SimExecutor
from mirgen.runtime.sites import sites_of
from mirgen.targets.host import HostTarget
from mirgen.targets.host_abi import ENTRY
from mirgen.testing.fixture import (
    Fixture,
    argument,
    build_native,
    differences,
    fixture_paths,
    load_fixture,
    run_native,
)

CRATES = Path(__file__).parents[2] / "fixtures" / "crates"
FIXTURES = [load_fixture(path) for path in fixture_paths(CRATES)]
WAYS = {
    "forward": SimOptions(),
    "reverse": SimOptions("reverse"),
    "random": SimOptions("random", seed=3, os_threads=2),
    "unoptimised": SimOptions(opt_level=0),
}


def host_module(fixture: Fixture, names: tuple[str, ...], profile: str) -> tuple[SimModule, list[KernelSpec]]:
    """The crate compiled for the host target, as the pipeline does it."""
    progress = Progress(quiet=True)
    options = CargoOptions(
        manifest_path=fixture.path / "Cargo.toml",
        profile=profile,
        target="host",
        target_dir=CRATES / "target",
        quiet=True,
    )
    _, closed = read_program(options, names, progress)
    lowered = lower(closed, HostTarget(), progress)
    specs = [KernelSpec.of(kernel) for kernel in lowered.kernels]
    return SimModule(lowered.text, tuple(ENTRY + spec.name for spec in specs), sites_of(lowered.text)), specs


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["dev", "release"])
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.crate)
def test_fixture(fixture: Fixture, profile: str) -> None:
    # What needs core's own MIR is refused without it; other lanes run it.
    kernels = [kernel for kernel in fixture.kernels if not kernel.needs]
    module, specs = host_module(fixture, tuple(kernel.name for kernel in kernels), profile)
    assert {spec.name for spec in specs} == {kernel.name for kernel in kernels}
    native = build_native(fixture)
    wrong: list[str] = []
    for kernel in kernels:
        inputs = kernel.inputs()
        expected = run_native(fixture, kernel, inputs, native)
        for way, options in WAYS.items():
            found = {name: data.copy() for name, data in inputs.items()}
            launched = Module(fixture.crate, specs, SimExecutor(module, options), "sim")[kernel.name]
            launched[kernel.grid, kernel.block](*(argument(param, found[param.name]) for param in kernel.params))
            wrong += [f"{kernel.name} ({way}): {line}" for line in differences(kernel, expected, found)]
    assert not wrong
