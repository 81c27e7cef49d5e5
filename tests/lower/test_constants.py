"""Constants of every kind, allocations with pointers in them, statics, and what cannot be a constant on a device."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import replace

import pytest

from mirgen.errors import InternalError, UnsupportedError
from mirgen.intrinsics import lookup
from mirgen.lower.program import lower_program
from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir import ty as t
from mirgen.mir.builder import (
    BodyBuilder,
    binary,
    cast,
    const,
    deref,
    field,
    indirect,
    pointer,
    program,
    slice_const,
    unary,
    use,
    zst,
)  # fmt: skip
from mirgen.targets.nvptx import NvptxTarget
from mirgen.testing.consumers import device_ptx

from .conftest import Host


def memory(data: bytes, *pointers: tuple[int, int, int], align: int = 8, static: str | None = None) -> m.MemoryAlloc:
    """``pointers``: at, allocation, offset."""
    relocations = tuple(m.Relocation(at, 8, alloc, offset) for at, alloc, offset in pointers)
    return m.MemoryAlloc(static, align, data, (), relocations)


def value_of(
    host: Host, ty: t.Ty, operand: p.Operand, allocs: Mapping[int, m.Alloc] | None = None,
    constants: Mapping[m.FnKey, p.Operand] | None = None,
) -> bytes:  # fmt: skip
    """The bytes of a constant, stored by a kernel."""
    b = BodyBuilder("k", args=[host.ty.ref(ty, mut=True)], ret=host.ty.unit)
    b.line(3)
    b.assign(deref(b.arg(0)), use(operand))
    b.return_()
    out = bytearray(b"\xee" * host.ty.layout(ty).size)
    made = program(b.build(), kernels=("k",), allocs=allocs, constants=constants)
    assert host.run_program(made, [out]) is None
    return bytes(out)


def test_scalars(host: Host) -> None:
    ty = host.ty
    color = ty.enum("Color", {"Red": [], "Green": []}, tag_bits=16, discriminants=[3, 900])
    meters = ty.struct("Meters", [ty.f32])
    for of, bits, size in (
        (ty.u8, 0xFE, 1), (ty.i128, 1 << 127, 16), (ty.bool, 1, 1), (ty.char, 0x10FFFF, 4),
        (ty.f32, 0x7F800001, 4), (ty.f64, 0xFFF4_0000_0000_0001, 8), (ty.f32, 0x80000000, 4), (ty.f64, 1, 8),
        (ty.ptr(ty.u8), 0x10, 8), (color, 900, 2), (meters, 0x3F800000, 4),
    ):  # fmt: skip
        operand = p.Constant(p.ScalarConst(of, bits, size))
        assert value_of(host, of, operand) == bits.to_bytes(size, "little"), of.text


def test_constants_by_reference(host: Host) -> None:
    ty = host.ty
    allocs = {1: memory(b"\x01\x02\x03\x04\x05\x06\x07\x08", align=4)}
    triple = ty.tuple(ty.u16, ty.u16, ty.u16)
    assert value_of(host, triple, indirect(triple, 1, 2), allocs) == b"\x03\x04\x05\x06\x07\x08"
    assert value_of(host, ty.u32, indirect(ty.u32, 1, 4), allocs) == b"\x05\x06\x07\x08"
    pair = ty.tuple(ty.u16, ty.u16)
    assert value_of(host, pair, indirect(pair, 1), allocs) == b"\x01\x02\x03\x04"


def read_through(host: Host, allocs: Mapping[int, m.Alloc], operand: p.Operand, depth: int, of: t.Ty) -> int:
    """Follows ``depth`` pointers from ``operand`` and reads an ``of``."""
    ty = host.ty
    inner = of
    for _ in range(depth):
        inner = ty.ptr(inner)
    b = BodyBuilder("k", args=[ty.ref(of, mut=True)], ret=ty.unit)
    at = b.let(inner, use(operand))
    for _ in range(depth):
        at = b.let(b.ty_of(deref(at)), use(deref(at)))
    b.assign(deref(b.arg(0)), use(at))
    b.return_()
    out = bytearray(ty.layout(of).size)
    assert host.run(b.build(), args=[out], allocs=allocs) is None
    return int.from_bytes(out, "little")


def test_pointers_into_the_middle(host: Host) -> None:
    ty = host.ty
    allocs = {4: memory(bytes(range(16)))}
    assert read_through(host, allocs, pointer(ty.ptr(ty.u16), 4, 6), 1, ty.u16) == 0x0706


def test_allocations_point_at_each_other(host: Host) -> None:
    """Pointers at odd places, between bytes, and in a cycle."""
    ty = host.ty
    allocs = {
        1: memory(bytes(8), (0, 2, 3)),
        2: memory(b"\xaa\xbb\xcc" + bytes(8) + b"\xdd", (3, 3, 8), align=1),
        3: memory(bytes(8) + struct.pack("<Q", 0x1122334455667788), (0, 1, 0)),
    }
    # 1 -> 2+3 -> 3+8, the second read unaligned
    b = BodyBuilder("k", args=[ty.ref(ty.u64, mut=True), ty.ref(ty.bool, mut=True)], ret=ty.unit)
    first = b.let(ty.ptr(ty.ptr(ty.u64)), use(indirect(ty.ptr(ty.ptr(ty.u64)), 1)))
    second = b.local(ty.ptr(ty.u64))
    path = "core::intrinsics::unaligned_volatile_load::<*const u64>"
    read = ty.fn_def(path, [ty.ptr(ty.ptr(ty.u64))], ty.ptr(ty.u64))
    b.call(second, read, first)
    b.assign(deref(b.arg(0)), use(deref(second)))
    # 3 -> 1, the same address as a pointer to 1
    back = b.let(ty.ptr(ty.u64), use(indirect(ty.ptr(ty.u64), 3)))
    b.assign(deref(b.arg(1)), binary("Eq", back, pointer(ty.ptr(ty.u64), 1)))
    b.return_()
    host.intrinsics = lookup
    out, same = bytearray(8), bytearray(1)
    assert host.run(b.build(), args=[out, same], allocs=allocs) is None
    assert int.from_bytes(out, "little") == 0x1122334455667788
    assert same == b"\x01"


def test_strings_and_slices(host: Host) -> None:
    ty = host.ty
    text = ty.ref(ty.str)
    allocs = {9: memory(b"hello", align=1)}
    b = BodyBuilder("k", args=[ty.ref(ty.usize, mut=True), ty.ref(ty.u8, mut=True)], ret=ty.unit)
    made = b.let(text, use(slice_const(text, 9, 5)))
    b.assign(deref(b.arg(0)), unary("PtrMetadata", made))
    raw = b.let(ty.ptr(ty.str), cast("PtrToPtr", made, ty.ptr(ty.str)))
    start = b.let(ty.ptr(ty.u8), cast("PtrToPtr", raw, ty.ptr(ty.u8)))
    last = b.let(ty.ptr(ty.u8), binary("Offset", start, const(ty.usize, 4)))
    b.assign(deref(b.arg(1)), use(deref(last)))
    b.return_()
    length, letter = bytearray(8), bytearray(1)
    assert host.run(b.build(), args=[length, letter], allocs=allocs) is None
    assert (length[0], letter) == (5, b"o")


def test_statics_keep_what_is_written(host: Host) -> None:
    """A static may have interior mutability, so it is a variable; every mention of it is the same one."""
    ty = host.ty
    allocs = {2: memory(struct.pack("<I", 40), align=4, static="COUNT")}
    counter = ty.ptr(ty.u32, mut=True)
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True)], ret=ty.unit)
    one, two = b.let(counter, use(pointer(counter, 2))), b.let(counter, use(pointer(counter, 2)))
    b.assign(deref(one), binary("Add", deref(one), const(ty.u32, 2)))
    b.assign(deref(b.arg(0)), use(deref(two)))
    b.return_()
    out = bytearray(4)
    assert host.run(b.build(), args=[out], allocs=allocs) is None
    assert int.from_bytes(out, "little") == 42
    text = host.lower(b.build(), allocs=allocs).text
    assert '@"__mirgen_alloc_2" = internal global' in text


def test_a_static_of_several_documents_is_one_place(host: Host) -> None:
    """Each document numbers allocations anew: who a static is says its identity, and pointers to it in constants."""
    ty = host.ty
    counter = ty.ptr(ty.u32, mut=True)

    def run(allocs: dict[int, m.Alloc]) -> int:
        b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True)], ret=ty.unit)
        one, two = b.let(counter, use(pointer(counter, 2))), b.let(counter, use(pointer(counter, 7)))
        held = b.let(counter, use(indirect(counter, 9)))
        for each in (one, two, held):
            b.assign(deref(each), binary("Add", deref(each), const(ty.u32, 1)))
        b.assign(deref(b.arg(0)), use(deref(one)))
        b.return_()
        out = bytearray(4)
        assert host.run(b.build(), args=[out], allocs=allocs) is None
        return int.from_bytes(out, "little")

    def static(identity: str, value: int = 40) -> m.Alloc:
        return replace(memory(struct.pack("<I", value), align=4, static="COUNT"), identity=identity)

    link = memory(bytes(8), (0, 8, 0))
    same = static("t::COUNT")
    assert run({2: same, 7: same, 8: same, 9: link}) == 43
    # Statics of one name in two crates.
    assert run({2: same, 7: static("other::COUNT"), 8: same, 9: link}) == 42
    with pytest.raises(InternalError, match="`t::COUNT` has two different contents"):
        run({2: same, 7: static("t::COUNT", 41), 8: same, 9: link})


def test_function_pointers_in_tables(host: Host) -> None:
    ty = host.ty
    bodies: list[m.Body] = []
    for name, op in (("plus", "Add"), ("times", "Mul")):
        f = BodyBuilder(name, args=[ty.u32], ret=ty.u32)
        f.assign(f.ret, binary(op, f.arg(0), const(ty.u32, 10)))
        f.return_()
        bodies.append(f.build())
    callee = ty.fn_ptr([ty.u32], ty.u32)
    table = ty.array(callee, 2)
    allocs: dict[int, m.Alloc] = {
        1: memory(bytes(16), (0, 2, 0), (8, 3, 0)), 2: m.FnAlloc("plus"), 3: m.FnAlloc("times"),
    }  # fmt: skip
    b = BodyBuilder("k", args=[ty.usize, ty.ref(ty.u32, mut=True)], ret=ty.unit)
    held = b.let(table, use(indirect(table, 1)))
    chosen = b.let(callee, use(p.Place(held.local, (p.Index(b.arg(0).local),))))
    b.call(deref(b.arg(1)), chosen, const(ty.u32, 5))
    b.return_()
    for index, expected in ((0, 15), (1, 50)):
        out = bytearray(4)
        assert host.run(b.build(), *bodies, args=[index, out], allocs=allocs) is None
        assert int.from_bytes(out, "little") == expected


def test_a_constant_of_a_struct_with_a_pointer(host: Host) -> None:
    ty = host.ty
    named = ty.struct("Named", [ty.ptr(ty.u32), ty.u32, ty.u8])
    allocs = {1: memory(bytes(8) + b"\x07\0\0\0\x09\0\0\0", (0, 2, 4)), 2: memory(struct.pack("<II", 5, 6), align=4)}
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.ref(ty.u32, mut=True)], ret=ty.unit)
    held = b.let(named, use(indirect(named, 1)))
    inner = b.let(ty.ptr(ty.u32), use(field(held, 0, ty.ptr(ty.u32))))
    b.assign(deref(b.arg(0)), use(deref(inner)))
    b.assign(deref(b.arg(1)), use(field(held, 1, ty.u32)))
    b.return_()
    one, two = bytearray(4), bytearray(4)
    assert host.run(b.build(), args=[one, two], allocs=allocs) is None
    assert (one[0], two[0]) == (6, 7)


def test_zero_sized(host: Host) -> None:
    ty = host.ty
    assert value_of(host, ty.unit, zst(ty.unit)) == b""
    empty = ty.array(ty.u32, 0)
    assert value_of(host, empty, indirect(empty, 1), {1: memory(b"", align=4)}) == b""


def test_constants_that_were_looked_up(host: Host) -> None:
    ty = host.ty
    path = "my::LIMIT"
    operand = p.Constant(p.UnevaluatedConst(path, None, ty.u32))
    found = value_of(host, ty.u32, operand, constants={("t", path): const(ty.u32, 77)})
    assert int.from_bytes(found, "little") == 77
    promoted = p.Constant(p.UnevaluatedConst(path, 1, ty.u32))
    found = value_of(host, ty.u32, promoted, constants={("t", f"{path}::promoted[1]"): const(ty.u32, 78)})
    assert int.from_bytes(found, "little") == 78
    leaf = p.Constant(p.TyConst("ValTree(Leaf(0x0000000000000005): usize)", ty.usize))
    assert value_of(host, ty.usize, leaf) == (5).to_bytes(8, "little")


def test_constants_of_the_same_bytes_are_one_but_tables_are_not(host: Host) -> None:
    """As rustc's code generator has it; a table's address tells a type from others."""
    ty = host.ty
    ptr = ty.ptr(ty.u8)

    def are_one(one: int, other: int, tables: Mapping[tuple[str, str], int] | None = None) -> bool:
        b = BodyBuilder("k", args=[ty.ref(ty.bool, mut=True)], ret=ty.unit)
        left, right = (p.Constant(p.PointerConst(ptr, number, 0)) for number in (one, other))
        b.assign(deref(b.arg(0)), binary("Eq", left, right))
        b.return_()
        out = bytearray(1)
        allocs = {1: memory(b"ab", align=1), 2: memory(b"ab", align=1), 3: memory(b"ac", align=1)}
        whole = replace(program(b.build(), kernels=("k",), allocs=allocs), tables=dict(tables or {}))
        assert host.run_program(whole, [out]) is None
        return bytes(out) == b"\1"

    assert are_one(1, 2) and not are_one(1, 3)
    assert not are_one(1, 2, {("t", "A"): 1, ("t", "B"): 2})


def test_a_types_identity_is_its_hash(host: Host) -> None:
    """The hash's halves are the offsets into an allocation that only rustc's evaluator looks behind."""
    ty = host.ty
    halves = (0x9209_0342_F5A0_71C6, 0x763D_2D7F_0B22_3D89)
    allocs: dict[int, m.Alloc] = {
        1: m.OtherAlloc("typeid", "typeid for u8"),
        2: memory(bytes(16), (0, 1, halves[0]), (8, 1, halves[1])),
    }
    words = ty.array(ty.ptr(ty.unit), 2)
    assert value_of(host, words, indirect(words, 2), allocs) == struct.pack("<2Q", *halves)
    thin = ty.ptr(ty.unit)
    assert value_of(host, thin, p.Constant(p.PointerConst(thin, 1, halves[0])), allocs) == struct.pack("<Q", halves[0])


def test_refusals(host: Host) -> None:
    ty = host.ty
    vtable: dict[int, m.Alloc] = {1: m.OtherAlloc("vtable", "impl Debug for u8")}
    missing: dict[int, m.Alloc] = {1: m.FnAlloc("nowhere")}
    torn: dict[int, m.Alloc] = {1: m.MemoryAlloc(None, 1, bytes(4), (), (m.Relocation(0, 4, 1, 0),))}
    ptr = ty.ptr(ty.u8)
    refused: list[tuple[t.Ty, p.Const, dict[int, m.Alloc], str]] = [
        (ty.u8, p.UnevaluatedConst("my::N", None, ty.u8), {}, "my::N"),
        (ty.u8, p.UnevaluatedConst("my::f", 2, ty.u8), {}, r"my::f::promoted\[2\]"),
        (ptr, p.PointerConst(ptr, 1, 0), vtable, "vtable"),
        (ptr, p.PointerConst(ptr, 1, 0), missing, "nowhere"),
        (ptr, p.PointerConst(ptr, 1, 0), torn, "4 bytes of a pointer"),
        (ty.f128, p.ScalarConst(ty.f128, 0, 16), {}, "f128"),
        (ty.usize, p.TyConst("N/#1", ty.usize), {}, "N/#1"),
        (ty.bool, p.ScalarConst(ty.bool, 2, 1), {}, "0x2 is not a `bool`"),
        (ty.char, p.ScalarConst(ty.char, 0xD800, 4), {}, "0xd800 is not a `char`"),
        (ty.char, p.ScalarConst(ty.char, 0x11_0000, 4), {}, "0x110000 is not a `char`"),
    ]
    for of, const_, allocs, words in refused:
        with pytest.raises(UnsupportedError, match=words) as caught:
            value_of(host, of, p.Constant(const_), allocs)
        location = caught.value.diagnostics[0].location
        assert location is not None
        assert location.line == 3


@pytest.mark.cuda
@pytest.mark.slow
def test_every_device_consumer_takes_constants_with_pointers(host: Host) -> None:
    """Pointers to the start, into the middle, to functions; a static."""
    ty = host.ty
    f = BodyBuilder("double", args=[ty.u32], ret=ty.u32)
    f.assign(f.ret, binary("Add", f.arg(0), f.arg(0)))
    f.return_()
    callee = ty.fn_ptr([ty.u32], ty.u32)
    allocs: dict[int, m.Alloc] = {
        1: memory(bytes(24), (0, 2, 8), (8, 4, 0), (16, 5, 4)),
        2: memory(b"abcdefgh" + bytes(8) + b"ijklmnop", (8, 6, 1)),
        6: memory(b"text", align=1),
        4: m.FnAlloc("double"),
        5: memory(struct.pack("<II", 1, 2), align=4, static="CELL"),
    }
    b = BodyBuilder("k", args=[ty.usize, ty.ref(ty.u32, mut=True)], ret=ty.unit)
    row = ty.array(ty.ptr(ty.ptr(ty.u8)), 3)
    held = b.let(row, use(indirect(row, 1)))
    entry = b.let(ty.ptr(ty.ptr(ty.u8)), use(p.Place(held.local, (p.Index(b.arg(0).local),))))
    b.call(deref(b.arg(1)), b.let(callee, cast("Transmute", entry, callee)), const(ty.u32, 5))
    cell = b.let(ty.ptr(ty.u32, mut=True), use(pointer(ty.ptr(ty.u32, mut=True), 5, 4)))
    b.assign(deref(cell), binary("Add", deref(cell), deref(b.arg(1))))
    b.return_()
    made = program(b.build(), f.build(), kernels=("k",), allocs=allocs)
    text = lower_program(made, ty.layouts, NvptxTarget()).text
    for (codegen, arch), ptx in device_ptx(text, ["k"]).items():
        assert ".global" in ptx, (codegen, arch)


def test_a_circle_of_constants_has_no_form_in_ptx(host: Host) -> None:
    ty = host.ty
    allocs: dict[int, m.Alloc] = {1: memory(bytes(8), (0, 2, 0)), 2: memory(bytes(8), (0, 1, 0))}
    b = BodyBuilder("k", args=[ty.ref(ty.ptr(ty.u8), mut=True)], ret=ty.unit)
    b.assign(deref(b.arg(0)), use(pointer(ty.ptr(ty.u8), 1)))
    b.return_()
    made = program(b.build(), kernels=("k",), allocs=allocs)
    with pytest.raises(UnsupportedError, match="circle"):
        lower_program(made, ty.layouts, NvptxTarget())
