"""Rust types of the fixtures as numpy types, and their values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import numpy as np

from mirgen.runtime.rust_types import WIDE

#: The structs of a fixture by name: size, align and fields with their offsets, as rustc is expected to lay them out.
Structs: TypeAlias = Mapping[str, Mapping[str, Any]]

_PRIMITIVES: Final[dict[str, np.dtype[Any]]] = {
    **{f"{sign}{bits}": np.dtype(f"<{sign}{bits // 8}") for sign in "ui" for bits in (8, 16, 32, 64)},
    "u128": WIDE,
    "i128": WIDE,
    "usize": np.dtype("<u8"),
    "isize": np.dtype("<i8"),
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
    "bool": np.dtype("?"),
    "char": np.dtype("<u4"),
}


def dtype_of(text: str, structs: Structs) -> np.dtype[Any]:
    """The numpy type of a Rust type: a primitive, ``[T; N]`` or one of ``structs``.  Raises :class:`ValueError`."""
    if text in structs:
        struct = structs[text]
        fields: Sequence[Mapping[str, Any]] = struct["fields"]
        return np.dtype(
            cast(
                "Any",
                {
                    "names": [field["name"] for field in fields],
                    "formats": [dtype_of(field["type"], structs) for field in fields],
                    "offsets": [field["offset"] for field in fields],
                    "itemsize": struct["size"],
                },
            )
        )
    if text in _PRIMITIVES:
        return _PRIMITIVES[text]
    array = re.fullmatch(r"\[(.+); (\d+)\]", text)
    if array is None:
        raise ValueError(f"no type `{text}`")
    return np.dtype((dtype_of(array[1], structs), (int(array[2]),)))


def rust_value(value: object, dtype: np.dtype[Any]) -> object:
    """A value of a fixture in the form that numpy takes for ``dtype``: integers may be strings, structs are tables."""
    if dtype.subdtype is not None:
        element, _ = dtype.subdtype
        return [rust_value(item, element) for item in cast("Sequence[object]", value)]
    if dtype == WIDE:
        number = int(value, 0) if isinstance(value, str) else int(cast("int", value))
        return (number & (1 << 64) - 1, number >> 64 & (1 << 64) - 1)
    if dtype.fields is not None:
        table = cast("Mapping[str, object]", value)
        formats = {str(name): format_ for name, (format_, *_) in dtype.fields.items()}
        if set(table) != set(formats):
            raise ValueError(f"fields {sorted(table)}, not {sorted(formats)}")
        return tuple(rust_value(table[name], formats[name]) for name in dtype.names or ())
    return int(value, 0) if isinstance(value, str) else value
