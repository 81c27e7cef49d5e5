"""The simulator's heap on hand-written LLVM IR: what it gives out, and what it says of misuse."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import pytest

from mirgen.runtime.errors import HeapError
from mirgen.runtime.sim.client import Simulator
from mirgen.runtime.sim.launch import BufferPointer, SimLaunch, SimModule, SimOptions

HEAD = """
declare void @llvm.memset.p0i8.i64(i8*, i8, i64, i1)
declare i8* @__mirgen_sim_alloc(i8*, i64, i64)
declare i8* @__mirgen_sim_alloc_zeroed(i8*, i64, i64)
declare void @__mirgen_sim_dealloc(i8*, i8*, i64, i64)
declare i8* @__mirgen_sim_realloc(i8*, i8*, i64, i64, i64)
define internal i64 @sum(i8* %from, i64 %count) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i2, %loop ]
  %s = phi i64 [ 0, %entry ], [ %s2, %loop ]
  %p = getelementptr i8, i8* %from, i64 %i
  %v = load i8, i8* %p
  %w = zext i8 %v to i64
  %s2 = add i64 %s, %w
  %i2 = add i64 %i, 1
  %more = icmp ult i64 %i2, %count
  br i1 %more, label %loop, label %out
out:
  ret i64 %s2
}
define void @k(i8* %ctx, i8* %args) {
  %slot = bitcast i8* %args to i64**
  %out = load i64*, i64** %slot
"""


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    simulator = Simulator()
    yield simulator
    simulator.close()


def run(sim: Simulator, body: str, options: SimOptions | None = None) -> int:
    """What one thread stores into ``%out``."""
    module = SimModule(f"{HEAD}{body}\n  ret void\n}}\n", ("k",))
    buffer = sim.pool.take(8)
    view = buffer.bytes_at_end(8).view(np.uint64)
    view[0] = 0
    pointer = BufferPointer(0, buffer, buffer.offset_of(8), writable=True)
    sim.launch(module, SimLaunch("k", (1, 1, 1), (1, 1, 1), 0, 0, struct.pack("<Q", 0), (pointer,)), options)
    return int(view[0])


@pytest.mark.parametrize("align", [1, 8, 16, 64, 4096])
def test_memory_is_aligned_and_zeroed_where_asked(sim: Simulator, align: int) -> None:
    body = f"""
  %a = call i8* @__mirgen_sim_alloc_zeroed(i8* %ctx, i64 100, i64 {align})
  %n = ptrtoint i8* %a to i64
  %off = urem i64 %n, {align}
  %s = call i64 @sum(i8* %a, i64 100)
  %both = add i64 %off, %s
  call void @__mirgen_sim_dealloc(i8* %ctx, i8* %a, i64 100, i64 {align})
  store i64 %both, i64* %out"""
    assert run(sim, body) == 0


def test_fresh_and_freed_memory_hold_nothing_of_use(sim: Simulator) -> None:
    body = """
  %a = call i8* @__mirgen_sim_alloc_zeroed(i8* %ctx, i64 10, i64 1)
  call void @__mirgen_sim_dealloc(i8* %ctx, i8* %a, i64 10, i64 1)
  %freed = call i64 @sum(i8* %a, i64 10)
  %b = call i8* @__mirgen_sim_alloc(i8* %ctx, i64 10, i64 1)
  %fresh = call i64 @sum(i8* %b, i64 10)
  %both = add i64 %freed, %fresh
  store i64 %both, i64* %out"""
    assert run(sim, body, SimOptions(opt_level=0)) == 2 * 10 * 255


@pytest.mark.parametrize(("new", "kept"), [(50, 12), (5, 5)])
def test_what_moves_keeps_its_contents(sim: Simulator, new: int, kept: int) -> None:
    body = f"""
  %a = call i8* @__mirgen_sim_alloc_zeroed(i8* %ctx, i64 12, i64 4)
  store i8 7, i8* %a
  %b = call i8* @__mirgen_sim_realloc(i8* %ctx, i8* %a, i64 12, i64 4, i64 {new})
  %s = call i64 @sum(i8* %b, i64 {kept})
  call void @__mirgen_sim_dealloc(i8* %ctx, i8* %b, i64 {new}, i64 4)
  store i64 %s, i64* %out"""
    assert run(sim, body) == 7


@pytest.mark.parametrize("again", ["dealloc", "realloc"])
def test_memory_that_is_given_back_twice(sim: Simulator, again: str) -> None:
    second = {
        "dealloc": "call void @__mirgen_sim_dealloc(i8* %ctx, i8* %a, i64 24, i64 8)",
        "realloc": "%c = call i8* @__mirgen_sim_realloc(i8* %ctx, i8* %a, i64 24, i64 8, i64 30)",
    }[again]
    body = f"""
  %a = call i8* @__mirgen_sim_alloc(i8* %ctx, i64 24, i64 8)
  call void @__mirgen_sim_dealloc(i8* %ctx, i8* %a, i64 24, i64 8)
  %other = call i8* @__mirgen_sim_alloc(i8* %ctx, i64 24, i64 8)
  {second}"""
    with pytest.raises(HeapError, match=r"deallocated 24 bytes at 0x\w+, which had been deallocated before") as error:
        run(sim, body)
    assert (error.value.block, error.value.thread) == ((0, 0, 0), (0, 0, 0))


@pytest.mark.parametrize(
    ("size", "align", "message"),
    [
        (25, 8, "deallocated 25 bytes where 24 had been allocated"),
        (24, 4, "deallocated with an alignment of 4 what had been allocated with 8"),
    ],
)
def test_memory_that_is_given_back_as_another(sim: Simulator, size: int, align: int, message: str) -> None:
    body = f"""
  %a = call i8* @__mirgen_sim_alloc(i8* %ctx, i64 24, i64 8)
  call void @__mirgen_sim_dealloc(i8* %ctx, i8* %a, i64 {size}, i64 {align})"""
    with pytest.raises(HeapError, match=message):
        run(sim, body)


@pytest.mark.parametrize("foreign", ["inside", "null", "kernel's"])
def test_memory_that_never_came_from_the_heap(sim: Simulator, foreign: str) -> None:
    pointer = {
        "inside": "getelementptr i8, i8* %a, i64 64",
        "null": "inttoptr i64 0 to i8*",
        "kernel's": "bitcast i64* %o to i8*",
    }[foreign]
    body = f"""
  %room = alloca [128 x i8], align 16
  %mid = getelementptr [128 x i8], [128 x i8]* %room, i64 0, i64 64
  %o = bitcast i8* %mid to i64*
  call void @llvm.memset.p0i8.i64(i8* %mid, i8 0, i64 64, i1 false)
  %a = call i8* @__mirgen_sim_alloc_zeroed(i8* %ctx, i64 256, i64 8)
  %b = {pointer}
  call void @__mirgen_sim_dealloc(i8* %ctx, i8* %b, i64 24, i64 8)"""
    with pytest.raises(HeapError, match="which was not allocated"):
        run(sim, body)


def test_the_worker_goes_on_after_misuse_and_after_much_memory(sim: Simulator) -> None:
    body = """
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %i2, %loop ]
  %a = call i8* @__mirgen_sim_alloc(i8* %ctx, i64 1048576, i64 8)
  %p = getelementptr i8, i8* %a, i64 1048575
  store i8 1, i8* %p
  call void @__mirgen_sim_dealloc(i8* %ctx, i8* %a, i64 1048576, i64 8)
  %i2 = add i64 %i, 1
  %more = icmp ult i64 %i2, 300
  br i1 %more, label %loop, label %end
end:
  store i64 %i2, i64* %out"""
    assert run(sim, body) == 300
