"""What trait objects' tables say of the objects: size and alignment."""

from __future__ import annotations

from llvmlite import ir

from mirgen.analysis.objects import ALIGN_AT, SIZE_AT, WORD
from mirgen.lower import types
from mirgen.lower.context import FunctionContext


def size_of_object(fx: FunctionContext, table: ir.Value) -> ir.Value:
    """The size of the type whose table is at ``table`` (``i8*``)."""
    return fx.load(fx.offset(table, SIZE_AT), types.I64, WORD)


def align_of_object(fx: FunctionContext, table: ir.Value) -> ir.Value:
    """The alignment of the type whose table is at ``table`` (``i8*``)."""
    return fx.load(fx.offset(table, ALIGN_AT), types.I64, WORD)


def aligned(fx: FunctionContext, offset: ir.Value, align: ir.Value) -> ir.Value:
    """``offset`` rounded up to a multiple of ``align``, a power of two."""
    up = fx.b.add(offset, fx.b.sub(align, types.usize(1)))
    return fx.b.and_(up, fx.b.sub(types.usize(0), align))
