"""Integers: bits, overflow, saturation, comparison, wide multiplication."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from mirgen.intrinsics.registry import Intrinsic, Table
from mirgen.intrinsics.support import argument, immediate, is_signed, scalar
from mirgen.lower.arith import lower_binary
from mirgen.lower.callsite import CallSite, Handler
from mirgen.lower.context import FunctionContext
from mirgen.lower.ops import bits, divide, emit, overflow
from mirgen.lower.value import Pair, Value


def _unary(emit_op: Callable[[ir.IRBuilder, ir.Value], ir.Value]) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value:
        return scalar(call, emit_op(fx.b, immediate(fx, call, 0)))

    return handler


def _with_amount(emit_op: Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value:
        return scalar(call, emit_op(fx.b, immediate(fx, call, 0), immediate(fx, call, 1)))

    return handler


def _funnel(emit_op: Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value], ir.Value]) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value:
        return scalar(call, emit_op(fx.b, *(immediate(fx, call, n) for n in range(3))))

    return handler


def _mir(op: str) -> Handler:
    """The intrinsic that MIR has an operator for."""

    def handler(fx: FunctionContext, call: CallSite) -> Value:
        left, right = argument(fx, call, 0), argument(fx, call, 1)
        return lower_binary(fx, op, left, right, call.arg_tys[0], call.arg_tys[1], call.result_layout)

    return handler


def _saturating_add(fx: FunctionContext, call: CallSite) -> Value:
    x, y = immediate(fx, call, 0), immediate(fx, call, 1)
    return scalar(call, overflow.saturating_add(fx.b, x, y, signed=is_signed(fx, call)))


def _saturating_sub(fx: FunctionContext, call: CallSite) -> Value:
    x, y = immediate(fx, call, 0), immediate(fx, call, 1)
    return scalar(call, overflow.saturating_sub(fx.b, x, y, signed=is_signed(fx, call)))


def _exact_div(fx: FunctionContext, call: CallSite) -> Value:
    x, y = immediate(fx, call, 0), immediate(fx, call, 1)
    return scalar(call, divide.div(fx.b, x, y, signed=is_signed(fx, call), exact=True))


def _carrying_mul_add(fx: FunctionContext, call: CallSite) -> Value:
    """``a * b + c + d`` in twice the width: (low as unsigned, high)."""
    from mirgen.lower.ops.wide import mul_add_256

    signed, b = is_signed(fx, call), fx.b
    values = [immediate(fx, call, n) for n in range(4)]
    width = emit.width(values[0])
    if width == 128:
        low, high = mul_add_256(b, values, signed=signed)
        return Pair(low, high, call.result_layout)
    x, y, c, d = (emit.intcast(b, value, 2 * width, signed=signed) for value in values)
    full = b.add(b.add(b.mul(x, y), c), d)
    low, high = b.trunc(full, values[0].type), b.trunc(b.lshr(full, emit.const(full.type, width)), values[0].type)
    return Pair(low, high, call.result_layout)


def _carryless_mul(fx: FunctionContext, call: CallSite) -> Value:
    """Multiplication of polynomials over GF(2), the low half: one conditional xor for each bit."""
    b, x, y = fx.b, immediate(fx, call, 0), immediate(fx, call, 1)
    total: ir.Value = emit.const(x.type, 0)
    for n in range(emit.width(x)):
        chosen = b.trunc(b.lshr(y, emit.const(y.type, n)), emit.I1)
        total = b.select(chosen, b.xor(total, b.shl(x, emit.const(x.type, n))), total)
    return scalar(call, total)


def table() -> Table:
    """The entries of this file."""
    return {
        "ctpop": Intrinsic(_unary(bits.ctpop)),
        "ctlz": Intrinsic(_unary(bits.ctlz)),
        "ctlz_nonzero": Intrinsic(_unary(bits.ctlz)),
        "cttz": Intrinsic(_unary(bits.cttz)),
        "cttz_nonzero": Intrinsic(_unary(bits.cttz)),
        "bswap": Intrinsic(_unary(bits.bswap)),
        "bitreverse": Intrinsic(_unary(bits.bitreverse)),
        "rotate_left": Intrinsic(_with_amount(bits.rotate_left)),
        "rotate_right": Intrinsic(_with_amount(bits.rotate_right)),
        "unchecked_funnel_shl": Intrinsic(_funnel(bits.funnel_left)),
        "unchecked_funnel_shr": Intrinsic(_funnel(bits.funnel_right)),
        "saturating_add": Intrinsic(_saturating_add),
        "saturating_sub": Intrinsic(_saturating_sub),
        "exact_div": Intrinsic(_exact_div),
        "carrying_mul_add": Intrinsic(_carrying_mul_add),
        "carryless_mul": Intrinsic(_carryless_mul, "one step for each bit"),
        "wrapping_add": Intrinsic(_mir("Add")),
        "wrapping_sub": Intrinsic(_mir("Sub")),
        "wrapping_mul": Intrinsic(_mir("Mul")),
        "unchecked_add": Intrinsic(_mir("AddUnchecked")),
        "unchecked_sub": Intrinsic(_mir("SubUnchecked")),
        "unchecked_mul": Intrinsic(_mir("MulUnchecked")),
        "unchecked_div": Intrinsic(_mir("Div")),
        "unchecked_rem": Intrinsic(_mir("Rem")),
        "unchecked_shl": Intrinsic(_mir("ShlUnchecked")),
        "unchecked_shr": Intrinsic(_mir("ShrUnchecked")),
        "disjoint_bitor": Intrinsic(_mir("BitOr")),
        "add_with_overflow": Intrinsic(_mir("AddWithOverflow")),
        "sub_with_overflow": Intrinsic(_mir("SubWithOverflow")),
        "mul_with_overflow": Intrinsic(_mir("MulWithOverflow")),
        "three_way_compare": Intrinsic(_mir("Cmp")),
    }
