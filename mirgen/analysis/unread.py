"""Constants that rustc left as paths although nothing reads them any more.

The inliner and constant propagation take what they need out of ``&(0..=56)`` and leave the assignment behind.  Its
value is often one that nothing can name (a promoted constant that a function computes): it need not be had.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import cast

from mirgen.mir import place as pl
from mirgen.mir import rvalue as rv
from mirgen.mir import statement as st
from mirgen.mir.body import Body


def without_unread_constants(body: Body) -> Body:
    """``body`` without assignments of unevaluated constants to locals that nothing else mentions."""
    candidates = {
        s.place.local for block in body.blocks for s in block.statements if _is_constant(s) and isinstance(s, st.Assign)
    }
    candidates -= set(range(body.arg_count + 1))
    if not candidates:
        return body
    for block in body.blocks:
        for statement in block.statements:
            if not (_is_constant(statement) or isinstance(statement, st.Storage)):
                candidates -= locals_of(statement)
        candidates -= locals_of(block.terminator)
    if not candidates:
        return body
    blocks = tuple(
        replace(block, statements=tuple(s for s in block.statements if not _assigns(s, candidates)))
        for block in body.blocks
    )
    return replace(body, blocks=blocks)


def _is_constant(statement: st.Statement) -> bool:
    return (
        isinstance(statement, st.Assign)
        and not statement.place.proj
        and isinstance(statement.rvalue, rv.Use)
        and isinstance(statement.rvalue.operand, pl.Constant)
        and isinstance(statement.rvalue.operand.const, pl.UnevaluatedConst)
    )


def _assigns(statement: st.Statement, locals_: set[int]) -> bool:
    return _is_constant(statement) and isinstance(statement, st.Assign) and statement.place.local in locals_


def locals_of(node: object) -> set[int]:
    """Every local that a statement, terminator or part of one mentions."""
    if isinstance(node, pl.Place):
        return {node.local, *(projection.local for projection in node.proj if isinstance(projection, pl.Index))}
    if isinstance(node, tuple):
        return {local for part in cast("tuple[object, ...]", node) for local in locals_of(part)}
    if is_dataclass(node) and not isinstance(node, pl.Constant | st.SourceInfo):
        return {local for field in fields(node) for local in locals_of(getattr(node, field.name))}
    return set()
