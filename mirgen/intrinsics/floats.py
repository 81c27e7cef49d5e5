"""Floats: operations that IEEE 754 fixes, and the mathematical library."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from mirgen.intrinsics.registry import Intrinsic, Support, Table
from mirgen.intrinsics.support import check_float, immediate, scalar
from mirgen.lower.callsite import CallSite, Handler
from mirgen.lower.context import FunctionContext
from mirgen.lower.ops import convert, emit, floats, fmod
from mirgen.lower.value import Value
from mirgen.mir.ty import IntTy

_Unary = Callable[[ir.IRBuilder, ir.Value], ir.Value]
_Binary = Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]
_Ternary = Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value], ir.Value]
#: The formats whose name ends an intrinsic's name: ``sqrtf32``; also those that are refused.
_FORMATS = ("f16", "f32", "f64", "f128")


def _unary(emit_op: _Unary) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value:
        check_float(fx, call.arg_tys[0])
        return scalar(call, emit_op(fx.b, immediate(fx, call, 0)))

    return handler


def _binary(emit_op: _Binary) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value:
        check_float(fx, call.arg_tys[0])
        return scalar(call, emit_op(fx.b, immediate(fx, call, 0), immediate(fx, call, 1)))

    return handler


def _ternary(emit_op: _Ternary) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value:
        check_float(fx, call.arg_tys[0])
        x, y, z = (immediate(fx, call, n) for n in range(3))
        return scalar(call, emit_op(fx.b, x, y, z))

    return handler


def _library(name: str, arity: int) -> Handler:
    """A function of libdevice or libm; ``f16`` is computed as ``f32``, as rustc's code generator does."""

    def handler(fx: FunctionContext, call: CallSite) -> Value:
        check_float(fx, call.arg_tys[0])
        args = [immediate(fx, call, n) for n in range(arity)]
        ty = args[0].type
        if floats.float_bits(ty) == 16:
            wide = [floats.widen(fx.b, arg, emit.F32) for arg in args]
            result = fx.cx.target.math(fx, f"{name}f", wide, emit.F32)
            return scalar(call, floats.narrow(fx.b, result, emit.F16))
        suffix = "f" if floats.float_bits(ty) == 32 else ""
        return scalar(call, fx.cx.target.math(fx, name + suffix, args, ty))

    return handler


def _float_to_int_unchecked(fx: FunctionContext, call: CallSite) -> Value:
    check_float(fx, call.arg_tys[0])
    if not isinstance(call.result_ty, IntTy):
        raise fx.internal(f"{call.path} gives `{call.result_ty.text}`")
    result = convert.float_to_int_unchecked(
        fx.b, immediate(fx, call, 0), call.result_ty.bits, signed=call.result_ty.signed
    )
    return scalar(call, result)


_ARITHMETIC: dict[str, _Binary] = {
    "add": lambda b, x, y: b.fadd(x, y),
    "sub": lambda b, x, y: b.fsub(x, y),
    "mul": lambda b, x, y: b.fmul(x, y),
    "div": lambda b, x, y: b.fdiv(x, y),
    "rem": fmod.frem,
}

#: By name without the format; those that end in ``_`` have it before ``f32``.
_UNARY: dict[str, _Unary] = {
    "sqrt": floats.sqrt,
    "fabs": floats.fabs,
    "floor": lambda b, x: floats.rounding(b, "floor", x),
    "ceil": lambda b, x: floats.rounding(b, "ceil", x),
    "trunc": lambda b, x: floats.rounding(b, "trunc", x),
    "round": floats.round_half_away,
    "round_ties_even_": floats.round_half_even,
    "rint": floats.round_half_even,
    "nearbyint": floats.round_half_even,
}
_BINARY: dict[str, _Binary] = {
    "copysign": floats.copysign,
    "powi": floats.powi,
    "minnum": lambda b, x, y: floats.number(b, x, y, maximum=False),
    "maxnum": lambda b, x, y: floats.number(b, x, y, maximum=True),
    "minimum_number_nsz_": lambda b, x, y: floats.number(b, x, y, maximum=False),
    "maximum_number_nsz_": lambda b, x, y: floats.number(b, x, y, maximum=True),
    "minimum": lambda b, x, y: floats.propagating(b, x, y, maximum=False),
    "maximum": lambda b, x, y: floats.propagating(b, x, y, maximum=True),
}
_TERNARY: dict[str, _Ternary] = {
    "fma": floats.fma,
    # two roundings are one of the results that it may give
    "fmuladd": lambda b, x, y, z: b.fadd(b.fmul(x, y), z),
}
_LIBRARY: tuple[tuple[str, int], ...] = (
    ("sin", 1), ("cos", 1), ("exp", 1), ("exp2", 1), ("log", 1), ("log2", 1), ("log10", 1), ("pow", 2),
)  # fmt: skip

_NOTES = {
    "minnum": "of equal operands the second",
    "maxnum": "of equal operands the second",
    "minimum_number_nsz_": "of equal operands the second",
    "maximum_number_nsz_": "of equal operands the second",
    "powi": "repeated squaring, in the order of compiler-rt",
    "fmuladd": "two roundings",
}


def table() -> Table:
    """The entries of this file."""
    entries: dict[str, Intrinsic] = {}
    exact: dict[str, Handler] = {stem: _unary(op) for stem, op in _UNARY.items()}
    exact |= {stem: _binary(op) for stem, op in _BINARY.items()}
    exact |= {stem: _ternary(op) for stem, op in _TERNARY.items()}
    for stem, handler in exact.items():
        entry = Intrinsic(handler, _NOTES.get(stem, ""))
        entries |= {stem + form: entry for form in _FORMATS}
    for stem, arity in _LIBRARY:
        support: Support = "approximate"
        entry = Intrinsic(_library(stem, arity), f"libdevice `__nv_{stem}`, libm `{stem}`", support)
        entries |= {stem + form: entry for form in _FORMATS}
    entries["fabs"] = entries["fabsf32"]
    for name, emit_op in _ARITHMETIC.items():
        entry = Intrinsic(_binary(emit_op), "as the plain operation")
        entries |= {f"f{name}_fast": entry, f"f{name}_algebraic": entry}
    entries["float_to_int_unchecked"] = Intrinsic(_float_to_int_unchecked)
    return entries
