"""Intrinsics about calls: which of two functions runs, and where a call stands."""

from __future__ import annotations

from dataclasses import replace

from mirgen.intrinsics.registry import Intrinsic, Table
from mirgen.layout.data import FieldsArbitrary
from mirgen.lower.call import call_item
from mirgen.lower.callsite import CallSite
from mirgen.lower.constant import constant_location
from mirgen.lower.context import FunctionContext
from mirgen.lower.location import LOCATION_OFFSETS
from mirgen.lower.value import Scalar, Value
from mirgen.mir import statement as s
from mirgen.mir.place import Constant, Copy, Field, Move, Operand, Place, ZstConst
from mirgen.mir.ty import FnDefTy, PointerTy, TupleTy


def _const_eval_select(fx: FunctionContext, call: CallSite) -> Value | None:
    """``const_eval_select(args, in_const, at_run_time)`` calls the last with the elements of the tuple."""
    terminator = fx.statement
    if len(call.operands) != 3 or not isinstance(terminator, s.Call):
        raise fx.internal(f"{call.path} with {len(call.operands)} arguments")
    packed, _, chosen = call.operands
    if not (isinstance(chosen, Constant) and isinstance(chosen.const, ZstConst)):
        raise fx.internal(f"{call.path} does not name the function to call")
    item = chosen.const.ty
    if not isinstance(item, FnDefTy):
        raise fx.unsupported("MG0340", f"a call of `{item.text}`")
    args = _elements(fx, packed, call)
    return call_item(fx, replace(terminator, func=chosen, args=args), item)


def _elements(fx: FunctionContext, packed: Operand, call: CallSite) -> tuple[Operand, ...]:
    """The elements of a tuple operand as operands."""
    ty = call.arg_tys[0]
    if not isinstance(ty, TupleTy):
        raise fx.internal(f"{call.path} on `{ty.text}`, which is no tuple")
    if not ty.elems:
        return ()
    if not isinstance(packed, Copy | Move):
        raise fx.unsupported("MG0340", f"`{call.path}` on a constant tuple")
    at = packed.place
    return tuple(Copy(Place(at.local, (*at.proj, Field(n, elem)))) for n, elem in enumerate(ty.elems))


def _caller_location(fx: FunctionContext, call: CallSite) -> Value:
    """A ``&'static Location`` of the call, seen through ``#[track_caller]`` functions."""
    ty = call.result_ty
    if not isinstance(ty, PointerTy):
        raise fx.internal(f"{call.path} gives `{ty.text}`")
    layout = fx.layout(ty.pointee)
    span = call.span
    if not isinstance(layout.fields, FieldsArbitrary) or len(layout.fields.offsets) < 3:
        raise fx.internal(f"the layout of `{ty.pointee.text}`")
    if span is None:
        raise fx.unsupported("MG0379", f"`{call.path}`: rustc gave no source location for this call")
    if fx.caller_location is not None:
        if layout.fields.offsets[:3] != LOCATION_OFFSETS:
            raise fx.internal(f"the layout of `{ty.pointee.text}`")
        return Scalar(fx.caller_location, call.result_layout)
    filename, line, column, *_ = layout.fields.offsets
    place = constant_location(
        fx.cx, span.file, layout, {filename: None, line: span.line, column: span.col}
    )  # fmt: skip
    return Scalar(place, call.result_layout)


def table() -> Table:
    """The entries of this file."""
    return {
        "const_eval_select": Intrinsic(_const_eval_select, "calls the function for run time"),
        "caller_location": Intrinsic(_caller_location, "through `#[track_caller]` functions"),
    }
