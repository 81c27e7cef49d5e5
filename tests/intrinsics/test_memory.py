"""Intrinsics that move memory, compare it, or work on pointers."""

from __future__ import annotations

import struct

import pytest

from mirgen.errors import UnsupportedError
from mirgen.mir import place as p
from mirgen.mir import ty as t
from mirgen.mir.builder import BodyBuilder, binary, cast, const, deref, use
from mirgen.testing.consumers import device_ptx

from .conftest import Calls

ELEMENTS = ("u8", "u32", "u128", "triple", "pair")


def element(call: Calls, name: str) -> t.Ty:
    ty = call.ty
    if name == "triple":
        return ty.struct("Triple", [ty.u16, ty.u16, ty.u16])
    return ty.tuple(ty.u32, ty.u8) if name == "pair" else ty.ints[name]


@pytest.mark.parametrize("name", ELEMENTS)
def test_copy_and_fill(call: Calls, name: str) -> None:
    of = element(call, name)
    size, ty = call.ty.layout(of).size, call.ty
    source = bytes((7 * n + 1) & 0xFF for n in range(5 * size))
    src, dst = ty.ptr(of), ty.ptr(of, mut=True)
    memory = bytearray(5 * size)
    call(f"copy_nonoverlapping::<{name}>", [(src, bytearray(source)), (dst, memory), (ty.usize, 3)], ty.unit)
    assert memory == source[: 3 * size] + bytes(2 * size)
    memory = bytearray(5 * size)
    call(f"copy::<{name}>", [(src, bytearray(source)), (dst, memory), (ty.usize, 5)], ty.unit)
    assert memory == source
    memory = bytearray(5 * size)
    path = f"volatile_copy_nonoverlapping_memory::<{name}>"
    call(path, [(dst, memory), (src, bytearray(source)), (ty.usize, 2)], ty.unit)
    assert memory == source[: 2 * size] + bytes(3 * size)
    for path in ("write_bytes", "volatile_set_memory"):
        memory = bytearray(source)
        call(f"{path}::<{name}>", [(dst, memory), (ty.u8, 0xA5), (ty.usize, 2)], ty.unit)
        assert memory == b"\xa5" * 2 * size + source[2 * size :]


def test_overlapping_copy(call: Calls) -> None:
    """``copy(p, p + 1, 3)``."""
    ty = call.ty
    ptr = ty.ptr(ty.u16, mut=True)
    b = BodyBuilder("k", args=[ptr], ret=ty.unit)
    ahead = b.let(ptr, binary("Offset", b.arg(0), const(ty.usize, 1)))
    item = ty.fn_def("core::intrinsics::copy::<u16>", [ptr, ptr, ty.usize], ty.unit)
    b.call(b.local(ty.unit), item, b.arg(0), ahead, const(ty.usize, 3))
    b.return_()
    memory = bytearray(struct.pack("<4H", 1, 2, 3, 4))
    body = b.build()
    assert call.host.run(body, args=[memory]) is None
    assert struct.unpack("<4H", memory) == (1, 1, 2, 3)
    # the `memcpy` of many a machine would do as well, but need not
    text = call.host.lower(body).text
    assert "llvm.memmove" in text and "llvm.memcpy" not in text


@pytest.mark.parametrize("name", ELEMENTS)
def test_single_values(call: Calls, name: str) -> None:
    of = element(call, name)
    size, ty = call.ty.layout(of).size, call.ty
    content = bytes(range(1, size + 1))
    if name == "pair":
        content = content[:5] + bytes(3)
    number = int.from_bytes(content, "little")
    for path in ("volatile_load", "unaligned_volatile_load", "read_via_copy"):
        assert call(f"{path}::<{name}>", [(ty.ptr(of), bytearray(content))], of) == number, path
    one, two = bytearray(content), bytearray(bytes(size))
    call(f"typed_swap_nonoverlapping::<{name}>", [(ty.ptr(of, mut=True), one), (ty.ptr(of, mut=True), two)], ty.unit)
    assert (one, two) == (bytes(size), content)
    for path in ("volatile_store", "unaligned_volatile_store", "write_via_move", "nontemporal_store"):
        memory = bytearray(size)
        b = BodyBuilder("k", args=[ty.ptr(of, mut=True), ty.ref(of)], ret=ty.unit)
        item = ty.fn_def(f"core::intrinsics::{path}::<{name}>", [ty.ptr(of, mut=True), of], ty.unit)
        b.call(b.local(ty.unit), item, b.arg(0), deref(b.arg(1)))
        b.return_()
        assert call.host.run(b.build(), args=[memory, bytearray(content)]) is None
        assert memory == content, path
    b = BodyBuilder("k", args=[ty.ref(of, mut=True), ty.ref(of)], ret=ty.unit)
    b.call(deref(b.arg(0)), ty.fn_def(f"core::intrinsics::black_box::<{name}>", [of], of), deref(b.arg(1)))
    b.return_()
    memory = bytearray(size)
    assert call.host.run(b.build(), args=[memory, bytearray(content)]) is None
    assert memory == content


def test_a_volatile_access_is_one_access(call: Calls) -> None:
    ty = call.ty
    for name, llvm in (("u8", "i8"), ("u16", "i16"), ("u32", "i32"), ("u64", "i64")):
        of = ty.ints[name]
        text = call.host.lower(call.body(f"core::intrinsics::volatile_load::<{name}>", [ty.ptr(of)], of)).text
        assert text.count(f"load volatile {llvm}, {llvm}* ") == 1, text
        assert text.count("load volatile") == 1


def test_comparison(call: Calls) -> None:
    ty = call.ty
    ptr = ty.ptr(ty.u8)
    for left, right, count, expected in (
        (b"abc", b"abd", 3, -1), (b"abc", b"abd", 2, 0), (b"\xff", b"\x01", 1, 1), (b"", b"", 0, 0),
    ):  # fmt: skip
        args = [(ptr, bytearray(left or b"\0")), (ptr, bytearray(right or b"\0")), (ty.usize, count)]
        got = call("compare_bytes", args, ty.i32)
        order = got - (1 << 32) if got >> 31 else got
        assert (order > 0) - (order < 0) == expected
    for name in ELEMENTS:
        of = element(call, name)
        size = ty.layout(of).size
        one = bytes(range(size))
        for other in (one, one[:-1] + b"\xee"):
            args = [(ty.ref(of), bytearray(one)), (ty.ref(of), bytearray(other))]
            assert call(f"raw_eq::<{name}>", args, ty.bool) == int(one == other)


def test_pointers(call: Calls) -> None:
    ty = call.ty
    ptr = ty.ptr(ty.u32)
    at = 0x1000
    for path, args, result, expected in (
        ("offset::<*const u32, isize>", [(ptr, at), (ty.isize, (1 << 64) - 2)], ptr, at - 8),
        ("offset::<*const u32, usize>", [(ptr, at), (ty.usize, 3)], ptr, at + 12),
        ("arith_offset::<u32>", [(ptr, at), (ty.isize, (1 << 64) - 0x800)], ptr, (at - 0x2000) & ((1 << 64) - 1)),
        ("ptr_offset_from::<u32>", [(ptr, at), (ptr, at + 40)], ty.isize, (1 << 64) - 10),
        ("ptr_offset_from_unsigned::<u32>", [(ptr, at + 40), (ptr, at)], ty.usize, 10),
        ("ptr_mask::<u32>", [(ptr, at + 0xFF), (ty.usize, (1 << 64) - 16)], ptr, at + 0xF0),
        ("ptr_guaranteed_cmp::<u32>", [(ptr, at), (ptr, at)], ty.u8, 1),
        ("ptr_guaranteed_cmp::<u32>", [(ptr, at), (ptr, at + 1)], ty.u8, 0),
    ):
        call.expect(path, args, result, expected)
    call.check()


def test_wide_pointers(call: Calls) -> None:
    ty = call.ty
    slice_ = ty.slice(ty.u16)
    wide = ty.ptr(slice_)
    memory = bytearray(struct.pack("<4H", 9, 8, 7, 6))
    assert call("size_of_val::<[u16]>", [(wide, memory)], ty.usize) == 8
    assert call("align_of_val::<[u16]>", [(wide, memory)], ty.usize) == 2
    assert call("min_align_of_val::<[u16]>", [(wide, memory)], ty.usize) == 2
    assert call("ptr_metadata::<[u16], usize>", [(wide, memory)], ty.usize) == 4
    assert call("size_of_val::<u64>", [(ty.ptr(ty.u64), bytearray(8))], ty.usize) == 8
    assert call("align_of_val::<u64>", [(ty.ptr(ty.u64), bytearray(8))], ty.usize) == 8
    b = BodyBuilder("k", args=[ty.ref(slice_), ty.usize, ty.ref(ty.u16, mut=True)], ret=ty.unit)
    one = b.local(ty.ref(ty.u16))
    path = "core::intrinsics::slice_get_unchecked::<&u16, &[u16], u16>"
    b.call(one, ty.fn_def(path, [ty.ref(slice_), ty.usize], ty.ref(ty.u16)), b.arg(0), b.arg(1))
    b.assign(deref(b.arg(2)), use(deref(one)))
    b.return_()
    out = bytearray(2)
    assert call.host.run(b.build(), args=[memory, 2, out]) is None
    assert out == b"\x07\0"
    path = "core::intrinsics::aggregate_raw_ptr::<*const [u16], *const u16, usize>"
    assert call(path, [(ty.ptr(ty.u16), 0x40), (ty.usize, 6)], wide) == 6 << 64 | 0x40
    path = "core::intrinsics::aggregate_raw_ptr::<*const u16, *const u16, ()>"
    unit = ty.fn_def(path, [ty.ptr(ty.u16), ty.unit], ty.ptr(ty.u16))
    b = BodyBuilder("k", args=[ty.usize, ty.ref(ty.ptr(ty.u16), mut=True)], ret=ty.unit)
    data = b.let(ty.ptr(ty.u16), cast("PointerWithExposedProvenance", b.arg(0), ty.ptr(ty.u16)))
    b.call(deref(b.arg(1)), unit, data, p.Constant(p.ZstConst(ty.unit)))
    b.return_()
    out = bytearray(8)
    assert call.host.run(b.build(), args=[64, out]) is None
    assert out[0] == 64


@pytest.mark.parametrize("name", [*ELEMENTS, "wide", "unit"])
def test_select(call: Calls, name: str) -> None:
    ty = call.ty
    of = ty.unit if name == "unit" else ty.ref(ty.slice(ty.u8)) if name == "wide" else element(call, name)
    size = ty.layout(of).size
    one, two = bytes([0x11]) * size, bytes([0x22]) * size
    b = BodyBuilder("k", args=[ty.bool, ty.ref(of), ty.ref(of), ty.ref(of, mut=True)], ret=ty.unit)
    item = ty.fn_def(f"core::intrinsics::select_unpredictable::<{name}>", [ty.bool, of, of], of)
    b.call(deref(b.arg(3)), item, b.arg(0), deref(b.arg(1)), deref(b.arg(2)))
    b.return_()
    for condition, expected in ((1, one), (0, two)):
        out = bytearray(size)
        outcome = call.host.run(b.build(), args=[condition, bytearray(one or b"\0"), bytearray(two or b"\0"), out])
        assert outcome is None
        used = 5 if name == "pair" else size
        assert out[:used] == expected[:used]


def test_discriminants(call: Calls) -> None:
    ty = call.ty
    enum = ty.enum("E", {"A": [], "B": [ty.u32], "C": []}, discriminants=[3, 7, 250])
    for discriminant in (3, 7, 250):
        memory = bytearray(bytes([discriminant]) + bytes(7))
        assert call("discriminant_value::<E>", [(ty.ref(enum), memory)], ty.isize) == discriminant


def test_refusals(call: Calls) -> None:
    ty = call.ty
    empty, slice_ = ty.ptr(ty.unit), ty.slice(ty.u8)
    unsized = ty.adt("Tail", slice_)
    ty.layouts[unsized.key] = ty.layout(slice_)
    tail = ty.ptr(unsized)
    ty.layouts[tail.key] = ty.layout(ty.ptr(slice_))
    for path, args, result, words in (
        ("ptr_offset_from::<()>", [empty, empty], ty.isize, "zero-sized"),
        ("size_of_val::<Tail<[u8]>>", [tail], ty.usize, "the size of `Tail<\\[u8\\]>` is not known on the device"),
    ):
        with pytest.raises(UnsupportedError, match=words):
            call.host.lower(call.body(f"core::intrinsics::{path}", args, result))


@pytest.mark.cuda
@pytest.mark.slow
def test_every_device_consumer_takes_them(call: Calls) -> None:
    ty = call.ty
    for name in ELEMENTS:
        of = element(call, name)
        src, dst = ty.ptr(of), ty.ptr(of, mut=True)
        for path, args, result in (
            ("copy_nonoverlapping", [src, dst, ty.usize], ty.unit), ("copy", [src, dst, ty.usize], ty.unit),
            ("write_bytes", [dst, ty.u8, ty.usize], ty.unit), ("volatile_load", [src], of),
            ("typed_swap_nonoverlapping", [dst, dst], ty.unit), ("raw_eq", [ty.ref(of), ty.ref(of)], ty.bool),
            ("black_box", [of], of),
        ):  # fmt: skip
            full = f"core::intrinsics::{path}::<{name}>"
            call.bodies.append(call.body(full, args, result, f"k{len(call.bodies)}"))
    args = [ty.ptr(ty.u8), ty.ptr(ty.u8), ty.usize]
    call.bodies.append(call.body("core::intrinsics::compare_bytes", args, ty.i32, f"k{len(call.bodies)}"))
    text, names = call.device_text()
    for ptx in device_ptx(text, names).values():
        assert ptx.count(".entry") == len(names)
        assert "ld.volatile" in ptx
