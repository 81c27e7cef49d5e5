"""MIR to LLVM IR.

``mirgen.lower.program.lower_program`` is the entry point.  Names used everywhere: ``cx`` module context, ``fx``
function context, ``fx.b`` the llvmlite builder, ``lower_*`` emits, ``llvm_*`` gives llvmlite types.

Functions that the core expects of its sibling files (all raise ``fx.unsupported(...)`` for what they refuse):

``arith.lower_binary(fx, op, left, right, left_ty, right_ty, result_layout) -> Value``
    ``op`` as in MIR (``Add``, ``AddWithOverflow``, ``ShlUnchecked``, ``Cmp``, ``Offset``, ..); comparisons give an
    ``i1`` Scalar, ``*WithOverflow`` a Pair, ``Cmp`` an ``i8`` Scalar of ``core::cmp::Ordering``.  Pointers are ``i8*``,
    wide pointers Pairs.
``arith.lower_unary(fx, op, operand, operand_ty, result_layout) -> Value``
    ``Not`` and ``Neg``; ``PtrMetadata`` is done by the core.
``cast.lower_cast(fx, cast, value, from_ty, to_ty) -> Value``
    ``cast`` is rustc's CastKind text.  ``Transmute`` too: ``value.convert_scalar``-style helpers are in ``repr.py``.
    ``PointerCoercion(ReifyFnPointer..)`` and ``ClosureFnPointer`` use ``call.fn_pointer(fx, fn_ty)``.
``constant.lower_const(fx, const) -> Value``
    Zero-sized constants are ``operand.zst(layout)``.
``constant.lower_alloc(cx, alloc) -> ir.Constant``
    ``i8*`` constant pointer to the global of allocation number ``alloc``, made on first use; function allocations
    give ``thunk.function_address(cx, key)``.
``panic.lower_panic(fx, message, args, span) -> None``
    Registers the site and lets the target emit it; terminates the current block.  ``args`` are Values.
``panic.lower_panic_call(fx, call) -> None``
    A diverging call of a function without body (``core::panicking::panic_fmt``, ..); terminates the block.
``mirgen.intrinsics.lookup(path) -> Handler | None``
    ``path`` is the callee's text; see :mod:`mirgen.lower.callsite`.
"""

from __future__ import annotations

from mirgen.lower.program import Lowered, lower_program

__all__ = ["Lowered", "lower_program"]
