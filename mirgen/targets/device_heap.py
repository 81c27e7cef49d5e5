"""Rust's allocation functions over the ``malloc`` and ``free`` that CUDA gives device code.

``malloc`` returns null, or memory aligned to 16 bytes (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation");
more is made by taking more, and the start is kept in the word before what is handed out.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from mirgen.errors import InternalError
from mirgen.lower.ops.emit import I1, I8, I64, const, declare, helper, intrinsic

_PTR = I8.as_pointer()
_VOID = ir.VoidType()
#: What ``malloc`` aligns to.
_ALIGN = 16
_WORD = 8


def heap_call(b: ir.IRBuilder, op: str, args: Sequence[ir.Value]) -> ir.Value | None:
    """Calls ``alloc(size, align)``, ``alloc_zeroed`` of the same, ``dealloc(ptr, size, align)`` or
    ``realloc(ptr, size, align, new_size)``; sizes and alignments are ``i64``, memory that is not to be had is null."""
    match op:
        case "alloc":
            return _alloc(b, *args)
        case "alloc_zeroed":
            return helper(b, "__mirgen_heap_alloc_zeroed", _PTR, args, _build_alloc_zeroed)
        case "dealloc":
            ptr, _, align = args
            _dealloc(b, ptr, align)
            return None
        case "realloc":
            return helper(b, "__mirgen_heap_realloc", _PTR, args, _build_realloc)
        case _:
            raise InternalError(f"no heap operation {op}")


def _alloc(b: ir.IRBuilder, size: ir.Value, align: ir.Value) -> ir.Value:
    return helper(b, "__mirgen_heap_alloc", _PTR, [size, align], _build_alloc)


def _dealloc(b: ir.IRBuilder, ptr: ir.Value, align: ir.Value) -> None:
    helper(b, "__mirgen_heap_dealloc", _VOID, [ptr, align], _build_dealloc)


def _malloc(b: ir.IRBuilder, size: ir.Value) -> ir.Value:
    return b.call(declare(b.module, "malloc", _PTR, [I64]), [size])


def _is_plain(b: ir.IRBuilder, align: ir.Value) -> ir.Value:
    return b.icmp_unsigned("<=", align, const(I64, _ALIGN))


def _start(b: ir.IRBuilder, ptr: ir.Value) -> ir.Value:
    """Where the start of an allocation of large alignment is kept."""
    return b.bitcast(b.gep(ptr, [const(I64, -_WORD)]), _PTR.as_pointer())


def _build_alloc(b: ir.IRBuilder, args: Sequence[ir.Value]) -> None:
    size, align = args
    plain, larger, found, none = (b.append_basic_block(name) for name in ("plain", "larger", "found", "none"))
    b.cbranch(_is_plain(b, align), plain, larger)
    b.position_at_end(plain)
    b.ret(_malloc(b, size))
    b.position_at_end(larger)
    start = _malloc(b, b.add(size, align))
    null = const(I64, 0)
    b.cbranch(b.icmp_unsigned("==", b.ptrtoint(start, I64), null), none, found)
    b.position_at_end(found)
    # Both are multiples of 16, and this is the larger: a word fits between.
    at = b.and_(b.add(b.ptrtoint(start, I64), align), b.sub(null, align))
    ptr = b.inttoptr(at, _PTR)
    b.store(start, _start(b, ptr), align=_WORD)
    b.ret(ptr)
    b.position_at_end(none)
    b.ret(ir.Constant(_PTR, None))


def _build_alloc_zeroed(b: ir.IRBuilder, args: Sequence[ir.Value]) -> None:
    size, align = args
    ptr = _alloc(b, size, align)
    fill, out = b.append_basic_block("fill"), b.append_basic_block("out")
    b.cbranch(b.icmp_unsigned("==", b.ptrtoint(ptr, I64), const(I64, 0)), out, fill)
    b.position_at_end(fill)
    intrinsic(b, "llvm.memset.p0i8.i64", _VOID, [ptr, const(I8, 0), size, const(I1, 0)])
    b.branch(out)
    b.position_at_end(out)
    b.ret(ptr)


def _build_dealloc(b: ir.IRBuilder, args: Sequence[ir.Value]) -> None:
    ptr, align = args
    free = declare(b.module, "free", _VOID, [_PTR])
    plain, larger = b.append_basic_block("plain"), b.append_basic_block("larger")
    b.cbranch(_is_plain(b, align), plain, larger)
    b.position_at_end(plain)
    b.call(free, [ptr])
    b.ret_void()
    b.position_at_end(larger)
    b.call(free, [b.load(_start(b, ptr), align=_WORD)])
    b.ret_void()


def _build_realloc(b: ir.IRBuilder, args: Sequence[ir.Value]) -> None:
    ptr, size, align, new_size = args
    fresh = _alloc(b, new_size, align)
    move, out = b.append_basic_block("move"), b.append_basic_block("out")
    b.cbranch(b.icmp_unsigned("==", b.ptrtoint(fresh, I64), const(I64, 0)), out, move)
    b.position_at_end(move)
    kept = b.select(b.icmp_unsigned("<", size, new_size), size, new_size)
    intrinsic(b, "llvm.memcpy.p0i8.p0i8.i64", _VOID, [fresh, ptr, kept, const(I1, 0)])
    _dealloc(b, ptr, align)
    b.branch(out)
    b.position_at_end(out)
    b.ret(fresh)
