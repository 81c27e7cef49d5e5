"""A target for tests: plain functions of the machine at hand, one thread, no scheduler.

A kernel is ``void @<kernel>(i8* %args)`` over the packed parameter block; block memory is a global.  A panic calls
``void @__mirgen_panic(i32 site, i64, i64)`` with the first two words, which the test supplies and which must not
return.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llvmlite import binding, ir

from mirgen.lower import types
from mirgen.targets.base import EntryParam, KernelAbi
from mirgen.targets.device_heap import heap_call

if TYPE_CHECKING:
    from mirgen.lower.context import FunctionContext, ModuleContext, PanicSite
    from mirgen.lower.shown import Shown


class PlainHost:
    """See :class:`mirgen.targets.base.Target`."""

    name = "plain"
    hidden_ctx = False

    def __init__(self) -> None:
        self.triple = binding.get_default_triple()
        self.data_layout = ""

    def suspends(self, path: str) -> bool:
        return path.rsplit("::", 1)[-1] == "__mirgen_barrier"

    def function_attributes(self, function: ir.Function, *, reaches_barrier: bool) -> None:
        """A plain function needs none."""

    def finish_module(self, cx: ModuleContext) -> None:
        """Nothing is left to do."""

    def define_kernel(self, cx: ModuleContext, abi: KernelAbi, params: Sequence[EntryParam], body: ir.Function) -> None:
        function = ir.Function(cx.module, ir.FunctionType(types.VOID, (types.PTR,)), abi.name)
        b = ir.IRBuilder(function.append_basic_block("entry"))
        block = function.args[0]
        passed: list[ir.Value] = []
        for param in params:
            passed.extend(_fetch(cx, b, abi, param, block))
        b.call(body, passed)
        b.ret_void()

    def special_register(self, fx: FunctionContext, register: str, axis: str) -> ir.Value:
        del axis
        return types.const_int(types.I32, int(register in ("ntid", "nctaid")))

    def barrier(self, fx: FunctionContext) -> None:
        """One thread has nobody to wait for."""

    def panic(self, fx: FunctionContext, site: PanicSite, values: Sequence[Shown]) -> None:
        function = fx.cx.declare("__mirgen_panic", types.VOID, (types.I32, types.I64, types.I64))
        first = [*(word for value in values for word in value.words), types.usize(0), types.usize(0)][:2]
        fx.b.call(function, [types.const_int(types.I32, site.index), *first])
        fx.b.unreachable()

    def trap(self, fx: FunctionContext) -> None:
        fx.b.call(fx.cx.declare("llvm.trap", types.VOID, ()), [])
        fx.b.unreachable()

    def heap(self, fx: FunctionContext, op: str, args: Sequence[ir.Value]) -> ir.Value | None:
        return heap_call(fx.b, op, args)

    def math(self, fx: FunctionContext, name: str, args: Sequence[ir.Value], result: ir.Type) -> ir.Value:
        return fx.b.call(fx.cx.declare(name, result, [arg.type for arg in args]), list(args))

    def atomic_rmw(
        self, fx: FunctionContext, op: str, ptr: ir.Value, value: ir.Value, *, ordering: str, scope: str
    ) -> ir.Value:
        del scope
        typed = fx.b.bitcast(ptr, value.type.as_pointer())
        return fx.b.atomic_rmw(op, typed, value, _ORDER[ordering])

    def atomic_cas(
        self, fx: FunctionContext, ptr: ir.Value, expected: ir.Value, new: ir.Value, *, success: str, failure: str,
        scope: str,
    ) -> tuple[ir.Value, ir.Value]:  # fmt: skip
        del scope
        typed = fx.b.bitcast(ptr, new.type.as_pointer())
        both = fx.b.cmpxchg(typed, expected, new, _ORDER[success], _ORDER[failure])
        return fx.b.extract_value(both, 0), fx.b.extract_value(both, 1)

    def atomic_load(self, fx: FunctionContext, ptr: ir.Value, ty: ir.Type, *, ordering: str, scope: str) -> ir.Value:
        del scope, ordering
        return fx.load(ptr, ty, 1)

    def atomic_store(self, fx: FunctionContext, ptr: ir.Value, value: ir.Value, *, ordering: str, scope: str) -> None:
        del scope, ordering
        fx.store(value, ptr, 1)

    def fence(self, fx: FunctionContext, *, ordering: str, scope: str) -> None:
        del scope
        if ordering != "relaxed":
            fx.b.fence(_ORDER[ordering])


_ORDER = {
    "relaxed": "monotonic", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel", "seq_cst": "seq_cst",
}  # fmt: skip


def _fetch(cx: ModuleContext, b: ir.IRBuilder, abi: KernelAbi, param: EntryParam, block: ir.Value) -> list[ir.Value]:
    if param.param.kind == "shared":
        ty = types.llvm_blob(param.param.elem_size)
        memory = ir.GlobalVariable(cx.module, ty, f"{abi.name}__{param.param.name}__shared")
        memory.linkage = "internal"
        memory.initializer = ir.Constant(ty, None)
        memory.align = param.shared_align
        return [b.bitcast(memory, types.PTR)]
    at = b.gep(block, [types.usize(param.param.offset)])
    if param.by_memory:
        return [at]
    values: list[ir.Value] = []
    for ty, stored, offset in zip(param.llvm_types, param.stored_types, param.stored_offsets, strict=True):
        value = b.load(b.bitcast(b.gep(at, [types.usize(offset)]), stored.as_pointer()), align=1)
        values.append(value if stored == ty else b.trunc(value, ty))
    return values
