"""Small change of emission: widths, constants, LLVM intrinsics, helper functions of the module."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from mirgen.errors import InternalError

I1 = ir.IntType(1)
I8 = ir.IntType(8)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
I128 = ir.IntType(128)
F16 = ir.HalfType()
F32 = ir.FloatType()
F64 = ir.DoubleType()

Build = Callable[[ir.IRBuilder, Sequence[ir.Value]], None]


def width(value: ir.Value) -> int:
    """Bits of an integer value."""
    ty = value.type
    if not isinstance(ty, ir.IntType):
        raise InternalError(f"expected an integer, found {ty}")
    return ty.width


def const(ty: ir.Type, value: int) -> ir.Constant:
    """The integer constant ``value`` modulo the type's width."""
    if not isinstance(ty, ir.IntType):
        raise InternalError(f"integer constant of type {ty}")
    return ir.Constant(ty, value & ((1 << ty.width) - 1))


def intcast(b: ir.IRBuilder, value: ir.Value, bits: int, *, signed: bool = False) -> ir.Value:
    """The integer at another width: truncated, or extended by sign or zero."""
    have = width(value)
    if have == bits:
        return value
    ty = ir.IntType(bits)
    if have > bits:
        return b.trunc(value, ty)
    return b.sext(value, ty) if signed else b.zext(value, ty)


def mangled(ty: ir.Type) -> str:
    """The suffix that LLVM's overloaded intrinsics carry for ``ty``."""
    match ty:
        case ir.IntType():
            return f"i{ty.width}"
        case ir.HalfType():
            return "f16"
        case ir.FloatType():
            return "f32"
        case ir.DoubleType():
            return "f64"
        case _:
            raise InternalError(f"no intrinsic suffix for {ty}")


def declare(module: ir.Module, name: str, result: ir.Type, params: Sequence[ir.Type]) -> ir.Function:
    """The function ``name``, declared on first use."""
    ty = ir.FunctionType(result, list(params))
    known = module.globals.get(name)
    if known is None:
        return ir.Function(module, ty, name)
    if not isinstance(known, ir.Function) or known.function_type != ty:
        raise InternalError(f"{name} is declared twice with different types")
    return known


def intrinsic(b: ir.IRBuilder, name: str, result: ir.Type, args: Sequence[ir.Value]) -> ir.Value:
    """Calls the LLVM function ``name`` (suffix included)."""
    function = declare(b.module, name, result, [arg.type for arg in args])
    return b.call(function, list(args))


def helper(b: ir.IRBuilder, name: str, result: ir.Type, args: Sequence[ir.Value], build: Build) -> ir.Value:
    """Calls the internal function ``name``, which ``build(builder, arguments)`` defines on first use."""
    module = b.module
    fresh = name not in module.globals
    function = declare(module, name, result, [arg.type for arg in args])
    if fresh:
        function.linkage = "internal"
        function.attributes.add("nounwind")
        build(ir.IRBuilder(function.append_basic_block("entry")), function.args)
    return b.call(function, list(args))
