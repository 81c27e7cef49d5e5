"""Hints, checks, endings, refusals, the device crate's externs, and the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mirgen.errors import UnsupportedError
from mirgen.intrinsics import core_table, device_table, find, heap_table, is_intrinsic, lookup
from mirgen.intrinsics.support import generics
from mirgen.layout.builder import LayoutMaker
from mirgen.lower.panic import strip_generics
from mirgen.lower.program import lower_program
from mirgen.mir import body as m
from mirgen.mir.builder import (
    BodyBuilder,
    binary,
    cast,
    const,
    deref,
    field,
    move,
    program,
    raw_ptr,
    tuple_of,
    use,
    zst,
)  # fmt: skip
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


def test_sizes_and_zeros(call: Calls) -> None:
    ty = call.ty
    triple = ty.struct("Triple", [ty.u16, ty.u8])
    for path, expected in (("size_of", 4), ("align_of", 2), ("min_align_of", 2)):
        assert call(f"{path}::<{triple.text}>", [], ty.usize) == expected
    assert call("assert_zero_valid::<u32>", [], ty.unit) == 0
    reference = ty.ref(ty.u8)
    outcome = call.run(f"assert_zero_valid::<{reference.text}>", [], ty.unit)
    assert not isinstance(outcome, int)
    assert "zero-initialize" in outcome.site.message


def test_the_run_time_arm_is_called(call: Calls) -> None:
    ty = call.ty
    bodies: list[m.Body] = []
    for name, op in (("in_const", "Sub"), ("at_run_time", "Add")):
        f = BodyBuilder(name, args=[ty.u32, ty.u8], ret=ty.u32)
        f.assign(f.ret, binary(op, f.arg(0), f.let(ty.u32, cast("IntToInt", f.arg(1), ty.u32))))
        f.return_()
        bodies.append(f.build())
    pair = ty.tuple(ty.u32, ty.u8)
    arms = [ty.fn_def(name, [ty.u32, ty.u8], ty.u32) for name in ("in_const", "at_run_time")]
    select = ty.fn_def("core::intrinsics::const_eval_select::<..>", [pair, *arms], ty.u32)
    b = BodyBuilder("k", args=[ty.u32, ty.u8, ty.ref(ty.u32, mut=True)], ret=ty.unit)
    packed = b.let(pair, tuple_of(b.arg(0), b.arg(1)))
    b.call(deref(b.arg(2)), select, move(packed), *map(zst, arms))
    b.return_()
    out = bytearray(4)
    assert call.host.run(b.build(), *bodies, args=[40, 2, out]) is None
    assert int.from_bytes(out, "little") == 42


def test_caller_location(call: Calls) -> None:
    """The line of the call in the user's function, through an inlined ``#[track_caller]`` one."""
    ty = call.ty
    location = ty.struct("core::panic::Location", [ty.ref(ty.str), ty.u32, ty.u32], order=[1, 0, 2])
    item = ty.fn_def("core::intrinsics::caller_location", [], ty.ref(location))
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.ref(ty.u8, mut=True)], ret=ty.unit)
    b.line(21)
    at = b.local(ty.ref(location))
    b.call(at, item)
    b.assign(deref(b.arg(0)), use(field(deref(at), 1, ty.u32)))
    name = b.let(ty.ref(ty.str), use(field(deref(at), 0, ty.ref(ty.str))))
    raw = b.let(ty.ptr(ty.str), raw_ptr(deref(name)))
    b.assign(deref(b.arg(1)), use(deref(b.let(ty.ptr(ty.u8), cast("PtrToPtr", raw, ty.ptr(ty.u8))))))
    b.return_()
    line, letter = bytearray(4), bytearray(1)
    assert call.host.run(b.build(), args=[line, letter]) is None
    assert (line[0], letter) == (21, b"t")


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
        ("core::intrinsics::needs_drop::<u8>", "constant"),
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
    assert any("kernel k" in note for note in diagnostic.notes)


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
    page = Path(__file__).parents[2] / "docs" / "intrinsics.md"
    assert page.read_text() == done.stdout, "run: python -m mirgen.intrinsics --table > docs/intrinsics.md"
    for name in (*core_table(), *heap_table(), *device_table()):
        assert name.endswith("f128") or f"`{name}`" in done.stdout, name
    for name, entry in core_table().items():
        assert entry.support == "exact" or entry.note, f"{name} says not why"
        assert find(f"core::intrinsics::{name}") is entry
