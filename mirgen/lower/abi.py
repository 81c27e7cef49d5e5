"""The calling convention between our own functions: everything follows from layouts.

A scalar is passed and returned directly, a pair as two arguments and a struct of two, anything else by pointer: the
caller makes a copy that the callee owns, and passes the place for the result first.  Zero-sized things are not passed.
Where the target has a launch context it comes before all.  Function pointers have the same convention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from mirgen.layout.data import Layout
from mirgen.lower import types
from mirgen.lower.value import is_zst


@dataclass(frozen=True, slots=True)
class FnAbi:
    """``out_pointer``: the result is written through a pointer that follows the context; ``caller``: a pointer to the
    call's ``Location`` comes last."""

    params: tuple[Layout, ...]
    result: Layout
    hidden_ctx: bool
    caller: bool = False

    @property
    def out_pointer(self) -> bool:
        return not is_zst(self.result) and not types.llvm_values(self.result)

    def function_type(self) -> ir.FunctionType:
        """The LLVM function type."""
        args: list[ir.Type] = []
        if self.hidden_ctx:
            args.append(types.PTR)
        if self.out_pointer:
            args.append(types.PTR)
        for layout in self.params:
            args.extend(llvm_args(layout))
        if self.caller:
            args.append(types.PTR)
        return ir.FunctionType(llvm_result(self.result), args)


def llvm_args(layout: Layout) -> Sequence[ir.Type]:
    """The LLVM arguments of one parameter."""
    if is_zst(layout):
        return ()
    return types.llvm_values(layout) or (types.PTR,)


def llvm_result(layout: Layout) -> ir.Type:
    """The LLVM result type."""
    values = types.llvm_values(layout)
    if not values:
        return types.VOID
    return values[0] if len(values) == 1 else ir.LiteralStructType(values)
