"""The device crate's reserved externs, ``__mirgen_*``: indices, barrier, trap, libdevice, launch facts."""

from __future__ import annotations

from mirgen.intrinsics.registry import Intrinsic, Table
from mirgen.intrinsics.support import immediate, scalar
from mirgen.lower.callsite import CallSite, Handler
from mirgen.lower.context import FunctionContext
from mirgen.lower.types import llvm_values
from mirgen.lower.value import Value

#: What the names of all reserved externs begin with.
RESERVED = "__mirgen_"
_MATH = "__mirgen_math_"
_FACT = "__mirgen_fact_"


def _register(register: str, axis: str) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value:
        return scalar(call, fx.cx.target.special_register(fx, register, axis))

    return handler


def _barrier(fx: FunctionContext, call: CallSite) -> Value | None:
    fx.cx.target.barrier(fx)
    return None


def _trap(fx: FunctionContext, call: CallSite) -> Value | None:
    fx.cx.target.trap(fx)
    return None


def _fact(fx: FunctionContext, call: CallSite) -> Value | None:
    return None


def _math(name: str) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value:
        result = llvm_values(call.result_layout)
        if len(result) != 1:
            raise fx.internal(f"{call.path} gives `{call.result_ty.text}`")
        args = [immediate(fx, call, n) for n in range(len(call.args))]
        return scalar(call, fx.cx.target.math(fx, name, args, result[0]))

    return handler


def table() -> Table:
    """The entries of this file that have fixed names."""
    entries = {
        "__mirgen_barrier": Intrinsic(_barrier, "`bar.sync 0`; the simulator suspends the thread"),
        "__mirgen_trap": Intrinsic(_trap, "`trap`"),
    }
    for register, note in (
        ("tid", "index of the thread in its block"), ("ntid", "size of the block"),
        ("ctaid", "index of the block in the grid"), ("nctaid", "size of the grid"),
    ):  # fmt: skip
        for axis in "xyz":
            handler = _register(register, axis)
            entries[f"__mirgen_{register}_{axis}"] = Intrinsic(handler, f"`%{register}.{axis}`: {note}")
    return entries


def find(name: str) -> Intrinsic | None:
    """The families whose names are open: ``__mirgen_math_<libdevice name>`` and ``__mirgen_fact_*``."""
    if name.startswith(_MATH):
        function = name.removeprefix(_MATH)
        return Intrinsic(_math(function), f"libdevice `__nv_{function}`", "approximate")
    if name.startswith(_FACT):
        return Intrinsic(_fact, "a fact about launches, read by analysis; no code")
    return None
