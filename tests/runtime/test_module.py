"""Modules, launch syntax, limits, facts; on the simulator."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirgen.errors import InvalidInputError, MirgenError
from mirgen.runtime import LaunchConfig, Module, arrays
from mirgen.runtime.abi import Facts, KernelSpec, Param
from mirgen.runtime.dims import check_launch, dim3
from mirgen.runtime.errors import (
    ArgumentTypeError,
    InvalidMemoryAccessError,
    KernelNotFoundError,
    KernelPanicError,
    LaunchError,
    Site,
)
from mirgen.runtime.runner import parse_assignment, run_kernel
from mirgen.runtime.sim.client import Simulator, default_simulator
from mirgen.runtime.sim.launch import SimModule, SimOptions
from mirgen.runtime.simulated import SimExecutor

#: saxpy as the host target emits it: bounds-checked against y; reads x beside its end where that is shorter (unsafe).
SAXPY = """
declare void @__mirgen_panic(i8*, i32, i64, i64)
define void @mirgen.kernel.saxpy(i8* %ctx, i8* %args) {
  %ctx32 = bitcast i8* %ctx to i32*
  %tid = load i32, i32* %ctx32
  %ntid.p = getelementptr i32, i32* %ctx32, i64 3
  %ntid = load i32, i32* %ntid.p
  %cta.p = getelementptr i32, i32* %ctx32, i64 6
  %cta = load i32, i32* %cta.p
  %base = mul i32 %ntid, %cta
  %i32v = add i32 %base, %tid
  %i = zext i32 %i32v to i64
  %a.p = bitcast i8* %args to float*
  %a = load float, float* %a.p
  %x.p = getelementptr i8, i8* %args, i64 8
  %x.pp = bitcast i8* %x.p to float**
  %x = load float*, float** %x.pp
  %y.p = getelementptr i8, i8* %args, i64 24
  %y.pp = bitcast i8* %y.p to float**
  %y = load float*, float** %y.pp
  %len.p = getelementptr i8, i8* %args, i64 32
  %len.pp = bitcast i8* %len.p to i64*
  %len = load i64, i64* %len.pp
  %in = icmp ult i64 %i, %len
  br i1 %in, label %ok, label %out
ok:
  %xi.p = getelementptr float, float* %x, i64 %i
  %xi = load float, float* %xi.p
  %yi.p = getelementptr float, float* %y, i64 %i
  %yi = load float, float* %yi.p
  %bad = fcmp uno float %xi, %xi
  br i1 %bad, label %panic, label %store
panic:
  call void @__mirgen_panic(i8* %ctx, i32 0, i64 %i, i64 0)
  unreachable
store:
  %m = fmul float %a, %xi
  %s = fadd float %yi, %m
  store float %s, float* %yi.p
  br label %out
out:
  ret void
}
"""

SPEC = KernelSpec(
    "saxpy",
    (
        Param("a", "f32", "scalar", 0, 4, 4),
        Param("x", "&[f32]", "slice", 8, 16, 8, "f32", 4),
        Param("y", "Disjoint<[f32]>", "disjoint", 24, 16, 8, "f32", 4, True),
    ),
    facts=Facts(dimensions=1),
)


#: Adds 1 to a static and shows it.
COUNT = """
@counter = internal global i32 5
define void @mirgen.kernel.count(i8* %ctx, i8* %args) {
  %y.pp = bitcast i8* %args to i32**
  %y = load i32*, i32** %y.pp
  %old = load i32, i32* @counter
  %new = add i32 %old, 1
  store i32 %new, i32* @counter
  store i32 %new, i32* %y
  ret void
}
"""


@pytest.fixture(scope="module")
def m() -> Iterator[Module]:
    sim = SimModule(SAXPY, ("mirgen.kernel.saxpy",), (Site("x[{}] is not a number", "src/lib.rs:7:13"),))
    yield Module("demo", [SPEC], SimExecutor(sim, SimOptions()), "sim")
    default_simulator().close()


def data(count: int = 1000) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return np.arange(count, dtype=np.float32), np.ones(count, np.float32)


@pytest.mark.parametrize("restarts", [False, True])
def test_statics_start_anew_with_every_load(restarts: bool) -> None:
    """As on a GPU, where every load has memory of its own; within one they last from launch to launch."""
    simulator = Simulator()
    spec = KernelSpec("count", (Param("y", "Disjoint<[u32]>", "disjoint", 0, 16, 8, "u32", 4, True),))
    module = SimModule(COUNT, ("mirgen.kernel.count",))

    def load() -> Module:
        return Module("demo", [spec], SimExecutor(module, SimOptions(), simulator), "sim")

    def count(of: Module) -> int:
        y = np.zeros(1, np.uint32)
        of.count[1, 1](y)
        return int(y[0])

    first, second = load(), load()
    assert [count(first), count(first), count(second), count(first)] == [6, 7, 6, 8]
    if restarts:
        simulator.close()
        assert [count(second), count(load())] == [6, 6]
    else:
        assert [count(second), count(load()), count(load())] == [7, 6, 6]
    simulator.close()


def test_code_that_nobody_holds_is_unloaded() -> None:
    simulator = Simulator()
    spec = KernelSpec("count", (Param("y", "Disjoint<[u32]>", "disjoint", 0, 16, 8, "u32", 4, True),))
    # A static of a size that shows.
    module = SimModule(COUNT.replace("5\n", "5\n@big = global [16777216 x i8] zeroinitializer\n", 1),
                       ("mirgen.kernel.count",))  # fmt: skip

    def resident() -> int:
        lines = Path(f"/proc/{simulator.worker_id}/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmData:"))) >> 10

    def once() -> int:
        made = Module("demo", [spec], SimExecutor(module, SimOptions(), simulator), "sim")
        made.count[1, 1](np.zeros(1, np.uint32))
        return resident()

    first = once()
    assert max(once() for _ in range(8)) < first + 4 * 16
    simulator.close()


def test_every_way_to_launch(m: Module) -> None:
    x, y = data()
    launches = [
        lambda: m.saxpy[4, 256](2.0, x, y),
        lambda: m["saxpy"][(4,), (256, 1)](2, x=x, y=y),
        lambda: m.saxpy[4, 256, None](2.0, x, y),
        lambda: m.saxpy[4, 256, None, 1024](2.0, x, y),
        lambda: m.saxpy.launch(LaunchConfig(grid=4, block=256), np.float32(2), x, y),
        lambda: m.saxpy.forall(1000)(2.0, x, y),
        lambda: m.saxpy.forall(1000, block=32)(2.0, x, y),
    ]
    for number, launch in enumerate(launches):
        launch()
        np.testing.assert_array_equal(y, 1 + 2 * x * (number + 1))
    m.saxpy.forall(0)(2.0, x, y)
    np.testing.assert_array_equal(y, 1 + 2 * x * len(launches))
    np.testing.assert_array_equal(x, np.arange(1000))


def test_arrays_of_the_simulator_are_not_copied(m: Module) -> None:
    x, y = data()
    x, y = arrays.asarray(x), arrays.asarray(y)
    m.saxpy[4, 256](2.0, x, y)
    np.testing.assert_array_equal(y, 1 + 2 * x)
    m.saxpy[1, 100](2.0, x[:100], y[100:200])
    np.testing.assert_array_equal(y[100:200], 1 + 2 * np.arange(100, 200) + 2 * np.arange(100))
    assert arrays.zeros((2, 3), np.int64).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert arrays.empty(0, np.int8).shape == (0,)


def test_panic_keeps_what_was_written(m: Module) -> None:
    x, y = data()
    x[300] = np.nan
    with pytest.raises(KernelPanicError, match=r"x\[300\] is not a number") as error:
        m.saxpy[4, 256](2.0, x, y)
    assert (error.value.block, error.value.thread) == ((1, 0, 0), (44, 0, 0))
    assert "--> src/lib.rs:7:13" in str(error.value)
    assert y[299] == 1 + 2 * 299
    assert y[301] == 1


def test_read_past_the_end_of_an_array(m: Module) -> None:
    x, y = data()
    with pytest.raises(InvalidMemoryAccessError, match="a read 0 bytes past the end of `x`") as error:
        m.saxpy[4, 256](2.0, x[:500], y)
    assert (error.value.block, error.value.thread) == ((1, 0, 0), (244, 0, 0))


def test_empty_arrays(m: Module) -> None:
    x, y = data(0)
    m.saxpy[1, 32](2.0, x, y)


def test_unknown_kernel(m: Module) -> None:
    with pytest.raises(KernelNotFoundError, match=r"no kernel `saxpi` in crate demo \(it has: `saxpy`\); did you mean"):
        _ = m.saxpi
    assert not hasattr(m, "other")
    assert "saxpy" in dir(m)
    assert list(m) == ["saxpy"]
    assert repr(m.saxpy) == "<mirgen kernel saxpy(a: f32, x: &[f32], y: Disjoint<[f32]>)>"


def test_launch_without_configuration(m: Module) -> None:
    with pytest.raises(LaunchError, match=r"saxpy\[grid, block\]"):
        m.saxpy(2.0)
    with pytest.raises(LaunchError):
        m.saxpy[4]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentTypeError):
        m.saxpy[4, 256]()


@pytest.mark.parametrize(
    ("grid", "block", "shared", "message"),
    [
        (1, 1025, 0, "block.x is 1025, allowed are 1 to 1024"),
        (1, (1, 1, 65), 0, "block.z is 65"),
        (1, (32, 64), 0, "has 2048 threads"),
        (0, 1, 0, "grid.x is 0"),
        ((1, 65536), 1, 0, "grid.y is 65536"),
        (2**31, 1, 0, "grid.x"),
        (1, 1, 227 * 1024 - 15, "takes 232465 bytes of shared memory"),
        (1, 1, -1, "-1 bytes"),
    ],
)
def test_limits(grid: Any, block: Any, shared: int, message: str) -> None:
    spec = KernelSpec("k", (), static_shared=20)
    with pytest.raises(LaunchError, match=message):
        check_launch(spec, dim3(grid, "grid"), dim3(block, "block"), shared)


def test_largest_launches_are_let_through() -> None:
    check_launch(KernelSpec("k", ()), (2**31 - 1, 65535, 65535), (1024, 1, 1), 227 * 1024)
    with pytest.raises(LaunchError, match="declares 49153 bytes"):
        check_launch(KernelSpec("k", (), static_shared=49153), (1, 1, 1), (1, 1, 1), 0)


@pytest.mark.parametrize("value", ["4", (1, 2, 3, 4), (), 1.5, (1.0,), None])
def test_dimensions(value: Any) -> None:
    with pytest.raises(LaunchError, match="grid is"):
        dim3(value, "grid")


def test_facts(m: Module) -> None:
    with pytest.raises(LaunchError, match="needs a launch of 1 dimension: y of grid"):
        m.saxpy[(1, 2), 32]
    with pytest.raises(LaunchError, match="needs a launch of 1 dimension: z"):
        m.saxpy[1, (32, 1, 2)]
    spec = KernelSpec("k", (), facts=Facts.of({"dimensions": 2, "block_x": 16, "block_y": 16}))
    check_launch(spec, (3, 3, 1), (16, 16, 1), 0)
    with pytest.raises(LaunchError, match=r"needs blocks of \(16, 16, 1\), found \(256, 1, 1\)"):
        check_launch(spec, (3, 3, 1), (256, 1, 1), 0)
    with pytest.raises(InvalidInputError, match="`cluster` is not known"):
        Facts.of({"cluster": 2})


def test_launch_after_fork(m: Module) -> None:
    x, y = data()
    m.saxpy[4, 256](2.0, x, y)
    child = os.fork()
    if child == 0:
        try:
            m.saxpy[4, 256](2.0, x, y)
            os._exit(0 if np.array_equal(y, 1 + 4 * x) else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    m.saxpy[4, 256](2.0, x, y)
    np.testing.assert_array_equal(y, 1 + 4 * x)


def test_errors_are_mirgen_s() -> None:
    assert issubclass(ArgumentTypeError, (MirgenError, TypeError))
    assert issubclass(KernelNotFoundError, AttributeError)


def test_a_launch_in_words(m: Module, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(10, dtype=np.float32))
    out = tmp_path / "y.npy"
    config = LaunchConfig(grid=1, block=32)
    args = {"a": "2.0", "x": "@x.npy", "y": "full(10, 1)"}
    result = run_kernel(m.saxpy, config, args, {"y": out}, tmp_path)
    assert np.load(out).tolist() == result.arrays["y"].tolist() == [1 + 2 * i for i in range(10)]
    assert result.written == (out,)


@pytest.mark.parametrize(
    ("args", "out", "message"),
    [
        ({"b": "1"}, {}, "no argument `b`"),
        ({"a": "1", "x": "zeros(3)"}, {}, "argument `y` is missing"),
        ({"a": "1", "x": "zeros(3)", "y": "zeros(3)"}, {"z": "z.npy"}, "no argument `z`"),
        ({"a": "1", "x": "zeros(3)", "y": "zeros(3)"}, {"a": "z.npy"}, "passed by value"),
        ({"a": "1", "x": "zeros(3)"}, {"y": "z.npy"}, r"--arg y=zeros\(N\)"),
    ],
)
def test_wrong_launches_in_words(m: Module, args: dict[str, str], out: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        run_kernel(m.saxpy, LaunchConfig(1, 32), args, {name: Path(path) for name, path in out.items()})


def test_assignments() -> None:
    assert parse_assignment(" x = a=b ", "--arg") == ("x", "a=b")
    for text in ("x", "=1", "x=", ""):
        with pytest.raises(InvalidInputError, match="--arg"):
            parse_assignment(text, "--arg")
