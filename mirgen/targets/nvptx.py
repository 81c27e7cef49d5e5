"""The GPU: kernels with ``.param`` arguments, special registers, barriers, scoped atomics, traps.

The text is legal for LLVM's NVPTX back end and for both dialects of libNVVM, with one exception that the link stage
takes care of: ``byval([N x i8])`` must lose its type for the old dialect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from llvmlite import ir

from mirgen.errors import InternalError
from mirgen.lower import types
from mirgen.targets import ptx_atomics
from mirgen.targets.base import EntryParam, KernelAbi
from mirgen.targets.device_abi import PanicMode
from mirgen.targets.device_heap import heap_call
from mirgen.targets.device_panic import emit_panic

if TYPE_CHECKING:
    from mirgen.lower.context import FunctionContext, ModuleContext, PanicSite
    from mirgen.lower.shown import Shown

_GLOBAL_PTR = types.I8.as_pointer(1)
_SHARED = 3

#: Reserved externs and intrinsics after which threads must have met.
_SUSPENDING = ("__mirgen_barrier", "__mirgen_sync", "__mirgen_warp", "__mirgen_cluster", "__mirgen_grid")


class NvptxTarget:
    """See :class:`mirgen.targets.base.Target`."""

    name = "nvptx"
    triple = "nvptx64-nvidia-cuda"
    data_layout = (
        "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
        "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
    )
    hidden_ctx = False

    def __init__(self, panics: PanicMode = "code") -> None:
        self.panics: PanicMode = panics

    def suspends(self, path: str) -> bool:
        return path.rsplit("::", 1)[-1].startswith(_SUSPENDING)

    def function_attributes(self, function: ir.Function, *, reaches_barrier: bool) -> None:
        if reaches_barrier:
            function.attributes.add("convergent")

    def finish_module(self, cx: ModuleContext) -> None:
        """Nothing is left to do: kernels were annotated as they were defined."""

    # ---- kernels -------------------------------------------------------------------------------------------

    def define_kernel(self, cx: ModuleContext, abi: KernelAbi, params: Sequence[EntryParam], body: ir.Function) -> None:
        """A void function of ``.param`` arguments; pointers come in as global memory."""
        arguments = [argument for param in params for argument in _arguments(param)]
        function = ir.Function(cx.module, ir.FunctionType(types.VOID, [ty for ty, _ in arguments]), abi.name)
        function.attributes.add("nounwind")
        if "convergent" in body.attributes:
            function.attributes.add("convergent")
        for arg, (_, name) in zip(function.args, arguments, strict=True):
            arg.name = name
        b = ir.IRBuilder(function.append_basic_block("entry"))
        incoming = iter(function.args)
        passed: list[ir.Value] = []
        for param in params:
            passed.extend(_fetch(cx, b, abi.name, param, incoming))
        b.call(body, passed)
        b.ret_void()
        annotations = cx.module.add_named_metadata("nvvm.annotations")
        annotations.add(cx.module.add_metadata([function, "kernel", ir.Constant(types.I32, 1)]))

    # ---- operations ----------------------------------------------------------------------------------------

    def special_register(self, fx: FunctionContext, register: str, axis: str) -> ir.Value:
        if register not in ("tid", "ntid", "ctaid", "nctaid") or axis not in ("x", "y", "z"):
            raise fx.internal(f"the register {register}.{axis} is not known")
        function = fx.cx.declare(f"llvm.nvvm.read.ptx.sreg.{register}.{axis}", types.I32, ())
        function.attributes.add("readnone")
        return fx.b.call(function, [])

    def barrier(self, fx: FunctionContext) -> None:
        function = fx.cx.declare("llvm.nvvm.barrier0", types.VOID, ())
        function.attributes.add("convergent")
        fx.b.call(function, [], attrs=("convergent",))

    def trap(self, fx: FunctionContext) -> None:
        fx.b.call(fx.cx.declare("llvm.trap", types.VOID, ()), [])
        fx.b.unreachable()

    def panic(self, fx: FunctionContext, site: PanicSite, values: Sequence[Shown]) -> None:
        """Reports as the mode says, and traps: ``unreachable`` alone would take the check with it."""
        emit_panic(fx, self.panics, site, values)
        fx.b.unreachable()

    def heap(self, fx: FunctionContext, op: str, args: Sequence[ir.Value]) -> ir.Value | None:
        return heap_call(fx.b, op, args)

    def math(self, fx: FunctionContext, name: str, args: Sequence[ir.Value], result: ir.Type) -> ir.Value:
        function = fx.cx.declare(f"__nv_{name}", result, [arg.type for arg in args])
        return fx.b.call(function, list(args))

    # ---- atomics -------------------------------------------------------------------------------------------

    def atomic_rmw(
        self, fx: FunctionContext, op: str, ptr: ir.Value, value: ir.Value, *, ordering: str, scope: str
    ) -> ir.Value:
        return ptx_atomics.rmw(fx, op, ptr, value, ordering, scope)

    def atomic_cas(
        self, fx: FunctionContext, ptr: ir.Value, expected: ir.Value, new: ir.Value, *, success: str, failure: str,
        scope: str,
    ) -> tuple[ir.Value, ir.Value]:  # fmt: skip
        return ptx_atomics.compare_exchange(fx, ptr, expected, new, success, failure, scope)

    def atomic_load(self, fx: FunctionContext, ptr: ir.Value, ty: ir.Type, *, ordering: str, scope: str) -> ir.Value:
        return ptx_atomics.load(fx, ptr, ty, ordering, scope)

    def atomic_store(self, fx: FunctionContext, ptr: ir.Value, value: ir.Value, *, ordering: str, scope: str) -> None:
        ptx_atomics.store(fx, ptr, value, ordering, scope)

    def fence(self, fx: FunctionContext, *, ordering: str, scope: str) -> None:
        ptx_atomics.fence(fx, ordering, scope)


def _arguments(param: EntryParam) -> list[tuple[ir.Type, str]]:
    """The kernel's own arguments for one parameter: LLVM type and name."""
    name = param.param.name
    if param.param.kind == "shared" or not param.llvm_types:
        return []
    if param.param.kind == "aggregate":
        return [(types.llvm_blob(param.param.size).as_pointer(), name)]
    tys = [_GLOBAL_PTR if ty == types.PTR else ty for ty in param.stored_types]
    return [(tys[0], name)] if len(tys) == 1 else [(tys[0], f"{name}.ptr"), (tys[1], f"{name}.len")]


def _fetch(
    cx: ModuleContext, b: ir.IRBuilder, kernel: str, param: EntryParam, incoming: Iterator[ir.Argument]
) -> list[ir.Value]:
    """The values that the body takes for one parameter."""
    if param.param.kind == "shared":
        if len(param.llvm_types) == 2:
            return _dynamic_shared_memory(cx, b, kernel, param)
        return [_shared_memory(cx, b, kernel, param)]
    if not param.llvm_types:
        return []
    if param.param.kind != "aggregate":
        values: list[ir.Value] = []
        for ty in param.llvm_types:
            arg = next(incoming)
            if arg.type == _GLOBAL_PTR:
                _pointer_attributes(arg, param)
            values.append(_to_body(b, arg, ty))
        return values
    arg = next(incoming)
    arg.attributes.add("byval")
    arg.attributes.align = param.param.align
    if param.by_memory:
        return [b.bitcast(arg, types.PTR)]
    base = b.bitcast(arg, types.PTR)
    parts: list[ir.Value] = []
    for ty, stored, offset in zip(param.llvm_types, param.stored_types, param.stored_offsets, strict=True):
        at = b.bitcast(b.gep(base, [types.usize(offset)], inbounds=True), stored.as_pointer())
        align = param.param.align if offset == 0 else min(param.param.align, offset & -offset)
        parts.append(_to_body(b, b.load(at, align=align), ty))
    return parts


def _to_body(b: ir.IRBuilder, value: ir.Value, ty: ir.Type) -> ir.Value:
    """A stored value as the immediate that the body takes."""
    if value.type == _GLOBAL_PTR:
        return b.addrspacecast(value, ty)
    return value if value.type == ty else b.trunc(value, ty)


def _pointer_attributes(arg: ir.Argument, param: EntryParam) -> None:
    if param.read_only:
        arg.attributes.add("noalias")
        set[str].add(arg.attributes, "readonly")  # llvmlite's list of attributes lacks it
    if param.param.elem_align > 1:
        arg.attributes.align = param.param.elem_align


def _shared_memory(cx: ModuleContext, b: ir.IRBuilder, kernel: str, param: EntryParam) -> ir.Value:
    """A ``Shared`` parameter: memory of the block, handed over as a generic pointer."""
    if len(param.llvm_types) != 1:
        raise InternalError(f"`{param.param.rust_type}` is not one pointer")
    ty = types.llvm_blob(param.param.elem_size)
    memory = ir.GlobalVariable(cx.module, ty, f"{kernel}__{param.param.name}__shared", addrspace=_SHARED)
    memory.linkage = "internal"
    memory.initializer = ir.Constant(ty, ir.Undefined)
    memory.align = param.shared_align
    return b.addrspacecast(b.bitcast(memory, types.I8.as_pointer(_SHARED)), types.PTR)


def _dynamic_shared_memory(cx: ModuleContext, b: ir.IRBuilder, kernel: str, param: EntryParam) -> list[ir.Value]:
    """``Shared<[T]>``: what the launch gives beyond the static block memory, and how many elements that holds."""
    name = f"{kernel}__{param.param.name}__shared"
    memory = ir.GlobalVariable(cx.module, types.llvm_blob(0), name, addrspace=_SHARED)
    memory.linkage = "external"
    memory.align = param.shared_align
    size_ty = ir.FunctionType(types.I32, ())
    size = b.call(ir.InlineAsm(size_ty, "mov.u32 $0, %dynamic_smem_size;", "=r", side_effect=False), ())
    count = b.udiv(b.zext(size, types.I64), types.usize(max(1, param.param.elem_size)))
    return [b.addrspacecast(b.bitcast(memory, types.I8.as_pointer(_SHARED)), types.PTR), count]
