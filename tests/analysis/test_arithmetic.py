"""Operators on known numbers mean what MIR says."""

from __future__ import annotations

import struct

import pytest

from mirgen.analysis.arithmetic import Number, UndefinedError, binary, cast, unary, value, wrapped
from mirgen.mir.ty import BoolTy, CharTy, FloatTy, IntTy

U8, I8 = IntTy("u8", "c", 8, False), IntTy("i8", "c", 8, True)
U32, I64, U128 = IntTy("u32", "c", 32, False), IntTy("i64", "c", 64, True), IntTy("u128", "c", 128, False)
F32, F64 = FloatTy("f32", "c", 32), FloatTy("f64", "c", 64)
BOOL, CHAR = BoolTy("bool", "c"), CharTy("char", "c")


def single(number: float) -> int:
    return int.from_bytes(struct.pack("<f", number), "little")


def double(number: float) -> int:
    return int.from_bytes(struct.pack("<d", number), "little")


@pytest.mark.parametrize(
    ("op", "left", "right", "ty", "result"),
    [
        ("Add", 200, 100, U8, (44, True)),
        ("AddWithOverflow", 100, 28, I8, (128, True)),
        ("SubWithOverflow", 3, 4, U8, (255, True)),
        ("SubWithOverflow", 3, 4, I8, (255, False)),
        ("MulWithOverflow", 1 << 127, 2, U128, (0, True)),
        ("Div", 0xF9, 2, I8, (0xFD, False)),
        ("Rem", 0xF9, 2, I8, (0xFF, False)),
        ("Div", 0xF9, 2, U8, (124, False)),
        ("Shl", 1, 9, U8, (2, True)),
        ("Shr", 0x80, 1, I8, (0xC0, False)),
        ("Shr", 0x80, 1, U8, (0x40, False)),
        ("Lt", 0x80, 1, I8, (1, False)),
        ("Lt", 0x80, 1, U8, (0, False)),
        ("Cmp", 0x80, 1, I8, (0xFF, False)),
        ("BitXor", 1, 1, BOOL, (0, False)),
        ("Le", 0x61, 0x61, CHAR, (1, False)),
    ],
)
def test_integers(op: str, left: int, right: int, ty: Number, result: tuple[int, bool]) -> None:
    assert binary(op, left, right, ty, ty) == result


@pytest.mark.parametrize(
    ("op", "left", "right"),
    [
        ("Div", 1, 0),
        ("Rem", 1, 0),
        ("Div", 0x80, 0xFF),
        ("Rem", 0x80, 0xFF),
        ("AddUnchecked", 127, 1),
        ("ShlUnchecked", 1, 8),
        ("Offset", 1, 1),
    ],
)
def test_what_is_undefined_or_panics_has_no_result(op: str, left: int, right: int) -> None:
    with pytest.raises(UndefinedError):
        binary(op, left, right, I8, I8)


def test_floats() -> None:
    assert binary("Add", single(0.1), single(0.2), F32, F32)[0] == single(0.1 + 0.2)
    assert binary("Div", double(1.0), double(3.0), F64, F64)[0] == double(1.0 / 3.0)
    assert binary("Mul", single(3e38), single(10.0), F32, F32)[0] == single(float("inf"))
    assert binary("Lt", single(-1.0), single(0.0), F32, F32)[0] == 1
    assert unary("Neg", single(0.0), F32) == single(-0.0)
    with pytest.raises(UndefinedError, match="NaN"):
        binary("Div", single(0.0), single(0.0), F32, F32)
    with pytest.raises(UndefinedError):
        binary("Rem", single(5.0), single(3.0), F32, F32)


def test_casts() -> None:
    assert cast("IntToInt", 0x80, I8, U32) == 0xFFFFFF80
    assert cast("IntToInt", 0x80, U8, U32) == 0x80
    assert cast("IntToFloat", 0xFF, I8, F32) == single(-1.0)
    assert cast("IntToFloat", (1 << 53) + 1, I64, F64) == double(2.0**53)
    assert cast("FloatToInt", single(300.7), F32, U8) == 255
    assert cast("FloatToInt", single(-300.7), F32, I8) == 0x80
    assert cast("FloatToInt", single(float("nan")), F32, I8) == 0
    assert cast("FloatToInt", single(-1.9), F32, I8) == 0xFF
    assert cast("FloatToFloat", single(0.5), F32, F64) == double(0.5)
    with pytest.raises(UndefinedError, match="twice"):
        cast("IntToFloat", (1 << 53) + 1, I64, F32)
    with pytest.raises(UndefinedError):
        cast("PtrToPtr", 0, U8, U8)


def test_a_value_is_its_bits() -> None:
    assert [value(bits, I8) for bits in (0, 127, 128, 255)] == [0, 127, -128, -1]
    assert [wrapped(number, I8) for number in (-1, 128, 256)] == [255, 128, 0]
    assert unary("Not", 1, BOOL) == 0 and unary("Not", 1, U8) == 254 and unary("Neg", 1, U8) == 255
