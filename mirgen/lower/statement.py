"""Statements."""

from __future__ import annotations

from mirgen.lower import types
from mirgen.lower.context import FunctionContext
from mirgen.lower.discriminant import set_discriminant
from mirgen.lower.operand import copy_bytes_dynamic, operand_ty, scalar_operand
from mirgen.lower.place import lower_place
from mirgen.lower.rvalue import lower_assign
from mirgen.mir import statement as s
from mirgen.mir.place import Operand
from mirgen.mir.ty import PointerTy

#: Statements without run-time meaning, by the first word of rustc's text.
_IGNORED = (
    "nop", "Retag", "FakeRead", "PlaceMention", "AscribeUserType", "Coverage", "ConstEvalCounter",
    "BackwardIncompatibleDropHint",
)  # fmt: skip


def lower_statement(fx: FunctionContext, statement: s.Statement) -> None:
    """Emits one statement into the current block."""
    match statement:
        case s.Assign(_, place, rvalue):
            lower_assign(fx, place, rvalue)
        case s.SetDiscriminant(_, place, index):
            at = lower_place(fx, place)
            set_discriminant(fx, at, at.layout, index)
        case s.Assume(_, operand):
            fx.b.assume(scalar_operand(fx, operand))
        case s.CopyNonoverlapping(_, dst, src, count):
            _copy_nonoverlapping(fx, dst, src, count)
        case s.Storage():
            pass
        case s.Ignored(_, text):
            if not text.startswith(_IGNORED):
                raise fx.unsupported("MG0332", f"the statement `{text}` is not known")


def _copy_nonoverlapping(fx: FunctionContext, dst: Operand, src: Operand, count: Operand) -> None:
    ty = operand_ty(fx, dst)
    if not isinstance(ty, PointerTy):
        raise fx.internal(f"copy_nonoverlapping to `{ty.text}`")
    layout = fx.layout(ty.pointee)
    to, from_, number = (scalar_operand(fx, operand) for operand in (dst, src, count))
    if layout.size:
        size = number if layout.size == 1 else fx.b.mul(number, types.usize(layout.size))
        copy_bytes_dynamic(fx, to, from_, size, layout.align, layout.align)
