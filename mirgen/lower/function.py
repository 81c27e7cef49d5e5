"""One body: arguments, slots, blocks in reverse postorder."""

from __future__ import annotations

from llvmlite import ir

from mirgen.errors import MirgenError, UnsupportedError
from mirgen.lower import types
from mirgen.lower.context import FunctionContext, ModuleContext, body_span
from mirgen.lower.debuginfo import DebugInfo
from mirgen.lower.locals import reverse_postorder, ssa_locals
from mirgen.lower.operand import store_value
from mirgen.lower.place import local_slot
from mirgen.lower.statement import lower_statement
from mirgen.lower.terminator import lower_terminator
from mirgen.lower.value import Pair, Scalar, is_memory_form, is_unsized, is_zst
from mirgen.mir.body import Body, FnKey
from mirgen.mir.format import format_statement, format_terminator
from mirgen.mir.ty import Ty


def lower_body(
    cx: ModuleContext, key: FnKey, body: Body, function: ir.Function, debug: DebugInfo | None = None
) -> None:
    """Defines ``function`` with ``body``.

    Raises the first error met; ``fx.statement`` stands in an :class:`InternalError`.
    """
    b = ir.IRBuilder(function.append_basic_block("entry"))
    fx = FunctionContext(cx, key, body, function, b)
    fx.entry = b.block
    try:
        if debug is not None:
            debug.begin(fx, body_span(body))
        _define(fx, reverse_postorder(body), debug)
    except UnsupportedError as error:
        raise fx.placed(error) from None
    except MirgenError:
        raise
    except Exception as error:
        raise fx.internal(f"{type(error).__name__}: {error}") from error


def _define(fx: FunctionContext, order: list[int], debug: DebugInfo | None) -> None:
    body = fx.body
    fx.blocks = [None] * len(body.blocks)
    for block in order:
        fx.blocks[block] = fx.function.append_basic_block(f"bb{block}")
    fx.ssa_locals = ssa_locals(body, order, lambda ty: _is_immediate(fx, ty))
    _lower_locals(fx)
    for block in order:
        _lower_block(fx, block, debug)
    fx.b.debug_metadata = None
    fx.b.position_at_end(fx.function.entry_basic_block)
    fx.b.branch(fx.block(0))


def _is_immediate(fx: FunctionContext, ty: Ty) -> bool:
    return not is_memory_form(fx.layout(ty))


def _lower_locals(fx: FunctionContext) -> None:
    """Binds arguments and makes slots for the locals that the reachable blocks need."""
    body = fx.body
    args = list(fx.function.args)
    if fx.cx.target.hidden_ctx:
        fx.ctx = args.pop(0)
    if body.track_caller is not None:
        fx.caller = args.pop()
    result = fx.layout(body.locals[0].ty)
    if not is_zst(result) and not types.llvm_values(result):
        fx.slots[0] = (args.pop(0), result.align)
    for local in range(1, body.arg_count + 1):
        layout = fx.layout(body.locals[local].ty)
        if is_unsized(layout):
            raise fx.unsupported("MG0304", f"the argument `{body.locals[local].ty.text}` is unsized")
        if is_zst(layout):
            continue
        kinds = types.llvm_values(layout)
        if not kinds:
            fx.slots[local] = (args.pop(0), layout.align)
            continue
        value = Scalar(args.pop(0), layout) if len(kinds) == 1 else Pair(args.pop(0), args.pop(0), layout)
        if local in fx.ssa_locals:
            fx.ssa[local] = value
        else:
            store_value(fx, value, *local_slot(fx, local))


def _lower_block(fx: FunctionContext, block: int, debug: DebugInfo | None) -> None:
    fx.b.position_at_end(fx.block(block))
    source = fx.body.blocks[block]
    annotate = fx.cx.annotate
    for statement in source.statements:
        fx.source, fx.statement = statement.source, statement
        if debug is not None:
            fx.b.debug_metadata = debug.location(fx, statement.source)
        if annotate:
            fx.b.comment(format_statement(statement))
        lower_statement(fx, statement)
    fx.source, fx.statement = source.terminator.source, source.terminator
    if debug is not None:
        fx.b.debug_metadata = debug.location(fx, source.terminator.source)
    if annotate:
        fx.b.comment(format_terminator(source.terminator))
    lower_terminator(fx, source.terminator)
    if not fx.b.block.is_terminated:
        raise fx.internal("the terminator left its block open")
