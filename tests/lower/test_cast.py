"""Casts: every CastKind, and the refusals.  What number conversions compute is tested in ``ops``."""

from __future__ import annotations

import itertools
import struct

import pytest

from mirgen.errors import UnsupportedError
from mirgen.mir import place as p
from mirgen.mir import ty as t
from mirgen.mir.body import MemoryAlloc
from mirgen.mir.builder import BodyBuilder, binary, cast, deref, unary, zst

from .conftest import Host
from .evaluate import Result, evaluate

INTS = [f"{s}{n}" for n in (8, 16, 32, 64, 128, "size") for s in "iu"]


def width(ty: t.Ty) -> tuple[int, bool]:
    assert isinstance(ty, t.IntTy)
    return ty.bits, ty.signed


def f32(x: float) -> int:
    return struct.unpack("<I", struct.pack("<f", x))[0]


def f64(x: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def pointer_from(b: BodyBuilder, address: p.Place, ty: t.Ty) -> p.Place:
    return b.let(ty, cast("PointerWithExposedProvenance", address, ty))


@pytest.mark.parametrize("name", INTS)
def test_int_to_int(host: Host, name: str) -> None:
    source = host.ty.ints[name]
    bits, signed = width(source)
    targets = [host.ty.ints[other] for other in INTS]
    for pattern in (1 << (bits - 1), (1 << bits) - 2, 0x5A):
        value = pattern - (1 << bits) if signed and pattern >> (bits - 1) else pattern
        found = evaluate(host, [(source, pattern)], lambda b, a: [(ty, cast("IntToInt", a[0], ty)) for ty in targets])
        assert found == [value & ((1 << width(ty)[0]) - 1) for ty in targets]


def test_bool_and_char_to_int(host: Host) -> None:
    ty = host.ty
    found = evaluate(
        host, [(ty.bool, 1), (ty.char, 0x10FFFF), (ty.u8, 0xE9)],
        lambda b, a: [
            (ty.i8, cast("IntToInt", a[0], ty.i8)), (ty.u128, cast("IntToInt", a[0], ty.u128)),
            (ty.u32, cast("IntToInt", a[1], ty.u32)), (ty.i16, cast("IntToInt", a[1], ty.i16)),
            (ty.char, cast("IntToInt", a[2], ty.char)),
        ],
    )  # fmt: skip
    assert found == [1, 1, 0x10FFFF, 0xFFFF, 0xE9]


def test_numbers(host: Host) -> None:
    ty = host.ty
    found = evaluate(
        host, [(ty.f64, f64(-1e30)), (ty.f32, f32(2.75)), (ty.i128, (1 << 128) - 3), (ty.u64, (1 << 64) - 1)],
        lambda b, a: [
            (ty.i32, cast("FloatToInt", a[0], ty.i32)), (ty.u8, cast("FloatToInt", a[0], ty.u8)),
            (ty.i128, cast("FloatToInt", a[0], ty.i128)), (ty.u16, cast("FloatToInt", a[1], ty.u16)),
            (ty.f64, cast("IntToFloat", a[2], ty.f64)), (ty.f32, cast("IntToFloat", a[3], ty.f32)),
            (ty.f32, cast("FloatToFloat", a[0], ty.f32)), (ty.f64, cast("FloatToFloat", a[1], ty.f64)),
            (ty.f32, cast("FloatToFloat", a[1], ty.f32)),
        ],
    )  # fmt: skip
    expected = [1 << 31, 0, int(-1e30) & ((1 << 128) - 1), 2, f64(-3.0), f32(2.0**64), f32(-1e30), f64(2.75), f32(2.75)]
    assert found == expected


def test_pointers(host: Host) -> None:
    ty = host.ty
    thin, raw, array = ty.ptr(ty.u8), ty.ptr(ty.u64, mut=True), ty.ptr(ty.array(ty.u8, 4))
    address = 0xDEAD_BEE8
    found = evaluate(
        host, [(ty.usize, address)],
        lambda b, a: [
            (ty.usize, cast("PointerExposeProvenance", pointer_from(b, a[0], thin), ty.usize)),
            (thin, cast("PtrToPtr", pointer_from(b, a[0], raw), thin)),
            (thin, cast("PointerCoercion(MutToConstPointer, Implicit)", pointer_from(b, a[0], raw), thin)),
            (thin, cast("PointerCoercion(ArrayToPointer, AsCast)", pointer_from(b, a[0], array), thin)),
        ],
    )  # fmt: skip
    assert found == [address] * 4


def test_arrays_become_slices(host: Host) -> None:
    ty = host.ty
    elements = ty.array(ty.u16, 3)
    reference, slice_ = ty.ref(elements), ty.ref(ty.slice(ty.u16))
    b = BodyBuilder("k", args=[reference, ty.ref(ty.usize, mut=True), ty.ref(ty.u16, mut=True)], ret=ty.unit)
    made = b.let(slice_, cast("PointerCoercion(Unsize, Implicit)", b.arg(0), slice_))
    b.assign(deref(b.arg(1)), unary("PtrMetadata", made))
    wide = ty.ptr(ty.slice(ty.u16))
    thin = b.let(ty.ptr(ty.u16), cast("PtrToPtr", b.let(wide, cast("PtrToPtr", made, wide)), ty.ptr(ty.u16)))
    b.assign(deref(b.arg(2)), p.Copy(deref(thin)))
    b.return_()
    count, first = bytearray(8), bytearray(2)
    assert host.run(b.build(), args=[bytearray(b"\x01\x02\x03\x04\x05\x06"), count, first]) is None
    assert (count[0], bytes(first)) == (3, b"\x01\x02")


SCALARS = ("u32", "i32", "f32", "char", "bytes", "pair")


@pytest.mark.parametrize(("source", "target"), list(itertools.product(SCALARS, repeat=2)))
def test_transmute_keeps_the_bytes(host: Host, source: str, target: str) -> None:
    """Scalars, pairs and memory of four bytes, each as each."""
    ty = host.ty
    types = {
        "u32": ty.u32, "i32": ty.i32, "f32": ty.f32, "char": ty.char, "bytes": ty.array(ty.u8, 4),
        "pair": ty.tuple(ty.u16, ty.u16),
    }  # fmt: skip
    pattern = 0x0001_F600

    def results(b: BodyBuilder, a: list[p.Place]) -> list[Result]:
        between = b.let(types[source], cast("Transmute", a[0], types[source]))
        return [(types[target], cast("Transmute", between, types[target]))]

    assert evaluate(host, [(ty.u32, pattern)], results) == [pattern]


def test_transmute_of_words_and_pointers(host: Host) -> None:
    ty = host.ty
    ptr, wide = ty.ptr(ty.u8), ty.ptr(ty.slice(ty.u8))
    value = (77 << 64) | 0xDEAD_BEEF
    found = evaluate(
        host, [(ty.u64, 0xDEAD_BEEF), (ty.u128, value), (ty.u8, 1)],
        lambda b, a: [
            (ptr, cast("Transmute", a[0], ptr)), (ty.f64, cast("Transmute", a[0], ty.f64)),
            (wide, cast("Transmute", a[1], wide)), (ty.array(ty.u64, 2), cast("Transmute", a[1], ty.array(ty.u64, 2))),
            (ty.u128, cast("Transmute", b.let(wide, cast("Transmute", a[1], wide)), ty.u128)),
            (ty.bool, cast("Transmute", a[2], ty.bool)),
            (ty.u8, cast("Transmute", b.let(ty.bool, cast("Transmute", a[2], ty.bool)), ty.u8)),
            (ty.usize, unary("PtrMetadata", b.let(wide, cast("Transmute", a[1], wide)))),
        ],
    )  # fmt: skip
    assert found == [0xDEAD_BEEF, 0xDEAD_BEEF, value, value, value, 1, 1, 77]


def test_functions_become_pointers(host: Host) -> None:
    ty = host.ty
    double = BodyBuilder("double", args=[ty.u32], ret=ty.u32)
    double.assign(double.ret, binary("Add", double.arg(0), double.arg(0)))
    double.return_()
    item, pointer = ty.fn_def("double", [ty.u32], ty.u32), ty.fn_ptr([ty.u32], ty.u32)
    b = BodyBuilder("k", args=[ty.u32, ty.ref(ty.u32, mut=True)], ret=ty.unit)
    made = b.let(pointer, cast("PointerCoercion(ReifyFnPointer(Safe), Implicit)", zst(item), pointer))
    unsafe = b.let(pointer, cast("PointerCoercion(UnsafeFnPointer, Implicit)", made, pointer))
    raw = b.let(ty.ptr(ty.unit), cast("FnPtrToPtr", unsafe, ty.ptr(ty.unit)))
    back = b.let(pointer, cast("Transmute", raw, pointer))
    b.call(deref(b.arg(1)), back, b.arg(0))
    b.return_()
    out = bytearray(4)
    assert host.run(b.build(), double.build(), args=[21, out]) is None
    assert int.from_bytes(out, "little") == 42


def test_refusals(host: Host) -> None:
    ty = host.ty
    for kind, source, target, words in (
        ("PointerCoercion(Unsize, Implicit)", ty.ref(ty.u8), ty.ref(ty.slice(ty.u8)), "unsizing"),
        ("IntToFloat", ty.usize, ty.f128, "f128"),
        ("PointerCoercion(Novel, Implicit)", ty.ref(ty.u8), ty.ref(ty.u8), "Novel"),
        ("Novel", ty.u8, ty.u8, "`Novel`"),
    ):
        b = BodyBuilder("k", args=[source, ty.ref(target, mut=True)], ret=ty.unit)
        b.line(12)
        b.assign(deref(b.arg(1)), cast(kind, b.arg(0), target))
        b.return_()
        with pytest.raises(UnsupportedError, match=words) as caught:
            host.lower(b.build())
        location = caught.value.diagnostics[0].location
        assert location is not None
        assert location.line == 12


def test_a_trait_object_in_a_message_is_no_obstacle(host: Host) -> None:
    """``Result::unwrap`` hands ``&dyn Debug`` to a function that never returns."""
    ty = host.ty
    dyn = ty.ref(ty.dyn("Debug"))
    fails = ty.fn_def("core::result::unwrap_failed", [ty.ref(ty.str), dyn], ty.never)
    b = BodyBuilder("k", args=[ty.bool, ty.ref(ty.u8)], ret=ty.unit)
    bad, good = b.block(), b.block()
    b.switch(b.arg(0), {0: good}, bad)
    b.at(bad)
    error = b.let(dyn, cast("PointerCoercion(Unsize, Implicit)", b.arg(1), dyn))
    text = b.let(ty.ref(ty.str), p.Constant(p.SliceConst(ty.ref(ty.str), 1, 3)))
    b.call(b.local(ty.never), fails, text, error, target=None)
    b.at(good).return_()
    allocs = {1: MemoryAlloc(None, 1, b"bad", (), ())}
    assert host.run(b.build(), args=[0, bytearray(1)], allocs=allocs) is None
    panicked = host.run(b.build(), args=[1, bytearray(1)], allocs=allocs)
    assert panicked is not None
    assert panicked.site.message == "bad: {:?}"
