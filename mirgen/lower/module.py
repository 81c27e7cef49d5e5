"""A whole program: declare everything, then define; collect every function's errors."""

from __future__ import annotations

import contextlib
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from llvmlite import ir

from mirgen.analysis.drops import UnknownDropError, glue_of, glued
from mirgen.errors import Diagnostic, UnsupportedError
from mirgen.layout.data import LayoutTable, ReprPair, ReprScalar
from mirgen.lower.abi import FnAbi
from mirgen.lower.callsite import Lookup
from mirgen.lower.context import ModuleContext, body_span, location
from mirgen.lower.debuginfo import DebugInfo
from mirgen.lower.function import lower_body
from mirgen.lower.kernel import kernel_abi
from mirgen.lower.program import Lowered
from mirgen.lower.types import llvm_values
from mirgen.lower.value import is_zst
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir.body import Body, FnKey, Program
from mirgen.mir.coroutine import resumed
from mirgen.mir.names import readable
from mirgen.mir.place import Constant, Operand, ZstConst
from mirgen.mir.ty import ClosureTy, CoroutineTy, FnDefTy, Ty
from mirgen.mir.tyof import place_ty
from mirgen.targets.base import KernelAbi, Target

#: Longest readable part of a symbol.
_NAME = 40


def lower_module(
    program: Program, layouts: LayoutTable, target: Target, *, annotate: bool = False, debug: bool = False,
    intrinsics: Lookup | None = None,
) -> Lowered:  # fmt: skip
    """See :func:`mirgen.lower.program.lower_program`."""
    if intrinsics is None:
        from mirgen.intrinsics import lookup

        intrinsics = lookup
    module = ir.Module("mirgen", context=ir.Context())
    module.triple, module.data_layout = target.triple, target.data_layout
    cx = ModuleContext(program, layouts, target, module, intrinsics, annotate=annotate)
    calls = {key: (*_callees(body), *_glue(cx, body)) for key, body in program.functions.items()}
    reached = {key: (*map(_key, tys), *program.targets.get(key, ())) for key, tys in calls.items()}
    _reach(cx, reached)
    _declare(cx, _suspending(cx, calls, reached))
    lines = DebugInfo(module) if debug else None
    _define(cx, lines)
    kernels = _kernels(cx, lines)
    if cx.diagnostics:
        raise UnsupportedError(*_unique(cx.diagnostics))
    target.finish_module(cx)
    return Lowered(str(module), kernels, tuple(cx.panics), dict(cx.symbols))


# ---- who reaches whom ----------------------------------------------------------------------------------------


def _callees(body: Body) -> Iterator[Ty]:
    """Types of the functions and closures that a body names: called, or made into pointers."""
    for block in body.blocks:
        for statement in block.statements:
            if isinstance(statement, s.Assign) and isinstance(statement.rvalue, r.Cast):
                yield from _item(statement.rvalue.operand)
        terminator = block.terminator
        if isinstance(terminator, s.Call | s.TailCall):
            yield from _item(terminator.func)
            for arg in terminator.args:
                yield from _item(arg)


def _glue(cx: ModuleContext, body: Body) -> Iterator[Ty]:
    """The drop glue that a body's drops call."""
    for block in body.blocks:
        if isinstance(block.terminator, s.Drop):
            with contextlib.suppress(UnknownDropError):  # lowering the drop refuses it
                yield from map(glue_of, glued(place_ty(body.locals, block.terminator.place), cx.needs_drop))


def _item(operand: Operand) -> Iterator[Ty]:
    if isinstance(operand, Constant) and isinstance(operand.const, ZstConst):
        ty = operand.const.ty
        if isinstance(ty, FnDefTy) and (coroutine := resumed(ty)) is not None:
            yield coroutine
        elif isinstance(ty, FnDefTy | ClosureTy):
            yield ty


def _key(ty: Ty) -> FnKey:
    return (ty.crate, ty.path) if isinstance(ty, FnDefTy | ClosureTy | CoroutineTy) else (ty.crate, ty.text)


def _reach(cx: ModuleContext, calls: dict[FnKey, tuple[FnKey, ...]]) -> None:
    """Fills ``reached_from`` and ``kernel_of``, nearest to a kernel first."""
    queue: deque[FnKey] = deque()
    for kernel in cx.program.kernels:
        if kernel.body not in cx.reached_from:
            cx.reached_from[kernel.body] = None
            cx.kernel_of[kernel.body] = kernel.name
            queue.append(kernel.body)
    while queue:
        key = queue.popleft()
        for callee in calls.get(key, ()):
            if callee not in cx.reached_from and callee in cx.program.functions:
                cx.reached_from[callee] = key
                cx.kernel_of[callee] = cx.kernel_of[key]
                queue.append(callee)


def _suspending(
    cx: ModuleContext, calls: dict[FnKey, tuple[Ty, ...]], reached: dict[FnKey, tuple[FnKey, ...]]
) -> set[FnKey]:  # fmt: skip
    """The functions from which a barrier or warp operation can be reached."""
    callers: dict[FnKey, list[FnKey]] = {}
    for key, callees in reached.items():
        for callee in callees:
            callers.setdefault(callee, []).append(key)
    found = {
        key for key, tys in calls.items() if any(isinstance(ty, FnDefTy) and cx.target.suspends(ty.path) for ty in tys)
    }  # fmt: skip
    stack = list(found)
    while stack:
        for caller in callers.get(stack.pop(), ()):
            if caller not in found:
                found.add(caller)
                stack.append(caller)
    return found


# ---- declarations --------------------------------------------------------------------------------------------


def _declare(cx: ModuleContext, suspending: set[FnKey]) -> None:
    kernel_names = {kernel.name for kernel in cx.program.kernels}
    by_body: dict[int, ir.Function] = {}
    for key, body in cx.program.functions.items():
        known = by_body.get(id(body))
        if known is None:
            ty = _function_type(cx, key, body)
            if ty is None:
                continue
            name = _symbol(len(by_body), body)
            while name in kernel_names:
                name += "_"
            known = by_body[id(body)] = ir.Function(cx.module, ty, name)
            known.linkage = "internal"
            known.attributes.add("nounwind")
            cx.symbols[name] = body.name
            _nonnull(cx, known, body)
            cx.target.function_attributes(known, reaches_barrier=key in suspending)
        cx.functions[key] = known


def _function_type(cx: ModuleContext, key: FnKey, body: Body) -> ir.FunctionType | None:
    """``None`` where a layout is missing or a type cannot be passed: that is reported, and calls of the function are
    then refused too."""
    layouts = [cx.find_layout(local.ty) for local in body.locals[: body.arg_count + 1]]
    for local, layout in zip(body.locals, layouts, strict=False):
        if layout is None:
            message = f"the layout of `{local.ty.text}` is not known"
            cx.diagnostics.append(
                Diagnostic("MG0301", message, location(body_span(body)), notes=(cx.chain(key),))
            )  # fmt: skip
            return None
    known = [layout for layout in layouts if layout is not None]
    try:
        return FnAbi(tuple(known[1:]), known[0], cx.target.hidden_ctx, body.track_caller is not None).function_type()
    except UnsupportedError as error:
        at, notes = location(body_span(body)), (f"in the signature of `{readable(body.name)}`", cx.chain(key))
        cx.diagnostics.extend(replace(found, location=at, notes=notes) for found in error.diagnostics)
        return None


def _nonnull(cx: ModuleContext, function: ir.Function, body: Body) -> None:
    """Marks pointer arguments whose valid range leaves out null: references, ``NonNull``, function pointers."""
    args = list(function.args)[int(cx.target.hidden_ctx) :]
    layouts = [cx.find_layout(local.ty) for local in body.locals[: body.arg_count + 1]]
    result = layouts[0]
    if result is not None and not is_zst(result) and not llvm_values(result):
        args.pop(0)
    for layout in layouts[1:]:
        if layout is None or is_zst(layout):
            continue
        match layout.repr:
            case ReprScalar(value):
                scalars = [value]
            case ReprPair(first, second, _):
                scalars = [first, second]
            case _:
                args.pop(0)
                continue
        for scalar in scalars:
            arg = args.pop(0)
            if scalar.primitive == "pointer" and 0 < scalar.valid_start <= scalar.valid_end:
                arg.attributes.add("nonnull")


def _symbol(number: int, body: Body) -> str:
    """A symbol that every tool accepts and that says a little: ``_M3_get_mut``."""
    name = body.name.partition(" - shim(")[0]
    words = re.findall(r"[A-Za-z_][A-Za-z0-9_]*", re.sub(r"<.*?>|at [^>]*", " ", name))
    return f"_M{number}_{(words[-1] if words else 'fn')[:_NAME]}"


# ---- definitions ---------------------------------------------------------------------------------------------


def _define(cx: ModuleContext, debug: DebugInfo | None) -> None:
    done: set[int] = set()
    for key, body in cx.program.functions.items():
        function = cx.functions.get(key)
        if function is None or id(body) in done:
            continue
        done.add(id(body))
        try:
            lower_body(cx, key, body, function, debug)
        except UnsupportedError as error:
            cx.diagnostics.extend(error.diagnostics)


def _kernels(cx: ModuleContext, debug: DebugInfo | None) -> tuple[KernelAbi, ...]:
    abis: list[KernelAbi] = []
    for kernel in cx.program.kernels:
        body, function = cx.program.functions.get(kernel.body), cx.functions.get(kernel.body)
        if body is None or function is None:
            continue
        try:
            abi, params = kernel_abi(cx, kernel, body)
        except UnsupportedError as error:
            cx.diagnostics.extend(error.diagnostics)
            continue
        before = set(cx.module.globals)
        cx.target.define_kernel(cx, abi, params, function)
        if debug is not None:
            made = (f for f in cx.module.functions if f.name not in before and f.blocks)
            debug.entry(kernel, body, made)
        cx.symbols[abi.name] = body.name
        abis.append(abi)
    return tuple(abis)


def _unique(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    seen: set[tuple[str, str, object]] = set()
    kept: list[Diagnostic] = []
    for diagnostic in diagnostics:
        key = (diagnostic.code, diagnostic.message, diagnostic.location)
        if key not in seen:
            seen.add(key)
            kept.append(diagnostic)
    return kept
