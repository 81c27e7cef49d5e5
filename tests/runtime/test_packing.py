"""Arguments against Rust types, and the packed parameter block."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from mirgen.errors import InvalidInputError
from mirgen.runtime.abi import KernelSpec, Param
from mirgen.runtime.errors import ArgumentTypeError, ArgumentValueError
from mirgen.runtime.literal import parse_argument
from mirgen.runtime.packing import pack, pack_value
from mirgen.runtime.rust_types import rust_type


def slice_of(name: str, elem: str, size: int, offset: int = 0, *, kind: Any = "slice", mutable: bool = False) -> Param:
    text = f"Disjoint<'_, [{elem}]>" if kind == "disjoint" else f"&{'mut ' if mutable else ''}[{elem}]"
    return Param(name, text, kind, offset, 16, 8, elem, size, mutable)


def scalar(name: str, ty: str, size: int, offset: int = 0) -> Param:
    return Param(name, ty, "scalar", offset, size, size)


SAXPY = KernelSpec(
    "saxpy",
    (
        scalar("a", "f32", 4),
        slice_of("x", "f32", 4, 8),
        slice_of("y", "f32", 4, 24, kind="disjoint", mutable=True),
        Param("tile", "Shared<'_, [f32; 256]>", "shared", 40, 0, 1, "[f32; 256]", 1024, True),
    ),
    static_shared=1024,
)


def one(elem: str, size: int, value: object, **kwargs: Any) -> tuple[bytes, bool]:
    packed = pack(KernelSpec("k", (slice_of("x", elem, size, **kwargs),)), (value,))
    return packed.block, packed.arrays[0].writable


def test_saxpy_block() -> None:
    x, y = np.ones(5, np.float32), np.zeros(7, np.float32)
    packed = pack(SAXPY, (2, x, y))
    assert packed.block == struct.pack("<f4xQQQQ", 2.0, 0, 5, 0, 7)
    assert [(a.param, a.at, a.writable) for a in packed.arrays] == [("x", 8, False), ("y", 24, True)]
    assert packed.arrays[1].array is y
    assert pack(SAXPY, (2.0,), {"y": y, "x": x}).block == packed.block


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((1.0, np.ones(3, np.float32)), {}, "argument `y` is missing"),
        ((1.0, 2.0, 3.0, 4.0), {}, "takes 3 arguments, found 4"),
        ((1.0,), {"z": 1}, "no argument `z`"),
        ((1.0,), {"a": 1}, "`a` is given twice"),
    ],
)
def test_binding(args: tuple[object, ...], kwargs: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=message):
        pack(SAXPY, args, kwargs)


@pytest.mark.parametrize(
    ("ty", "size", "value", "data"),
    [
        ("i32", 4, -5, struct.pack("<i", -5)),
        ("u8", 1, 255, b"\xff"),
        ("u64", 8, 2**64 - 1, b"\xff" * 8),
        ("usize", 8, np.uint64(7), struct.pack("<Q", 7)),
        ("i128", 16, -1, b"\xff" * 16),
        ("u128", 16, 2**127, b"\0" * 15 + b"\x80"),
        ("f64", 8, 1.5, struct.pack("<d", 1.5)),
        ("f32", 4, 3, struct.pack("<f", 3)),
        ("f32", 4, float("inf"), struct.pack("<f", float("inf"))),
        ("f16", 2, 0.5, struct.pack("<e", 0.5)),
        ("f32", 4, np.float32(0.1), struct.pack("<f", 0.1)),
        ("bool", 1, True, b"\1"),
        ("bool", 1, np.bool_(False), b"\0"),
        ("char", 4, "é", struct.pack("<I", 0xE9)),
        ("core::num::NonZero<u16>", 2, 3, b"\3\0"),
        ("[u16; 3]", 6, [1, 2, 3], struct.pack("<3H", 1, 2, 3)),
        ("[[f32; 2]; 2]", 16, np.eye(2, dtype=np.float32), struct.pack("<4f", 1, 0, 0, 1)),
        ("Window", 12, b"x" * 12, b"x" * 12),
        ("Window", 12, np.zeros((), [("a", "f4"), ("b", "f8")]), bytes(12)),
    ],
)
def test_values(ty: str, size: int, value: object, data: bytes) -> None:
    assert pack_value(scalar("x", ty, size), value, "k") == data


@pytest.mark.parametrize(
    ("ty", "size", "value", "error", "message"),
    [
        ("i32", 4, 1.0, ArgumentTypeError, "expected `i32`, found a float"),
        ("i32", 4, True, ArgumentTypeError, "expected `i32`, found `bool`"),
        ("u8", 1, 256, ArgumentValueError, "256 is out of range for `u8`"),
        ("u32", 4, -1, ArgumentValueError, "-1 is out of range"),
        ("f32", 4, np.float64(1), ArgumentTypeError, "expected `f32`, found `f64`"),
        ("f32", 4, 1e39, ArgumentValueError, "out of range for `f32`"),
        ("f64", 8, 2**53 + 1, ArgumentValueError, "is no `f64`"),
        ("f32", 4, "1", ArgumentTypeError, "found a string"),
        ("bool", 1, 1, ArgumentTypeError, "expected `bool`, found an integer"),
        ("char", 4, "ab", ArgumentTypeError, "expected `char`"),
        ("char", 4, "\ud800", ArgumentValueError, "no `char`"),
        ("char", 4, np.uint32(0x110000), ArgumentValueError, "no `char`"),
        ("core::num::NonZero<u16>", 2, 0, ArgumentValueError, "0 is no"),
        ("[u16; 3]", 6, [1, 2], ArgumentValueError, r"expected `\[u16; 3\]`"),
        ("[u16; 3]", 6, np.zeros(3, np.int16), ArgumentTypeError, "found `i16` elements"),
        ("Window", 12, b"x" * 8, ArgumentValueError, "`Window` has 12 bytes, found 8"),
        ("Window", 12, 3, ArgumentTypeError, "pass bytes"),
        ("i32", 4, np.zeros(3, np.int32), ArgumentTypeError, "found an array"),
    ],
)
def test_wrong_values(ty: str, size: int, value: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        pack_value(scalar("x", ty, size), value, "k")
    assert isinstance(caught.value, InvalidInputError)


@pytest.mark.parametrize(
    ("elem", "size", "array", "count"),
    [
        ("u8", 1, np.zeros((3, 4), np.uint8), 12),
        ("[f32; 4]", 16, np.zeros((5, 4), np.float32), 5),
        ("[f32; 4]", 16, np.zeros(20, np.float32), 5),
        ("u128", 16, np.zeros((3, 2), np.uint64), 3),
        ("i128", 16, np.zeros(3, "V16"), 3),
        ("char", 4, np.array(["a", "é"]), 2),
        ("bool", 1, np.array([True, False]), 2),
        ("core::sync::atomic::AtomicU32", 4, np.zeros(2, np.uint32), 2),
        ("Point", 12, np.zeros(2, [("a", "f4"), ("b", "f8")]), 2),
        ("Point", 12, np.zeros(24, np.uint8), 2),
        ("f32", 4, np.zeros(0, np.float32), 0),
        ("u8", 1, b"abc", 3),
    ],
)
def test_slices(elem: str, size: int, array: Any, count: int) -> None:
    assert one(elem, size, array)[0] == struct.pack("<QQ", 0, count)


@pytest.mark.parametrize(
    ("elem", "size", "array", "error", "message"),
    [
        ("f32", 4, np.zeros(3), ArgumentTypeError, r"expected `&\[f32\]`, found `f64` elements"),
        ("f32", 4, [1.0, 2.0], ArgumentTypeError, "pass a numpy array"),
        ("f32", 4, np.zeros((4, 4), np.float32)[:, ::2], ArgumentValueError, "not contiguous"),
        ("f32", 4, np.zeros(3, ">f4"), ArgumentTypeError, "byte order"),
        ("[f32; 4]", 16, np.zeros(6, np.float32), ArgumentValueError, "24 bytes are not a multiple"),
        ("bool", 1, np.array([0, 2], np.uint8).view(np.bool_), ArgumentValueError, "above 1 is no `bool`"),
        ("char", 4, np.array([0xD800], np.uint32), ArgumentValueError, "0xd800 is no `char`"),
        ("Point", 12, np.zeros(3, np.float64), ArgumentTypeError, "elements of 12 bytes"),
        ("core::num::NonZero<u8>", 1, np.zeros(3, np.uint8), ArgumentValueError, "0 is no"),
    ],
)
def test_wrong_slices(elem: str, size: int, array: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        one(elem, size, array)


def test_what_may_be_written() -> None:
    array = np.zeros(4, np.uint32)
    frozen = array.view()
    frozen.flags.writeable = False
    assert one("u32", 4, array) == (struct.pack("<QQ", 0, 4), False)
    assert one("u32", 4, array, kind="disjoint", mutable=True)[1]
    assert one("AtomicU32", 4, array)[1]
    assert one("core::sync::atomic::Atomic<u32>", 4, array)[1]
    # A struct may hold cells; what numpy holds read-only stays so.
    assert one("Point", 4, array)[1]
    assert not one("Point", 4, frozen)[1]
    for elem, kwargs in (("AtomicU32", {}), ("u32", {"kind": "disjoint", "mutable": True})):
        with pytest.raises(ArgumentValueError, match="needs a writable array"):
            one(elem, 4, frozen, **kwargs)


def test_overlapping_arrays() -> None:
    array = np.zeros(10, np.float32)
    with pytest.raises(ArgumentValueError, match="`x` and `y` overlap in memory, and `y` is written"):
        pack(SAXPY, (1.0, array, array))
    with pytest.raises(ArgumentValueError, match="overlap"):
        pack(SAXPY, (1.0, array[:6], array[5:]))
    pack(SAXPY, (1.0, array[:5], array[5:]))
    two = KernelSpec("k", (slice_of("x", "f32", 4), slice_of("y", "f32", 4, 16)))
    pack(two, (array, array))


def test_references_and_raw_pointers() -> None:
    reference = KernelSpec("k", (Param("x", "&AtomicU64", "ref", 0, 8, 8, "AtomicU64", 8),))
    assert pack(reference, (np.zeros((), np.uint64),)).arrays[0].writable
    with pytest.raises(ArgumentValueError, match="is one value"):
        pack(reference, (np.zeros(2, np.uint64),))
    pointer = KernelSpec("k", (Param("x", "*mut f32", "ref", 0, 8, 8, "f32", 4, True),))
    assert pack(pointer, (np.zeros(9, np.float32),)).block == bytes(8)
    text = KernelSpec("k", (Param("s", "&str", "slice", 0, 16, 8, "u8", 1),))
    assert pack(text, ("né",)).block == struct.pack("<QQ", 0, 3)
    with pytest.raises(ArgumentValueError, match="UTF-8"):
        pack(text, (b"\xff",))


class OnDevice:
    def __init__(self, *, read_only: bool = False, strides: tuple[int, ...] | None = None) -> None:
        self.__cuda_array_interface__ = {
            "data": (0x7000, read_only), "shape": (6, 2), "typestr": "<f4", "strides": strides, "version": 3,
        }  # fmt: skip


def test_device_arrays() -> None:
    packed = pack(SAXPY, (1.0, OnDevice(read_only=True), np.zeros(3, np.float32)))
    assert packed.block[16:24] == struct.pack("<Q", 12)
    assert packed.arrays[0].nbytes == 48
    assert pack(SAXPY, (1.0, OnDevice(strides=(8, 4)), np.zeros(3, np.float32))).block == packed.block
    with pytest.raises(ArgumentValueError, match="contiguous"):
        pack(SAXPY, (1.0, OnDevice(strides=(16, 4)), np.zeros(3, np.float32)))
    with pytest.raises(ArgumentValueError, match="read-only"):
        pack(SAXPY, (1.0, np.zeros(3, np.float32), OnDevice(read_only=True)))
    with pytest.raises(ArgumentTypeError, match="expected `&\\[u8\\]`"):
        one("u8", 1, OnDevice())


@pytest.mark.parametrize(
    ("text", "size", "frozen"),
    [
        ("f32", 4, True),
        ("[[u8; 3]; 5]", 15, True),
        ("core::sync::atomic::AtomicUsize", 8, False),
        ("std::sync::atomic::AtomicBool", 1, False),
        ("core::cell::Cell<[i16; 2]>", 4, False),
        ("[core::sync::atomic::AtomicI64; 2]", 16, False),
        ("core::num::NonZero<i128>", 16, True),
    ],
)
def test_rust_types(text: str, size: int, frozen: bool) -> None:
    ty = rust_type(text)
    assert ty is not None
    assert (ty.size, ty.frozen) == (size, frozen)


@pytest.mark.parametrize("text", ["Point", "(u8, u16)", "core::option::Option<u8>", "&u8", "AtomicPtr<u8>", "f128"])
def test_types_with_a_size_only(text: str) -> None:
    assert rust_type(text) is None


@pytest.mark.parametrize("ty", ["()", "core::marker::PhantomData<u8>", "[u32; 0]", "Marker"])
def test_a_value_of_no_size(ty: str) -> None:
    kernel = KernelSpec("k", (Param("a", ty, "aggregate", 0, 0, 1), Param("b", "u32", "scalar", 0, 4, 4)))
    assert pack(kernel, [(), 7]).block == b"\x07\0\0\0" == pack(kernel, [b"", 7]).block
    assert parse_argument(kernel, kernel.params[0], "()") == ()
    for wrong in ((1,), b"x", 0, None):
        with pytest.raises((ArgumentTypeError, ArgumentValueError)):
            pack(kernel, [wrong, 7])
    with pytest.raises(ArgumentTypeError):
        pack(KernelSpec("k", (Param("a", "Pair", "aggregate", 0, 8, 4),)), [()])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("&'{erased} [f32]", "&[f32]"),
        ("&'{erased} mut [u8]", "&mut [u8]"),
        ("mirgen_device::Disjoint<'{erased}, [f32]>", "Disjoint<[f32]>"),
        ("mirgen_device::Disjoint<[f32], mirgen_device::space::Chunks<4>>", "Disjoint<[f32], Chunks<4>>"),
        ("&my_mirgen_device::Disjoint", "&my_mirgen_device::Disjoint"),
        ("View<'_>", "View"),
        ("[f32; 4]", "[f32; 4]"),
    ],
)
def test_types_as_users_write_them(text: str, shown: str) -> None:
    assert Param("x", text, "slice", 0, 16, 8).shown == shown
