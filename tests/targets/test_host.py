"""The host target's emission, run by the simulator."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

from mirgen.errors import UnsupportedError
from mirgen.lower.shown import word_of
from mirgen.runtime.errors import DivergentBarrierError, KernelPanicError, KernelTrapError
from mirgen.runtime.sim import layout
from mirgen.runtime.sim.client import Simulator
from mirgen.runtime.sim.launch import BufferPointer, SimLaunch, SimModule
from mirgen.runtime.sim.memory import Buffer
from mirgen.runtime.sites import sites_of
from mirgen.targets import host_abi
from mirgen.targets.base import EntryParam, KernelAbi, KernelParam, Target
from mirgen.targets.host import HostTarget

if TYPE_CHECKING:
    from mirgen.lower.context import FunctionContext, ModuleContext

I1, I8, I32, I64 = (ir.IntType(width) for width in (1, 8, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
PTR = I8.as_pointer()
HOST = HostTarget()


class Module:
    """Enough of lowering's module and function contexts for a target."""

    def __init__(self) -> None:
        self.module = ir.Module("test")
        self.module.triple, self.module.data_layout = HOST.triple, HOST.data_layout
        self.panics: list[SimpleNamespace] = []

    def declare(self, name: str, result: ir.Type, params: list[ir.Type]) -> ir.Function:
        known = self.module.globals.get(name)
        if known is not None:
            return cast("ir.Function", known)
        return ir.Function(self.module, ir.FunctionType(result, params), name)

    def panic_site(self, message: str, span: object) -> SimpleNamespace:
        index = len(self.panics)
        self.panics.append(SimpleNamespace(index=index, message=message, span=f"src/lib.rs:{index + 1}:1", args=()))
        return self.panics[index]

    def kernel(
        self, name: str, params: list[EntryParam], emit: Callable[[FunctionContext, list[ir.Value]], None],
        static_shared: int = 0,
    ) -> None:  # fmt: skip
        types = [ty for param in params for ty in param.llvm_types]
        body = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [PTR, *types]), f"{name}_body")
        body.linkage = "internal"
        HOST.function_attributes(body, reaches_barrier=True)
        fx = SimpleNamespace(
            cx=self, b=ir.IRBuilder(body.append_basic_block("entry")), ctx=body.args[0], function=body, span=None,
            unsupported=_unsupported,
        )  # fmt: skip
        emit(cast("FunctionContext", fx), list(body.args[1:]))
        if not fx.b.block.is_terminated:
            fx.b.ret_void()
        abi = KernelAbi(name, tuple(param.param for param in params), static_shared)
        HOST.define_kernel(cast("ModuleContext", self), abi, params, body)

    def sim(self) -> SimModule:
        names = [f.name for f in self.module.functions if f.blocks and not f.name.endswith("_body")]
        HOST.finish_module(cast("ModuleContext", self))
        text = str(self.module)
        return SimModule(text, tuple(names), sites_of(text))


def _unsupported(code: str, message: str, **_: object) -> UnsupportedError:
    return UnsupportedError()


def scalar(name: str, offset: int, llvm_type: ir.Type, stored: ir.Type, size: int) -> EntryParam:
    param = KernelParam(name, "?", "scalar", offset, size, size, None, 0, False)
    return EntryParam(param, (llvm_type,), (stored,), (0,), False)


def pointer(name: str, offset: int) -> EntryParam:
    return scalar(name, offset, PTR, PTR, 8)


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    simulator = Simulator()
    yield simulator
    simulator.close()


def run(
    sim: Simulator, module: SimModule, out: np.ndarray[Any, Any], args: bytes = b"", *, threads: int = 1,
    shared: int = 0, dynamic: int = 0, grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] | None = None,
) -> np.ndarray[Any, Any]:  # fmt: skip
    """Runs the module's kernel with a pointer to a copy of ``out`` as first parameter; returns that copy."""
    buffer = Buffer(out.nbytes)
    view = buffer.bytes_at_end(out.nbytes).view(out.dtype)
    view[:] = out
    pointers = (BufferPointer(0, buffer, buffer.offset_of(out.nbytes), writable=True),)
    launch = SimLaunch(module.kernels[0], grid, block or (threads, 1, 1), shared, dynamic, bytes(8) + args, pointers)
    sim.launch(module, launch)
    return view


def store(fx: FunctionContext, base: ir.Value, index: ir.Value, value: ir.Value) -> None:
    typed = fx.b.bitcast(base, value.type.as_pointer())
    fx.b.store(value, fx.b.gep(typed, [index]))


def test_it_is_a_target() -> None:
    target: Target = HOST
    assert target.hidden_ctx


def test_data_layout_is_llvm_s() -> None:
    llvm.initialize_native_target()
    target = llvm.Target.from_default_triple()
    assert str(target.create_target_machine().target_data) == HOST.data_layout
    assert target.triple == HOST.triple


def test_context_offsets_are_the_scheduler_s() -> None:
    for name, offset in host_abi.REGISTERS.items():
        assert getattr(layout.Context, name).offset == offset
    assert layout.Context.shared.offset == host_abi.SHARED
    assert layout.Context.dynamic_shared.offset == host_abi.DYNAMIC_SHARED
    assert layout.Context.wait_site.offset == host_abi.WAIT_SITE


def test_parameters_and_special_registers(sim: Simulator) -> None:
    module = Module()

    def emit(fx: FunctionContext, args: list[ir.Value]) -> None:
        out, flag, number, copy = args
        b = fx.b
        registers = [
            HOST.special_register(fx, register, axis)
            for register in ("tid", "ntid", "ctaid", "nctaid")
            for axis in ("x", "y", "z")
        ]
        for index, value in enumerate(registers):
            store(fx, out, I32(index), value)
        store(fx, out, I32(12), b.select(flag, I32(1), I32(0)))
        store(fx, out, I32(13), b.trunc(number, I32))
        typed = b.bitcast(copy, I32.as_pointer())
        store(fx, out, I32(14), b.load(b.gep(typed, [I32(2)])))
        b.store(I32(99), typed)

    memory = KernelParam("m", "[u32; 3]", "aggregate", 24, 12, 4, None, 0, False)
    module.kernel(
        "k",
        [
            pointer("out", 0), scalar("flag", 8, I1, I8, 1), scalar("n", 16, I64, I64, 8),
            EntryParam(memory, (PTR,), (), (), True),
        ],
        emit,
    )  # fmt: skip
    args = struct.pack("<?7xQ3I", True, 7, 10, 20, 30)
    out = run(sim, module.sim(), np.zeros(15, np.int32), args, grid=(2, 3, 4), block=(5, 6, 7))
    assert out.tolist() == [4, 5, 6, 5, 6, 7, 1, 2, 3, 2, 3, 4, 1, 7, 30]


def test_static_and_dynamic_shared(sim: Simulator) -> None:
    module = Module()

    def emit(fx: FunctionContext, args: list[ir.Value]) -> None:
        out, first, second, dynamic, count = args
        tid = HOST.special_register(fx, "tid", "x")
        store(fx, first, tid, tid)
        store(fx, second, tid, fx.b.mul(tid, I32(10)))
        store(fx, dynamic, tid, fx.b.mul(tid, I32(100)))
        HOST.barrier(fx)
        other = fx.b.sub(I32(15), tid)
        total = fx.b.trunc(count, I32)
        for base in (first, second, dynamic):
            typed = fx.b.bitcast(base, I32.as_pointer())
            total = fx.b.add(total, fx.b.load(fx.b.gep(typed, [other])))
        store(fx, out, tid, total)

    def shared(name: str, offset: int) -> EntryParam:
        param = KernelParam(name, "Shared<[u32; 16]>", "shared", 8, 0, 1, "u32", 64, True)
        return EntryParam(param, (PTR,), (), (), False, shared_offset=offset)

    sized = KernelParam("d", "Shared<[u32]>", "shared", 8, 0, 1, "u32", 4, True)
    module.kernel(
        "k",
        [pointer("out", 0), shared("a", 0), shared("b", 64), EntryParam(sized, (PTR, I64), (), (), False)],
        emit,
        static_shared=128,
    )
    out = run(sim, module.sim(), np.zeros(16, np.int32), threads=16, shared=128, dynamic=64)
    assert out.tolist() == [(15 - i) * 111 + 16 for i in range(16)]


def test_barrier_panic_and_trap_sites(sim: Simulator) -> None:
    module = Module()

    def emit(fx: FunctionContext, args: list[ir.Value]) -> None:
        _, what = args
        b = fx.b
        tid = HOST.special_register(fx, "tid", "x")
        blocks = [b.append_basic_block(name) for name in ("wait", "other", "panic", "trap")]
        switch = b.switch(b.mul(what, tid), blocks[0])
        for index, block in enumerate(blocks[1:]):
            switch.add_case(I32(index + 1), block)
        b.position_at_end(blocks[0])
        HOST.barrier(fx)
        b.ret_void()
        b.position_at_end(blocks[1])
        HOST.barrier(fx)
        b.ret_void()
        b.position_at_end(blocks[2])
        HOST.panic(fx, fx.cx.panic_site('value "\\é" was {}', None), [word_of(I64(42))])
        b.position_at_end(blocks[3])
        HOST.trap(fx)

    module.kernel("k", [pointer("out", 0), scalar("what", 8, I32, I32, 4)], emit)
    made = module.sim()
    empty = np.zeros(1, np.int32)
    run(sim, made, empty, struct.pack("<i", 0), threads=2)
    with pytest.raises(DivergentBarrierError, match=r"src/lib.rs:1:1, but .* src/lib.rs:2:1"):
        run(sim, made, empty, struct.pack("<i", 1), threads=2)
    with pytest.raises(KernelPanicError, match=r'value "\\é" was 42') as error:
        run(sim, made, empty, struct.pack("<i", 2), threads=2)
    assert error.value.location == "src/lib.rs:3:1"
    with pytest.raises(KernelTrapError):
        run(sim, made, empty, struct.pack("<i", 3), threads=2)


def evaluate(sim: Simulator, name: str, values: list[float], ty: ir.Type) -> float:
    dtype = np.dtype(np.float32 if isinstance(ty, ir.FloatType) else np.float64)
    module = Module()

    def emit(fx: FunctionContext, args: list[ir.Value]) -> None:
        store(fx, args[0], I32(0), HOST.math(fx, name, args[1:], ty))

    size = dtype.itemsize
    params = [scalar(f"a{i}", 8 + size * i, ty, ty, size) for i in range(len(values))]
    module.kernel("k", [pointer("out", 0), *params], emit)
    return float(run(sim, module.sim(), np.zeros(1, dtype), np.array(values, dtype).tobytes())[0])


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("sin", [1.0], math.sin(1.0)),
        ("erf", [0.5], math.erf(0.5)),
        ("exp10", [2.0], 100.0),
        ("rsqrt", [16.0], 0.25),
        ("sinpi", [0.25], math.sin(math.pi / 4)),
        ("sinpi", [1e15 + 0.5], 1.0),
        ("sinpi", [-1.5], 1.0),
        ("cospi", [1.0], -1.0),
        ("cospi", [0.5], 0.0),
        ("cospi", [math.inf], math.nan),
        ("norm3d", [2e200, 3e200, 6e200], 7e200),
        ("fma", [3.0, 4.0, 5.0], 17.0),
        ("round", [2.5], 3.0),
        ("rint", [2.5], 2.0),
        ("normcdf", [0.0], 0.5),
    ],
)
def test_math_f64(sim: Simulator, name: str, args: list[float], expected: float) -> None:
    assert evaluate(sim, name, args, F64) == pytest.approx(expected, rel=1e-15, abs=1e-300, nan_ok=True)


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("sinf", [1.0], math.sin(1.0)),
        ("erff", [0.5], math.erf(0.5)),
        ("fmaxf", [1.0, 2.0], 2.0),
        ("fast_powf", [2.0, 10.0], 1024.0),
        ("rcbrtf", [8.0], 0.5),
    ],
)
def test_math_f32(sim: Simulator, name: str, args: list[float], expected: float) -> None:
    assert evaluate(sim, name, args, F32) == pytest.approx(expected, rel=1e-7)


def test_rounding_modes(sim: Simulator) -> None:
    results = [evaluate(sim, f"fdiv_{mode}", [1.0, 3.0], F32) for mode in ("rn", "rd", "ru", "rz")]
    below, above = np.float32(0.3333333), np.float32(1) / np.float32(3)
    assert results == [float(above), float(below), float(above), float(below)]
    assert evaluate(sim, "dadd_ru", [1.0, 1e-300], F64) == 1.0 + 2.0**-52
    assert evaluate(sim, "dadd_rd", [1.0, 1e-300], F64) == 1.0
    assert evaluate(sim, "dsqrt_rd", [2.0], F64) == math.nextafter(math.sqrt(2.0), 0)
    assert evaluate(sim, "drcp_rz", [-3.0], F64) == -1 / 3
    assert evaluate(sim, "drcp_rd", [-3.0], F64) == math.nextafter(-1 / 3, -1)
    assert evaluate(sim, "fma_ru", [1.0, 1.0, 1e-300], F64) == 1.0 + 2.0**-52
    # The mode is back to nearest.
    assert evaluate(sim, "dadd_rn", [1.0, 1e-300], F64) == 1.0


def test_unknown_math_is_refused(sim: Simulator) -> None:
    with pytest.raises(UnsupportedError):
        evaluate(sim, "erfcinv", [0.5], F64)


@pytest.mark.parametrize(("op", "expected"), [("add", 64 * 63 // 2), ("umax", 63), ("or", 63), ("xchg", None)])
def test_atomics(sim: Simulator, op: str, expected: int | None) -> None:
    module = Module()

    def emit(fx: FunctionContext, args: list[ir.Value]) -> None:
        tid = HOST.special_register(fx, "tid", "x")
        HOST.atomic_rmw(fx, op, args[0], tid, ordering="relaxed", scope="device")
        HOST.fence(fx, ordering="seq_cst", scope="system")
        read = HOST.atomic_load(fx, args[0], I32, ordering="acquire", scope="device")
        old, ok = HOST.atomic_cas(fx, args[0], read, read, success="acq_rel", failure="relaxed", scope="device")
        HOST.atomic_store(
            fx, fx.b.gep(args[0], [I64(4)]), fx.b.add(old, fx.b.zext(ok, I32)), ordering="release", scope="block"
        )

    module.kernel("k", [pointer("out", 0)], emit)
    out = run(sim, module.sim(), np.zeros(2, np.uint32), threads=64)
    if expected is not None:
        assert out[0] == expected
    assert out[1] == out[0] + 1
