"""The simulator's engine on hand-written LLVM IR in the form that the host target emits."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mirgen.errors import InternalError, InvalidInputError
from mirgen.runtime.errors import (
    DeviceError,
    DivergentBarrierError,
    InvalidMemoryAccessError,
    KernelPanicError,
    KernelTimeoutError,
    KernelTrapError,
    Site,
)
from mirgen.runtime.rust_format import fill_message
from mirgen.runtime.sim.client import Simulator
from mirgen.runtime.sim.launch import BufferPointer, SimLaunch, SimModule, SimOptions
from mirgen.runtime.sim.memory import Buffer

HEAD = """
declare void @__mirgen_sim_barrier(i8*, i32)
declare void @__mirgen_panic(i8*, i32, i64, i64) noreturn
declare void @__mirgen_sim_trap(i8*) noreturn
define internal i32 @field(i8* %ctx, i64 %offset) {
  %p = getelementptr i8, i8* %ctx, i64 %offset
  %q = bitcast i8* %p to i32*
  %v = load i32, i32* %q
  ret i32 %v
}
define internal i32* @shared(i8* %ctx) {
  %p = getelementptr i8, i8* %ctx, i64 48
  %q = bitcast i8* %p to i32**
  %v = load i32*, i32** %q
  ret i32* %v
}
define internal i32* @array(i8* %args) {
  %q = bitcast i8* %args to i32**
  %v = load i32*, i32** %q
  ret i32* %v
}
define internal i32 @number(i8* %args) {
  %p = getelementptr i8, i8* %args, i64 8
  %q = bitcast i8* %p to i32*
  %v = load i32, i32* %q
  ret i32 %v
}
"""

#: Every round: publish, barrier, take the mirrored thread's value plus one, barrier.  The barriers stand in a helper.
EXCHANGE = """
define internal i32 @swap(i8* %ctx, i32 %v, i32 %mine, i32 %theirs) {
entry:
  %s = call i32* @shared(i8* %ctx)
  %m64 = zext i32 %mine to i64
  %t64 = zext i32 %theirs to i64
  %mp = getelementptr i32, i32* %s, i64 %m64
  %tp = getelementptr i32, i32* %s, i64 %t64
  store i32 %v, i32* %mp
  call void @__mirgen_sim_barrier(i8* %ctx, i32 0)
  %w = load i32, i32* %tp
  call void @__mirgen_sim_barrier(i8* %ctx, i32 1)
  ret i32 %w
}
define void @exchange(i8* %ctx, i8* %args) {
entry:
  %data = call i32* @array(i8* %args)
  %rounds = call i32 @number(i8* %args)
  %t = call i32 @field(i8* %ctx, i64 0)
  %n = call i32 @field(i8* %ctx, i64 12)
  %b = call i32 @field(i8* %ctx, i64 24)
  %base = mul i32 %b, %n
  %g = add i32 %base, %t
  %g64 = zext i32 %g to i64
  %p = getelementptr i32, i32* %data, i64 %g64
  %start = load i32, i32* %p
  %last = sub i32 %n, 1
  %o = sub i32 %last, %t
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%i2, %loop]
  %v = phi i32 [%start, %entry], [%v2, %loop]
  %w = call i32 @swap(i8* %ctx, i32 %v, i32 %t, i32 %o)
  %v2 = add i32 %w, 1
  %i2 = add i32 %i, 1
  %more = icmp ult i32 %i2, %rounds
  br i1 %more, label %loop, label %out
out:
  store i32 %v2, i32* %p
  ret void
}
"""

#: One thread leaves (0), waits elsewhere (1), panics (2), traps (3), reads wild (4), hangs (5), divides by 0 (6).
MISBEHAVE = """
@wild = internal global i64 256
define void @misbehave(i8* %ctx, i8* %args) {
entry:
  %t = call i32 @field(i8* %ctx, i64 72)
  %q = bitcast i8* %args to i32*
  %who = load i32, i32* %q
  %what = call i32 @number(i8* %args)
  %me = icmp eq i32 %t, %who
  br i1 %me, label %bad, label %good
good:
  call void @__mirgen_sim_barrier(i8* %ctx, i32 0)
  ret void
bad:
  switch i32 %what, label %out [i32 1, label %elsewhere
    i32 2, label %panic
    i32 3, label %trap
    i32 4, label %read
    i32 5, label %hang
    i32 6, label %divide]
elsewhere:
  call void @__mirgen_sim_barrier(i8* %ctx, i32 1)
  ret void
panic:
  call void @__mirgen_panic(i8* %ctx, i32 2, i64 3, i64 9)
  unreachable
trap:
  call void @__mirgen_sim_trap(i8* %ctx)
  unreachable
read:
  %a = load volatile i64, i64* @wild
  %p = inttoptr i64 %a to i32*
  %x = load volatile i32, i32* %p
  ret void
hang:
  %h = load volatile i64, i64* @wild
  br label %hang
divide:
  %d = load volatile i64, i64* @wild
  %z = sub i64 %d, 256
  %bad.q = udiv i64 1, %z
  store volatile i64 %bad.q, i64* @wild
  ret void
out:
  ret void
}
"""

SITES = (
    Site("barrier", "src/lib.rs:10:5"),
    Site("barrier", "src/lib.rs:20:5"),
    Site("index out of bounds: the len is {} but the index is {}", "src/lib.rs:30:9"),
)


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    simulator = Simulator()
    yield simulator
    simulator.close()


def array(values: np.ndarray) -> tuple[Buffer, np.ndarray]:
    buffer = Buffer(values.nbytes)
    view = buffer.bytes_at_end(values.nbytes).view(values.dtype)
    view[:] = values
    return buffer, view


def misbehave(
    sim: Simulator, who: int, what: int, *, options: SimOptions | None = None, block: tuple[int, int, int] = (32, 2, 1)
) -> float:
    module = SimModule(HEAD + MISBEHAVE, ("misbehave",), SITES)
    args = struct.pack("<Qi", who, what)
    return sim.launch(module, SimLaunch("misbehave", (3, 1, 1), block, 0, 0, args), options)


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize(
    "options",
    [
        SimOptions(),
        SimOptions("reverse"),
        SimOptions("random", seed=1),
        SimOptions("random", seed=2, os_threads=2),
    ],
    ids=["forward", "reverse", "random", "two-os-threads"],
)
def test_exchange_through_shared_memory(sim: Simulator, options: SimOptions, opt_level: int) -> None:
    options = SimOptions(options.schedule, options.seed, options.os_threads, None, opt_level)
    module = SimModule(HEAD + EXCHANGE, ("exchange",), SITES)
    assert sim.load(module, opt_level) == {"exchange": True}
    blocks, rounds = 7, 5
    values = np.arange(blocks * 256, dtype=np.int32) * 3
    buffer, view = array(values)
    pointer = BufferPointer(0, buffer, buffer.offset_of(values.nbytes), writable=True)
    launch = SimLaunch("exchange", (blocks, 1, 1), (256, 1, 1), 1024, 0, struct.pack("<Qi", 0, rounds), (pointer,))
    sim.launch(module, launch, options)
    expected = values.reshape(blocks, 256)[:, ::-1].ravel() + rounds
    np.testing.assert_array_equal(view, expected)


@pytest.mark.parametrize("schedule", ["forward", "reverse", "random"])
def test_exited_thread_is_divergent(sim: Simulator, schedule: str) -> None:
    with pytest.raises(DivergentBarrierError) as error:
        misbehave(sim, 33, 0, options=SimOptions(schedule, seed=5))  # pyright: ignore[reportArgumentType]
    assert "thread (1, 1, 0) has left the kernel" in str(error.value)
    assert "waits at the barrier at src/lib.rs:10:5" in str(error.value)
    assert error.value.block is not None


def test_two_barriers_are_divergent(sim: Simulator) -> None:
    with pytest.raises(DivergentBarrierError) as error:
        misbehave(sim, 33, 1)
    assert "thread (0, 0, 0) waits at the barrier at src/lib.rs:10:5" in str(error.value)
    assert "thread (1, 1, 0) waits at the barrier at src/lib.rs:20:5" in str(error.value)
    assert error.value.block == (0, 0, 0)


def test_panic_names_message_place_block_and_thread(sim: Simulator) -> None:
    with pytest.raises(KernelPanicError) as error:
        misbehave(sim, 5, 2, options=SimOptions("reverse"))
    assert error.value.message == "index out of bounds: the len is 3 but the index is 9"
    assert (error.value.block, error.value.thread) == ((2, 0, 0), (5, 0, 0))
    assert error.value.location == "src/lib.rs:30:9"
    # The same worker goes on.
    misbehave(sim, 100, 0)


def test_trap(sim: Simulator) -> None:
    with pytest.raises(KernelTrapError) as error:
        misbehave(sim, 0, 3)
    assert (error.value.block, error.value.thread) == ((0, 0, 0), (0, 0, 0))


def test_wild_read_kills_the_worker_and_is_reported(sim: Simulator) -> None:
    with pytest.raises(InvalidMemoryAccessError) as error:
        misbehave(sim, 34, 4)
    assert "a read at 0x100, which is in no array" in str(error.value)
    assert (error.value.block, error.value.thread) == ((0, 0, 0), (2, 1, 0))
    misbehave(sim, 100, 0)


def test_division_fault(sim: Simulator) -> None:
    with pytest.raises(DeviceError, match="integer division"):
        misbehave(sim, 1, 6, options=SimOptions(opt_level=0))


def test_timeout_says_where(sim: Simulator) -> None:
    with pytest.raises(KernelTimeoutError) as error:
        misbehave(sim, 3, 5, options=SimOptions(timeout=0.5))
    assert (error.value.block, error.value.thread) == ((0, 0, 0), (3, 0, 0))
    misbehave(sim, 100, 0)


def test_panic_stops_other_blocks(sim: Simulator) -> None:
    module = SimModule(
        HEAD
        + """
define void @k(i8* %ctx, i8* %args) {
  %b = call i32 @field(i8* %ctx, i64 24)
  %bad = icmp eq i32 %b, 3
  br i1 %bad, label %panic, label %ok
panic:
  call void @__mirgen_panic(i8* %ctx, i32 0, i64 0, i64 0)
  unreachable
ok:
  %data = call i32* @array(i8* %args)
  %b64 = zext i32 %b to i64
  %p = getelementptr i32, i32* %data, i64 %b64
  store i32 1, i32* %p
  ret void
}
""",
        ("k",),
        SITES,
    )
    assert sim.load(module) == {"k": False}
    buffer, view = array(np.zeros(10, np.int32))
    pointer = BufferPointer(0, buffer, buffer.offset_of(40), writable=True)
    with pytest.raises(KernelPanicError) as error:
        sim.launch(module, SimLaunch("k", (10, 1, 1), (1, 1, 1), 0, 0, bytes(16), (pointer,)))
    assert error.value.block == (3, 0, 0)
    assert view.tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]


STORE = """
define void @store(i8* %ctx, i8* %args) {
  %data = call i32* @array(i8* %args)
  %i = call i32 @number(i8* %args)
  %i64 = sext i32 %i to i64
  %p = getelementptr i32, i32* %data, i64 %i64
  store i32 7, i32* %p
  ret void
}
"""


@pytest.mark.parametrize(
    ("index", "fault"),
    [
        (0, None),
        (99, None),
        (100, "a write 0 bytes past the end of `x`"),
        (-2000, "a write 8000 bytes before `x`"),
        (1000, "a write 3600 bytes past the end of `x`"),
    ],
)
def test_guard_zones(sim: Simulator, index: int, fault: str | None) -> None:
    module = SimModule(HEAD + STORE, ("store",))
    buffer, view = array(np.zeros(100, np.int32))
    pointer = BufferPointer(0, buffer, buffer.offset_of(400), writable=True, nbytes=400, name="x")
    launch = SimLaunch("store", (1, 1, 1), (1, 1, 1), 0, 0, struct.pack("<Qi", 0, index), (pointer,))
    if fault is None:
        sim.launch(module, launch)
        assert view[index] == 7
    else:
        with pytest.raises(InvalidMemoryAccessError, match=fault):
            sim.launch(module, launch)


def test_read_only_array_can_not_be_written(sim: Simulator) -> None:
    module = SimModule(HEAD + STORE, ("store",))
    buffer, view = array(np.zeros(100, np.int32))
    pointer = BufferPointer(0, buffer, buffer.offset_of(400), writable=False, nbytes=400, name="x")
    launch = SimLaunch("store", (1, 1, 1), (1, 1, 1), 0, 0, struct.pack("<Qi", 0, 5), (pointer,))
    with pytest.raises(InvalidMemoryAccessError, match="a write of `x`, which is read-only"):
        sim.launch(module, launch)
    assert not view.any()


def test_shared_memory_ends_at_a_guard(sim: Simulator) -> None:
    module = SimModule(
        HEAD
        + """
define void @k(i8* %ctx, i8* %args) {
  %s = call i32* @shared(i8* %ctx)
  %i = call i32 @number(i8* %args)
  %i64 = sext i32 %i to i64
  %p = getelementptr i32, i32* %s, i64 %i64
  store i32 7, i32* %p
  ret void
}
""",
        ("k",),
    )
    sim.launch(module, SimLaunch("k", (1, 1, 1), (1, 1, 1), 512, 512, struct.pack("<Qi", 0, 255)))
    with pytest.raises(InvalidMemoryAccessError, match="0 bytes past the end of the block's shared memory"):
        sim.launch(module, SimLaunch("k", (1, 1, 1), (1, 1, 1), 512, 512, struct.pack("<Qi", 0, 256)))


def test_stack_overflow(sim: Simulator) -> None:
    module = SimModule(
        HEAD
        + """
define internal i64 @deep(i64 %n) noinline {
  %room = alloca [100 x i64]
  %p = getelementptr [100 x i64], [100 x i64]* %room, i64 0, i64 3
  store volatile i64 %n, i64* %p
  %n1 = add i64 %n, 1
  %r = call i64 @deep(i64 %n1)
  %v = load volatile i64, i64* %p
  %s = add i64 %r, %v
  ret i64 %s
}
define void @k(i8* %ctx, i8* %args) {
  %r = call i64 @deep(i64 0)
  %q = bitcast i8* %args to i64*
  store i64 %r, i64* %q
  ret void
}
""",
        ("k",),
    )
    with pytest.raises(DeviceError, match="stack overflow") as error:
        sim.launch(module, SimLaunch("k", (1, 1, 1), (1, 1, 1), 0, 0, bytes(16)), SimOptions(opt_level=1))
    assert error.value.block == (0, 0, 0)


def test_random_schedules_differ_and_repeat(sim: Simulator) -> None:
    """A race (all threads write one word) shows another winner under another order, the same under the same seed."""
    module = SimModule(
        HEAD
        + """
define void @race(i8* %ctx, i8* %args) {
  call void @__mirgen_sim_barrier(i8* %ctx, i32 0)
  %data = call i32* @array(i8* %args)
  %t = call i32 @field(i8* %ctx, i64 0)
  store i32 %t, i32* %data
  ret void
}
""",
        ("race",),
        SITES,
    )

    def winner(options: SimOptions) -> int:
        buffer, view = array(np.zeros(1, np.int32))
        pointer = BufferPointer(0, buffer, buffer.offset_of(4), writable=True)
        sim.launch(module, SimLaunch("race", (1, 1, 1), (64, 1, 1), 0, 0, bytes(16), (pointer,)), options)
        return int(view[0])

    assert winner(SimOptions()) == 63
    assert winner(SimOptions("reverse")) == 0
    first = [winner(SimOptions("random", seed=seed)) for seed in range(6)]
    assert first == [winner(SimOptions("random", seed=seed)) for seed in range(6)]
    assert len(set(first)) > 2


def test_recursive_barrier_is_refused(sim: Simulator) -> None:
    module = SimModule(
        HEAD
        + """
define internal void @again(i8* %ctx, i32 %n) {
  call void @__mirgen_sim_barrier(i8* %ctx, i32 0)
  %z = icmp eq i32 %n, 0
  br i1 %z, label %out, label %more
more:
  %m = sub i32 %n, 1
  call void @again(i8* %ctx, i32 %m)
  ret void
out:
  ret void
}
define void @k(i8* %ctx, i8* %args) {
  call void @again(i8* %ctx, i32 3)
  ret void
}
""",
        ("k",),
    )
    with pytest.raises(InternalError, match="again"):
        sim.load(module)


def test_bad_text_and_missing_symbols_are_errors(sim: Simulator) -> None:
    with pytest.raises(InvalidInputError, match="host IR"):
        sim.load(SimModule("define void @k(", ("k",)))
    with pytest.raises(InvalidInputError, match="no kernel other"):
        sim.load(SimModule(HEAD + STORE, ("other",)))
    with pytest.raises(InvalidInputError, match="no_such_function"):
        sim.load(
            SimModule(
                "declare void @no_such_function()\n"
                "define void @k(i8* %a, i8* %b) {\n  call void @no_such_function()\n  ret void\n}",
                ("k",),
            )
        )


def test_launches_from_several_threads(sim: Simulator) -> None:
    module = SimModule(HEAD + STORE, ("store",))
    wrong: list[object] = []

    def work(index: int) -> None:
        try:
            for _ in range(20):
                buffer, view = array(np.zeros(8, np.int32))
                pointer = BufferPointer(0, buffer, buffer.offset_of(32), writable=True)
                args = struct.pack("<Qi", 0, index)
                sim.launch(module, SimLaunch("store", (1, 1, 1), (1, 1, 1), 0, 0, args, (pointer,)))
                assert view[index] == 7
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("plain", "plain"),
        ("the len is {} but the index is {}", "the len is 3 but the index is 255"),
        ("{} at {:#x}", "3 at 0xff"),
        ("{{}} {} {{{}}}", "{} 3 {255}"),
        ("left {", "left {"),
    ],
)
def test_messages(message: str, expected: str) -> None:
    assert fill_message(message, words=(3, 255)) == expected


def test_memory_of_dead_arrays_is_given_back(sim: Simulator) -> None:
    """The worker unmaps what the caller no longer holds."""
    module = SimModule(HEAD + STORE, ("store",))

    def mapped() -> int:
        worker = sim.worker_id
        assert worker is not None
        return Path(f"/proc/{worker}/maps").read_text().count("memfd:mirgen-")

    def once() -> int:
        buffer, _ = array(np.zeros(1 << 16, np.int32))
        pointer = BufferPointer(0, buffer, 0, writable=True)
        sim.launch(module, SimLaunch("store", (1, 1, 1), (1, 1, 1), 0, 0, bytes(16), (pointer,)))
        return mapped()

    assert {once() for _ in range(10)} <= {mapped(), mapped() + 1}


def test_native_code_is_kept_on_disk(tmp_path: Path) -> None:
    cache = tmp_path / "host.o"
    file = tmp_path / "host.o.O3"
    module = SimModule(HEAD + EXCHANGE, ("exchange",), SITES, cache)

    def run() -> None:
        simulator = Simulator()
        buffer, view = array(np.arange(4, dtype=np.int32))
        pointer = BufferPointer(0, buffer, buffer.offset_of(16), writable=True)
        args = struct.pack("<Qi", 0, 1)
        simulator.launch(module, SimLaunch("exchange", (1, 1, 1), (4, 1, 1), 1024, 0, args, (pointer,)))
        simulator.close()
        assert view.tolist() == [4, 3, 2, 1]

    run()
    made, kept = file.stat().st_mtime_ns, file.read_bytes()
    run()
    assert file.stat().st_mtime_ns == made
    # Cut, changed, or of another text: made again.
    for wrong in (kept[:-1], kept.replace(b'"key": "', b'"key": "x'), b"", b"[]\n", b"null\nx"):
        file.write_bytes(wrong)
        run()
        assert file.read_bytes() == kept
    assert [entry.name for entry in tmp_path.iterdir()] == ["host.o.O3"]
