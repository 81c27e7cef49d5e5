"""BinaryOp and UnaryOp: every operator on every type it exists for.  What each computes is tested in ``ops``."""

from __future__ import annotations

import struct

import pytest

from mirgen.errors import InternalError, UnsupportedError
from mirgen.mir import ty as t
from mirgen.mir.builder import binary, cast, const, unary, zst

from .conftest import Host
from .evaluate import evaluate

INTS = [f"{s}{n}" for n in (8, 16, 32, 64, 128, "size") for s in "iu"]


def named(host: Host, name: str) -> t.Ty:
    ty = {"bool": host.ty.bool, "char": host.ty.char, "f32": host.ty.f32, "f64": host.ty.f64}.get(name)
    return ty if ty is not None else host.ty.ints[name]


@pytest.mark.parametrize("name", INTS)
def test_integers(host: Host, name: str) -> None:
    ty = named(host, name)
    assert isinstance(ty, t.IntTy)
    bits, signed = ty.bits, ty.signed
    x, y = ((1 << (bits - 1)) + 5, 3)

    def value(v: int) -> int:
        return v - (1 << bits) if signed and v >> (bits - 1) else v

    def wrap(v: int) -> int:
        return v & ((1 << bits) - 1)

    def truncated(a: int, c: int) -> int:
        return abs(a) // abs(c) * (1 if (a < 0) == (c < 0) else -1)

    a, c = value(x), value(y)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    expected: dict[str, int] = {
        "Add": wrap(a + c), "Sub": wrap(a - c), "Mul": wrap(a * c), "Div": wrap(truncated(a, c)),
        "Rem": wrap(a - truncated(a, c) * c), "BitXor": x ^ y, "BitAnd": x & y, "BitOr": x | y,
        "AddUnchecked": wrap(a + c), "Shl": wrap(a << 3), "Shr": wrap(a >> 3), "ShlUnchecked": wrap(a << 3),
        "ShrUnchecked": wrap(a >> 3), "Eq": 0, "Ne": 1, "Lt": int(a < c), "Le": int(a <= c), "Gt": int(a > c),
        "Ge": int(a >= c), "Cmp": 255 if a < c else 1,
    }  # fmt: skip
    if not signed:
        expected["SubUnchecked"] = wrap(a - c)
    results = {
        op: host.ty.bool if op in ("Eq", "Ne", "Lt", "Le", "Gt", "Ge") else host.ty.i8 if op == "Cmp" else ty
        for op in expected
    }
    found = evaluate(
        host, [(ty, x), (ty, y)], lambda b, a: [(out, binary(op, a[0], a[1])) for op, out in results.items()]
    )
    assert dict(zip(results, found, strict=True)) == expected
    overflowing = {"AddWithOverflow": a + c, "SubWithOverflow": a - c, "MulWithOverflow": a * c}
    pair = host.ty.tuple(ty, host.ty.bool)
    found = evaluate(host, [(ty, x), (ty, y)], lambda b, a: [(pair, binary(op, a[0], a[1])) for op in overflowing])
    for got, exact in zip(found, overflowing.values(), strict=True):
        assert (got & ((1 << bits) - 1), got >> bits & 1) == (wrap(exact), int(not low <= exact <= high))
    found = evaluate(host, [(ty, x)], lambda b, a: [(ty, unary("Not", a[0]))])
    assert found == [wrap(~a)]
    if signed:
        assert evaluate(host, [(ty, x)], lambda b, a: [(ty, unary("Neg", a[0]))]) == [wrap(-a)]


def test_shift_amounts_of_other_types_wrap(host: Host) -> None:
    ty = host.ty
    found = evaluate(
        host, [(ty.u32, 0x80000001), (ty.i8, -1), (ty.u128, (1 << 100) + 33)],
        lambda b, a: [(ty.u32, binary("Shl", a[0], a[1])), (ty.u32, binary("Shr", a[0], a[2]))],
    )  # fmt: skip
    assert found == [0x80000000, 0x40000000]


def test_bool_and_char(host: Host) -> None:
    ty = host.ty
    ops = ("BitAnd", "BitOr", "BitXor", "Eq", "Ne", "Lt", "Le", "Gt", "Ge")
    for x, y in ((0, 0), (0, 1), (1, 0), (1, 1)):
        found = evaluate(host, [(ty.bool, x), (ty.bool, y)], lambda b, a: [(ty.bool, binary(op, *a)) for op in ops])
        compared = [x == y, x != y, x < y, x <= y, x > y, x >= y]
        assert found == [x & y, x | y, x ^ y, *map(int, compared)]
    found = evaluate(
        host, [(ty.char, 0x1F600), (ty.char, 0x41), (ty.bool, 1)],
        lambda b, a: [
            (ty.bool, binary("Gt", a[0], a[1])), (ty.i8, binary("Cmp", a[1], a[0])), (ty.bool, unary("Not", a[2])),
        ],
    )  # fmt: skip
    assert found == [1, 255, 0]


@pytest.mark.parametrize("bits", [32, 64])
def test_floats(host: Host, bits: int) -> None:
    ty = host.ty.f32 if bits == 32 else host.ty.f64
    code, raw = ("<f", "<I") if bits == 32 else ("<d", "<Q")

    def pattern(x: float) -> int:
        return struct.unpack(raw, struct.pack(code, x))[0]

    x, y = -7.5, 2.0
    ops = {"Add": x + y, "Sub": x - y, "Mul": x * y, "Div": x / y, "Rem": -1.5}
    found = evaluate(
        host, [(ty, pattern(x)), (ty, pattern(y))],
        lambda b, a: [*((ty, binary(op, *a)) for op in ops), (ty, unary("Neg", a[0]))],
    )  # fmt: skip
    assert found == [*map(pattern, ops.values()), pattern(7.5)]
    nan = pattern(float("nan"))
    comparisons = ("Eq", "Ne", "Lt", "Le", "Gt", "Ge")
    for left, right, expected in (
        (pattern(x), pattern(y), [0, 1, 1, 1, 0, 0]), (pattern(0.0), pattern(-0.0), [1, 0, 0, 1, 0, 1]),
        (nan, nan, [0, 1, 0, 0, 0, 0]), (nan, pattern(y), [0, 1, 0, 0, 0, 0]),
    ):  # fmt: skip
        found = evaluate(
            host, [(ty, left), (ty, right)], lambda b, a: [(host.ty.bool, binary(op, *a)) for op in comparisons]
        )
        assert found == expected


def test_pointers(host: Host) -> None:
    ty = host.ty
    ptr = ty.ptr(ty.u32)
    comparisons = ("Eq", "Ne", "Lt", "Le", "Gt", "Ge")

    low, high = 0x1000, 0xFFFF_FFFF_FFFF_F000
    found = evaluate(
        host, [(ty.usize, low), (ty.usize, high)],
        lambda b, a: [
            *(
                (ty.bool, binary(
                    op, b.let(ptr, cast("PointerWithExposedProvenance", a[0], ptr)),
                    b.let(ptr, cast("PointerWithExposedProvenance", a[1], ptr)),
                ))
                for op in comparisons
            ),
        ],
    )  # fmt: skip
    assert found == [0, 1, 1, 1, 0, 0], "addresses are unsigned"
    found = evaluate(
        host, [(ty.usize, low), (ty.isize, -2), (ty.usize, 3)],
        lambda b, a: [
            (ptr, binary("Offset", b.let(ptr, cast("PointerWithExposedProvenance", a[0], ptr)), a[1])),
            (ptr, binary("Offset", b.let(ptr, cast("PointerWithExposedProvenance", a[0], ptr)), a[2])),
        ],
    )  # fmt: skip
    assert found == [low - 8, low + 12]


def test_units_are_equal(host: Host) -> None:
    ty = host.ty
    ops = ("Eq", "Ne", "Lt", "Le", "Gt", "Ge")
    found = evaluate(host, [], lambda b, a: [(ty.bool, binary(op, zst(ty.unit), zst(ty.unit))) for op in ops])
    assert found == [1, 0, 0, 1, 0, 1]


def test_what_no_gpu_has_is_refused(host: Host) -> None:
    ty = host.ty
    with pytest.raises(UnsupportedError, match="f128"):
        evaluate(host, [], lambda b, a: [(ty.bool, binary("Eq", const(ty.f128, 0), const(ty.f128, 0)))])
    with pytest.raises(InternalError, match="Shl"):
        evaluate(host, [(ty.bool, 1)], lambda b, a: [(ty.bool, binary("Shl", a[0], a[0]))])
    with pytest.raises(InternalError, match="Neg"):
        evaluate(host, [(ty.u32, 1)], lambda b, a: [(ty.u32, unary("Neg", a[0]))])
