"""Intrinsics on integers against Python's; the operations behind them are tested at every edge in ``lower/ops``."""

from __future__ import annotations

import itertools

import pytest

from mirgen.mir import ty as t
from mirgen.testing.consumers import device_ptx

from .conftest import Calls, signed

INTS = [f"{s}{n}" for n in (8, 16, 32, 64, 128, "size") for s in "iu"]


def bits_of(ty: t.Ty) -> tuple[int, bool]:
    assert isinstance(ty, t.IntTy)
    return ty.bits, ty.signed


@pytest.mark.parametrize("name", INTS)
def test_bits(call: Calls, name: str) -> None:
    ty, u32 = call.ty.ints[name], call.ty.u32
    bits, _ = bits_of(ty)
    for x in (0, 1, 1 << (bits - 1), 0b1011 << (bits // 2 - 2), (1 << bits) - 1):
        args = [(ty, x)]
        call.expect(f"ctpop::<{name}>", args, u32, x.bit_count())
        call.expect(f"ctlz::<{name}>", args, u32, bits - x.bit_length())
        call.expect(f"cttz::<{name}>", args, u32, (x & -x).bit_length() - 1 if x else bits)
        call.expect(f"bswap::<{name}>", args, ty, int.from_bytes(x.to_bytes(bits // 8, "little"), "big"))
        call.expect(f"bitreverse::<{name}>", args, ty, int(f"{x:0{bits}b}"[::-1], 2))
        if x:
            call.expect(f"ctlz_nonzero::<{name}>", args, u32, bits - x.bit_length())
            call.expect(f"cttz_nonzero::<{name}>", args, u32, (x & -x).bit_length() - 1)
    call.check()


@pytest.mark.parametrize("name", INTS)
def test_rotations(call: Calls, name: str) -> None:
    ty, u32 = call.ty.ints[name], call.ty.u32
    bits, _ = bits_of(ty)
    mask = (1 << bits) - 1
    x, other = (1 << (bits - 1)) | 0x2D, 0x1B
    for by in (0, 1, bits - 1, bits + 3):
        n = by % bits
        call.expect(f"rotate_left::<{name}>", [(ty, x), (u32, by)], ty, ((x << n) | (x >> (bits - n))) & mask)
        call.expect(f"rotate_right::<{name}>", [(ty, x), (u32, by)], ty, ((x >> n) | (x << (bits - n))) & mask)
    for by in (0, 5):
        args = [(ty, x), (ty, other), (u32, by)]
        both = x << bits | other
        call.expect(f"unchecked_funnel_shl::<{name}>", args, ty, (both << by) >> bits & mask)
        call.expect(f"unchecked_funnel_shr::<{name}>", args, ty, (both >> by) & mask)
    call.check()


@pytest.mark.parametrize("name", INTS)
def test_arithmetic(call: Calls, name: str) -> None:
    ty = call.ty.ints[name]
    bits, is_signed = bits_of(ty)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    mask = (1 << bits) - 1
    for x, y in itertools.product((low, high, 6), (high, low, 3)):
        args = [(ty, x & mask), (ty, y & mask)]
        call.expect(f"saturating_add::<{name}>", args, ty, max(low, min(high, x + y)) & mask)
        call.expect(f"saturating_sub::<{name}>", args, ty, max(low, min(high, x - y)) & mask)
        call.expect(f"wrapping_mul::<{name}>", args, ty, (x * y) & mask)
        call.expect(f"wrapping_add::<{name}>", args, ty, (x + y) & mask)
        pair = call.ty.tuple(ty, call.ty.bool)
        both = (x * y) & mask | int(not low <= x * y <= high) << bits
        call.expect(f"mul_with_overflow::<{name}>", args, pair, both)
    args = [(ty, 42), (ty, 7)]
    for op, expected in (
        ("exact_div", 6), ("unchecked_div", 6), ("unchecked_rem", 0), ("unchecked_add", 49), ("unchecked_sub", 35),
        ("unchecked_shr", 0), ("disjoint_bitor", 47), ("wrapping_sub", 35),
    ):  # fmt: skip
        call.expect(f"{op}::<{name}>", args, ty, expected)
    call.expect(f"unchecked_mul::<{name}>", [(ty, 6), (ty, 7)], ty, 42)
    call.expect(f"unchecked_shl::<{name}, u32>", [(ty, 3), (call.ty.u32, 2)], ty, 12)
    call.expect(f"three_way_compare::<{name}>", [(ty, low & mask), (ty, high)], call.ty.i8, 255)
    call.check()


@pytest.mark.parametrize("name", INTS)
def test_wide_multiplication(call: Calls, name: str) -> None:
    ty = call.ty.ints[name]
    bits, is_signed = bits_of(ty)
    mask = (1 << bits) - 1
    pair = call.ty.tuple(ty, ty)
    ends = (mask, 1 << (bits - 1), (1 << (bits - 1)) - 1, 5)
    for x, y in itertools.product(ends, repeat=2):
        for c, d in ((mask, mask), (0, 1 << (bits - 1))):
            a = [signed(v, bits) if is_signed else v for v in (x, y, c, d)]
            exact = a[0] * a[1] + a[2] + a[3]
            args = [(ty, v) for v in (x, y, c, d)]
            call.expect(f"carrying_mul_add::<{name}, u{bits}>", args, pair, exact & ((1 << 2 * bits) - 1))
    call.check()


def test_carryless_multiplication(call: Calls) -> None:
    ty = call.ty.u32
    x, y = 0x12345, 0x6789
    expected = 0
    for n in range(32):
        expected ^= (x << n) & 0xFFFFFFFF if y >> n & 1 else 0
    call.expect("carryless_mul::<u32>", [(ty, x), (ty, y)], ty, expected)
    call.check()


@pytest.mark.cuda
@pytest.mark.slow
def test_every_device_consumer_takes_them(call: Calls) -> None:
    u32 = call.ty.u32
    for name in INTS:
        ty = call.ty.ints[name]
        for op in ("ctpop", "ctlz", "cttz"):
            call.bodies.append(call.body(f"core::intrinsics::{op}::<{name}>", [ty], u32, f"k{len(call.bodies)}"))
        for op in ("bswap", "bitreverse"):
            call.bodies.append(call.body(f"core::intrinsics::{op}::<{name}>", [ty], ty, f"k{len(call.bodies)}"))
        for op in ("saturating_add", "exact_div", "unchecked_rem", "rotate_left", "unchecked_shl"):
            by = u32 if op in ("rotate_left", "unchecked_shl") else ty
            call.bodies.append(call.body(f"core::intrinsics::{op}::<{name}>", [ty, by], ty, f"k{len(call.bodies)}"))
        pair = call.ty.tuple(ty, ty)
        path = f"core::intrinsics::carrying_mul_add::<{name}, {name}>"
        call.bodies.append(call.body(path, [ty] * 4, pair, f"k{len(call.bodies)}"))
    text, names = call.device_text()
    assert all(ptx.count(".entry") == len(names) for ptx in device_ptx(text, names).values())
