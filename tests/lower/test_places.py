"""Projections x read, write, borrow: bytes touched must be exactly those that rustc's layout names."""

from __future__ import annotations

import re
import struct
from dataclasses import replace

import pytest

from mirgen.layout import data as d
from mirgen.layout.builder import LayoutMaker
from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir import ty as t
from mirgen.mir.builder import (
    BodyBuilder,
    adt_of,
    binary,
    cast,
    const,
    constant_index,
    deref,
    field,
    index,
    move,
    raw_ptr,
    ref,
    subslice,
    unary,
)  # fmt: skip

from .conftest import Host


def _cell(ty: LayoutMaker) -> t.Ty:
    """``struct S { a: u8, b: u64, c: u16, d: u32 }`` in rustc's reordered layout: b d c a."""
    return ty.struct("S", [ty.u8, ty.u64, ty.u16, ty.u32], order=[1, 3, 2, 0])


_OFFSETS = {0: 14, 1: 0, 2: 12, 3: 8}
_SIZES = {0: 1, 1: 8, 2: 2, 3: 4}


def _pattern(size: int, start: int = 1) -> bytes:
    return bytes((start + i * 7) % 251 for i in range(size))


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_fields_of_structs(host: Host, number: int) -> None:
    ty = host.ty
    s = _cell(ty)
    inner = [ty.u8, ty.u64, ty.u16, ty.u32][number]
    b = BodyBuilder("k", args=[ty.ref(inner, mut=True), ty.ref(s, mut=True), ty.ref(s)], ret=ty.unit)
    b.assign(deref(b.arg(0)), field(deref(b.arg(2)), number, inner))
    b.assign(field(deref(b.arg(1)), number, inner), field(deref(b.arg(2)), number, inner))
    b.return_()
    source, read, written = _pattern(16), bytearray(_SIZES[number]), bytearray(b"\xee" * 16)
    assert host.run(b.build(), args=[read, written, bytearray(source)]) is None
    at, size = _OFFSETS[number], _SIZES[number]
    assert read == source[at : at + size]
    assert written == b"\xee" * at + source[at : at + size] + b"\xee" * (16 - at - size)


def test_arrays_of_structs(host: Host) -> None:
    """``out = a[i].c[1]``, ``a[i].c[2] = v``, ``&a[i].c`` and the end counted backwards."""
    ty = host.ty
    inner = ty.array(ty.u16, 3)
    s = ty.struct("R", [ty.u32, inner])
    arr = ty.array(s, 4)
    b = BodyBuilder("k", args=[ty.ref(ty.array(ty.u16, 4), mut=True), ty.ref(arr, mut=True), ty.usize], ret=ty.unit)
    out = deref(b.arg(0))
    one = b.let(ty.usize, const(ty.usize, 1))
    element = index(deref(b.arg(1)), b.arg(2))
    b.assign(constant_index(out, 0, 4), index(field(element, 1, inner), one))
    borrowed = b.let(ty.ref(inner), ref(field(element, 1, inner)))
    b.assign(constant_index(out, 1, 4), constant_index(deref(borrowed), 1, 3, from_end=True))
    b.assign(constant_index(field(element, 1, inner), 2, 3), const(ty.u16, 0xABCD))
    b.assign(constant_index(out, 2, 4), constant_index(deref(borrowed), 2, 3))
    b.assign(constant_index(out, 1, 4, from_end=True), constant_index(deref(borrowed), 0, 3))
    b.return_()
    array = bytearray(_pattern(48))
    before = bytes(array)
    got = bytearray(8)
    assert host.run(b.build(), args=[got, array, 2]) is None
    base = 2 * 12 + 4
    c = struct.unpack_from("<3H", before, base)
    assert struct.unpack("<4H", got) == (c[1], c[2], 0xABCD, c[0])
    assert array[base + 4 : base + 6] == b"\xcd\xab"
    assert array[: base + 4] == before[: base + 4] and array[base + 6 :] == before[base + 6 :]


@pytest.mark.parametrize(("from_", "to"), [(1, 0), (0, 2), (1, 1), (5, 0)])
def test_subslices_of_slices(host: Host, from_: int, to: int) -> None:
    """``&y[1..]``: pointer and length."""
    ty = host.ty
    slice_ = ty.slice(ty.u32)
    b = BodyBuilder("k", args=[ty.ref(ty.usize, mut=True), ty.ref(ty.u32, mut=True), ty.ref(slice_)], ret=ty.unit)
    part = b.let(ty.ref(slice_), ref(subslice(deref(b.arg(2)), from_, to, from_end=True)))
    b.assign(deref(b.arg(0)), b.let(ty.usize, unary("PtrMetadata", part)))
    some = b.block()
    end = b.block()
    count = b.let(ty.usize, unary("PtrMetadata", part))
    b.switch(count, {0: end}, some)
    b.at(some).assign(deref(b.arg(1)), constant_index(deref(part), 1, 1, from_end=True)).goto(end)
    b.at(end).return_()
    data = struct.pack("<5I", 10, 11, 12, 13, 14)
    length, last = bytearray(8), bytearray(4)
    assert host.run(b.build(), args=[length, last, bytearray(data)]) is None
    expected = [10, 11, 12, 13, 14][from_ : 5 - to]
    assert struct.unpack("<Q", length)[0] == len(expected)
    assert struct.unpack("<I", last)[0] == (expected[-1] if expected else 0)


def test_subslices_of_arrays(host: Host) -> None:
    """``let [_, mid @ .., _] = a``: borrowed and copied."""
    ty = host.ty
    arr, mid = ty.array(ty.u16, 5), ty.array(ty.u16, 3)
    b = BodyBuilder("k", args=[ty.ref(mid, mut=True), ty.ref(ty.u16, mut=True), ty.ref(arr)], ret=ty.unit)
    b.assign(deref(b.arg(0)), subslice(deref(b.arg(2)), 1, 4))
    borrowed = b.let(ty.ref(mid), ref(subslice(deref(b.arg(2)), 1, 4)))
    b.assign(deref(b.arg(1)), constant_index(deref(borrowed), 2, 3))
    b.return_()
    out, one = bytearray(6), bytearray(2)
    assert host.run(b.build(), args=[out, one, bytearray(struct.pack("<5H", 1, 2, 3, 4, 5))]) is None
    assert struct.unpack("<3H", out) == (2, 3, 4) and struct.unpack("<H", one) == (4,)


def test_constant_index_from_the_end_of_a_slice(host: Host) -> None:
    ty = host.ty
    b = BodyBuilder("k", args=[ty.ref(ty.u64, mut=True), ty.ref(ty.slice(ty.u64))], ret=ty.unit)
    b.assign(deref(b.arg(0)), constant_index(deref(b.arg(1)), 2, 2, from_end=True))
    b.return_()
    out = bytearray(8)
    assert host.run(b.build(), args=[out, bytearray(struct.pack("<4Q", 5, 6, 7, 8))]) is None
    assert struct.unpack("<Q", out)[0] == 7


def test_packed_fields_are_loaded_with_their_alignment(host: Host) -> None:
    """``repr(packed(2))``: 8 bytes at offset 2 with alignment 2, never more."""
    ty = host.ty
    packed = ty.adt("Pk")
    ty.layouts[packed.key] = d.Layout(
        12, 2, d.ReprMemory(True), d.FieldsArbitrary((0, 2, 10)), d.VariantsSingle(0), False
    )  # fmt: skip
    b = BodyBuilder("k", args=[ty.ref(ty.u64, mut=True), ty.ref(packed, mut=True)], ret=ty.unit)
    b.assign(deref(b.arg(0)), field(deref(b.arg(1)), 1, ty.u64))
    b.assign(field(deref(b.arg(1)), 1, ty.u64), const(ty.u64, 0x0102030405060708))
    b.return_()
    body = b.build()
    text = host.lower(body).text
    inner = text[text.index("define internal") :]
    assert inner.count("align 2") == 2, inner
    out, memory = bytearray(8), bytearray(_pattern(12))
    before = bytes(memory)
    assert host.run(body, args=[out, memory]) is None
    assert out == before[2:10] and memory[2:10] == bytes(range(8, 0, -1)) and memory[:2] == before[:2]


@pytest.mark.parametrize(("number", "align"), [(0, 8), (1, 4), (2, 1), (3, 2)])
def test_a_field_is_as_aligned_as_its_offset_says(host: Host, number: int, align: int) -> None:
    """What LLVM is told about a copy of bytes may not be more than what holds."""
    ty = host.ty
    row = ty.array(ty.u8, 3)
    struct_ = ty.struct("S", [row, row, row, row], align=8)
    layout = ty.layout(struct_)
    offsets = (0, 4, 9, 14)
    ty.layouts[struct_.key] = replace(layout, size=24, fields=d.FieldsArbitrary(offsets))
    b = BodyBuilder("k", args=[ty.ref(row, mut=True), ty.ref(struct_)], ret=ty.unit)
    b.assign(deref(b.arg(0)), field(deref(b.arg(1)), number, row)).return_()
    body = b.build()
    copies = re.findall(r"call void @\"llvm.memcpy[^(]*\"\(([^\n]*)\)", host.lower(body).text)
    assert [re.findall(r"align (\d+)", copy) for copy in copies] == [["1", str(align)]], copies
    out, memory = bytearray(3), bytearray(range(24))
    assert host.run(body, args=[out, memory]) is None
    assert out == memory[offsets[number] : offsets[number] + 3]


def test_over_aligned_structs(host: Host) -> None:
    """``repr(align(16))``: locals, arguments by value and results keep the alignment."""
    ty = host.ty
    a16 = ty.struct("A16", [ty.u8, ty.u32], align=16)
    b = BodyBuilder("k", args=[ty.ref(ty.usize, mut=True), a16], ret=ty.unit)
    local = b.let(a16, b.arg(1))
    pointer = b.let(ty.ptr(a16), raw_ptr(local))
    address = b.let(ty.usize, cast("PointerExposeProvenance", pointer, ty.usize))
    b.assign(deref(b.arg(0)), binary("Rem", address, const(ty.usize, 16)))
    b.return_()
    out = bytearray(b"\xff" * 8)
    assert host.run(b.build(), args=[out, bytes(16)]) is None
    assert out == bytes(8)


def test_newtypes_of_pointers_are_dereferenced(host: Host) -> None:
    """``(*(_1.0: *mut u32))`` where the local is an SSA scalar."""
    ty = host.ty
    wrapper = ty.struct("NonNull", [ty.ptr(ty.u32, mut=True)])
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), wrapper], ret=ty.unit)
    b.assign(deref(b.arg(0)), deref(field(b.arg(1), 0, ty.ptr(ty.u32, mut=True))))
    b.return_()
    lowered = host.lower(b.build())
    assert "alloca" not in lowered.text


def test_fields_of_pairs_stay_in_registers(host: Host) -> None:
    ty = host.ty
    pair = ty.tuple(ty.u32, ty.bool)
    nested = ty.struct("N", [pair])
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), nested], ret=ty.unit)
    inner = b.let(pair, field(b.arg(1), 0, pair))
    flag = b.let(ty.bool, field(inner, 1, ty.bool))
    wide = b.let(ty.u32, cast("IntToInt", flag, ty.u32))
    b.assign(deref(b.arg(0)), binary("Sub", field(inner, 0, ty.u32), wide))
    b.return_()
    body = b.build()
    assert "alloca" not in host.lower(body).text
    out = bytearray(4)
    assert host.run(body, args=[out, b"\x0a\0\0\0\x01\0\0\0"]) is None
    assert struct.unpack("<I", out)[0] == 9


def test_unions(host: Host) -> None:
    """All fields of a union lie at offset 0; the aggregate's field name is not believed."""
    ty = host.ty
    union = ty.union("Bits", [ty.f32, ty.u32])
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.f32], ret=ty.unit)
    local = b.let(union, adt_of("Bits", b.arg(1), fields=("u",)))
    b.assign(deref(b.arg(0)), field(local, 1, ty.u32))
    b.return_()
    out = bytearray(4)
    assert host.run(b.build(), args=[out, struct.pack("<f", 1.5)]) is None
    assert struct.unpack("<I", out)[0] == 0x3FC00000


def test_references_to_references(host: Host) -> None:
    """``**r = **r + 1`` through memory that holds a pointer, and a wide pointer in a struct."""
    ty = host.ty
    holder = ty.struct("H", [ty.u32, ty.ref(ty.slice(ty.u8))], order=[1, 0])
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.ref(ty.slice(ty.u8))], ret=ty.unit)
    local = b.let(holder, adt_of("H", const(ty.u32, 3), b.arg(1)))
    rr = b.let(ty.ref(holder), ref(local))
    slice_ = deref(field(deref(rr), 1, ty.ref(ty.slice(ty.u8))))
    position = b.let(ty.usize, cast("IntToInt", field(deref(rr), 0, ty.u32), ty.usize))
    b.assign(deref(b.arg(0)), cast("IntToInt", index(slice_, position), ty.u32))
    b.return_()
    out = bytearray(4)
    assert host.run(b.build(), args=[out, bytearray(b"\x01\x02\x03\x04")]) is None
    assert struct.unpack("<I", out)[0] == 4


def test_zero_sized_things_are_nothing(host: Host) -> None:
    ty = host.ty
    marker = ty.struct("Marker", [])
    holder = ty.struct("H", [marker, ty.u32, ty.unit])
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), marker, ty.array(ty.u32, 0), holder], ret=ty.unit)
    local = b.let(marker, field(b.arg(3), 0, marker))
    b.assign(b.local(ty.unit), field(b.arg(3), 2, ty.unit))
    borrowed = b.let(ty.ref(marker), ref(local))
    b.assign(b.local(marker), deref(borrowed))
    b.assign(deref(b.arg(0)), field(b.arg(3), 1, ty.u32))
    b.return_()
    body = b.build()
    text = host.lower(body).text
    assert "alloca" not in text
    assert '@"_M0_k"(i8* nonnull %".1", i32 %".2")' in text
    out = bytearray(4)
    assert host.run(body, args=[out, b"", b"", b"\x05\0\0\0"]) is None
    assert out == b"\x05\0\0\0"


def test_a_local_written_twice_and_in_a_loop(host: Host) -> None:
    """Sums 0..n with a loop-carried local, and swaps two locals through a third."""
    ty = host.ty
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.u32], ret=ty.unit)
    i, s = b.local(ty.u32), b.local(ty.u32)
    b.assign(i, const(ty.u32, 0)).assign(s, const(ty.u32, 0))
    head, more, end = b.block(), b.block(), b.block()
    b.goto(head)
    b.at(head)
    done = b.let(ty.bool, binary("Eq", i, b.arg(1)))
    b.switch(done, {0: more}, end)
    b.at(more)
    t_ = b.let(ty.u32, binary("Add", s, i))
    b.assign(s, move(t_)).assign(i, binary("Add", i, const(ty.u32, 1))).goto(head)
    b.at(end).assign(deref(b.arg(0)), s).return_()
    out = bytearray(4)
    assert host.run(b.build(), args=[out, 10]) is None
    assert struct.unpack("<I", out)[0] == 45


def test_static_memory(host: Host) -> None:
    """A static behind a pointer constant, with a pointer inside it."""
    ty = host.ty
    inner = m.MemoryAlloc("T", 4, struct.pack("<4I", 10, 20, 30, 40), (), ())
    outer = m.MemoryAlloc("R", 8, bytes(16), (), (m.Relocation(8, 8, 1, 8),))
    table = ty.array(ty.ref(ty.u32), 2)
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True)], ret=ty.unit)
    pointer = b.let(ty.ref(table), p.Constant(p.PointerConst(ty.ref(table), 0, 0)))
    one = b.let(ty.ref(ty.u32), constant_index(deref(pointer), 1, 2))
    b.assign(deref(b.arg(0)), deref(one))
    b.return_()
    out = bytearray(4)
    assert host.run(b.build(), args=[out], allocs={0: outer, 1: inner}) is None
    assert struct.unpack("<I", out)[0] == 30
