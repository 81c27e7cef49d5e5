"""Hints, checks, endings, refusals, the device crate's externs, and the table."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mirgen.errors import UnsupportedError
from mirgen.intrinsics import core_table, device_table, find, is_intrinsic, lookup
from mirgen.intrinsics.support import generics
from mirgen.layout.builder import LayoutMaker
from mirgen.lower.panic import strip_generics
from mirgen.lower.program import lower_program
from mirgen.mir.builder import BodyBuilder, const, deref, program, use
from mirgen.targets.host import HostTarget
from mirgen.targets.nvptx import NvptxTarget
from mirgen.testing.consumers import device_ptx

from .conftest import Calls


def test_hints(call: Calls) -> None:
    ty = call.ty
    for path in ("likely", "unlikely"):
        for value in (0, 1):
            call.expect(path, [(ty.bool, value)], ty.bool, value)
    call.expect("assume", [(ty.bool, 1)], ty.unit, 0)
    call.expect("cold_path", [], ty.unit, 0)
    call.expect("is_val_statically_known::<u32>", [(ty.u32, 7)], ty.bool, 0)
    call.expect("ub_checks", [], ty.bool, 0)
    call.expect("transmute::<u32, i32>", [(ty.u32, 0xFFFFFFFF)], ty.i32, 0xFFFFFFFF)
    call.expect("transmute_unchecked::<u32, [u8; 4]>", [(ty.u32, 0x01020304)], ty.array(ty.u8, 4), 0x01020304)
    call.check()


def test_uninhabited_types_panic(call: Calls) -> None:
    ty = call.ty
    assert call("assert_inhabited::<u32>", [], ty.unit) == 0
    outcome = call.run("assert_inhabited::<!>", [], ty.unit)
    assert not isinstance(outcome, int)
    assert "uninhabited" in outcome.site.message


def test_endings(call: Calls) -> None:
    ty = call.ty
    for path, instruction in (("abort", "llvm.trap"), ("unreachable", "unreachable")):
        b = BodyBuilder("k", args=[ty.bool], ret=ty.unit)
        ends, goes_on = b.block(), b.block()
        b.switch(b.arg(0), {0: goes_on}, ends)
        b.at(ends).call(b.local(ty.never), ty.fn_def(f"core::intrinsics::{path}", [], ty.never), target=None)
        b.at(goes_on).return_()
        assert call.host.run(b.build(), args=[0]) is None
        assert instruction in call.host.lower(b.build()).text


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("core::intrinsics::catch_unwind", "nothing can catch"),
        ("core::intrinsics::simd::simd_add::<T>", "SIMD"),
        ("core::intrinsics::simd_add::<T>", "SIMD"),
        ("core::intrinsics::size_of::<u8>", "constant"),
        ("core::intrinsics::vtable_size", "trait objects"),
        ("core::intrinsics::brand_new::<u8>", "brand_new"),
    ],
)
def test_refusals_name_the_intrinsic_and_its_place(call: Calls, path: str, words: str) -> None:
    ty = call.ty
    with pytest.raises(UnsupportedError, match=words) as caught:
        call.host.lower(call.body(path, [ty.u32], ty.u32))
    diagnostic = caught.value.diagnostics[0]
    assert strip_generics(path).rpartition("::")[2] in diagnostic.message
    assert diagnostic.location is not None
    assert diagnostic.location.line == 3
    assert any("reached from kernel k" in note for note in diagnostic.notes)


def test_names() -> None:
    assert strip_generics("core::intrinsics::copy::<[u8; 3]>") == "core::intrinsics::copy"
    assert strip_generics("a::b::<fn(u8) -> u8>::c") == "a::b::c"
    assert generics("f::<u32, (A, B), fn(u8) -> u8, [u8; ValTree(Leaf(0x3): usize)]>") == (
        "u32", "(A, B)", "fn(u8) -> u8", "[u8; ValTree(Leaf(0x3): usize)]",
    )  # fmt: skip
    assert generics("f") == ()
    assert generics("f::<A<B, C>>") == ("A<B, C>",)
    assert lookup("core::mem::swap::<u8>") is None
    assert not is_intrinsic("mycrate::rotate_left")
    assert is_intrinsic("std::intrinsics::rotate_left::<u8>")
    assert is_intrinsic("mirgen_device::intrinsics::__mirgen_tid_x")
    assert is_intrinsic("intrinsics::math::__mirgen_math_sinf")
    assert not is_intrinsic("saxpy::__mirgen_kernel_saxpy_L1"), "kernels have bodies"


# ---- the device crate ----------------------------------------------------------------------------------------


def test_device_externs(call: Calls) -> None:
    ty = call.ty
    device = "mirgen_device::intrinsics::"
    for register in ("tid", "ntid", "ctaid", "nctaid"):
        for axis in "xyz":
            assert call(f"{device}__mirgen_{register}_{axis}", [], ty.u32) == int(register.startswith("n"))
    assert call(f"{device}__mirgen_barrier", [], ty.unit) == 0
    assert call(f"{device}__mirgen_fact_dimensions", [(ty.u32, 1)], ty.unit) == 0
    assert call(f"{device}math::__mirgen_math_sqrt", [(ty.f64, 0x4010000000000000)], ty.f64) == 0x4000000000000000


def lowered_for_simulator(ty: LayoutMaker, path: str) -> str:
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True)], ret=ty.unit)
    b.call(deref(b.arg(0)), ty.fn_def(path, [], ty.u32))
    b.assign(deref(b.arg(0)), use(const(ty.u32, 1)))
    b.return_()
    return lower_program(program(b.build(), kernels=("k",)), ty.layouts, HostTarget()).text


def test_the_simulator_reads_indices_from_its_context(call: Calls) -> None:
    assert "invariant.load" in lowered_for_simulator(call.ty, "mirgen_device::intrinsics::__mirgen_ctaid_y")


@pytest.mark.cuda
@pytest.mark.slow
def test_the_gpu_reads_special_registers_and_waits_twice(call: Calls) -> None:
    ty = call.ty
    device = "mirgen_device::intrinsics::"
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.ref(ty.f32, mut=True)], ret=ty.unit)
    barrier = ty.fn_def(f"{device}__mirgen_barrier", [], ty.unit)
    b.call(deref(b.arg(0)), ty.fn_def(f"{device}__mirgen_ctaid_z", [], ty.u32))
    b.call(b.local(ty.unit), barrier)
    b.call(deref(b.arg(1)), ty.fn_def(f"{device}math::__mirgen_math_sinf", [ty.f32], ty.f32), deref(b.arg(1)))
    b.call(b.local(ty.unit), barrier)
    b.return_()
    call.bodies.append(b.build())
    text = lower_program(program(*call.bodies, kernels=("k",)), ty.layouts, NvptxTarget()).text
    for ptx in device_ptx(text, ["k"]).values():
        assert "%ctaid.z" in ptx
        assert ptx.count("bar.sync") == 2
        assert "call" not in ptx.split(".entry", 1)[1].replace("callseq", ""), "libdevice is linked in"


# ---- the table -----------------------------------------------------------------------------------------------


def test_the_table_lists_every_entry() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mirgen.intrinsics", "--table"], capture_output=True, text=True, check=True
    )
    for name in (*core_table(), *device_table()):
        assert name.endswith("f128") or f"`{name}`" in done.stdout, name
    for name, entry in core_table().items():
        assert entry.support == "exact" or entry.note, f"{name} says not why"
        assert find(f"core::intrinsics::{name}") is entry
