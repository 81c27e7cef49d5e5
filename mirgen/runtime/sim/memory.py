"""Device memory of the simulator, on the caller's side: files in memory that the worker maps too.

The caller writes arrays through an ordinary map.  The worker maps the same pages between two zones that can't be
touched (:class:`mirgen.runtime.sim.guarded.GuardedMap`).  Arrays stand at the end, so that one byte past it faults.
"""

from __future__ import annotations

import mmap
import os
import weakref
from bisect import bisect_right
from collections.abc import Iterable
from itertools import count

import numpy as np
from numpy.typing import NDArray

from mirgen.errors import ToolError
from mirgen.runtime.sim.guarded import PAGE


def round_to_pages(size: int) -> int:
    """``size`` in bytes, rounded up to whole pages; at least one."""
    return max(PAGE, -(-size // PAGE) * PAGE)


class _Map(mmap.mmap):
    """The caller's map; arrays made from it keep it, and through ``owner`` the buffer, alive."""

    owner: Buffer


class Buffer:
    """``capacity`` bytes of memory (whole pages) that the worker can map by file descriptor.

    Raises :class:`ToolError` where the system has no memory for it.
    """

    _numbers = count()

    def __init__(self, size: int) -> None:
        self.id = next(self._numbers)
        self.capacity = round_to_pages(size)
        try:
            self.fd = os.memfd_create(f"mirgen-{self.id}", os.MFD_CLOEXEC)
            weakref.finalize(self, os.close, self.fd)
            os.ftruncate(self.fd, self.capacity)
            self._map = _Map(self.fd, self.capacity)
        except (OSError, ValueError) as error:
            raise ToolError("simulator", f"no memory for {size} bytes: {error}") from error
        self.address = np.frombuffer(self._map, np.uint8).ctypes.data

    def offset_of(self, nbytes: int) -> int:
        """Where ``nbytes`` stand so that they end at the guard."""
        return self.capacity - nbytes

    def bytes_at_end(self, nbytes: int) -> NDArray[np.uint8]:
        """The last ``nbytes``, writable."""
        return np.frombuffer(self._map, np.uint8, count=nbytes, offset=self.offset_of(nbytes))

    def shared_array(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
        """An array of the caller in this buffer; the buffer lives as long as it."""
        self._map.owner = self
        size = dtype.itemsize
        for extent in shape:
            size *= extent
        return np.frombuffer(self._map, np.uint8, count=size, offset=self.offset_of(size)).view(dtype).reshape(shape)


class BufferRegistry:
    """Finds the buffer in which an array of the caller lies, so that it need not be copied."""

    def __init__(self) -> None:
        self._buffers: weakref.WeakValueDictionary[int, Buffer] = weakref.WeakValueDictionary()

    def add(self, buffer: Buffer) -> None:
        self._buffers[buffer.address] = buffer

    def find(self, address: int, nbytes: int) -> Buffer | None:
        """The buffer that holds all of these bytes."""
        starts = sorted(self._buffers.keys())
        at = bisect_right(starts, address)
        if at == 0:
            return None
        buffer = self._buffers.get(starts[at - 1])
        if buffer is None or address + nbytes > buffer.address + buffer.capacity:
            return None
        return buffer


class BufferPool:
    """Buffers for arrays that have to be copied, kept for the next launch up to ``limit`` bytes."""

    def __init__(self, limit: int = 1 << 28) -> None:
        self._limit = limit
        self._free: dict[int, list[Buffer]] = {}
        self._kept = 0

    def take(self, nbytes: int) -> Buffer:
        capacity = round_to_pages(nbytes)
        free = self._free.get(capacity)
        if free:
            self._kept -= capacity
            return free.pop()
        return Buffer(nbytes)

    def give_back(self, buffers: Iterable[Buffer]) -> None:
        """Keeps buffers for reuse, as far as they fit."""
        for buffer in buffers:
            if self._kept + buffer.capacity <= self._limit:
                self._kept += buffer.capacity
                self._free.setdefault(buffer.capacity, []).append(buffer)
