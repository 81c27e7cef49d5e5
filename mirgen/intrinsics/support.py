"""What handlers need again and again: immediates of arguments, element types, generic arguments."""

from __future__ import annotations

from llvmlite import ir

from mirgen.layout.data import Layout
from mirgen.lower.callsite import CallSite
from mirgen.lower.context import FunctionContext
from mirgen.lower.value import Pair, Scalar, Value, is_zst
from mirgen.mir.ty import FloatTy, IntTy, PointerTy, Ty


def immediate(fx: FunctionContext, call: CallSite, index: int) -> ir.Value:
    """The immediate of a scalar argument."""
    value = argument(fx, call, index)
    if not isinstance(value, Scalar):
        raise fx.internal(f"argument {index} of {call.path} is not one scalar")
    return value.value


def argument(fx: FunctionContext, call: CallSite, index: int) -> Value:
    """An argument in whatever form it has."""
    if index >= len(call.args):
        raise fx.internal(f"{call.path} has {len(call.args)} arguments")
    return call.args[index]


def address(fx: FunctionContext, call: CallSite, index: int) -> ir.Value:
    """The address in a pointer argument, thin or wide."""
    value = argument(fx, call, index)
    match value:
        case Scalar(pointer) | Pair(pointer, _):
            return pointer
        case _:
            raise fx.internal(f"argument {index} of {call.path} is no pointer")


def pointee(fx: FunctionContext, call: CallSite, index: int) -> Ty:
    """The type behind a pointer argument."""
    ty = call.arg_tys[index]
    if not isinstance(ty, PointerTy):
        raise fx.internal(f"argument {index} of {call.path} is `{ty.text}`, no pointer")
    return ty.pointee


def is_signed(fx: FunctionContext, call: CallSite, index: int = 0) -> bool:
    """Whether an integer argument is signed.  Raises :class:`InternalError` for other types."""
    ty = call.arg_tys[index]
    if not isinstance(ty, IntTy):
        raise fx.internal(f"{call.path} on `{ty.text}`, which is no integer")
    return ty.signed


def check_float(fx: FunctionContext, ty: Ty) -> None:
    """Refuses ``f128``; other types that are no floats are internal errors."""
    if not isinstance(ty, FloatTy):
        raise fx.internal(f"`{ty.text}` is no float")
    if ty.bits == 128:
        raise fx.unsupported("MG0354", "`f128` is not supported on the GPU", helps=("use `f64`",))


def scalar(call: CallSite, value: ir.Value) -> Scalar:
    """The call's result, from an immediate."""
    return Scalar(value, call.result_layout)


def generics(path: str) -> tuple[str, ...]:
    """The texts of the generic arguments at the end of a callee: ``f::<A, B>`` gives ``A`` and ``B``."""
    if not path.endswith(">"):
        return ()
    depth = 0
    start = len(path)
    for n in range(len(path) - 1, -1, -1):
        if path[n] == ">" and path[n - 1] != "-":
            depth += 1
        elif path[n] == "<":
            depth -= 1
            if depth == 0:
                start = n + 1
                break
    found: list[str] = []
    depth = 0
    piece = start
    for n in range(start, len(path) - 1):
        character = path[n]
        if character in "<([{":
            depth += 1
        elif character in ")]}" or (character == ">" and path[n - 1] != "-"):
            depth -= 1
        elif character == "," and depth == 0:
            found.append(path[piece:n].strip())
            piece = n + 1
    found.append(path[piece : len(path) - 1].strip())
    return tuple(found)


def type_argument_layout(fx: FunctionContext, call: CallSite, index: int) -> Layout:
    """The layout of a type that only the callee's generic arguments name."""
    args = generics(call.path)
    if index >= len(args):
        raise fx.internal(f"{call.path} has no generic argument {index}")
    layout = fx.cx.layouts.get((call.crate, args[index]))
    if layout is None:
        raise fx.unsupported("MG0301", f"the layout of `{args[index]}` is not known")
    return layout


def nothing(call: CallSite) -> None:
    """The result of a call that gives ``()``."""
    if not is_zst(call.result_layout):
        raise AssertionError(f"{call.path} has a result")
