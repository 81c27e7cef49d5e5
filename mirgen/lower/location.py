"""``core::panic::Location``: where a function that is ``#[track_caller]`` was called."""

from __future__ import annotations

from typing import Final

from llvmlite import ir

from mirgen.layout.data import FieldsArbitrary, Layout, ReprMemory, VariantsSingle
from mirgen.lower.constant import constant_location
from mirgen.lower.context import FunctionContext, ModuleContext
from mirgen.lower.shown import Shown
from mirgen.lower.types import I64, PTR
from mirgen.mir.statement import Span
from mirgen.targets.host_abi import PLACE

_FILE, _LENGTH, _LINE, _COLUMN = 0, 8, 16, 20
#: How a ``Location`` lies in memory, as far as mirgen reads it.
LOCATION_OFFSETS: Final = (_FILE, _LINE, _COLUMN)
_LOCATION: Final = Layout(24, 8, ReprMemory(sized=True), FieldsArbitrary(LOCATION_OFFSETS), VariantsSingle(0), False)


def location_constant(cx: ModuleContext, span: Span | None) -> ir.Constant:
    """The pointer to the ``Location`` of a place."""
    file, line, column = ("<unknown>", 0, 0) if span is None else (span.file, span.line, span.col)
    return constant_location(cx, file, _LOCATION, {_FILE: None, _LINE: line, _COLUMN: column})


def caller_location(fx: FunctionContext) -> ir.Value:
    """The pointer to the ``Location`` at which a call in the statement being lowered is reported."""
    known = fx.caller_location
    return location_constant(fx.cx, fx.caller_span) if known is None else known


def show_location(fx: FunctionContext, pointer: ir.Value) -> Shown:
    """The place at a ``Location``: the file's name, and line and column in one word."""
    file = fx.b.ptrtoint(fx.load(fx.offset(pointer, _FILE), PTR, 8), I64)
    length = fx.load(fx.offset(pointer, _LENGTH), I64, 8)
    return Shown(PLACE, (file, length, fx.load(fx.offset(pointer, _LINE), I64, 8)), (0,))
