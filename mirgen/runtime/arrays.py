"""Arrays in memory that the simulator's worker maps too, so that launches copy nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mirgen.runtime.sim.client import default_simulator
from mirgen.runtime.sim.memory import Buffer


def empty(shape: int | tuple[int, ...], dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """An array like :func:`numpy.empty`'s (zeroed), which the simulator uses in place.

    Its memory ends at a guard zone: an index past its end faults.
    """
    kind = np.dtype(dtype)
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    nbytes = kind.itemsize
    for extent in extents:
        nbytes *= extent
    buffer = Buffer(nbytes)
    default_simulator().registry.add(buffer)
    return buffer.shared_array(extents, kind)


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Like :func:`empty`, and says so."""
    return empty(shape, dtype)


def asarray(values: NDArray[Any]) -> NDArray[Any]:
    """A copy of ``values`` that the simulator uses in place."""
    array = np.asarray(values)
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy
