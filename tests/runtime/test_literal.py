"""Arguments of the command line: literals, arrays, .npy files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from mirgen.errors import InvalidInputError
from mirgen.runtime.abi import KernelSpec, Param
from mirgen.runtime.errors import ArgumentTypeError, ArgumentValueError, OutputError
from mirgen.runtime.literal import parse_argument, parse_array, parse_scalar
from mirgen.runtime.npyio import read_npy, write_npy
from mirgen.runtime.rust_types import RustType, rust_type


def ty(text: str) -> RustType:
    found = rust_type(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("rust", "text", "value"),
    [
        ("i32", "-5", -5), ("u32", "0xff_u32", 255), ("u8", "0b1010", 10), ("u64", "1_000", 1000), ("u16", "0o17", 15),
        ("i128", str(-(2**127)), -(2**127)), ("usize", "7usize", 7),
        ("f32", "2", 2.0), ("f32", "2.5", 2.5), ("f64", "1e-3_f64", 1e-3), ("f64", "-inf", -math.inf),
        ("f32", "1_0.5", 10.5), ("f16", ".5".replace(".", "0."), 0.5),
        ("bool", "true", True), ("bool", "false", False),
        ("char", "x", "x"), ("char", "'x'", "x"), ("char", r"'\n'", "\n"), ("char", r"'\u{e9}'", "é"),
        ("char", "'", "'"),
    ],
)  # fmt: skip
def test_scalars(rust: str, text: str, value: object) -> None:
    assert parse_scalar(ty(rust), text) == value


def test_nan() -> None:
    value = parse_scalar(ty("f32"), "NaN")
    assert isinstance(value, float) and math.isnan(value)


@pytest.mark.parametrize(
    ("rust", "text", "error", "message"),
    [
        ("u8", "256", ArgumentValueError, "out of range for `u8`"),
        ("u8", "-1", ArgumentValueError, "out of range"),
        ("u8", "1u16", ArgumentTypeError, "expected `u8`, found `u16`"),
        ("i32", "1.0", ArgumentTypeError, "expected `i32`, found '1.0'"),
        ("i32", "", ArgumentTypeError, "expected `i32`"),
        ("f32", "1e39", ArgumentValueError, "out of range"),
        ("f64", "1e999", ArgumentValueError, "out of range"),
        ("f32", "1f64", ArgumentTypeError, "found `f64`"),
        ("f32", "two", ArgumentTypeError, "expected `f32`"),
        ("bool", "1", ArgumentTypeError, "expected `bool`"),
        ("char", "xy", ArgumentTypeError, "expected `char`"),
        ("char", r"'\u{110000}'", ArgumentValueError, "no `char`"),
        ("char", r"'\u{d800}'", ArgumentValueError, "no `char`"),
    ],
)
def test_wrong_scalars(rust: str, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        parse_scalar(ty(rust), text)


@pytest.mark.parametrize(
    ("rust", "text", "values"),
    [
        ("f32", "zeros(3)", [0, 0, 0]),
        ("i32", "ones(2)", [1, 1]),
        ("bool", "ones(2)", [True, True]),
        ("u8", "full(3, 0x10)", [16, 16, 16]),
        ("f64", "arange(4)", [0, 1, 2, 3]),
        ("u16", "[1, 2, 3_000]", [1, 2, 3000]),
        ("f32", "[]", []),
        ("f32", "[0.5; 2]", [0.5, 0.5]),
        ("[u8; 2]", "[[1, 2], [3, 4]]", [1, 2, 3, 4]),
        ("[u8; 2]", "zeros(3)", [0] * 6),
    ],
)
def test_arrays(rust: str, text: str, values: list[Any]) -> None:
    array = parse_array(ty(rust), text)
    assert array.tolist() == values
    assert array.dtype == ty(rust).dtype
    assert array.flags.writeable


def test_random_arrays_repeat() -> None:
    one, same, other = (parse_array(ty("f32"), f"random(100, {seed})") for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert one.min() >= 0 and one.max() < 1
    assert parse_array(ty("u64"), "random(100)").max() > 2**60


@pytest.mark.parametrize(
    ("rust", "text", "message"),
    [
        ("f32", "zeros()", "takes 1 argument"),
        ("f32", "zeros(-1)", "no number of elements"),
        ("f32", "zeros(3, 4)", "takes 1 argument"),
        ("u8", "arange(300)", "299 is out of range"),
        ("u8", "[1, 256]", "out of range"),
        ("u8", "[1.5; 3]", "expected `u8`"),
        ("f32", "import(3)", "is no array"),
        ("char", "arange(3)", "makes no `char`"),
    ],
)
def test_wrong_arrays(rust: str, text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        parse_array(ty(rust), text)


def test_arguments(tmp_path: Path) -> None:
    kernel = KernelSpec("k", ())
    a = Param("a", "f32", "scalar", 0, 4, 4)
    m = Param("m", "[u32; 4]", "aggregate", 0, 16, 4)
    x = Param("x", "&[f32]", "slice", 0, 16, 8, "f32", 4)
    s = Param("s", "&str", "slice", 0, 16, 8, "u8", 1)
    w = Param("w", "Window", "aggregate", 0, 12, 4)
    assert parse_argument(kernel, a, " 2.0 ") == 2.0
    made = parse_argument(kernel, m, "[1, 2, 3, 4]")
    assert isinstance(made, np.ndarray)
    assert np.asarray(cast("Any", made)).shape == (4,)
    assert parse_argument(kernel, s, "hello") == "hello"
    np.save(tmp_path / "x.npy", np.arange(3, dtype=np.float32))
    loaded = parse_argument(kernel, x, "@x.npy", tmp_path)
    assert isinstance(loaded, np.ndarray) and loaded.tolist() == [0, 1, 2]
    with pytest.raises(ArgumentTypeError, match=r"can only be given as a file: w=@file\.npy"):
        parse_argument(kernel, w, "1")


def test_npy_files(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x.npy"
    write_npy(path, np.eye(3, dtype=">f8"))
    array = read_npy(path)
    assert array.dtype == np.float64 and array.flags.writeable and array.flags.c_contiguous
    np.testing.assert_array_equal(array, np.eye(3))
    assert [entry.name for entry in path.parent.iterdir()] == ["x.npy"]


def test_wrong_npy_files(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_npy(path)
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInputError, match=r"no \.npy file that can be read"):
        read_npy(path)
    np.save(path, np.arange(100))
    whole = path.read_bytes()
    for cut in (0, 3, 20, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(InvalidInputError):
            read_npy(path)
    path.write_bytes(whole + b"x")
    with pytest.raises(InvalidInputError, match="bytes after"):
        read_npy(path)
    with pytest.raises(InvalidInputError, match="Python objects is not written"):
        write_npy(path, np.array([{}], dtype=object))
    assert path.read_bytes() == whole + b"x"
    with pytest.raises(OutputError, match=r"below: cannot be written: (Not a directory|File exists)"):
        write_npy(path / "below", np.zeros(1))
