"""Terminators."""

from __future__ import annotations

from llvmlite import ir

from mirgen.lower import types
from mirgen.lower.call import lower_call
from mirgen.lower.context import FunctionContext
from mirgen.lower.drop import lower_drop
from mirgen.lower.operand import lower_operand, scalar_operand
from mirgen.lower.place import read_local
from mirgen.lower.value import Memory, Pair, Scalar, is_zst
from mirgen.mir import statement as s


def lower_terminator(fx: FunctionContext, terminator: s.Terminator) -> None:
    """Ends the current block."""
    match terminator:
        case s.Goto(_, target):
            fx.b.branch(fx.block(target))
        case s.SwitchInt():
            _switch(fx, terminator)
        case s.Return():
            _return(fx)
        case s.Unreachable():
            fx.b.unreachable()
        case s.Call():
            lower_call(fx, terminator)
        case s.Drop():
            lower_drop(fx, terminator)
        case s.Assert():
            _assert(fx, terminator)
        case s.Resume(_, what):
            raise fx.internal(f"`{what}` in a block that runs")
        case s.TailCall():
            raise fx.unsupported("MG0345", "tail calls (`become`) are not supported")
        case s.InlineAsm(_, text):
            _inline_asm(fx, text)
        case s.UnsupportedTerminator(_, what, text):
            raise fx.unsupported("MG0333", f"the terminator `{what}` is not supported", notes=(text,))


def _switch(fx: FunctionContext, switch: s.SwitchInt) -> None:
    value = scalar_operand(fx, switch.operand)
    ty = value.type
    if not isinstance(ty, ir.IntType):
        if ty != types.PTR:
            raise fx.internal(f"switchInt on {ty}")
        value, ty = fx.b.ptrtoint(value, types.I64), types.I64
    mask = (1 << ty.width) - 1
    otherwise = fx.block(switch.otherwise)
    arms = [(bits & mask, fx.block(block)) for bits, block in switch.arms]
    if not arms:
        fx.b.branch(otherwise)
    elif ty.width == 1:
        by_value = dict(arms)
        fx.b.cbranch(value, by_value.get(1, otherwise), by_value.get(0, otherwise))
    elif len(arms) == 1:
        equal = fx.b.icmp_unsigned("==", value, types.const_int(ty, arms[0][0]))
        fx.b.cbranch(equal, arms[0][1], otherwise)
    else:
        instruction = fx.b.switch(value, otherwise)
        for bits, block in arms:
            instruction.add_case(types.const_int(ty, bits), block)


def _return(fx: FunctionContext) -> None:
    layout = fx.layout(fx.body.locals[0].ty)
    if is_zst(layout) or not types.llvm_values(layout):
        fx.b.ret_void()
        return
    value = read_local(fx, 0)
    match value:
        case Scalar(immediate):
            fx.b.ret(immediate)
        case Pair(one, two):
            both = ir.Constant(ir.LiteralStructType([one.type, two.type]), ir.Undefined)
            fx.b.ret(fx.b.insert_value(fx.b.insert_value(both, one, 0), two, 1))
        case Memory():
            raise fx.internal("a result in memory without a place for it")


def _assert(fx: FunctionContext, terminator: s.Assert) -> None:
    condition = scalar_operand(fx, terminator.operand)
    args = [lower_operand(fx, arg) for arg in terminator.args]
    fails = fx.b.append_basic_block("panic")
    succeeds = fx.block(terminator.target)
    if terminator.expected:
        fx.b.cbranch(condition, succeeds, fails)
    else:
        fx.b.cbranch(condition, fails, succeeds)
    fx.b.position_at_end(fails)
    from mirgen.lower.panic import lower_panic

    lower_panic(fx, terminator.message, args, fx.caller_span)
    if not fx.b.block.is_terminated:
        raise fx.internal("a panic that goes on")


def _inline_asm(fx: FunctionContext, text: str) -> None:
    raise fx.unsupported("MG0334", "inline assembly is not supported", notes=(text,))
