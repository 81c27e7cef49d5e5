"""Atomics as scoped PTX.

LLVM's own atomics lose ordering and scope on the way to PTX (``atomicrmw .. seq_cst`` becomes a bare ``atom.add``), so
each operation is inline assembly that names both, after PTX's memory model: sequentially consistent operations are a
``fence.sc`` followed by the acquiring operation, as in libcu++.  PTX has no read-modify-write below 32 bits except a
16-bit CAS; 8 and 16 bits work on the 32-bit word around them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from llvmlite import ir

from mirgen.lower import types

if TYPE_CHECKING:
    from mirgen.lower.context import FunctionContext

SCOPES = {"block": "cta", "cluster": "cluster", "device": "gpu", "system": "sys"}
_ORDERINGS = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")

#: LLVM's operation to PTX's, without the type.
_PTX_OP = {
    "xchg": "exch", "add": "add", "and": "and", "or": "or", "xor": "xor", "max": "max", "min": "min", "umax": "max",
    "umin": "min", "fadd": "add",
}  # fmt: skip


def emit_asm(
    fx: FunctionContext, text: str, result: ir.Type, args: Sequence[ir.Value], constraints: Sequence[str]
) -> ir.Value:
    """Volatile inline PTX that touches memory and may not be moved across barriers."""
    ty = ir.FunctionType(result, [arg.type for arg in args])
    assembly = ir.InlineAsm(ty, text, ",".join((*constraints, "~{memory}")), side_effect=True)
    return fx.b.call(assembly, list(args), attrs=("convergent", "nounwind"))


def fence(fx: FunctionContext, ordering: str, scope: str) -> None:
    """``fence``; relaxed fences do nothing."""
    if ordering == "relaxed":
        return
    kind = "sc" if ordering == "seq_cst" else "acq_rel"
    emit_asm(fx, f"fence.{kind}.{_scope(fx, scope)};", types.VOID, (), ())


def load(fx: FunctionContext, ptr: ir.Value, ty: ir.Type, ordering: str, scope: str) -> ir.Value:
    """``ld`` with ordering and scope."""
    _order(fx, ordering, ("relaxed", "acquire", "seq_cst"))
    bits, _ = _width(fx, ty)
    if ordering == "seq_cst":
        fence(fx, "seq_cst", scope)
    semantics = "relaxed" if ordering == "relaxed" else "acquire"
    raw = types.I16 if bits == 8 else ir.IntType(bits)
    text = f"ld.{semantics}.{_scope(fx, scope)}.b{bits} $0, [$1];"
    value = emit_asm(fx, text, raw, (ptr,), (f"={_register(bits)}", "l"))
    return _from_bits(fx, fx.b.trunc(value, types.I8) if bits == 8 else value, ty)


def store(fx: FunctionContext, ptr: ir.Value, value: ir.Value, ordering: str, scope: str) -> None:
    """``st`` with ordering and scope."""
    _order(fx, ordering, ("relaxed", "release", "seq_cst"))
    bits, _ = _width(fx, value.type)
    if ordering == "seq_cst":
        fence(fx, "seq_cst", scope)
    semantics = "release" if ordering == "release" else "relaxed"
    raw = _to_bits(fx, value)
    if bits == 8:
        raw = fx.b.zext(raw, types.I16)
    text = f"st.{semantics}.{_scope(fx, scope)}.b{bits} [$0], $1;"
    emit_asm(fx, text, types.VOID, (ptr, raw), ("l", _register(bits)))


def rmw(fx: FunctionContext, op: str, ptr: ir.Value, value: ir.Value, ordering: str, scope: str) -> ir.Value:
    """``atom``; returns the old value."""
    _order(fx, ordering, _ORDERINGS)
    bits, is_float = _width(fx, value.type)
    if bits < 32 and not is_float:
        return _narrow_rmw(fx, op, ptr, value, ordering, scope, bits)
    if op == "nand":
        return _loop(
            fx, ptr, bits, ordering, scope, lambda old: fx.b.xor(fx.b.and_(old, value), _ones(bits))
        )  # fmt: skip
    if op == "sub":
        op, value = "add", fx.b.sub(ir.Constant(value.type, 0), value)
    name = _PTX_OP.get(op)
    if name is None or (is_float and op not in ("fadd", "xchg")):
        raise fx.unsupported("MG0371", f"the atomic operation `{op}` on `{value.type}` does not exist in PTX")
    semantics = _begin(fx, ordering, scope)
    kind = _type_suffix(op, bits, is_float)
    raw = value if op == "fadd" else _to_bits(fx, value)
    register = {16: "h", 32: "f", 64: "d"}[bits] if op == "fadd" else _register(bits)
    if op == "fadd" and bits == 16:
        name = "add.noftz"
    text = f"atom.{semantics}.{_scope(fx, scope)}.{name}.{kind} $0, [$1], $2;"
    old = emit_asm(fx, text, raw.type, (ptr, raw), (f"={register}", "l", register))
    return old if op == "fadd" else _from_bits(fx, old, value.type)


def compare_exchange(
    fx: FunctionContext, ptr: ir.Value, expected: ir.Value, new: ir.Value, success: str, failure: str, scope: str
) -> tuple[ir.Value, ir.Value]:
    """``atom.cas``; returns the old value and whether it was ``expected``.

    PTX has one ordering for both outcomes: the stronger of the two.
    """
    ordering = stronger(success, failure)
    _order(fx, ordering, _ORDERINGS)
    bits, is_float = _width(fx, new.type)
    if is_float:
        raise fx.unsupported("MG0371", f"compare-and-exchange on `{new.type}`")
    if bits < 32:
        return _narrow_cas(fx, ptr, expected, new, ordering, scope, bits)
    semantics = _begin(fx, ordering, scope)
    wanted = _to_bits(fx, expected)
    old = _cas(fx, ptr, wanted, _to_bits(fx, new), semantics, scope, bits)
    return _from_bits(fx, old, new.type), fx.b.icmp_unsigned("==", old, wanted)


def stronger(one: str, two: str) -> str:
    """The weakest ordering that is at least as strong as both."""
    if "seq_cst" in (one, two):
        return "seq_cst"
    parts = {one, two} - {"relaxed"}
    if not parts:
        return "relaxed"
    return parts.pop() if len(parts) == 1 else "acq_rel"


# ---- parts ---------------------------------------------------------------------------------------------------


def _begin(fx: FunctionContext, ordering: str, scope: str) -> str:
    if ordering == "seq_cst":
        fence(fx, "seq_cst", scope)
        return "acquire"
    return ordering


def _cas(
    fx: FunctionContext, ptr: ir.Value, expected: ir.Value, new: ir.Value, semantics: str, scope: str, bits: int
) -> ir.Value:
    register = _register(bits)
    text = f"atom.{semantics}.{_scope(fx, scope)}.cas.b{bits} $0, [$1], $2, $3;"
    return emit_asm(fx, text, ir.IntType(bits), (ptr, expected, new), (f"={register}", "l", register, register))


def _loop(
    fx: FunctionContext, ptr: ir.Value, bits: int, ordering: str, scope: str, change: Callable[[ir.Value], ir.Value]
) -> ir.Value:
    """A CAS loop: returns the old value."""
    semantics = _begin(fx, ordering, scope)
    ty = ir.IntType(bits)
    first = load(fx, ptr, ty, "relaxed", scope)
    before = fx.b.block
    loop, done = fx.b.append_basic_block("atomic"), fx.b.append_basic_block("atomic.end")
    fx.b.branch(loop)
    fx.b.position_at_end(loop)
    old = fx.b.phi(ty)
    old.add_incoming(first, before)
    seen = _cas(fx, ptr, old, change(old), semantics, scope, bits)
    old.add_incoming(seen, fx.b.block)
    fx.b.cbranch(fx.b.icmp_unsigned("==", seen, old), done, loop)
    fx.b.position_at_end(done)
    return seen


def _word(fx: FunctionContext, ptr: ir.Value, bits: int) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The aligned 32-bit word around ``ptr``, the shift of the narrow value in it, and the mask in place."""
    address = fx.b.ptrtoint(ptr, types.I64)
    offset = fx.b.and_(address, types.usize(3))
    word = fx.b.gep(ptr, [fx.b.sub(types.usize(0), offset)])
    shift = fx.b.shl(fx.b.trunc(offset, types.I32), types.const_int(types.I32, 3))
    return word, shift, fx.b.shl(types.const_int(types.I32, (1 << bits) - 1), shift)


def _narrow_rmw(
    fx: FunctionContext, op: str, ptr: ir.Value, value: ir.Value, ordering: str, scope: str, bits: int
) -> ir.Value:
    narrow = ir.IntType(bits)
    word, shift, mask = _word(fx, ptr, bits)

    def change(old: ir.Value) -> ir.Value:
        current = fx.b.trunc(fx.b.lshr(old, shift), narrow)
        new = fx.b.shl(fx.b.zext(_apply(fx, op, current, value), types.I32), shift)
        kept = fx.b.and_(old, fx.b.xor(mask, _ones(32)))
        return fx.b.or_(kept, fx.b.and_(new, mask))

    old = _loop(fx, word, 32, ordering, scope, change)
    return fx.b.trunc(fx.b.lshr(old, shift), narrow)


def _narrow_cas(
    fx: FunctionContext, ptr: ir.Value, expected: ir.Value, new: ir.Value, ordering: str, scope: str, bits: int
) -> tuple[ir.Value, ir.Value]:
    narrow = ir.IntType(bits)
    word, shift, mask = _word(fx, ptr, bits)

    def change(old: ir.Value) -> ir.Value:
        current = fx.b.trunc(fx.b.lshr(old, shift), narrow)
        chosen = fx.b.select(fx.b.icmp_unsigned("==", current, expected), new, current)
        kept = fx.b.and_(old, fx.b.xor(mask, _ones(32)))
        return fx.b.or_(kept, fx.b.and_(fx.b.shl(fx.b.zext(chosen, types.I32), shift), mask))

    old = fx.b.trunc(fx.b.lshr(_loop(fx, word, 32, ordering, scope, change), shift), narrow)
    return old, fx.b.icmp_unsigned("==", old, expected)


def _apply(fx: FunctionContext, op: str, old: ir.Value, value: ir.Value) -> ir.Value:
    b = fx.b
    match op:
        case "xchg":
            return value
        case "add":
            return b.add(old, value)
        case "sub":
            return b.sub(old, value)
        case "and":
            return b.and_(old, value)
        case "or":
            return b.or_(old, value)
        case "xor":
            return b.xor(old, value)
        case "nand":
            return b.not_(b.and_(old, value))
        case "max":
            return b.select(b.icmp_signed(">", old, value), old, value)
        case "min":
            return b.select(b.icmp_signed("<", old, value), old, value)
        case "umax":
            return b.select(b.icmp_unsigned(">", old, value), old, value)
        case "umin":
            return b.select(b.icmp_unsigned("<", old, value), old, value)
        case _:
            raise fx.unsupported("MG0371", f"the atomic operation `{op}` on `{value.type}` does not exist in PTX")


def _ones(bits: int) -> ir.Constant:
    return types.const_int(ir.IntType(bits), (1 << bits) - 1)


def _scope(fx: FunctionContext, scope: str) -> str:
    found = SCOPES.get(scope)
    if found is None:
        raise fx.internal(f"the scope {scope} is not known")
    return found


def _order(fx: FunctionContext, ordering: str, allowed: Sequence[str]) -> None:
    if ordering not in allowed:
        raise fx.unsupported("MG0378", f"the ordering `{ordering}` is not one that this atomic operation has")


def _width(fx: FunctionContext, ty: ir.Type) -> tuple[int, bool]:
    match ty:
        case ir.IntType(width=8 | 16 | 32 | 64):
            return ty.width, False
        case ir.HalfType():
            return 16, True
        case ir.FloatType():
            return 32, True
        case ir.DoubleType():
            return 64, True
        case _ if ty == types.PTR:
            return 64, False
        case _:
            raise fx.unsupported("MG0371", f"atomic operations on `{ty}` do not exist on the device")


def _register(bits: int) -> str:
    return {8: "h", 16: "h", 32: "r", 64: "l"}[bits]


def _type_suffix(op: str, bits: int, is_float: bool) -> str:
    if op == "fadd":
        return f"f{bits}"
    if op in ("max", "min"):
        return f"s{bits}"
    if op in ("add", "umax", "umin"):
        return f"u{bits}"
    del is_float
    return f"b{bits}"


def _to_bits(fx: FunctionContext, value: ir.Value) -> ir.Value:
    if isinstance(value.type, ir.IntType):
        return value
    if value.type == types.PTR:
        return fx.b.ptrtoint(value, types.I64)
    bits, _ = _width(fx, value.type)
    return fx.b.bitcast(value, ir.IntType(bits))


def _from_bits(fx: FunctionContext, value: ir.Value, ty: ir.Type) -> ir.Value:
    if value.type == ty:
        return value
    return fx.b.inttoptr(value, ty) if ty == types.PTR else fx.b.bitcast(value, ty)
