"""Arrays in files: numpy's ``.npy``, never with pickled objects."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirgen.errors import InvalidInputError
from mirgen.runtime.errors import OutputError


def read_npy(path: Path) -> NDArray[Any]:
    """The array in ``path``, writable and in this machine's byte order.

    Raises :class:`InvalidInputError`: no such file, no ``.npy`` file, cut off, or one that holds Python objects.
    """
    try:
        with path.open("rb") as file:
            array = np.lib.format.read_array(file, allow_pickle=False)
            if file.read(1):
                raise InvalidInputError("has bytes after its array", str(path))
    except OSError as error:
        raise InvalidInputError(f"cannot be read: {error.strerror or error}", str(path)) from None
    except (ValueError, EOFError, SyntaxError) as error:
        raise InvalidInputError(f"is no .npy file that can be read: {error}", str(path)) from None
    if array.dtype.hasobject:
        raise InvalidInputError("holds Python objects", str(path))
    native: NDArray[Any] = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    return native if native.flags.writeable else native.copy()


def write_npy(path: Path, array: NDArray[Any]) -> None:
    """Writes ``array`` to ``path``, whole or not at all.

    Raises :class:`OutputError` where it can't, :class:`InvalidInputError` for an array of Python objects.
    """
    if array.dtype.hasobject:
        raise InvalidInputError("an array of Python objects is not written", str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None
