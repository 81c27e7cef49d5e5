"""A call as an intrinsic's handler and the panic lowering see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from mirgen.layout.data import Layout
from mirgen.lower.value import Value
from mirgen.mir.place import Operand
from mirgen.mir.statement import Span
from mirgen.mir.ty import FnDefTy, Ty

if TYPE_CHECKING:
    from mirgen.lower.context import FunctionContext


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call of a function that has no body in the program.

    ``path`` is rustc's callee text with generic arguments (``core::intrinsics::rotate_left::<u32>``), ``crate`` the
    crate that printed it (layouts of types named in ``path`` are found as ``(crate, text)``).  ``args`` are evaluated;
    ``operands`` are the MIR operands they came from.  ``diverges`` is true where the call has no return target.
    ``span`` is where a panic of this call is reported (see ``FunctionContext.caller_span``).
    """

    path: str
    crate: str
    fn: FnDefTy
    operands: tuple[Operand, ...]
    args: tuple[Value, ...]
    arg_tys: tuple[Ty, ...]
    result_ty: Ty
    result_layout: Layout
    diverges: bool
    span: Span | None


#: Lowers one call.  Returns the result (``None`` for zero-sized results), or terminates the block and returns
#: ``None`` if control never comes back; lowering then ignores the call's target.
Handler: TypeAlias = "Callable[[FunctionContext, CallSite], Value | None]"

#: Finds the handler of a callee's text, ``None`` where it is not an intrinsic.
Lookup: TypeAlias = Callable[[str], "Handler | None"]
