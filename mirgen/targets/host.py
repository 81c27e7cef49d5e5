"""The host target: code for this machine's CPU that the simulator runs.

Every function takes the launch context as a hidden first parameter.  Kernels are
``void @mirgen.kernel.NAME(i8* ctx, i8* args)`` with the packed parameter block; barriers are calls of a marker that the
simulator turns into suspensions (:mod:`mirgen.runtime.sim.coroutine`).
No fast-math flag, no contraction: results are rustc's own.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from llvmlite import ir

from mirgen.errors import InternalError
from mirgen.lower.shown import flat
from mirgen.targets import host_abi
from mirgen.targets.base import EntryParam, KernelAbi
from mirgen.targets.host_math import math_call

if TYPE_CHECKING:
    from mirgen.lower.context import FunctionContext, ModuleContext, PanicSite
    from mirgen.lower.shown import Shown

_VOID = ir.VoidType()
_I1 = ir.IntType(1)
_I8 = ir.IntType(8)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_PTR = _I8.as_pointer()

_ORDERINGS: Final = {
    "relaxed": "monotonic", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel", "seq_cst": "seq_cst",
}  # fmt: skip
#: Reserved externs, and rustc's own name in ``core::arch::nvptx``, that are barriers of the block.
_BARRIERS: Final = frozenset({"__mirgen_barrier", "_syncthreads"})
_AXES: Final = {"x": 0, "y": 4, "z": 8}


class HostTarget:
    """Implements :class:`mirgen.targets.base.Target` for Linux on x86-64 and AArch64."""

    name = "host"
    hidden_ctx = True

    def __init__(self, machine: str | None = None) -> None:
        """``machine`` as :func:`platform.machine` gives it; this one by default."""
        machine = machine or platform.machine()
        self.triple = host_abi.triple(machine)
        self.data_layout = host_abi.data_layout(machine)

    # ---- functions ---------------------------------------------------------------------------------------

    def suspends(self, path: str) -> bool:
        """Barriers only; warp operations are not simulated yet."""
        return path.rpartition("::")[2] in _BARRIERS

    def finish_module(self, cx: ModuleContext) -> None:
        """Embeds the table of sites, so that the text explains its own reports."""
        rows = [[site.message, None if site.span is None else str(site.span), list(site.args)] for site in cx.panics]
        data = bytearray(json.dumps(rows).encode())
        table = ir.GlobalVariable(cx.module, ir.ArrayType(_I8, len(data)), host_abi.SITES)
        table.global_constant = True
        table.linkage = "internal"
        table.initializer = ir.Constant(table.value_type, data)

    def function_attributes(self, function: ir.Function, *, reaches_barrier: bool) -> None:
        """A function that reaches a barrier has to be inlined: only the kernel can be suspended."""
        function.attributes.add("nounwind")
        if reaches_barrier:
            function.attributes.add("alwaysinline")

    def define_kernel(self, cx: ModuleContext, abi: KernelAbi, params: Sequence[EntryParam], body: ir.Function) -> None:
        """Emits ``void @mirgen.kernel.NAME(i8* ctx, i8* args)``."""
        kernel = ir.Function(cx.module, ir.FunctionType(_VOID, [_PTR, _PTR]), host_abi.ENTRY + abi.name)
        kernel.attributes.add("nounwind")
        ctx, args = kernel.args
        ctx.name, args.name = "ctx", "args"
        b = ir.IRBuilder(kernel.append_basic_block("entry"))
        values: list[ir.Value] = [ctx]
        for param in params:
            values += self._fetch(cx, b, abi, ctx, args, param)
        b.call(body, values)
        b.ret_void()

    def _fetch(
        self, cx: ModuleContext, b: ir.IRBuilder, abi: KernelAbi, ctx: ir.Value, args: ir.Value, entry: EntryParam
    ) -> list[ir.Value]:
        """The arguments of the body that one parameter supplies."""
        param = entry.param
        if param.kind == "shared":
            return self._shared(b, abi, ctx, entry)
        at = _offset(b, args, param.offset)
        if entry.by_memory:
            copy = b.alloca(ir.ArrayType(_I8, param.size))
            copy.align = param.align
            target = b.bitcast(copy, _PTR)
            memcpy = cx.declare("llvm.memcpy.p0i8.p0i8.i64", _VOID, [_PTR, _PTR, _I64, _I1])
            b.call(memcpy, [target, at, _I64(param.size), _I1(0)])
            return [target]
        values: list[ir.Value] = []
        for llvm, stored, offset in zip(entry.llvm_types, entry.stored_types, entry.stored_offsets, strict=True):
            value = b.load(b.bitcast(_offset(b, at, offset), stored.as_pointer()), align=1)
            values.append(b.trunc(value, llvm) if llvm != stored else value)
        return values

    def _shared(self, b: ir.IRBuilder, abi: KernelAbi, ctx: ir.Value, entry: EntryParam) -> list[ir.Value]:
        """Block memory: a pointer, or pointer and element count where the launch gives the size."""
        base = b.load(b.bitcast(_offset(b, ctx, host_abi.SHARED), _PTR.as_pointer()))
        match list(entry.llvm_types):
            case []:
                return []
            case [ir.PointerType()]:
                return [_offset(b, base, entry.shared_offset)]
            case [ir.PointerType(), ir.IntType(width=64)]:
                static = -(-abi.static_shared // 16) * 16
                size = b.load(b.bitcast(_offset(b, ctx, host_abi.DYNAMIC_SHARED), _I32.as_pointer()))
                count = b.udiv(b.zext(size, _I64), _I64(max(1, entry.param.elem_size)))
                return [_offset(b, base, static), count]
            case other:
                raise InternalError(f"shared parameter {entry.param.name} as {[str(ty) for ty in other]}")

    # ---- the launch --------------------------------------------------------------------------------------

    def special_register(self, fx: FunctionContext, register: str, axis: str) -> ir.Value:
        """A field of the context; it never changes while a thread runs."""
        at = _offset(fx.b, _ctx(fx), host_abi.REGISTERS[register] + _AXES[axis])
        value = fx.b.load(fx.b.bitcast(at, _I32.as_pointer()), align=4)
        value.set_metadata("invariant.load", fx.cx.module.add_metadata([]))
        return value

    def barrier(self, fx: FunctionContext) -> None:
        """Marks a suspension; the site gives a divergent barrier its place in the source."""
        marker = fx.cx.declare(host_abi.BARRIER, _VOID, [_PTR, _I32])
        fx.b.call(marker, [_ctx(fx), _I32(fx.cx.panic_site("barrier", fx.span).index)])

    def panic(self, fx: FunctionContext, site: PanicSite, values: Sequence[Shown]) -> None:
        """Reports the site and leaves the kernel; the whole grid stops."""
        words, texts = flat(values)
        if len(words) <= 2 and not texts:
            panic = fx.cx.declare(host_abi.PANIC, _VOID, [_PTR, _I32, _I64, _I64])
            reported = [*words, *[_I64(0)] * (2 - len(words))]
        else:
            count = min(len(words), host_abi.MAX_WORDS)
            array = fx.b.bitcast(fx.alloca(8 * count, 8), _I64.as_pointer())
            for n, word in enumerate(words[:count]):
                fx.b.store(word, fx.b.gep(array, [_I64(n)], inbounds=True))
            panic = fx.cx.declare(host_abi.PANIC_WORDS, _VOID, [_PTR, _I32, array.type, _I32, _I64])
            # A text whose length does not fit is not copied.
            reported = [array, _I32(count), _I64(sum(1 << text for text in texts if text + 1 < count))]
        panic.attributes.add("noreturn")
        fx.b.call(panic, [_ctx(fx), _I32(site.index), *reported])
        fx.b.unreachable()

    def trap(self, fx: FunctionContext) -> None:
        """Reports a trap and leaves the kernel."""
        trap = fx.cx.declare(host_abi.TRAP, _VOID, [_PTR])
        trap.attributes.add("noreturn")
        fx.b.call(trap, [_ctx(fx)])
        fx.b.unreachable()

    def heap(self, fx: FunctionContext, op: str, args: Sequence[ir.Value]) -> ir.Value | None:
        """The simulator's heap."""
        result = _VOID if op == "dealloc" else _PTR
        function = fx.cx.declare(host_abi.HEAP[op], result, [_PTR, *(arg.type for arg in args)])
        value = fx.b.call(function, [_ctx(fx), *args])
        return None if op == "dealloc" else value

    def math(self, fx: FunctionContext, name: str, args: Sequence[ir.Value], result: ir.Type) -> ir.Value:
        """libm's function, or an expansion of those that libm lacks."""
        value = math_call(fx.b, fx.cx.declare, name, args, result)
        if value is None:
            raise fx.unsupported(
                "MG0410",
                f"the simulator has no `{name}`",
                notes=["libdevice has it, the host's mathematical library does not"],
            )
        return value

    # ---- atomics -----------------------------------------------------------------------------------------

    def atomic_rmw(
        self, fx: FunctionContext, op: str, ptr: ir.Value, value: ir.Value, *, ordering: str, scope: str
    ) -> ir.Value:
        """Every scope is the whole machine."""
        typed = fx.b.bitcast(ptr, value.type.as_pointer())
        return fx.b.atomic_rmw(op, typed, value, _ORDERINGS[ordering])

    def atomic_cas(
        self, fx: FunctionContext, ptr: ir.Value, expected: ir.Value, new: ir.Value, *, success: str, failure: str,
        scope: str,
    ) -> tuple[ir.Value, ir.Value]:  # fmt: skip
        """A strong compare-and-exchange."""
        typed = fx.b.bitcast(ptr, expected.type.as_pointer())
        pair = fx.b.cmpxchg(typed, expected, new, _ORDERINGS[success], _ORDERINGS[failure])
        return fx.b.extract_value(pair, 0), fx.b.extract_value(pair, 1)

    def atomic_load(self, fx: FunctionContext, ptr: ir.Value, ty: ir.Type, *, ordering: str, scope: str) -> ir.Value:
        typed = fx.b.bitcast(ptr, ty.as_pointer())
        return fx.b.load_atomic(typed, _ORDERINGS[ordering], _size(ty))

    def atomic_store(self, fx: FunctionContext, ptr: ir.Value, value: ir.Value, *, ordering: str, scope: str) -> None:
        typed = fx.b.bitcast(ptr, value.type.as_pointer())
        fx.b.store_atomic(value, typed, _ORDERINGS[ordering], _size(value.type))

    def fence(self, fx: FunctionContext, *, ordering: str, scope: str) -> None:
        """Rust has no relaxed fence."""
        fx.b.fence(_ORDERINGS[ordering])


def _ctx(fx: FunctionContext) -> ir.Value:
    if fx.ctx is None:
        raise InternalError("a function for the host without the launch context")
    return fx.ctx


def _offset(b: ir.IRBuilder, ptr: ir.Value, offset: int) -> ir.Value:
    return ptr if offset == 0 else b.gep(ptr, [_I64(offset)], inbounds=True)


def _size(ty: ir.Type) -> int:
    """Bytes of a type that atomics work on."""
    match ty:
        case ir.IntType(width=width):
            return max(1, width // 8)
        case ir.HalfType():
            return 2
        case ir.FloatType():
            return 4
        case ir.DoubleType() | ir.PointerType():
            return 8
        case _:
            raise InternalError(f"an atomic access of type {ty}")
