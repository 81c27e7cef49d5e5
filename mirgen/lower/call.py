"""Calls: direct, through function pointers, of intrinsics, of closures and function items by ``FnOnce`` and friends."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from mirgen.layout.data import Layout
from mirgen.lower import types
from mirgen.lower.abi import FnAbi
from mirgen.lower.callsite import CallSite
from mirgen.lower.context import FunctionContext
from mirgen.lower.location import caller_location
from mirgen.lower.operand import copy_bytes, load_value, lower_operand, offset_align, operand_ty, spill, zst
from mirgen.lower.place import deref, lower_place, place_ty, write_place
from mirgen.lower.repr import extract_part, field_offset, reinterpret
from mirgen.lower.thunk import closure_address, function_address
from mirgen.lower.value import Memory, Pair, Scalar, Value, is_zst
from mirgen.mir import statement as s
from mirgen.mir.body import Body, FnKey
from mirgen.mir.coroutine import resumed
from mirgen.mir.place import Move, Operand
from mirgen.mir.place import Place as MirPlace
from mirgen.mir.ty import ClosureTy, FnDefTy, FnPtrTy, FnSig, PointerTy, TupleTy, Ty

#: A call's argument: its value, its type, and whether the callee may have the memory itself.
Arg = tuple[Value, Ty, bool]


def lower_call(fx: FunctionContext, call: s.Call) -> None:
    """Emits a call and the branch to its target."""
    ty = operand_ty(fx, call.func)
    match ty:
        case FnDefTy():
            result = call_item(fx, call, ty)
        case FnPtrTy(sig=sig):
            pointer = lower_operand(fx, call.func)
            if not isinstance(pointer, Scalar):
                raise fx.internal("a function pointer that is not a scalar")
            result = _call_pointer(fx, pointer.value, sig, _arguments(fx, call), call)
        case _:
            raise fx.unsupported("MG0340", f"a call of `{ty.text}`")
    if fx.b.block.is_terminated:
        return
    if call.target is None:
        fx.b.unreachable()
        return
    if result is not None and not is_zst(result.layout):
        write_place(fx, call.destination, result)
    fx.b.branch(fx.block(call.target))


# ---- who is called -------------------------------------------------------------------------------------------


def call_item(fx: FunctionContext, call: s.Call, item: FnDefTy) -> Value | None:
    """Emits a call of a function item, intrinsic or not; its result, ``None`` where it has none or does not return."""
    handler = fx.cx.intrinsics(item.path)
    if handler is not None:
        return handler(fx, _site(fx, call, item))
    coroutine = resumed(item)
    key = (item.crate, item.path if coroutine is None else coroutine.path)
    body = fx.cx.program.functions.get(key)
    if body is not None:
        args = _arguments(fx, call)
        if item.sig.abi == "rust-call":
            args = _adapt_rust_call(fx, args, body)
        return _call_body(fx, key, body, args, call)
    if item.sig.abi == "rust-call":
        found = _call_through_trait(fx, call)
        if found is not None:
            return found[0]
    if call.target is None:
        from mirgen.lower.panic import lower_panic_call

        lower_panic_call(fx, _site(fx, call, item))
        return None
    raise fx.unsupported("MG0341", f"the function `{item.path}` has no body that mirgen can see")


def _site(fx: FunctionContext, call: s.Call, item: FnDefTy) -> CallSite:
    result_ty = place_ty(fx, call.destination)
    return CallSite(
        path=item.path,
        crate=item.crate,
        fn=item,
        operands=call.args,
        args=tuple(lower_operand(fx, arg) for arg in call.args),
        arg_tys=tuple(operand_ty(fx, arg) for arg in call.args),
        result_ty=result_ty,
        result_layout=fx.layout(result_ty),
        diverges=call.target is None,
        span=fx.caller_span,
    )


def _call_through_trait(fx: FunctionContext, call: s.Call) -> tuple[Value | None] | None:
    """``<F as FnOnce<A>>::call_once(f, args)`` and friends, for an ``F`` whose shim has no body of its own."""
    args = _arguments(fx, call)
    if not args:
        return None
    value, ty = args[0][0], args[0][1]
    # A closure behind a reference stays there: what it changes in itself is not to be changed in a copy.
    while isinstance(ty, PointerTy) and isinstance(ty.pointee, PointerTy | FnDefTy | FnPtrTy):
        at = deref(fx, value, ty)
        value, ty = load_value(fx, at.ptr, at.layout, at.align), at.ty
    called = ty.pointee if isinstance(ty, PointerTy) else ty
    match called:
        case FnDefTy():
            key = (called.crate, called.path)
            body = fx.cx.program.functions.get(key)
            if body is None:
                return None
            return (_call_body(fx, key, body, _untuple(fx, args[1:]), call),)
        case FnPtrTy(sig=sig) if isinstance(value, Scalar):
            return (_call_pointer(fx, value.value, sig, _untuple(fx, args[1:]), call),)
        case ClosureTy():
            key = (called.crate, called.path)
            body = fx.cx.program.functions.get(key)
            if body is None:
                return None
            args = [(value, ty, args[0][2] and ty is args[0][1]), *args[1:]]
            return (_call_body(fx, key, body, _adapt_rust_call(fx, args, body), call),)
        case _:
            return None


# ---- arguments -----------------------------------------------------------------------------------------------


def _arguments(fx: FunctionContext, call: s.Call) -> list[Arg]:
    return [
        (lower_operand(fx, arg), operand_ty(fx, arg), _may_give(fx, arg, call.destination)) for arg in call.args
    ]  # fmt: skip


def _may_give(fx: FunctionContext, operand: Operand, destination: MirPlace) -> bool:
    """Whether the callee may use the operand's memory as its own: a whole local that is moved away."""
    return (
        isinstance(operand, Move) and not operand.place.proj and operand.place.local != destination.local
        and fx.slots.get(operand.place.local) is not None
    )  # fmt: skip


def _adapt_rust_call(fx: FunctionContext, args: list[Arg], body: Body) -> list[Arg]:
    """Fits ``(self, (a, b, ..))`` to a body that takes ``self`` or not, and the tuple or its elements."""
    params = [local.ty for local in body.locals[1 : body.arg_count + 1]]
    if not args:
        return args
    self_ty = args[0][1]
    is_closure = bool(params) and _is_closure_self(params[0]) and "{closure#" in body.header.rsplit("::", 1)[-1]
    if is_closure:
        first = args[0]
        if isinstance(self_ty, ClosureTy) and isinstance(params[0], PointerTy):
            memory = spill(fx, first[0])
            first = (Scalar(memory.ptr, fx.layout(params[0])), params[0], False)
        return [first, *_untuple(fx, args[1:])]
    if len(params) == len(args) and params[0].text == self_ty.text:
        return args
    peeled = self_ty.pointee if isinstance(self_ty, PointerTy) else self_ty
    if isinstance(peeled, FnDefTy):
        return _untuple(fx, args[1:])
    return args


def _is_closure_self(ty: Ty) -> bool:
    return isinstance(ty.pointee if isinstance(ty, PointerTy) else ty, ClosureTy)


def _untuple(fx: FunctionContext, args: Sequence[Arg]) -> list[Arg]:
    """The elements of the one tuple in ``args``."""
    if len(args) != 1:
        raise fx.internal("a rust-call without a tuple of arguments")
    value, ty, _ = args[0]
    if not isinstance(ty, TupleTy):
        raise fx.internal("a rust-call without a tuple of arguments")
    elems: list[Arg] = []
    for index, elem in enumerate(ty.elems):
        layout = fx.layout(elem)
        elems.append((_element(fx, value, field_offset(fx, value.layout, index), layout), elem, False))
    return elems


def _element(fx: FunctionContext, value: Value, offset: int, layout: Layout) -> Value:
    if is_zst(layout):
        return zst(layout)
    if isinstance(value, Memory):
        return load_value(fx, fx.offset(value.ptr, offset), layout, offset_align(value.align, offset))
    return extract_part(fx, value, offset, layout)


# ---- emitting ------------------------------------------------------------------------------------------------


def _call_body(fx: FunctionContext, key: FnKey, body: Body, args: Sequence[Arg], call: s.Call) -> Value | None:
    function = fx.cx.functions.get(key)
    if function is None:  # its declaration failed and was reported
        raise fx.unsupported("MG0342", f"`{body.name}` could not be lowered")
    result, *params = (fx.layout(local.ty) for local in body.locals[: body.arg_count + 1])
    abi = FnAbi(tuple(params), result, fx.cx.target.hidden_ctx, body.track_caller is not None)
    return _emit(fx, function, abi, args, call)


def _call_pointer(
    fx: FunctionContext, pointer: ir.Value, sig: FnSig, args: Sequence[Arg], call: s.Call
) -> Value | None:
    abi = sig_abi(fx, sig)
    return _emit(fx, fx.b.bitcast(pointer, abi.function_type().as_pointer()), abi, args, call)


def sig_abi(fx: FunctionContext, sig: FnSig) -> FnAbi:
    """The convention of a function pointer."""
    if sig.variadic:
        raise fx.unsupported("MG0343", "variadic functions do not exist on the device")
    return FnAbi(
        tuple(fx.layout(ty) for ty in sig.inputs), fx.layout(sig.output), fx.cx.target.hidden_ctx
    )  # fmt: skip


def _emit(fx: FunctionContext, function: ir.Value, abi: FnAbi, args: Sequence[Arg], call: s.Call) -> Value | None:
    """The call itself.  Returns the result where it still has to be written to the destination."""
    if len(args) != len(abi.params):
        raise fx.internal(f"{len(args)} arguments for {len(abi.params)} parameters")
    flat: list[ir.Value] = []
    if abi.hidden_ctx:
        if fx.ctx is None:
            raise fx.internal("no launch context")
        flat.append(fx.ctx)
    out, in_place = None, False
    if abi.out_pointer:
        out, in_place = _result_memory(fx, abi.result, call)
        flat.append(out.ptr)
    for (value, _, give), layout in zip(args, abi.params, strict=True):
        flat.extend(_flatten(fx, value, layout, give))
    if abi.caller:
        flat.append(caller_location(fx))
    result = fx.b.call(function, flat)
    if out is not None:
        return None if in_place else out
    return from_result(fx, result, abi.result)


def _result_memory(fx: FunctionContext, layout: Layout, call: s.Call) -> tuple[Memory, bool]:
    """Where the callee writes its result, and whether that is the destination itself."""
    if call.target is not None and call.destination.local not in fx.ssa_locals:
        at = lower_place(fx, call.destination)
        if at.align >= layout.align and at.layout.size == layout.size:
            return Memory(at.ptr, layout, at.align), True
    return Memory(fx.alloca(layout.size, layout.align), layout, layout.align), False


def _flatten(fx: FunctionContext, value: Value, layout: Layout, give: bool) -> list[ir.Value]:
    """The LLVM arguments of one value for a parameter of ``layout``."""
    if is_zst(layout):
        return []
    wanted = types.llvm_values(layout)
    held = value if _fits(value, wanted) else reinterpret(fx, value, layout)
    match held:
        case Scalar(immediate):
            return [immediate]
        case Pair(one, two):
            return [one, two]
        case Memory(ptr, _, align):
            if give and align >= layout.align:
                return [ptr]
            copy = fx.alloca(layout.size, layout.align)
            copy_bytes(fx, copy, ptr, layout.size, layout.align, align)
            return [copy]


def _fits(value: Value, wanted: tuple[ir.Type, ...]) -> bool:
    match value:
        case Scalar(immediate):
            return wanted == (immediate.type,)
        case Pair(one, two):
            return wanted == (one.type, two.type)
        case Memory():
            return not wanted


def from_result(fx: FunctionContext, result: ir.Value, layout: Layout) -> Value | None:
    """The value that a call returned; ``None`` for nothing."""
    match len(types.llvm_values(layout)):
        case 0:
            return None
        case 1:
            return Scalar(result, layout)
        case _:
            return Pair(fx.b.extract_value(result, 0), fx.b.extract_value(result, 1), layout)


# ---- function pointers ---------------------------------------------------------------------------------------


def fn_pointer(fx: FunctionContext, ty: Ty) -> ir.Constant:
    """The ``i8*`` function pointer of a function item or of a closure that captures nothing."""
    match ty:
        case FnDefTy(path=path):
            address = function_address(fx.cx, (ty.crate, path))
            if address is None:
                raise fx.unsupported("MG0344", f"the address of `{path}`, which has no body that mirgen can see")
            return address
        case ClosureTy(path=path):
            address = closure_address(fx.cx, (ty.crate, path))
            if address is None:
                raise fx.unsupported(
                    "MG0344", f"the address of the closure `{path}`, which has no body that mirgen can see"
                )
            return address
        case _:
            raise fx.internal(f"`{ty.text}` as a function pointer")
