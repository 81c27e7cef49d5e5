"""libdevice's functions on the host: libm under its own names, LLVM intrinsics, and the few that libm lacks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Final

from llvmlite import ir

from mirgen.targets.host_abi import ROUNDED, ROUNDED_MODES, ROUNDED_OPS

Args = Sequence[ir.Value]
#: ``(name, result, params) -> function``, declared on first use.
Declare = Callable[[str, ir.Type, Sequence[ir.Type]], ir.Function]

_F64 = ir.DoubleType()
_I32 = ir.IntType(32)

#: Exact on every machine: LLVM has an instruction or a library call for each.
_INTRINSICS: Final = {
    "sqrt": "sqrt", "fabs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint",
    "nearbyint": "nearbyint", "copysign": "copysign", "fma": "fma",
}  # fmt: skip

#: What libm calls by the same name (with ``f`` for f32).
_LIBM: Final = frozenset(
    {
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp",
        "exp10", "exp2", "expm1", "fdim", "fmax", "fmin", "fmod", "hypot", "ilogb", "j0", "j1", "jn", "ldexp", "lgamma",
        "log", "log10", "log1p", "log2", "logb", "nextafter", "pow", "remainder", "round", "scalbn", "sin", "sinh",
        "tan", "tanh", "tgamma", "y0", "y1", "yn",
    }
)  # fmt: skip

_ROUNDED = re.compile(r"^(?P<ty>[df])(?P<op>add|sub|mul|div|rcp|sqrt)_(?P<mode>r[nduz])$")
_ROUNDED_FMA = re.compile(r"^fma(?P<f>f)?(?:_ieee)?_(?P<mode>r[nduz])$")


def math_call(b: ir.IRBuilder, declare: Declare, name: str, args: Args, result: ir.Type) -> ir.Value | None:
    """The value of libdevice's ``__nv_<name>``, or ``None`` for a function that the host lacks."""
    match = _ROUNDED.match(name)
    if match is not None:
        return _rounded(b, declare, match["op"], match["mode"], args, result)
    match = _ROUNDED_FMA.match(name)
    if match is not None:
        return _rounded(b, declare, "fma", match["mode"], args, result)
    if name == "frsqrt_rn":
        return _one_over(b, _libm(b, declare, "sqrt", [b.fpext(args[0], _F64)], _F64), result)
    if name.startswith("fast_"):
        name = name.removeprefix("fast_")
    single = isinstance(result, ir.FloatType) or (bool(args) and isinstance(args[-1].type, ir.FloatType))
    base = name.removesuffix("f") if single else name
    if base in _INTRINSICS or base in _LIBM:
        return _libm(b, declare, base, args, result)
    derived = _DERIVED.get(base)
    if derived is None:
        return None
    # What libm lacks is computed in f64, so that an f32 result is as good as a correctly rounded one.
    wide = [b.fpext(arg, _F64) if isinstance(arg.type, ir.FloatType) else arg for arg in args]
    value = derived(b, declare, wide)
    return b.fptrunc(value, result) if single else value


def _libm(b: ir.IRBuilder, declare: Declare, base: str, args: Args, result: ir.Type) -> ir.Value:
    types = [arg.type for arg in args]
    single = any(isinstance(ty, ir.FloatType) for ty in (result, *types))
    intrinsic = _INTRINSICS.get(base)
    if intrinsic is not None:
        return b.call(declare(f"llvm.{intrinsic}.{'f32' if single else 'f64'}", result, types), args)
    return b.call(declare(base + ("f" if single else ""), result, types), args)


def _rounded(b: ir.IRBuilder, declare: Declare, op: str, mode: str, args: Args, result: ir.Type) -> ir.Value:
    """Arithmetic in a rounding mode.  To nearest is what the host does anyway; the others change the mode."""
    if mode == "rn":
        match op:
            case "add":
                return b.fadd(args[0], args[1])
            case "sub":
                return b.fsub(args[0], args[1])
            case "mul":
                return b.fmul(args[0], args[1])
            case "div":
                return b.fdiv(args[0], args[1])
            case "rcp":
                return b.fdiv(ir.Constant(result, 1.0), args[0])
            case _:
                return _libm(b, declare, op, args, result)
    name = ROUNDED + ("f" if isinstance(result, ir.FloatType) else "")
    function = declare(name, result, [result, result, result, _I32, _I32])
    padded = [*args, *[args[0]] * (3 - len(args))]
    return b.call(function, [*padded, _I32(ROUNDED_OPS[op]), _I32(ROUNDED_MODES[mode])])


def _one_over(b: ir.IRBuilder, value: ir.Value, result: ir.Type) -> ir.Value:
    quotient = b.fdiv(ir.Constant(_F64, 1.0), value)
    return b.fptrunc(quotient, result) if isinstance(result, ir.FloatType) else quotient


def _f(value: float) -> ir.Constant:
    return ir.Constant(_F64, value)


def _unary(name: str) -> Callable[[ir.IRBuilder, Declare, ir.Value], ir.Value]:
    def call(b: ir.IRBuilder, declare: Declare, x: ir.Value) -> ir.Value:
        return _libm(b, declare, name, [x], _F64)

    return call


_sqrt, _cbrt, _sin, _cos, _erfc, _rint = (_unary(name) for name in ("sqrt", "cbrt", "sin", "cos", "erfc", "rint"))


def _norm(b: ir.IRBuilder, declare: Declare, args: Args) -> ir.Value:
    """The length of a vector, without overflow between."""
    length = args[0]
    for arg in args[1:]:
        length = _libm(b, declare, "hypot", [length, arg], _F64)
    return length


def _sin_pi(b: ir.IRBuilder, declare: Declare, x: ir.Value, quarter: int) -> ir.Value:
    """``sin(pi x)`` moved by ``quarter`` quarter turns: the reduction to an eighth of a turn is exact."""
    # x in turns of two: r in [-1, 1]
    r = b.fsub(x, b.fmul(_f(2.0), _rint(b, declare, b.fmul(x, _f(0.5)))))
    n = _rint(b, declare, b.fmul(r, _f(2.0)))
    angle = b.fmul(b.fsub(r, b.fmul(n, _f(0.5))), _f(math.pi))
    i = b.add(b.fptosi(n, _I32), _I32(quarter))
    s, c = _sin(b, declare, angle), _cos(b, declare, angle)
    odd = b.icmp_unsigned("!=", b.and_(i, _I32(1)), _I32(0))
    value = b.select(odd, c, s)
    negative = b.icmp_unsigned("!=", b.and_(i, _I32(2)), _I32(0))
    turned = b.select(negative, b.fsub(_f(-0.0), value), value)
    # Not finite: x - x is NaN.
    finite = b.fcmp_ordered("<", _libm(b, declare, "fabs", [x], _F64), _f(math.inf))
    return b.select(finite, turned, b.fsub(x, x))


_DERIVED: Final[dict[str, Callable[[ir.IRBuilder, Declare, Args], ir.Value]]] = {
    "rsqrt": lambda b, d, a: _one_over(b, _sqrt(b, d, a[0]), _F64),
    "rcbrt": lambda b, d, a: _one_over(b, _cbrt(b, d, a[0]), _F64),
    "sinpi": lambda b, d, a: _sin_pi(b, d, a[0], 0),
    "cospi": lambda b, d, a: _sin_pi(b, d, a[0], 1),
    "norm3d": _norm,
    "norm4d": _norm,
    "rnorm3d": lambda b, d, a: _one_over(b, _norm(b, d, a), _F64),
    "rnorm4d": lambda b, d, a: _one_over(b, _norm(b, d, a), _F64),
    "rhypot": lambda b, d, a: _one_over(b, _norm(b, d, a), _F64),
    "powi": lambda b, d, a: _libm(b, d, "pow", [a[0], b.sitofp(a[1], _F64)], _F64),
    "normcdf": lambda b, d, a: b.fmul(_f(0.5), _erfc(b, d, b.fmul(a[0], _f(-math.sqrt(0.5))))),
}
