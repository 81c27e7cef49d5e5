"""Drop: calls the drop glue of what needs it."""

from __future__ import annotations

from llvmlite import ir

from mirgen.analysis.drops import UnknownDropError, glue_of, parts_of, runs_code
from mirgen.lower.context import FunctionContext
from mirgen.lower.place import lower_place
from mirgen.lower.repr import field_offset
from mirgen.lower.value import Place
from mirgen.mir import statement as s
from mirgen.mir.ty import Ty


def lower_drop(fx: FunctionContext, drop: s.Drop) -> None:
    """Emits the glue's calls and the branch to the target."""
    at = lower_place(fx, drop.place)
    _drop(fx, at.ty, at)
    fx.b.branch(fx.block(drop.target))


def _drop(fx: FunctionContext, ty: Ty, at: Place) -> None:
    """Drops the ``ty`` at ``at``."""
    try:
        if not runs_code(ty, fx.cx.needs_drop):
            return
    except UnknownDropError as unknown:
        raise fx.unsupported("MG0350", f"whether `{unknown}` needs to be dropped is not known") from None
    parts = parts_of(ty)
    if parts is None:
        _call_glue(fx, ty, at.ptr, at.meta)
        return
    layout = fx.layout(ty)
    for i, part in enumerate(parts):
        offset = field_offset(fx, layout, i)
        _drop(fx, part, Place(fx.offset(at.ptr, offset), fx.layout(part), part, 1))


def _call_glue(fx: FunctionContext, ty: Ty, ptr: ir.Value, meta: ir.Value | None) -> None:
    glue = glue_of(ty)
    function = fx.cx.functions.get((glue.crate, glue.path))
    if function is None:
        raise fx.unsupported(
            "MG0350", f"dropping a `{ty.text}` runs code that is not in rustc's text",
            helps=("use a type without `Drop`, or `core::mem::ManuallyDrop`",),
        )  # fmt: skip
    args = [] if fx.ctx is None else [fx.ctx]
    fx.b.call(function, [*args, ptr] if meta is None else [*args, ptr, meta])
