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

_Emit = Callable[..., ir.Value]
#: The formats whose name ends an intrinsic's name: ``sqrtf32``; also those that are refused.
_FORMATS = ("f16", "f32", "f64", "f128")


def _exact(emit_op: _Emit, arity: int) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value:
        check_float(fx, call.arg_tys[0])
        return scalar(call, emit_op(fx.b, *(immediate(fx, call, n) for n in range(arity))))

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


def _mul_add(b: ir.IRBuilder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """Two roundings, which is one of the results that the intrinsic may give."""
    return b.fadd(b.fmul(x, y), z)


_ARITHMETIC: dict[str, _Emit] = {
    "add": lambda b, x, y: b.fadd(x, y),
    "sub": lambda b, x, y: b.fsub(x, y),
    "mul": lambda b, x, y: b.fmul(x, y),
    "div": lambda b, x, y: b.fdiv(x, y),
    "rem": lambda b, x, y: fmod.frem(b, x, y),
}

#: Name stem, operation, number of operands.
_EXACT: tuple[tuple[str, _Emit, int], ...] = (
    ("sqrt", floats.sqrt, 1),
    ("fabs", floats.fabs, 1),
    ("floor", lambda b, x: floats.rounding(b, "floor", x), 1),
    ("ceil", lambda b, x: floats.rounding(b, "ceil", x), 1),
    ("trunc", lambda b, x: floats.rounding(b, "trunc", x), 1),
    ("round", floats.round_half_away, 1),
    ("round_ties_even_", floats.round_half_even, 1),
    ("rint", floats.round_half_even, 1),
    ("nearbyint", floats.round_half_even, 1),
    ("copysign", floats.copysign, 2),
    ("fma", floats.fma, 3),
    ("fmuladd", _mul_add, 3),
    ("powi", floats.powi, 2),
    ("minnum", lambda b, x, y: floats.number(b, x, y, maximum=False), 2),
    ("maxnum", lambda b, x, y: floats.number(b, x, y, maximum=True), 2),
    ("minimum_number_nsz_", lambda b, x, y: floats.number(b, x, y, maximum=False), 2),
    ("maximum_number_nsz_", lambda b, x, y: floats.number(b, x, y, maximum=True), 2),
    ("minimum", lambda b, x, y: floats.propagating(b, x, y, maximum=False), 2),
    ("maximum", lambda b, x, y: floats.propagating(b, x, y, maximum=True), 2),
)
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
    for stem, emit_op, arity in _EXACT:
        entry = Intrinsic(_exact(emit_op, arity), _NOTES.get(stem, ""))
        entries |= {stem + form: entry for form in _FORMATS}
    for stem, arity in _LIBRARY:
        support: Support = "approximate"
        entry = Intrinsic(_library(stem, arity), f"libdevice `__nv_{stem}`, libm `{stem}`", support)
        entries |= {stem + form: entry for form in _FORMATS}
    entries["fabs"] = entries["fabsf32"]
    for name, emit_op in _ARITHMETIC.items():
        entry = Intrinsic(_exact(emit_op, 2), "as the plain operation")
        entries |= {f"f{name}_fast": entry, f"f{name}_algebraic": entry}
    entries["float_to_int_unchecked"] = Intrinsic(_float_to_int_unchecked)
    return entries


