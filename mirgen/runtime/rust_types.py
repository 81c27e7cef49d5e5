"""Rust types, by rustc's text, as numpy sees them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

#: A 128-bit integer, least significant word first.
WIDE: Final = np.dtype([("lo", "<u8"), ("hi", "<u8")])

_PRIMITIVES: Final[dict[str, np.dtype[Any]]] = {
    "u8": np.dtype(np.uint8), "u16": np.dtype(np.uint16), "u32": np.dtype(np.uint32), "u64": np.dtype(np.uint64),
    "usize": np.dtype(np.uint64), "i8": np.dtype(np.int8), "i16": np.dtype(np.int16), "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64), "isize": np.dtype(np.int64), "f16": np.dtype(np.float16), "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64), "bool": np.dtype(np.bool_), "char": np.dtype(np.uint32), "u128": WIDE, "i128": WIDE,
}  # fmt: skip

_ATOMIC = re.compile(r"^(?:(?:core|std)::sync::atomic::)?Atomic(?P<of>[A-Z]\w*)$")
_ATOMIC_GENERIC = re.compile(r"^(?:(?:core|std)::sync::atomic::)?Atomic<(?P<of>\w+)>$")
_CELL = re.compile(r"^(?:(?:core|std)::cell::)?(?:UnsafeCell|Cell)<(?P<of>.*)>$")
_NONZERO = re.compile(r"^(?:(?:core|std)::num::)?NonZero<(?P<of>\w+)>$")
_ARRAY = re.compile(r"^\[(?P<of>.*); (?P<count>\d+)(?:_usize|usize)?\]$")


@dataclass(frozen=True, slots=True)
class RustType:
    """``dtype`` holds one primitive and ``shape`` the extents of (nested) arrays of it.

    ``primitive`` is Rust's name, ``frozen`` whether nothing behind a shared reference to the type can change,
    ``nonzero`` whether zero is no value.
    """

    text: str
    primitive: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...] = ()
    frozen: bool = True
    nonzero: bool = False

    @property
    def count(self) -> int:
        """Primitives in one value."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def size(self) -> int:
        """Bytes of one value."""
        return self.dtype.itemsize * self.count

    @property
    def is_integer(self) -> bool:
        return self.primitive[0] in "iu"

    @property
    def is_float(self) -> bool:
        return self.primitive[0] == "f"

    @property
    def integer_range(self) -> tuple[int, int]:
        """Smallest and largest value of an integer type."""
        bits = self.dtype.itemsize * 8
        return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if self.primitive[0] == "i" else (0, (1 << bits) - 1)


def rust_type(text: str) -> RustType | None:
    """What numpy can hold of the type; ``None`` for structs, enums and everything else that has only a size."""
    text = text.strip()
    primitive = _PRIMITIVES.get(text)
    if primitive is not None:
        return RustType(text, text, primitive)
    match = _ARRAY.match(text)
    if match is not None:
        inner = rust_type(match["of"])
        if inner is None:
            return None
        shape = (int(match["count"]), *inner.shape)
        return RustType(text, inner.primitive, inner.dtype, shape, inner.frozen, inner.nonzero)
    match = _ATOMIC.match(text)
    if match is not None:
        name = match["of"].lower()
        return RustType(text, name, _PRIMITIVES[name], frozen=False) if name in _PRIMITIVES else None
    match = _ATOMIC_GENERIC.match(text) or _CELL.match(text)
    if match is not None:
        inner = rust_type(match["of"])
        return (
            None if inner is None else RustType(text, inner.primitive, inner.dtype, inner.shape, False, inner.nonzero)
        )
    match = _NONZERO.match(text)
    if match is not None:
        inner = rust_type(match["of"])
        return None if inner is None else RustType(text, inner.primitive, inner.dtype, inner.shape, inner.frozen, True)
    return None


def describe(dtype: np.dtype[Any]) -> str:
    """A numpy type in Rust's words where Rust has them: `f64`, else numpy's own name."""
    for name, known in _PRIMITIVES.items():
        if known == dtype and name not in ("usize", "isize", "char", "i128"):
            return f"`{name}`"
    return f"numpy's {dtype}"
