"""The functions that an allocator has to bring, over the ``malloc`` and ``free`` of whoever runs the code."""

from __future__ import annotations

import pytest

from mirgen.mir import place as p
from mirgen.mir.builder import BodyBuilder, binary, cast, const, deref

from .conftest import Calls


@pytest.mark.parametrize("align", [1, 8, 16, 64, 4096])
def test_memory_is_taken_moved_and_given_back(call: Calls, align: int) -> None:
    """Aligned, zeroed, and what was written is still there after it has grown."""
    ty, usize = call.ty, call.ty.usize
    raw = ty.ptr(ty.u8, mut=True)
    b = BodyBuilder("k", args=[usize, usize, *([ty.ref(usize, mut=True)] * 2), ty.ref(ty.u64, mut=True)], ret=ty.unit)
    size, aligned = b.arg(0), b.arg(1)
    held, grown = b.local(raw), b.local(raw)
    b.call(b.local(ty.unit), ty.fn_def("alloc::alloc::__rust_no_alloc_shim_is_unstable_v2", [], ty.unit))
    b.call(held, ty.fn_def("alloc::alloc::__rust_alloc_zeroed", [usize, usize], raw), size, aligned)
    words = b.let(ty.ptr(ty.u64, mut=True), cast("PtrToPtr", held, ty.ptr(ty.u64, mut=True)))
    b.assign(deref(words), binary("Add", deref(words), const(ty.u64, 0x0123_4567_89AB_CDEF)))
    address = b.let(usize, cast("PointerExposeProvenance", held, usize))
    b.assign(deref(b.arg(2)), binary("Rem", address, aligned))
    realloc = ty.fn_def("alloc::alloc::__rust_realloc", [raw, usize, usize, usize], raw)
    b.call(grown, realloc, held, size, aligned, const(usize, 10_000))
    kept = b.let(ty.ptr(ty.u64), cast("PtrToPtr", grown, ty.ptr(ty.u64)))
    b.assign(deref(b.arg(4)), p.Copy(deref(kept)))
    moved = b.let(usize, cast("PointerExposeProvenance", grown, usize))
    b.assign(deref(b.arg(3)), binary("Rem", moved, aligned))
    b.call(
        b.local(ty.unit), ty.fn_def("alloc::alloc::__rust_dealloc", [raw, usize, usize], ty.unit),
        grown, const(usize, 10_000), aligned,
    )  # fmt: skip
    b.return_()
    outs = [bytearray(b"\xff" * 8) for _ in range(3)]
    assert call.host.run(b.build(), args=[40, align, *outs]) is None
    assert [int.from_bytes(out, "little") for out in outs] == [0, 0, 0x0123_4567_89AB_CDEF]
