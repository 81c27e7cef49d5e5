"""Constants that the program computes itself, because rustc cannot be asked for their values.

An inline constant of an instance that has no name (``const { f::<T, F>() }``) is a body like any other, without
arguments and without effects: calling it where the constant stands gives the constant's value.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from mirgen.mir.body import Block, Body, Local
from mirgen.mir.place import Constant, Copy, Place, UnevaluatedConst, ZstConst
from mirgen.mir.statement import Call, Unwind
from mirgen.mir.ty import (
    ArrayTy,
    BoolTy,
    CharTy,
    FloatTy,
    FnDefTy,
    FnPtrTy,
    IntTy,
    TupleTy,
    Ty,
    TyBase,
)  # fmt: skip


def may_be_computed(ty: Ty) -> bool:
    """Whether a constant of type ``ty`` may be computed anew: not where it refers to memory, which never goes away."""
    match ty:
        case IntTy() | FloatTy() | BoolTy() | CharTy() | FnPtrTy() | FnDefTy():
            return True
        case TupleTy(elems=elems):
            return all(map(may_be_computed, elems))
        case ArrayTy(elem=elem):
            return may_be_computed(elem)
        case _:
            return False


def with_call(body: Body, fn: FnDefTy) -> Body:
    """``body`` with the constant whose full path is that of ``fn`` replaced by what a call of ``fn`` returns."""
    blocks = list(body.blocks)
    place = Place(len(body.locals))
    for i, block in enumerate(body.blocks):
        parts = (*block.statements, block.terminator)
        first = next((j for j, part in enumerate(parts) if _mentions(part, fn.path)), None)
        if first is None:
            continue
        blocks.append(_replaced(replace(block, statements=block.statements[first:]), fn.path, Copy(place)))
        func = Constant(ZstConst(fn))
        call = Call(parts[first].source, place, func, (), len(blocks) - 1, Unwind("unreachable"))
        blocks[i] = Block(block.cleanup, block.statements[:first], call)
    return replace(body, blocks=tuple(blocks), locals=(*body.locals, Local(fn.sig.output, True, None, None)))


def _mentions(part: Any, path: str) -> bool:
    if isinstance(part, UnevaluatedConst):
        return part.full_path == path
    return any(_mentions(each, path) for each in _inside(part))


def _inside(part: Any) -> tuple[Any, ...]:
    if isinstance(part, tuple):
        return part  # pyright: ignore[reportUnknownVariableType]
    if isinstance(part, TyBase) or not is_dataclass(part):
        return ()
    return tuple(getattr(part, each.name) for each in fields(part))


def _replaced(part: Any, path: str, value: Copy) -> Any:
    if isinstance(part, Constant) and isinstance(part.const, UnevaluatedConst) and part.const.full_path == path:
        return value
    if not _mentions(part, path):
        return part
    if isinstance(part, tuple):
        return tuple(_replaced(each, path, value) for each in part)  # pyright: ignore[reportUnknownVariableType]
    return replace(part, **{each.name: _replaced(getattr(part, each.name), path, value) for each in fields(part)})
