"""Device memory of the simulator, on the worker's side: pages between two zones that fault.

A later, checked memory would take the place of :class:`GuardedMap`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Final

from mirgen.errors import ToolError

PAGE: Final = mmap.PAGESIZE
#: Bytes that can't be touched before and after every map.
GUARD: Final = 1 << 20
_PROT_NONE: Final = 0
_MAP_FIXED: Final = 0x10
_MAP_NORESERVE: Final = 0x4000
_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64,
]  # fmt: skip
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class GuardedMap:
    """Pages between two guard zones: of a file descriptor, or anonymous where it is negative."""

    def __init__(self, fd: int, capacity: int) -> None:
        self.capacity = capacity
        anonymous = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._base = _mmap(0, capacity + 2 * GUARD, _PROT_NONE, anonymous | _MAP_NORESERVE, -1)
        self.address = self._base + GUARD
        self._writable = True
        flags = (mmap.MAP_SHARED if fd >= 0 else anonymous) | _MAP_FIXED
        _mmap(self.address, capacity, mmap.PROT_READ | mmap.PROT_WRITE, flags, fd)

    def protect(self, *, writable: bool) -> None:
        """Allows or forbids writing."""
        if writable != self._writable:
            access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
            if _libc.mprotect(self.address, self.capacity, access) != 0:
                raise ToolError("simulator", f"mprotect failed: {os.strerror(ctypes.get_errno())}")
            self._writable = writable

    @property
    def span(self) -> tuple[int, int]:
        """First address and end, guards included."""
        return self._base, self._base + self.capacity + 2 * GUARD

    def close(self) -> None:
        _libc.munmap(self._base, self.capacity + 2 * GUARD)


def _mmap(address: int, size: int, access: int, flags: int, fd: int) -> int:
    got: int | None = _libc.mmap(address, size, access, flags, fd, 0)
    if got is None or got == _FAILED:
        raise ToolError("simulator", f"can't map {size} bytes: {os.strerror(ctypes.get_errno())}")
    return got
