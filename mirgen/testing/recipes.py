"""Recipes for the inputs of fixtures: the same bytes from the same recipe, on every machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mirgen.testing.rust_dtypes import WIDE, rust_value

Recipe: TypeAlias = Callable[[np.random.Generator, Mapping[str, Any], np.dtype[Any], int], NDArray[Any]]


def fill(rng: np.random.Generator, recipe: Mapping[str, Any], dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """``length`` elements of ``dtype``.  Raises :class:`ValueError` if there is no such recipe."""
    kind = recipe["kind"]
    if kind not in _RECIPES:
        raise ValueError(f"no recipe `{kind}`")
    if dtype.subdtype is not None:
        element, shape = dtype.subdtype
        if kind == "values":
            return _values(rng, recipe, dtype, length)
        return fill(rng, recipe, element, length * int(np.prod(shape))).reshape(length, *shape)
    return _RECIPES[kind](rng, recipe, dtype, length)


def one_value(value: object, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array of one element: the given value of a fixture."""
    array = np.zeros(1, dtype)
    array[0] = rust_value(value, dtype)
    return array


def from_bytes(data: bytes, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A writable array of these bytes, the padding of structs included, which numpy's own copies leave undefined."""
    element, shape = dtype.subdtype or (dtype, ())
    return np.frombuffer(bytearray(data), np.uint8).view(element).reshape(-1, *shape)


def _zero(_rng: np.random.Generator, _recipe: Mapping[str, Any], dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    return np.zeros(length, dtype)


def _index(_rng: np.random.Generator, _recipe: Mapping[str, Any], dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    return np.arange(length).astype(dtype)


def _bits(rng: np.random.Generator, _recipe: Mapping[str, Any], dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """Any bit pattern; the padding of structs is zero."""
    if dtype.names is not None and dtype != WIDE:
        struct = np.zeros(length, dtype)
        for name in dtype.names:
            struct[name] = _bits(rng, {}, struct[name].dtype, length)
        return struct
    return from_bytes(rng.bytes(length * dtype.itemsize), dtype)


def _uniform(rng: np.random.Generator, recipe: Mapping[str, Any], dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """Evenly from ``low`` to ``high``; both included where they are integers."""
    low, high = recipe["low"], recipe["high"]
    if dtype.kind == "f":
        return rng.uniform(low, high, length).astype(dtype)
    return rng.integers(low, high, length, dtype=dtype.type, endpoint=True)


def _sorted(rng: np.random.Generator, recipe: Mapping[str, Any], dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    return np.sort(_uniform(rng, recipe, dtype, length))


def _normal(rng: np.random.Generator, _recipe: Mapping[str, Any], dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    return rng.standard_normal(length).astype(dtype)


def _special(rng: np.random.Generator, _recipe: Mapping[str, Any], dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """The values at the edges of a type, and some of any size between them."""
    values = _bits(rng, {}, dtype, length)
    if dtype == WIDE:
        edges = np.array([(0, 0), (1, 0), (2**64 - 1,) * 2, (0, 2**63), (2**64 - 1, 2**63 - 1), (3, 0), (0, 1)], dtype)
    elif dtype.kind == "f":
        info = np.finfo(dtype)
        values = (rng.standard_normal(length) * 10.0 ** rng.integers(-6, 9, length)).astype(dtype)
        plain = [
            0.0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            1.0,
            -1.0,
            0.5,
            1.5,
            2.5,
            -2.5,
            255.0,
            256.0,
            -129.0,
            3.0,
            1e10,
            -1e10,
        ]
        limits = [info.tiny, info.max, -info.max, info.smallest_subnormal, 4.2949673e9, 2.0**31, -(2.0**31), 2.0**63]
        edges = np.array([*plain, *limits]).astype(dtype)
        # One NaN: the others have no bits that all machines agree on.
        edges[4] = np.frombuffer(b"\0\0\xc0\x7f" if dtype.itemsize == 4 else b"\0\0\0\0\0\0\xf8\x7f", dtype)[0]
    else:
        info = np.iinfo(dtype)
        edges = np.array([0, 1, info.max, info.min, info.max - 1, info.min + 1, 2, 3, 7, 10], dtype)
        small = rng.integers(0, 100, length).astype(dtype)
        values = np.where(rng.random(length) < 0.4, small, values)
    at = rng.random(length) < 0.4
    values[at] = edges[rng.integers(0, len(edges), int(at.sum()))]
    return values


def _finite(rng: np.random.Generator, _recipe: Mapping[str, Any], dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """As special, without infinities and NaN: a result that is NaN has no bits that all machines agree on."""
    return np.nan_to_num(_special(rng, {}, dtype, length), nan=7.25)


def _values(_rng: np.random.Generator, recipe: Mapping[str, Any], dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """The values that the recipe lists, again and again."""
    listed = [one_value(value, dtype).tobytes() for value in recipe["values"]]
    return from_bytes(b"".join(listed[at % len(listed)] for at in range(length)), dtype)


def _chars(rng: np.random.Generator, _recipe: Mapping[str, Any], dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """Characters, most of them near the one that the fixture compares with."""
    return np.array([ord(c) for c in rng.choice(list("aèéêz€😀"), length)], dtype)


def _rows(length: int, row: int, text: Callable[[], bytes]) -> NDArray[Any]:
    """Texts, each with its length in front, filled with zeroes to ``row`` bytes."""
    rows = [bytes([len(data)]) + data for data in (text() for _ in range(length // row))]
    return np.frombuffer(b"".join(data.ljust(row, b"\0") for data in rows).ljust(length, b"\0"), np.uint8).copy()


def _random_text(rng: np.random.Generator, limit: int) -> bytes:
    text = "".join(rng.choice(list("0123456789 abcXYZ+-é€😀ß"), int(rng.integers(0, limit))))
    data = text.encode()[:limit]
    return data.decode(errors="ignore").encode()


def _text(rng: np.random.Generator, recipe: Mapping[str, Any], _dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    row = recipe["row"]
    return _rows(length, row, lambda: _random_text(rng, row - 1))


def _integers(rng: np.random.Generator, recipe: Mapping[str, Any], _dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """Texts that are integers of 32 bits, or nearly so."""
    odd = [
        b"",
        b"+",
        b"-",
        b"+7",
        b"-7",
        b"4294967295",
        b"4294967296",
        b"99999999999",
        b"12a",
        b" 1",
        b"007",
        "\u0661".encode(),
    ]

    def one() -> bytes:
        return odd[rng.integers(0, len(odd))] if rng.random() < 0.5 else str(rng.integers(0, 1 << 32)).encode()

    return _rows(length, recipe["row"], one)


def _decimals(rng: np.random.Generator, recipe: Mapping[str, Any], _dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """Texts that are floats, or nearly so."""
    odd = [
        "",
        ".",
        "e5",
        "1e",
        "inf",
        "-inf",
        "NaN",
        "1e400",
        "1e-60",
        "-0",
        "3.",
        ".5",
        "1_0",
        "16777217",
        "1.17549435e-38",
    ]

    def one() -> bytes:
        number = f"{rng.standard_normal() * 10.0 ** rng.integers(-30, 30):.{rng.integers(1, 12)}g}"
        return (odd[rng.integers(0, len(odd))] if rng.random() < 0.4 else number).encode()

    return _rows(length, recipe["row"], one)


def _utf8(rng: np.random.Generator, recipe: Mapping[str, Any], _dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """Rows of exactly ``row`` bytes: half of them UTF-8, the others with a byte changed."""
    row = recipe["row"]

    def one() -> bytes:
        data = bytearray(_random_text(rng, row).ljust(row, b"."))
        if rng.random() < 0.5:
            data[rng.integers(0, row)] ^= int(rng.integers(1, 256))
        return bytes(data)

    data = b"".join(one() for _ in range(length // row)).ljust(length, b".")
    return np.frombuffer(data, np.uint8).copy()


_RECIPES: Final[dict[str, Recipe]] = {
    "zero": _zero,
    "index": _index,
    "bits": _bits,
    "uniform": _uniform,
    "sorted": _sorted,
    "normal": _normal,
    "special": _special,
    "finite": _finite,
    "values": _values,
    "chars": _chars,
    "text": _text,
    "integers": _integers,
    "decimals": _decimals,
    "utf8": _utf8,
}
