"""The allocator behind ``alloc``: ``__rust_alloc`` and its kin, which rustc leaves to whoever links the program."""

from __future__ import annotations

from mirgen.intrinsics.registry import Intrinsic, Table
from mirgen.intrinsics.support import immediate, scalar
from mirgen.lower.callsite import CallSite, Handler
from mirgen.lower.context import FunctionContext
from mirgen.lower.value import Value

_WHERE = "CUDA's device heap; the simulator's own, which checks what is freed"


def _heap(op: str) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value | None:
        args = [immediate(fx, call, n) for n in range(len(call.args))]
        result = fx.cx.target.heap(fx, op, args)
        return None if result is None else scalar(call, result)

    return handler


def _nothing(fx: FunctionContext, call: CallSite) -> Value | None:
    """A symbol that only has to exist."""
    return None


def table() -> Table:
    """The entries of this file."""
    return {
        "__rust_alloc": Intrinsic(_heap("alloc"), _WHERE),
        "__rust_alloc_zeroed": Intrinsic(_heap("alloc_zeroed"), _WHERE),
        "__rust_dealloc": Intrinsic(_heap("dealloc"), _WHERE),
        "__rust_realloc": Intrinsic(_heap("realloc"), _WHERE),
        "__rust_no_alloc_shim_is_unstable_v2": Intrinsic(_nothing, "no code"),
    }
