"""Addresses of functions, as function pointers hold them."""

from __future__ import annotations

from llvmlite import ir

from mirgen.lower import types
from mirgen.lower.context import ModuleContext
from mirgen.lower.location import location_constant
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
