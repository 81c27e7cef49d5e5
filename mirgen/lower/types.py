"""LLVM types from layouts.  ``llvm_immediate`` is how a scalar is held, ``llvm_memory`` how it is stored."""

from __future__ import annotations

from llvmlite import ir

from mirgen.errors import Diagnostic, InternalError, UnsupportedError
from mirgen.layout.data import Layout, ReprPair, ReprScalar, Scalar
from mirgen.lower.value import is_zst

I1 = ir.IntType(1)
I8 = ir.IntType(8)
I16 = ir.IntType(16)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
I128 = ir.IntType(128)
F16 = ir.HalfType()
F32 = ir.FloatType()
F64 = ir.DoubleType()
VOID = ir.VoidType()
PTR = I8.as_pointer()

_MEMORY: dict[str, ir.Type] = {
    "i8": I8, "i16": I16, "i32": I32, "i64": I64, "i128": I128, "f16": F16, "f32": F32, "f64": F64, "pointer": PTR,
}  # fmt: skip


def llvm_memory(scalar: Scalar) -> ir.Type:
    """The type a scalar has in memory: ``i8`` for ``bool``, ``i8*`` for every pointer, ``i32`` for ``char``.

    Raises :class:`UnsupportedError` (without a span) for ``f128``, which no target has.
    """
    found = _MEMORY.get(scalar.primitive)
    if scalar.primitive == "f128":
        raise UnsupportedError(Diagnostic("MG0354", "`f128` is not supported on the GPU", helps=("use `f64`",)))
    if found is None:
        raise InternalError(f"no LLVM type for the primitive {scalar.primitive}")
    return found


def llvm_immediate(scalar: Scalar) -> ir.Type:
    """The type a scalar has as an SSA value: ``i1`` where ``is_bool``, else as in memory."""
    return I1 if scalar.is_bool else llvm_memory(scalar)


def llvm_values(layout: Layout) -> tuple[ir.Type, ...]:
    """The immediates' types of a scalar (one) or a pair (two); empty for zero-sized and :class:`Memory` layouts."""
    if is_zst(layout):
        return ()
    match layout.repr:
        case ReprScalar(value):
            return (llvm_immediate(value),)
        case ReprPair(first, second):
            return (llvm_immediate(first), llvm_immediate(second))
        case _:
            return ()


def llvm_blob(size: int) -> ir.Type:
    """Opaque bytes, for slots of aggregates."""
    return ir.ArrayType(I8, size)


def const_int(ty: ir.Type, value: int) -> ir.Constant:
    """An integer constant; ``value`` is taken modulo the width and printed as LLVM accepts it."""
    if not isinstance(ty, ir.IntType):
        raise InternalError(f"integer constant of type {ty}")
    if ty.width == 1:
        return ir.Constant(ty, value & 1)
    return ir.Constant(ty, value & ((1 << ty.width) - 1))


def usize(value: int) -> ir.Constant:
    """A ``usize`` constant."""
    return const_int(I64, value)
