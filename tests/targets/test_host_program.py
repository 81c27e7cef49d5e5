"""MIR lowered for the host target and run by the simulator: indices, barriers in callees, panics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from mirgen.layout.builder import LayoutMaker
from mirgen.lower.program import lower_program
from mirgen.mir import body as m
from mirgen.mir import ty as t
from mirgen.mir.builder import BodyBuilder, binary, cast, const, deref, index, program, unary
from mirgen.runtime.abi import KernelSpec
from mirgen.runtime.errors import DivergentBarrierError, KernelPanicError
from mirgen.runtime.module import Module
from mirgen.runtime.sim.client import Simulator
from mirgen.runtime.sim.launch import Schedule, SimModule, SimOptions
from mirgen.runtime.simulated import SimExecutor
from mirgen.runtime.sites import sites_of
from mirgen.targets.host import HostTarget
from mirgen.targets.host_abi import ENTRY


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    simulator = Simulator()
    yield simulator
    simulator.close()


def module_of(ty: LayoutMaker, sim: Simulator, options: SimOptions, *bodies: m.Body) -> Module:
    lowered = lower_program(program(*bodies, kernels=("k",)), ty.layouts, HostTarget())
    made = SimModule(lowered.text, (ENTRY + "k",), sites_of(lowered.text))
    kernels = [KernelSpec.of(kernel) for kernel in lowered.kernels]
    return Module("t", kernels, SimExecutor(made, options, sim), "sim")


def reserved(ty: LayoutMaker, name: str, result: str = "u32") -> t.Ty:
    """The device crate's extern ``__mirgen_<name>``."""
    return ty.fn_def(f"mirgen_device::intrinsics::__mirgen_{name}", [], getattr(ty, result))


def rotate(ty: LayoutMaker) -> m.Body:
    """``fn rotate(n: u32)``: ``n`` barriers, in a loop, in a function of their own."""
    b = BodyBuilder("rotate", args=[ty.u32], ret=ty.unit)
    i, done, nothing = b.local(ty.u32), b.local(ty.bool), b.local(ty.unit)
    head, body, out = b.block(), b.block(), b.block()
    b.line(20).assign(i, const(ty.u32, 0)).goto(head)
    b.at(head).assign(done, binary("Ge", i, b.arg(0))).switch(done, {0: body}, out)
    b.at(body).line(21).call(nothing, reserved(ty, "barrier", "unit"))
    b.assign(i, binary("Add", i, const(ty.u32, 1))).goto(head)
    b.at(out).return_()
    return b.build()


def kernel(ty: LayoutMaker) -> m.Body:
    """``out[tid] = tid * 10 + blocks`` between barriers; ``n + tid * skew`` of them, so that ``skew`` diverges."""
    b = BodyBuilder("k", args=[ty.ref(ty.slice(ty.u32), mut=True), ty.u32, ty.u32], ret=ty.unit)
    tid, blocks, value, count, nothing = (b.local(one) for one in (ty.u32, ty.u32, ty.u32, ty.u32, ty.unit))
    at, length, inside = b.local(ty.usize), b.local(ty.usize), b.local(ty.bool)
    b.line(1).call(tid, reserved(ty, "tid_x")).call(blocks, reserved(ty, "nctaid_x"))
    b.assign(count, binary("Mul", tid, b.arg(2))).assign(count, binary("Add", count, b.arg(1)))
    b.line(2).call(nothing, ty.fn_def("rotate", [ty.u32], ty.unit), count)
    b.assign(value, binary("Mul", tid, const(ty.u32, 10))).assign(value, binary("Add", value, blocks))
    b.assign(at, cast("IntToInt", tid, ty.usize)).assign(length, unary("PtrMetadata", b.arg(0)))
    b.line(3).assign(inside, binary("Lt", at, length))
    b.assert_(inside, "index out of bounds: the length is {} but the index is {}", length, at)
    b.assign(index(deref(b.arg(0)), at), value)
    b.line(4).call(nothing, ty.fn_def("rotate", [ty.u32], ty.unit), b.arg(1)).return_()
    return b.build()


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("schedule", ["forward", "reverse", "random"])
def test_barriers_in_a_callee(sim: Simulator, schedule: Schedule, opt_level: int) -> None:
    ty = LayoutMaker()
    made = module_of(ty, sim, SimOptions(schedule, 7, opt_level=opt_level), kernel(ty), rotate(ty))
    out = np.zeros(70, np.uint32)
    made["k"][3, 70](out, 5, 0)
    assert out.tolist() == [i * 10 + 3 for i in range(70)]


def test_panic_in_one_thread_between_barriers(sim: Simulator) -> None:
    ty = LayoutMaker()
    made = module_of(ty, sim, SimOptions(), kernel(ty), rotate(ty))
    out = np.zeros(60, np.uint32)
    with pytest.raises(KernelPanicError) as error:
        made["k"][1, 64](out, 2, 0)
    assert error.value.message == "index out of bounds: the len is 60 but the index is 60"
    assert error.value.thread == (60, 0, 0)
    assert error.value.location is not None
    assert error.value.location.partition(":")[2].startswith("3:")
    assert out[59] == 591


def test_divergent_barrier_names_both_parties(sim: Simulator) -> None:
    ty = LayoutMaker()
    made = module_of(ty, sim, SimOptions(), kernel(ty), rotate(ty))
    with pytest.raises(DivergentBarrierError, match=r"thread \(0, 0, 0\) has left .*thread \(1, 0, 0\) .*:21:"):
        made["k"][1, 64](np.zeros(64, np.uint32), 0, 1)
    made = module_of(ty, sim, SimOptions("reverse"), kernel(ty), rotate(ty))
    with pytest.raises(DivergentBarrierError, match=r"thread \(63, 0, 0\) waits .*thread \(0, 0, 0\) has left"):
        made["k"][1, 64](np.zeros(64, np.uint32), 0, 1)
