"""Every tag and niche encoding: discriminants read, variants written, bytes as rustc lays them out."""

from __future__ import annotations

import struct

import pytest

from mirgen.layout import data as d
from mirgen.layout.builder import int_scalar, pointer_scalar
from mirgen.mir import ty as t
from mirgen.mir.builder import (
    BodyBuilder,
    adt_of,
    binary,
    cast,
    const,
    deref,
    discriminant,
    downcast,
    field,
    move,
    use,
)  # fmt: skip

from .conftest import Host


def _niche(
    host: Host, path: str, tag: d.Scalar, niche: d.TagNiche, variants: list[tuple[int, ...]], *, size: int, align: int,
    tag_offset: int = 0, repr_: d.BackendRepr | None = None,
) -> t.Ty:  # fmt: skip
    """An enum with a niche tag; ``variants`` are the field offsets of each variant."""
    ty = host.ty.adt(path)
    bodies = tuple(
        d.Layout(size, align, d.ReprMemory(True), d.FieldsArbitrary(offsets), d.VariantsSingle(i), False)
        for i, offsets in enumerate(variants)
    )
    names = tuple(d.VariantName(f"V{i}", i) for i in range(len(variants)))
    host.ty.layouts[ty.key] = d.Layout(
        size, align, repr_ or d.ReprMemory(True), d.FieldsArbitrary((tag_offset,)),
        d.VariantsMultiple(tag, tag_offset, niche, bodies), False, names,
    )  # fmt: skip
    return ty


def _read(host: Host, enum: t.Ty, content: bytes, discr: t.Ty) -> int:
    """``*out = discriminant(*e) as i64`` through memory, then through a copied local; both must agree."""
    ty = host.ty
    b = BodyBuilder("k", args=[ty.ref(ty.i64, mut=True), ty.ref(ty.i64, mut=True), ty.ref(enum)], ret=ty.unit)
    seen = b.let(discr, discriminant(deref(b.arg(2))))
    b.assign(deref(b.arg(0)), cast("IntToInt", seen, ty.i64))
    copied = b.let(enum, deref(b.arg(2)))
    again = b.let(discr, discriminant(copied))
    b.assign(deref(b.arg(1)), cast("IntToInt", again, ty.i64))
    b.return_()
    one, two = bytearray(8), bytearray(8)
    assert host.run(b.build(), args=[one, two, bytearray(content)]) is None
    assert one == two
    return struct.unpack("<q", one)[0]


def _write(host: Host, enum: t.Ty, index: int, size: int, before: bytes | None = None) -> bytes:
    ty = host.ty
    b = BodyBuilder("k", args=[ty.ref(enum, mut=True)], ret=ty.unit)
    b.set_discriminant(deref(b.arg(0)), index)
    b.return_()
    out = bytearray(before or bytes(size))
    assert host.run(b.build(), args=[out]) is None
    return bytes(out)


@pytest.mark.parametrize("tag_bits", [8, 16, 32, 64])
@pytest.mark.parametrize("signed", [False, True])
def test_direct_tags(host: Host, tag_bits: int, signed: bool) -> None:
    values = [-5, 0, 100] if signed else [3, 200, 7]
    enum = host.ty.enum("E", {"A": [], "B": [], "C": []}, tag_bits=tag_bits, discriminants=values, signed=signed)
    size = tag_bits // 8
    discr = host.ty.ints[f"{'i' if signed else 'u'}{tag_bits}"]
    for index, value in enumerate(values):
        pattern = (value & ((1 << tag_bits) - 1)).to_bytes(size, "little")
        assert _write(host, enum, index, size) == pattern
        assert _read(host, enum, pattern, discr) == value
        # without a `repr` the discriminant is an `isize`, whatever the tag
        assert _read(host, enum, pattern, host.ty.i64) == value


def test_direct_tag_of_128_bits(host: Host) -> None:
    values = [1, 1 << 100]
    enum = host.ty.enum("E", {"A": [], "B": []}, tag_bits=128, discriminants=values)
    assert _write(host, enum, 1, 16) == (1 << 100).to_bytes(16, "little")
    assert _read(host, enum, (1).to_bytes(16, "little"), host.ty.u128) == 1


def test_tag_of_two_values_is_one_bit(host: Host) -> None:
    """A direct tag with the range 0..=1 is an ``i1`` for the code generator and zero-extends, whatever its sign."""
    enum = host.ty.enum("E", {"A": [], "B": []}, tag_bits=8)
    assert [_read(host, enum, bytes([i]), host.ty.isize) for i in (0, 1)] == [0, 1]
    assert _write(host, enum, 1, 1) == b"\x01"


def test_single_variant(host: Host) -> None:
    enum = host.ty.adt("One")
    host.ty.layouts[enum.key] = d.Layout(
        4,
        4,
        d.ReprScalar(int_scalar(32)),
        d.FieldsArbitrary((0,)),
        d.VariantsSingle(0),
        False,
        (d.VariantName("A", 7),),
    )
    assert _read(host, enum, bytes(4), host.ty.isize) == 7


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_one_niche_value(host: Host, bits: int) -> None:
    """``Option<NonZero>``: one value of the payload means ``None``."""
    scalar = int_scalar(bits)
    enum = _niche(
        host, "O", scalar, d.TagNiche(1, 0, 0, 0), [(), (0,)], size=bits // 8, align=bits // 8,
        repr_=d.ReprScalar(scalar),
    )  # fmt: skip
    assert _read(host, enum, bytes(bits // 8), host.ty.isize) == 0
    assert _read(host, enum, b"\xff" * (bits // 8), host.ty.isize) == 1
    assert _write(host, enum, 0, bits // 8, b"\xff" * (bits // 8)) == bytes(bits // 8)
    assert _write(host, enum, 1, bits // 8, b"\x05" * (bits // 8)) == b"\x05" * (bits // 8), "the payload is the tag"


def test_many_niche_values(host: Host) -> None:
    """``Nest { X(Option<bool>), Y, Z }``: 0 1 2 belong to the payload, 3 and 4 to the variants 1 and 2."""
    scalar = int_scalar(8, end=4)
    enum = _niche(
        host, "N", scalar, d.TagNiche(0, 1, 2, 3), [(0,), (), ()], size=1, align=1, repr_=d.ReprScalar(scalar)
    )  # fmt: skip
    assert [_read(host, enum, bytes([i]), host.ty.isize) for i in range(5)] == [0, 0, 0, 1, 2]
    assert [_write(host, enum, i, 1, b"\x02") for i in range(3)] == [b"\x02", b"\x03", b"\x04"]


def test_wrapping_niche_range(host: Host) -> None:
    """The niche values 254, 255, 0 wrap; payload values are 1 to 253."""
    scalar = int_scalar(8, start=254, end=253)
    enum = _niche(
        host, "W", scalar, d.TagNiche(3, 0, 2, 254), [(), (), (), (0,)], size=1, align=1, repr_=d.ReprScalar(scalar)
    )  # fmt: skip
    assert [_read(host, enum, bytes([i]), host.ty.isize) for i in (254, 255, 0, 1, 253)] == [0, 1, 2, 3, 3]
    assert [_write(host, enum, i, 1, b"\x07") for i in range(4)] == [b"\xfe", b"\xff", b"\x00", b"\x07"]


def test_untagged_variant_between_the_others(host: Host) -> None:
    """The payload's variant may lie inside the range of indices that the niche spans."""
    scalar = int_scalar(8, end=12)
    enum = _niche(host, "M", scalar, d.TagNiche(1, 0, 2, 10), [(), (0,), ()], size=1, align=1)
    assert [_read(host, enum, bytes([i]), host.ty.isize) for i in (10, 12, 3, 9)] == [0, 2, 1, 1]
    assert [_write(host, enum, i, 1, b"\x03") for i in range(3)] == [b"\x0a", b"\x03", b"\x0c"]


def test_niche_of_128_bits_with_a_narrow_discriminant(host: Host) -> None:
    scalar = int_scalar(128)
    top = (1 << 128) - 2
    enum = _niche(host, "H", scalar, d.TagNiche(2, 0, 1, top), [(), (), (0,)], size=16, align=16)
    assert _read(host, enum, top.to_bytes(16, "little"), host.ty.isize) == 0
    assert _read(host, enum, (top + 1).to_bytes(16, "little"), host.ty.isize) == 1
    assert _read(host, enum, (1 << 64).to_bytes(16, "little"), host.ty.isize) == 2
    assert _write(host, enum, 1, 16) == (top + 1).to_bytes(16, "little")


def test_pointer_niche(host: Host) -> None:
    enum = host.ty.option_of(host.ty.ref(host.ty.u32))
    assert _read(host, enum, bytes(8), host.ty.isize) == 0
    assert _read(host, enum, struct.pack("<Q", 0x1000), host.ty.isize) == 1
    assert _write(host, enum, 0, 8, b"\x11" * 8) == bytes(8)


def test_pointer_niche_with_many_values(host: Host) -> None:
    """Low addresses 0 1 2 as variants, as for ``Option<Option<Option<&T>>>``-like layouts over aligned pointers."""
    scalar = pointer_scalar(nonnull=False)
    enum = _niche(
        host, "P", scalar, d.TagNiche(3, 0, 2, 0), [(), (), (), (0,)], size=8, align=8, repr_=d.ReprScalar(scalar)
    )  # fmt: skip
    assert [_read(host, enum, struct.pack("<Q", i), host.ty.isize) for i in (0, 1, 2, 3)] == [0, 1, 2, 3]
    assert _write(host, enum, 2, 8) == struct.pack("<Q", 2)


def test_niche_at_an_offset_in_a_pair(host: Host) -> None:
    """``Option<(u32, bool)>``: the tag is the pair's second scalar."""
    ty = host.ty
    first, tag = int_scalar(32), int_scalar(8, end=2)
    enum = _niche(
        host, "Q", tag, d.TagNiche(1, 0, 0, 2), [(), (0,)], size=8, align=4, tag_offset=4,
        repr_=d.ReprPair(first, tag, 4),
    )  # fmt: skip
    assert _read(host, enum, b"\x09\0\0\0\x02\0\0\0", ty.isize) == 0
    assert _read(host, enum, b"\x09\0\0\0\x01\0\0\0", ty.isize) == 1
    payload = ty.tuple(ty.u32, ty.bool)
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), enum], ret=ty.unit)
    inner = b.let(payload, field(downcast(b.arg(1), "V1"), 0, payload))
    number = b.let(ty.u32, field(inner, 0, ty.u32))
    flag = b.let(ty.u32, cast("IntToInt", field(inner, 1, ty.bool), ty.u32))
    b.assign(deref(b.arg(0)), binary("Add", number, flag))
    b.return_()
    out = bytearray(4)
    assert host.run(b.build(), args=[out, b"\x09\0\0\0\x01\0\0\0"]) is None
    assert out == struct.pack("<I", 10)


def test_bool_payload_of_a_wider_tag(host: Host) -> None:
    """``Option<bool>`` is one ``i8``; its payload is held as ``i1``."""
    ty = host.ty
    enum = ty.option_of(ty.bool)
    b = BodyBuilder("k", args=[ty.ref(enum, mut=True), ty.ref(ty.bool, mut=True), enum], ret=ty.unit)
    payload = b.let(ty.bool, field(downcast(b.arg(2), "Some"), 0, ty.bool))
    b.assign(deref(b.arg(1)), payload)
    built = b.let(enum, adt_of("core::option::Option", payload, variant="Some"))
    b.assign(deref(b.arg(0)), built)
    b.return_()
    for value in (0, 1):
        out, flag = bytearray(b"\xff"), bytearray(b"\xff")
        assert host.run(b.build(), args=[out, flag, bytes([value])]) is None
        assert (out[0], flag[0]) == (value, value)


def test_variants_with_payloads_of_different_types(host: Host) -> None:
    """``Multi { A(u32), B(f32), C }``: written by aggregate, in memory and through an SSA local, read by downcast."""
    ty = host.ty
    enum = ty.enum("Multi", {"A": [ty.u32], "B": [ty.f32], "C": []}, tag_bits=32)
    payloads = {"A": [const(ty.u32, 9)], "B": [const(ty.f32, 0x40200000)], "C": []}
    for index, (variant, ops) in enumerate(payloads.items()):
        b = BodyBuilder("k", args=[ty.ref(enum, mut=True), ty.ref(enum, mut=True)], ret=ty.unit)
        b.assign(deref(b.arg(0)), adt_of("Multi", *ops, variant=variant))
        local = b.let(enum, adt_of("Multi", *ops, variant=variant))
        b.assign(deref(b.arg(1)), move(local))
        b.return_()
        direct, through = bytearray(8), bytearray(8)
        assert host.run(b.build(), args=[direct, through]) is None
        payload = {"A": struct.pack("<I", 9), "B": struct.pack("<f", 2.5), "C": b""}[variant]
        assert direct[:4] == struct.pack("<I", index) and direct[4 : 4 + len(payload)] == payload
        assert through[: 4 + len(payload)] == direct[: 4 + len(payload)]


def test_option_of_a_wide_reference(host: Host) -> None:
    ty = host.ty
    slice_ref = ty.ref(ty.slice(ty.u16))
    enum = ty.option_of(slice_ref)
    b = BodyBuilder("k", args=[ty.ref(ty.u64, mut=True), ty.ref(ty.u64, mut=True), slice_ref], ret=ty.unit)
    some = b.let(enum, adt_of("core::option::Option", b.arg(2), variant="Some"))
    b.assign(deref(b.arg(0)), cast("IntToInt", b.let(ty.isize, discriminant(some)), ty.u64))
    none = b.let(enum, adt_of("core::option::Option", variant="None"))
    b.assign(deref(b.arg(1)), cast("IntToInt", b.let(ty.isize, discriminant(none)), ty.u64))
    b.return_()
    one, two = bytearray(8), bytearray(b"\xff" * 8)
    assert host.run(b.build(), args=[one, two, bytearray(6)]) is None
    assert (one, two) == (struct.pack("<Q", 1), bytes(8))


def test_switch_on_a_copy_of_an_enum(host: Host) -> None:
    """``match`` on a moved enum in an SSA local, through ``switchInt`` of its discriminant."""
    ty = host.ty
    enum = ty.enum("E", {"A": [], "B": [], "C": []}, tag_bits=8, discriminants=[3, 200, 7])
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), enum], ret=ty.unit)
    seen = b.let(ty.u8, discriminant(b.arg(1)))
    done = b.block()
    arms = {value: b.block() for value in (3, 200, 7)}
    dead = b.block()
    b.switch(seen, arms, dead)
    for value, block in arms.items():
        b.at(block).assign(deref(b.arg(0)), use(const(ty.u32, value * 2))).goto(done)
    b.at(dead).unreachable()
    b.at(done).return_()
    for value in (3, 200, 7):
        out = bytearray(4)
        assert host.run(b.build(), args=[out, value.to_bytes(1, "little")]) is None
        assert struct.unpack("<I", out)[0] == value * 2
