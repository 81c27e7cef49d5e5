"""Panics: assertions of MIR, and diverging calls of core's panic functions.

Every panic is a site with Rust's own message and the place in the source; the target ends the thread with it.  A site's
message is a Rust format string over the site's values: literal braces are doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final

from llvmlite import ir

from mirgen.lower import types
from mirgen.lower.callsite import CallSite
from mirgen.lower.context import FunctionContext
from mirgen.lower.location import show_location
from mirgen.lower.message import (
    Message,
    message_of_arguments,
    message_of_object,
    message_of_option,
    message_of_text,
    message_of_value,
    plain,
)  # fmt: skip
from mirgen.lower.panic_text import ASSERTS, fixed_message
from mirgen.lower.shown import Shown, hidden, show_text, word_of
from mirgen.lower.value import Pair, Scalar, Value
from mirgen.mir.statement import Span

#: What is said where neither text nor values can be found.
_ELSEWHERE: Final = "<a message that was put together elsewhere>"


def lower_panic(fx: FunctionContext, message: str, args: Sequence[Value], span: Span | None) -> None:
    """The failing branch of an ``Assert``: registers the site and terminates the block.

    ``message`` is the assertion's text as MIR prints it.  A text that is not known is kept, without arguments.
    """
    text = ASSERTS.get(message)
    if text is None:
        _say(fx, plain(message), span)
        return
    shown = args if "{" in text else ()
    _emit(fx, text, [_shown(fx, arg) for arg in shown], span)


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
        _say(fx, plain(f"`{call.path}` was called"), call.span)
        return
    args = [_shown(fx, call.args[index]) for index in fixed.args if index < len(call.args)]
    if len(args) != len(fixed.args):
        raise fx.internal(f"{call.path} with {len(call.args)} arguments")
    _emit(fx, fixed.message, args, call.span)


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


def _slice_index_fail(fx: FunctionContext, call: CallSite) -> None:
    """``slice_index_fail(start, end, len)`` tells at run time which of three things is wrong."""
    if len(call.args) != 3:
        raise fx.internal(f"{call.path} with {len(call.args)} arguments")
    start, end, length = (_word(fx, arg) for arg in call.args)
    for too_large, message, shown in (
        ((start, length), "range start index {} out of range for slice of length {}", (start, length)),
        ((end, length), "range end index {} out of range for slice of length {}", (end, length)),
        ((start, end), "slice index starts at {} but ends at {}", (start, end)),
    ):
        with _failing(fx, fx.b.icmp_unsigned(">", *too_large)):
            _emit(fx, message, [word_of(word) for word in shown], call.span)
    _emit(fx, "range end index {} out of range for slice of length {}", [word_of(end), word_of(length)], call.span)


def _str_slice_fail(fx: FunctionContext, call: CallSite) -> None:
    """``slice_error_fail(s, begin, end)`` likewise.  The character around an index is not shown."""
    if len(call.args) != 3 or not isinstance(call.args[0], Pair):
        raise fx.internal(f"{call.path} with {len(call.args)} arguments")
    text, length = call.args[0].first, call.args[0].second
    begin, end = (_word(fx, arg) for arg in call.args[1:])
    old = fx.cx.program.compiler.startswith("rustc 1.95.")
    whole = [show_text(fx, text, length)] if old else []
    beyond = "is out of bounds of `{}`" if old else "is out of bounds for string of length {}"
    limit = whole or [word_of(length)]
    order = "begin > end ({} > {}) when slicing `{}`" if old else "byte range starts at {} but ends at {}"
    around = "is not a char boundary; it is inside {} (bytes {}" + (") of `{}`" if old else " of string)")
    inside = [hidden(None), hidden(None), *whole]
    for index, name in ((begin, "start"), (end, "end")):
        with _failing(fx, fx.b.icmp_unsigned(">", index, length)):
            _emit(fx, f"{name} byte index {{}} {beyond}", [word_of(index), *limit], call.span)
    with _failing(fx, fx.b.icmp_unsigned(">", begin, end)):
        _emit(fx, order, [word_of(begin), word_of(end), *whole], call.span)
    for index, name in ((begin, "start"), (end, "end")):
        with _failing(fx, _is_inside_char(fx, text, length, index)):
            _emit(fx, f"{name} byte index {{}} {around}", [word_of(index), *inside], call.span)
    _emit(fx, f"end byte index {{}} {beyond}", [word_of(end), *limit], call.span)


def _is_inside_char(fx: FunctionContext, text: ir.Value, length: ir.Value, index: ir.Value) -> ir.Value:
    """Whether ``index``, which is no more than ``length``, is not a boundary of characters."""
    b = fx.b
    before, look, known = b.block, b.append_basic_block("look"), b.append_basic_block("known")
    at_end = b.or_(b.icmp_unsigned("==", index, types.usize(0)), b.icmp_unsigned("==", index, length))
    b.cbranch(at_end, known, look)
    b.position_at_end(look)
    continues = b.icmp_signed("<", b.load(b.gep(text, [index])), types.const_int(types.I8, -0x40))
    b.branch(known)
    b.position_at_end(known)
    found = b.phi(types.I1)
    found.add_incoming(types.const_int(types.I1, 0), before)
    found.add_incoming(continues, look)
    return found


@contextmanager
def _failing(fx: FunctionContext, condition: ir.Value) -> Generator[None]:
    """The block that runs where ``condition`` holds, which does not come back; what follows runs where not."""
    fails, goes_on = fx.b.append_basic_block("panic"), fx.b.append_basic_block("next")
    fx.b.cbranch(condition, fails, goes_on)
    fx.b.position_at_end(fails)
    yield
    fx.b.position_at_end(goes_on)


def _of_text(fx: FunctionContext, call: CallSite) -> None:
    """A panic function that prints its ``&str`` argument."""
    found = message_of_text(fx, call.operands[0]) if call.operands else None
    _say(fx, found or plain(_ELSEWHERE), call.span)


def _of_display(prefix: str) -> _Handler:
    """A panic function that prints what its reference points at."""

    def handler(fx: FunctionContext, call: CallSite) -> None:
        if len(call.operands) != 1:
            raise fx.internal(f"{call.path} with {len(call.args)} arguments")
        found = message_of_text(fx, call.operands[0]) or message_of_value(fx, call.operands[0], "")
        _say(fx, (plain(prefix) if prefix else Message(())) + found, call.span)

    return handler


def _of_arguments(fx: FunctionContext, call: CallSite) -> None:
    """``panic_fmt`` and its kin."""
    found = message_of_arguments(fx, call.operands[0]) if call.operands else None
    _say(fx, found or plain(_ELSEWHERE), call.span)


def _result_unwrap(fx: FunctionContext, call: CallSite) -> None:
    """``unwrap_failed(text, &dyn Debug)``."""
    if len(call.operands) != 2:
        raise fx.internal(f"{call.path} with {len(call.args)} arguments")
    text = message_of_text(fx, call.operands[0]) or plain(_ELSEWHERE)
    _say(fx, text + plain(": ") + message_of_object(fx, call.operands[1], "?"), call.span)


def _assert_failed(fx: FunctionContext, call: CallSite) -> None:
    """``assert_eq!`` and ``assert_ne!``: which one is the first argument's discriminant, a constant."""
    if len(call.operands) != 4:
        raise fx.internal(f"{call.path} with {len(call.args)} arguments")
    kind = call.args[0]
    op = None
    if isinstance(kind, Scalar) and isinstance(kind.value, ir.Constant):
        op = {0: "==", 1: "!=", 2: "matches"}.get(kind.value.constant)
    text = plain(f"assertion `left {op} right` failed" if op else "assertion failed")
    extra = message_of_option(fx, call.operands[3])
    if extra is None:
        text += plain(f": {_ELSEWHERE}")
    elif extra.parts:
        text += plain(": ") + extra
    show = message_of_object if call.path.endswith("_inner") else message_of_value
    for label, operand in (("\n  left: ", call.operands[1]), ("\n right: ", call.operands[2])):
        text += plain(label) + show(fx, operand, "?")
    _say(fx, text, call.span)


_HANDLERS: Final[dict[str, _Handler]] = {
    "core::panicking::panic": _of_text,
    "core::panicking::panic_nounwind": _of_text,
    "core::panicking::panic_nounwind_nobacktrace": _of_text,
    "core::panicking::panic_str_2015": _of_text,
    "core::panicking::panic_display": _of_display(""),
    "core::panicking::unreachable_display": _of_display("internal error: entered unreachable code: "),
    "core::panicking::panic_fmt": _of_arguments,
    "core::panicking::panic_nounwind_fmt": _of_arguments,
    "core::panicking::assert_failed": _assert_failed,
    "core::panicking::assert_failed_inner": _assert_failed,
    "core::option::expect_failed": _of_text,
    "core::result::unwrap_failed": _result_unwrap,
    "core::slice::index::slice_index_fail": _slice_index_fail,
    "core::str::slice_error_fail": _str_slice_fail,
    "core::rt::begin_panic": _of_text,
    "core::rt::panic_fmt": _of_arguments,
}


# ---- emission ------------------------------------------------------------------------------------------------


def _say(fx: FunctionContext, message: Message, span: Span | None) -> None:
    _emit(fx, message.format, message.values, span)


def _emit(fx: FunctionContext, message: str, values: Sequence[Shown], span: Span | None) -> None:
    caller = fx.caller_location
    if caller is not None:
        values = (show_location(fx, caller), *values)
    site = fx.cx.panic_site(message, span, tuple(value.kind for value in values), fx.body.name)
    fx.cx.target.panic(fx, site, values)


def _shown(fx: FunctionContext, value: Value) -> Shown:
    """An argument of an assertion or panic function: an unsigned number, or a pointer's address."""
    return word_of(_word(fx, value))


def _word(fx: FunctionContext, value: Value) -> ir.Value:
    if not isinstance(value, Scalar):
        raise fx.internal("an argument of a panic that is not a scalar")
    immediate = value.value
    ty = immediate.type
    if isinstance(ty, ir.PointerType):
        return fx.b.ptrtoint(immediate, types.I64)
    if not isinstance(ty, ir.IntType):
        raise fx.internal(f"an argument of a panic of type {ty}")
    if ty.width == 64:
        return immediate
    return fx.b.trunc(immediate, types.I64) if ty.width > 64 else fx.b.zext(immediate, types.I64)
