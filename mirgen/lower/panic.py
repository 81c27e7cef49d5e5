"""Panics: assertions of MIR, and diverging calls of core's panic functions.

Every panic is a site with Rust's own message and the place in the source; the target ends the thread with it.  A site's
message is a Rust format string: ``{}`` and ``{:#x}`` stand for the (unsigned) arguments in order, and literal braces
are doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from llvmlite import ir

from mirgen.lower import types
from mirgen.lower.callsite import CallSite
from mirgen.lower.context import FunctionContext
from mirgen.lower.message import literal_text, message_of_arguments
from mirgen.lower.panic_text import ASSERTS, fixed_message
from mirgen.lower.value import Scalar, Value
from mirgen.mir.statement import Span


def lower_panic(fx: FunctionContext, message: str, args: Sequence[Value], span: Span | None) -> None:
    """The failing branch of an ``Assert``: registers the site and terminates the block.

    ``message`` is the assertion's text as MIR prints it.  A text that is not known is kept, without arguments.
    """
    text = ASSERTS.get(message)
    if text is None:
        _emit(fx, escape(message), (), span)
        return
    shown = args if "{" in text else ()
    _emit(fx, text, [_word(fx, arg) for arg in shown], span)


# ---- calls ---------------------------------------------------------------------------------------------------


_Handler = Callable[[FunctionContext, CallSite], None]


def lower_panic_call(fx: FunctionContext, call: CallSite) -> None:
    """A diverging call of a function without body: registers the site and terminates the block.

    A function that is not known still panics, naming itself: its only way to end is not to return.
    """
    path = strip_generics(call.path).replace("std::", "core::", 1)
    handler = _HANDLERS.get(path)
    if handler is not None:
        handler(fx, call)
        return
    fixed = fixed_message(path)
    if fixed is None:
        _emit(fx, escape(f"`{call.path}` was called"), (), call.span)
        return
    args = [_word(fx, call.args[index]) for index in fixed.args if index < len(call.args)]
    _emit(fx, fixed.message if len(args) == len(fixed.args) else escape(fixed.message), args, call.span)


def strip_generics(path: str) -> str:
    """``core::intrinsics::copy::<u8>`` without its generic arguments, wherever they stand."""
    out: list[str] = []
    depth = 0
    for n, character in enumerate(path):
        if character == "<":
            depth += 1
        elif character == ">" and path[n - 1] != "-":
            depth -= 1
        elif depth == 0:
            out.append(character)
    return "".join(out).replace("::::", "::").removesuffix("::")


def escape(text: str) -> str:
    """Text as a format string that prints it."""
    return text.replace("{", "{{").replace("}", "}}")


def _slice_index_fail(fx: FunctionContext, call: CallSite) -> None:
    """``slice_index_fail(start, end, len)`` tells at run time which of three things is wrong."""
    if len(call.args) != 3:
        raise fx.internal(f"{call.path} with {len(call.args)} arguments")
    start, end, length = (_word(fx, arg) for arg in call.args)
    b = fx.b
    for too_large, message, shown in (
        ((start, length), "range start index {} out of range for slice of length {}", (start, length)),
        ((end, length), "range end index {} out of range for slice of length {}", (end, length)),
        ((start, end), "slice index starts at {} but ends at {}", (start, end)),
    ):
        fails, goes_on = b.append_basic_block("panic"), b.append_basic_block("next")
        b.cbranch(b.icmp_unsigned(">", *too_large), fails, goes_on)
        b.position_at_end(fails)
        _emit(fx, message, shown, call.span)
        b.position_at_end(goes_on)
    _emit(fx, "range end index {} out of range for slice of length {}", (end, length), call.span)


def _of_text(argument: int, otherwise: str) -> _Handler:
    """A panic function that prints its ``&str`` argument."""

    def handler(fx: FunctionContext, call: CallSite) -> None:
        text = literal_text(fx, call.operands[argument]) if argument < len(call.operands) else None
        _emit(fx, escape(text if text is not None else otherwise), (), call.span)

    return handler


def _of_arguments(fx: FunctionContext, call: CallSite) -> None:
    """``panic_fmt`` and its kin: the literal pieces of the message, ``_`` for what they format."""
    text = message_of_arguments(fx, call.operands[0]) if call.operands else None
    _emit(fx, escape(text if text is not None else "explicit panic"), (), call.span)


def _result_unwrap(fx: FunctionContext, call: CallSite) -> None:
    text = literal_text(fx, call.operands[0]) if call.operands else None
    _emit(fx, escape(text if text is not None else "called `Result::unwrap()` on an `Err` value"), (), call.span)


def _assert_failed(fx: FunctionContext, call: CallSite) -> None:
    """``assert_eq!`` and ``assert_ne!``: which one is the first argument's discriminant, usually a constant."""
    kind = call.args[0] if call.args else None
    op = None
    if isinstance(kind, Scalar) and isinstance(kind.value, ir.Constant):
        op = {0: "==", 1: "!=", 2: "matches"}.get(kind.value.constant)
    _emit(fx, f"assertion `left {op} right` failed" if op else "assertion failed", (), call.span)


_HANDLERS: Final[dict[str, _Handler]] = {
    "core::panicking::panic": _of_text(0, "explicit panic"),
    "core::panicking::panic_nounwind": _of_text(0, "explicit panic"),
    "core::panicking::panic_nounwind_nobacktrace": _of_text(0, "explicit panic"),
    "core::panicking::panic_str_2015": _of_text(0, "explicit panic"),
    "core::panicking::panic_display": _of_text(0, "explicit panic"),
    "core::panicking::unreachable_display": _of_text(0, "internal error: entered unreachable code"),
    "core::panicking::panic_fmt": _of_arguments,
    "core::panicking::panic_nounwind_fmt": _of_arguments,
    "core::panicking::assert_failed": _assert_failed,
    "core::panicking::assert_failed_inner": _assert_failed,
    "core::option::expect_failed": _of_text(0, "called `Option::expect()` on a `None` value"),
    "core::result::unwrap_failed": _result_unwrap,
    "core::slice::index::slice_index_fail": _slice_index_fail,
    "core::rt::begin_panic": _of_text(0, "explicit panic"),
    "core::rt::panic_fmt": _of_arguments,
}


# ---- emission ------------------------------------------------------------------------------------------------


def _emit(fx: FunctionContext, message: str, args: Sequence[ir.Value], span: Span | None) -> None:
    fx.cx.target.panic(fx, fx.cx.panic_site(message, span), args)


def _word(fx: FunctionContext, value: Value) -> ir.Value:
    """An argument of a message as ``i64``: an unsigned integer, extended or cut."""
    if not isinstance(value, Scalar):
        return types.usize(0)
    immediate = value.value
    ty = immediate.type
    if isinstance(ty, ir.PointerType):
        return fx.b.ptrtoint(immediate, types.I64)
    if not isinstance(ty, ir.IntType):
        return types.usize(0)
    if ty.width == 64:
        return immediate
    return fx.b.trunc(immediate, types.I64) if ty.width > 64 else fx.b.zext(immediate, types.I64)
