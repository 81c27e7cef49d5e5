"""Atomics of ``core``: system scope, ordering as a constant generic argument.

``core::intrinsics::atomic_xadd::<u32, u32, ValTree(Branch([ValTree(Leaf(0x00000000): isize), ..]): AtomicOrdering)>``:
the ordering is an enum whose discriminant is the first leaf.
"""

from __future__ import annotations

import re
from typing import Final

from llvmlite import ir

from mirgen.intrinsics.registry import Intrinsic, Table
from mirgen.intrinsics.support import address, generics, immediate, pointee, scalar
from mirgen.layout.data import ReprScalar
from mirgen.layout.data import Scalar as ScalarLayout
from mirgen.lower import types
from mirgen.lower.callsite import CallSite, Handler
from mirgen.lower.context import FunctionContext
from mirgen.lower.value import Pair, Value

#: ``core::intrinsics::AtomicOrdering`` in order of discriminants.
ORDERINGS: Final = ("relaxed", "release", "acquire", "acq_rel", "seq_cst")
_LEAF: Final = re.compile(r"ValTree\((?:Branch\(\[)?ValTree\(Leaf\(0x([0-9a-f]+)\)|ValTree\(Leaf\(0x([0-9a-f]+)\)")
_NAMED: Final = re.compile(r"AtomicOrdering::(\w+)")
_BY_NAME: Final = {
    "Relaxed": "relaxed", "Release": "release", "Acquire": "acquire", "AcqRel": "acq_rel", "SeqCst": "seq_cst",
}  # fmt: skip


def orderings(fx: FunctionContext, call: CallSite) -> tuple[str, ...]:
    """The orderings among the generic arguments, in order."""
    found: list[str] = []
    for text in generics(call.path):
        if "AtomicOrdering" not in text:
            continue
        named = _NAMED.search(text)
        if named is not None and named[1] in _BY_NAME:
            found.append(_BY_NAME[named[1]])
            continue
        leaf = _LEAF.search(text)
        if leaf is None or int(leaf[1] or leaf[2], 16) >= len(ORDERINGS):
            raise fx.internal(f"the ordering `{text}` of {call.path}")
        found.append(ORDERINGS[int(leaf[1] or leaf[2], 16)])
    if not found:
        raise fx.internal(f"{call.path} names no ordering")
    return tuple(found)


def _width(fx: FunctionContext, call: CallSite) -> None:
    """Refuses what no GPU does in one step."""
    ty = pointee(fx, call, 0)
    layout = fx.layout(ty)
    if not isinstance(layout.repr, ReprScalar) or layout.size not in (1, 2, 4, 8):
        raise fx.unsupported(
            "MG0372", f"atomic operations on `{ty.text}` ({layout.size} bytes) are not supported on the GPU",
            notes=("1, 2, 4 and 8 bytes are",),
        )  # fmt: skip


def _load(fx: FunctionContext, call: CallSite) -> Value:
    _width(fx, call)
    ty = types.llvm_memory(_scalar_of(fx, call))
    ordering = orderings(fx, call)[0]
    value = fx.cx.target.atomic_load(fx, address(fx, call, 0), ty, ordering=ordering, scope="system")
    return scalar(call, value)


def _store(fx: FunctionContext, call: CallSite) -> Value | None:
    _width(fx, call)
    ordering = orderings(fx, call)[0]
    fx.cx.target.atomic_store(
        fx, address(fx, call, 0), immediate(fx, call, 1), ordering=ordering, scope="system"
    )  # fmt: skip
    return None


def _scalar_of(fx: FunctionContext, call: CallSite) -> ScalarLayout:
    """The layout of what an atomic's first argument points at."""
    layout = fx.layout(pointee(fx, call, 0))
    if not isinstance(layout.repr, ReprScalar):
        raise fx.internal(f"{call.path} on memory")
    return layout.repr.value


def _rmw(op: str) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value:
        _width(fx, call)
        value = immediate(fx, call, 1)
        ordering = orderings(fx, call)[0]
        pointer = isinstance(value.type, ir.PointerType)
        if pointer:
            value = fx.b.ptrtoint(value, types.I64)
        old = fx.cx.target.atomic_rmw(fx, op, address(fx, call, 0), value, ordering=ordering, scope="system")
        if _scalar_of(fx, call).primitive == "pointer":
            old = fx.b.inttoptr(old, types.PTR)
        return scalar(call, old)

    return handler


def _compare_exchange(fx: FunctionContext, call: CallSite) -> Value:
    """``(old, exchanged)``; the weak form never fails without reason."""
    _width(fx, call)
    expected, new = immediate(fx, call, 1), immediate(fx, call, 2)
    pointer = isinstance(new.type, ir.PointerType)
    if pointer:
        expected, new = fx.b.ptrtoint(expected, types.I64), fx.b.ptrtoint(new, types.I64)
    success, failure = orderings(fx, call)
    old, exchanged = fx.cx.target.atomic_cas(
        fx, address(fx, call, 0), expected, new, success=success, failure=failure, scope="system"
    )
    return Pair(fx.b.inttoptr(old, types.PTR) if pointer else old, exchanged, call.result_layout)


def _fence(fx: FunctionContext, call: CallSite) -> Value | None:
    fx.cx.target.fence(fx, ordering=orderings(fx, call)[0], scope="system")
    return None


def _compiler_fence(fx: FunctionContext, call: CallSite) -> Value | None:
    """``compiler_fence``: an empty piece of assembly that touches memory."""
    assembly = ir.InlineAsm(ir.FunctionType(types.VOID, []), "", "~{memory}", side_effect=True)
    fx.b.call(assembly, [])
    return None


def table() -> Table:
    """The entries of this file."""
    note = "system scope; on the GPU scoped PTX, 8 and 16 bits by a CAS loop"
    entries = {
        "atomic_load": Intrinsic(_load, note),
        "atomic_store": Intrinsic(_store, note),
        "atomic_cxchg": Intrinsic(_compare_exchange, note),
        "atomic_cxchgweak": Intrinsic(_compare_exchange, note),
        "atomic_fence": Intrinsic(_fence, "system scope"),
        "atomic_singlethreadfence": Intrinsic(_compiler_fence, "orders the compiler only"),
    }
    for name, op in (
        ("xchg", "xchg"), ("xadd", "add"), ("xsub", "sub"), ("and", "and"), ("nand", "nand"), ("or", "or"),
        ("xor", "xor"), ("max", "max"), ("min", "min"), ("umax", "umax"), ("umin", "umin"),
    ):  # fmt: skip
        entries[f"atomic_{name}"] = Intrinsic(_rmw(op), note)
    return entries
