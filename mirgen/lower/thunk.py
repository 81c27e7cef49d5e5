"""Addresses of functions, as function pointers hold them."""

from __future__ import annotations

from llvmlite import ir

from mirgen.lower import types
from mirgen.lower.abi import FnAbi
from mirgen.lower.context import ModuleContext
from mirgen.lower.location import location_constant
from mirgen.lower.value import is_zst
from mirgen.mir.body import FnKey


def function_address(cx: ModuleContext, key: FnKey) -> ir.Constant | None:
    """The address of a function of the program as an ``i8*`` constant; ``None`` where there is none.

    Who calls through a pointer does not say where: a function that wants to know is told where it is defined, as
    natively.
    """
    function, body = cx.functions.get(key), cx.program.functions.get(key)
    if function is None or body is None:
        return None
    if body.track_caller is None:
        return function.bitcast(types.PTR)
    name = f"{function.name}_by_pointer"
    thunk = cx.module.globals.get(name)
    if not isinstance(thunk, ir.Function):
        ty = function.function_type
        thunk = ir.Function(cx.module, ir.FunctionType(ty.return_type, ty.args[:-1]), name)
        thunk.linkage = "internal"
        b = ir.IRBuilder(thunk.append_basic_block("entry"))
        result = b.call(function, [*thunk.args, location_constant(cx, body.track_caller)])
        if isinstance(ty.return_type, ir.VoidType):
            b.ret_void()
        else:
            b.ret(result)
    return thunk.bitcast(types.PTR)


def closure_address(cx: ModuleContext, key: FnKey) -> ir.Constant | None:
    """The address of a thunk that supplies the ``self`` of a closure that captures nothing; ``None`` where the program
    does not have the closure's body."""
    body, target = cx.program.functions.get(key), cx.functions.get(key)
    if body is None or target is None:
        return None
    name = f"{target.name}_thunk"
    thunk = cx.module.globals.get(name)
    if not isinstance(thunk, ir.Function):
        found = [cx.find_layout(local.ty) for local in body.locals[: body.arg_count + 1]]
        layouts = [layout for layout in found if layout is not None]
        if len(layouts) != len(found):
            return None
        outer = FnAbi(tuple(layouts[2:]), layouts[0], cx.target.hidden_ctx)
        thunk = ir.Function(cx.module, outer.function_type(), name)
        thunk.linkage = "internal"
        b = ir.IRBuilder(thunk.append_basic_block("entry"))
        lead = int(outer.hidden_ctx) + int(outer.out_pointer)
        own = [] if is_zst(layouts[1]) else [types.usize(1).inttoptr(types.PTR)]
        result = b.call(target, [*thunk.args[:lead], *own, *thunk.args[lead:]])
        if isinstance(thunk.function_type.return_type, ir.VoidType):
            b.ret_void()
        else:
            b.ret(result)
    return thunk.bitcast(types.PTR)
