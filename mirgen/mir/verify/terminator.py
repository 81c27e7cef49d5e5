"""Terminators: operands, arguments, and where they go."""

from __future__ import annotations

from mirgen.mir import place as p
from mirgen.mir import statement as s
from mirgen.mir import ty as t
from mirgen.mir.verify.context import Context, Fault, is_open


def successors(terminator: s.Terminator) -> tuple[int, ...]:
    """Every block that control may go to, unwinding included."""
    match terminator:
        case s.Goto(_, target):
            return (target,)
        case s.SwitchInt(_, _, arms, otherwise):
            return (*(target for _, target in arms), otherwise)
        case s.Call(target=target, unwind=unwind):
            return (*(() if target is None else (target,)), *_unwind(unwind))
        case s.Drop(target=target, unwind=unwind) | s.Assert(target=target, unwind=unwind):
            return (target, *_unwind(unwind))
        case _:
            return ()


def _unwind(unwind: s.Unwind) -> tuple[int, ...]:
    return () if unwind.block is None else (unwind.block,)


def check_terminator(cx: Context, block: int, terminator: s.Terminator) -> None:
    """Raises :class:`Fault` for what rustc never makes."""
    cx.scope(terminator.source)
    _check_cleanup(cx, block, terminator)
    match terminator:
        case s.SwitchInt(_, operand, arms):
            _switch(cx.operand(operand), arms)
        case s.Call(_, destination, func, args):
            _call(cx, func, args, cx.place(destination))
        case s.TailCall(_, func, args):
            _call(cx, func, args, cx.local(0).ty)
        case s.Assert(_, operand, _, _, args):
            cx.need_bool(cx.operand(operand), "assert")
            for o in args:
                cx.operand(o)
        case s.Drop(_, place):
            cx.place(place)
        case _:
            pass


def _check_cleanup(cx: Context, block: int, terminator: s.Terminator) -> None:
    blocks = cx.body.blocks
    unwinds = _unwind(terminator.unwind) if isinstance(terminator, s.Call | s.Drop | s.Assert) else ()
    for target in unwinds:
        if not blocks[target].cleanup:
            raise Fault(f"unwinds to bb{target}, which is not a cleanup block")
    if not blocks[block].cleanup:
        for target in successors(terminator):
            if blocks[target].cleanup and target not in unwinds:
                raise Fault(f"goes to the cleanup block bb{target} without unwinding")


def _switch(ty: t.Ty | None, arms: tuple[tuple[int, int], ...]) -> None:
    match ty:
        case t.IntTy(bits=bits):
            pass
        case t.BoolTy():
            bits = 1
        case t.CharTy():
            bits = 32
        case None:
            bits = 128
        case _:
            if not is_open(ty):
                raise Fault(f"switchInt of `{ty.text}`")
            bits = 128
    for value, _ in arms:
        if value < 0 or value >> bits:
            raise Fault(f"the value {value} is not one of `{ty.text if ty else '?'}`")
    if len({value for value, _ in arms}) != len(arms):
        raise Fault("two arms of one value")


def _call(cx: Context, func: p.Operand, args: tuple[p.Operand, ...], destination: t.Ty) -> None:
    given = [cx.operand(o) for o in args]
    ty = cx.operand(func)
    if ty is None:
        return
    if not isinstance(ty, t.FnDefTy | t.FnPtrTy):
        if is_open(ty):
            return
        raise Fault(f"a call of `{ty.text}`")
    sig = ty.sig
    if len(given) < len(sig.inputs) or (len(given) != len(sig.inputs) and not sig.variadic):
        raise Fault(f"{len(given)} arguments for {len(sig.inputs)} parameters")
    for i, (arg, want) in enumerate(zip(given, sig.inputs, strict=False)):
        cx.same(want, arg, f"parameter {i} and its argument are")
    if not isinstance(sig.output, t.NeverTy):
        cx.same(destination, sig.output, "the destination and the result are")
