"""Panics on the GPU as the host reads them, without a GPU: the record's bytes are made by hand."""

from __future__ import annotations

import ctypes
import struct
from types import SimpleNamespace
from typing import Any

import pytest

from mirgen.errors import ToolError
from mirgen.runtime.device_panics import PanicRecord, panic_of
from mirgen.runtime.errors import Site
from mirgen.targets import device_abi as abi

SITES = (
    Site("attempt to add with overflow", "src/lib.rs:3:5"),
    Site("index out of bounds: the len is {} but the index is {}", "src/lib.rs:7:9", ("usize", "usize")),
    Site("{} of {:?}", "src/lib.rs:8:1", ("i32", "str")),
)


def record(code: int = 0, state: int = 0, site: int = 0, words: tuple[int, ...] = (), text: bytes = b"") -> bytes:
    data = bytearray(abi.RECORD_SIZE)
    struct.pack_into("<III", data, abi.CODE, code, state, site)
    struct.pack_into("<3I3I", data, abi.BLOCK, 1, 2, 0, 37, 0, 3)
    struct.pack_into("<II", data, abi.COUNT, len(words), len(text))
    struct.pack_into(f"<{len(words)}Q", data, abi.WORDS, *words)
    data[abi.TEXT : abi.TEXT + len(text)] = text
    return bytes(data)


def test_the_fields_do_not_overlap() -> None:
    ends = [abi.STATE, abi.SITE, abi.BLOCK, abi.THREAD, abi.COUNT, abi.TEXT_SIZE, abi.TEXT_SIZE + 4, abi.TEXT]
    begins = [abi.CODE, abi.STATE, abi.SITE, abi.BLOCK, abi.THREAD, abi.COUNT, abi.TEXT_SIZE, abi.WORDS]
    sizes = [4, 4, 4, 12, 12, 4, 4, 8 * abi.MAX_WORDS]
    assert all(begin + size <= end for begin, size, end in zip(begins, sizes, ends, strict=True))
    assert abi.WORDS % 8 == 0


def test_nothing_was_left() -> None:
    assert panic_of(record(), SITES, "k") is None
    assert panic_of(record(code=9), SITES, "k") is None
    assert panic_of(record(state=1, site=9), SITES, "k") is None


def test_a_number_alone() -> None:
    found = panic_of(record(code=1), SITES, "k")
    assert found is not None
    assert (found.message, found.location, found.block) == ("attempt to add with overflow", "src/lib.rs:3:5", None)
    found = panic_of(record(code=2), SITES, "k")
    assert found is not None
    assert found.message == "index out of bounds: the len is <value> but the index is <value>"


def test_a_whole_record() -> None:
    found = panic_of(record(state=1, site=1, words=(3, 7)), SITES, "k")
    assert found is not None
    assert found.message == "index out of bounds: the len is 3 but the index is 7"
    assert (found.kernel, found.block, found.thread) == ("k", (1, 2, 0), (37, 0, 3))
    found = panic_of(record(state=1, site=2, words=(2**64 - 4, 0xABC0, 5), text=b"h\ne"), SITES, "k")
    assert found is not None
    assert found.message == '-4 of "h\\ne"<2 bytes more>'


class Status(int):
    name = "CUDA_ERROR_OUT_OF_MEMORY"


class FakeDriver:
    """Memory of the host, and the variable of one module."""

    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE = 2, 1

    def __init__(self, found: int = 0, status: Any = 0) -> None:
        self.buffer = ctypes.create_string_buffer(abi.RECORD_SIZE)
        self.found, self.status = found, status
        self.written: list[tuple[int, bytes]] = []

    def cuMemHostAlloc(self, size: int, flags: int) -> tuple[Any, int]:  # noqa: N802
        assert (size, flags) == (abi.RECORD_SIZE, 3)
        return (self.status, ctypes.addressof(self.buffer))

    def cuMemHostGetDevicePointer(self, host: int, flags: int) -> tuple[int, int]:  # noqa: N802
        assert (host, flags) == (ctypes.addressof(self.buffer), 0)
        return (0, 0xD000)

    def CUlibrary(self, handle: int) -> Any:  # noqa: N802
        return SimpleNamespace(handle=handle)

    def cuLibraryGetGlobal(self, library: Any, name: bytes) -> tuple[int, int, int]:  # noqa: N802
        assert (library.handle, name) == (5, b"mirgen_panic")
        return (self.found, 0xA000, 8)

    def cuMemcpyHtoD(self, target: int, data: bytes, size: int) -> tuple[int]:  # noqa: N802
        self.written.append((target, data[:size]))
        return (0,)


def test_the_module_is_told_where_the_record_lies() -> None:
    driver = FakeDriver()
    made = PanicRecord(driver, 5, SITES)
    assert driver.written == [(0xA000, (0xD000).to_bytes(8, "little"))]
    assert made.read("k") is None
    ctypes.memmove(driver.buffer, record(code=1), abi.RECORD_SIZE)
    panic = made.read("k")
    assert panic is not None
    assert panic.message == SITES[0].message


def test_code_that_never_panics_has_no_variable() -> None:
    driver = FakeDriver(found=500)
    assert PanicRecord(driver, 5, SITES).read("k") is None
    assert not driver.written


def test_no_memory() -> None:
    with pytest.raises(ToolError, match="OUT_OF_MEMORY"):
        PanicRecord(FakeDriver(status=Status(2)), 5, SITES)
