"""From the record that a panic on the GPU left (:mod:`mirgen.targets.device_abi`) to the exception that it is."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

from mirgen.errors import ToolError
from mirgen.runtime.errors import Dim3, KernelPanicError, Site
from mirgen.runtime.rust_format import fill_message, place_of
from mirgen.targets import device_abi as abi
from mirgen.targets.host_abi import PLACE


class PanicRecord:
    """Memory of the host that a module's code can write to, and that can be read after a trap.

    It is the module's for good: after a panic nothing can be given back to the driver.
    """

    def __init__(self, driver: Any, library: int, sites: Sequence[Site]) -> None:
        """``driver`` is ``cuda.bindings.driver``, ``library`` its handle of the code.  Raises :class:`ToolError`."""
        self._sites = sites
        flags = driver.CU_MEMHOSTALLOC_DEVICEMAP | driver.CU_MEMHOSTALLOC_PORTABLE
        self._host = int(_done(driver.cuMemHostAlloc(abi.RECORD_SIZE, flags)))
        ctypes.memset(self._host, 0, abi.RECORD_SIZE)
        address = int(_done(driver.cuMemHostGetDevicePointer(self._host, 0)))
        status, pointer, *_ = driver.cuLibraryGetGlobal(driver.CUlibrary(library), abi.POINTER.encode())
        if int(status) == 0:  # else nothing in the code panics
            word = address.to_bytes(8, "little")
            _done(driver.cuMemcpyHtoD(pointer, word, len(word)))

    def read(self, kernel: str) -> KernelPanicError | None:
        """The panic that was left here, if one was."""
        return panic_of(ctypes.string_at(self._host, abi.RECORD_SIZE), self._sites, kernel)


def _done(result: tuple[Any, ...]) -> Any:
    """What a call of the driver gives."""
    if int(result[0]) != 0:
        raise ToolError("CUDA driver", f"{result[0].name} while the module is loaded")
    return result[1] if len(result) > 1 else None


def panic_of(record: bytes, sites: Sequence[Site], kernel: str) -> KernelPanicError | None:
    """The panic that ``record`` tells of; ``None`` where it tells of none, or of one that ``sites`` does not have."""
    (code,) = struct.unpack_from("<I", record, abi.CODE)
    (state, number) = struct.unpack_from("<II", record, abi.STATE)
    if state:
        site = sites[number] if number < len(sites) else None
        return None if site is None else _whole(record, site, kernel)
    if not 0 < code <= len(sites):
        return None
    site = sites[code - 1]
    return KernelPanicError(_without_values(site), kernel=kernel, location=site.location)


def _whole(record: bytes, site: Site, kernel: str) -> KernelPanicError:
    (count, size) = struct.unpack_from("<II", record, abi.COUNT)
    words = struct.unpack_from(f"<{min(count, abi.MAX_WORDS)}Q", record, abi.WORDS)
    text = record[abi.TEXT : abi.TEXT + min(size, abi.MAX_TEXT)]
    message = fill_message(site.message, site.args, words, text)
    block, thread = _dim(record, abi.BLOCK), _dim(record, abi.THREAD)
    place = place_of(site, words, text)
    return KernelPanicError(message, kernel=kernel, block=block, thread=thread, location=place)


def _without_values(site: Site) -> str:
    """The message where only its place is known: numbers are left out, which it says."""
    return fill_message(site.message, ["?"] * len(site.args[site.args[:1] == (PLACE,) :]))


def _dim(record: bytes, at: int) -> Dim3:
    x, y, z = struct.unpack_from("<3I", record, at)
    return x, y, z
