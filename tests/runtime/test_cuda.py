"""The CUDA executor without a driver: what it would hand to one."""

from __future__ import annotations

import ctypes
import importlib.util
import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mirgen.errors import InvalidInputError, ToolError
from mirgen.runtime import cuda
from mirgen.runtime.abi import KernelSpec, Param
from mirgen.runtime.errors import DeviceError, InvalidMemoryAccessError, KernelTrapError
from mirgen.runtime.executor import Launch
from mirgen.runtime.packing import pack

SPEC = KernelSpec(
    "saxpy",
    (
        Param("a", "f32", "scalar", 0, 4, 4),
        Param("x", "&[f32]", "slice", 8, 16, 8, "f32", 4),
        Param("y", "Disjoint<[f32]>", "disjoint", 24, 16, 8, "f32", 4, True),
    ),
)


class FakeDriver:
    """Device memory at 0x1000.., a launch that doubles what `y` points at, and a log of calls."""

    class CUfunction:
        def __init__(self, handle: int) -> None:
            self.handle = handle

    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)

    def __init__(self, status: Any = 0) -> None:
        self.memory: dict[int, bytes] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.block = b""
        self.status = status

    def cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: Any) -> tuple[int]:  # noqa: N802
        self.memory[target] = ctypes.string_at(source, size)
        self.calls.append(("h2d", target, size, stream))
        return (0,)

    def cuMemcpyDtoHAsync(self, target: int, source: int, size: int, stream: Any) -> tuple[int]:  # noqa: N802
        ctypes.memmove(target, self.memory[source], size)
        self.calls.append(("d2h", source, size, stream))
        return (0,)

    def cuKernelSetAttribute(self, attribute: int, value: int, kernel: int, device: int) -> tuple[int]:  # noqa: N802
        self.calls.append(("attribute", attribute, value, kernel, device))
        return (0,)

    def cuStreamSynchronize(self, stream: Any) -> tuple[Any]:  # noqa: N802
        self.calls.append(("sync", stream))
        return (self.status,)

    def cuLaunchKernel(self, function: FakeDriver.CUfunction, *rest: Any) -> tuple[int]:  # noqa: N802
        *shape, extra = rest
        self.calls.append(("launch", function.handle, *shape))
        words = (ctypes.c_void_p * 5).from_address(extra)
        assert (words[0], words[2], words[4] or 0) == (1, 2, 0)
        size = ctypes.c_size_t.from_address(words[3] or 0).value
        self.block = ctypes.string_at(words[1] or 0, size)
        (pointer,) = struct.unpack_from("<Q", self.block, 24)
        if pointer in self.memory:
            self.memory[pointer] = (np.frombuffer(self.memory[pointer], np.float32) * 2).tobytes()
        return (0,)


class FakeStream:
    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, 77)


class FakeDevice:
    device_id = 3
    default_stream = FakeStream()

    def __init__(self) -> None:
        self.next = 0x1000
        self.closed: list[int] = []

    def set_current(self) -> None:
        pass

    def allocate(self, size: int, *, stream: Any) -> Any:
        address, self.next = self.next, self.next + 0x1000
        return SimpleNamespace(handle=address, close=lambda _stream: self.closed.append(address))  # pyright: ignore


def executor(driver: FakeDriver) -> tuple[cuda.CudaExecutor, FakeDevice]:
    made = cuda.CudaExecutor.__new__(cuda.CudaExecutor)
    device = FakeDevice()
    made.__dict__.update(
        _device=device, _driver=driver, _kernels={}, max_shared=1 << 20, _panics=None,
        _code=SimpleNamespace(get_kernel=lambda name: SimpleNamespace(handle=5)),  # pyright: ignore
    )  # fmt: skip
    return made, device


def test_launch_hands_the_packed_block_to_the_driver() -> None:
    driver = FakeDriver()
    made, device = executor(driver)
    x, y = np.ones(3, np.float32), np.arange(5, dtype=np.float32)
    made.run(Launch(SPEC, (4, 2, 1), (64, 1, 1), 0, None), pack(SPEC, (2.0, x, y)))
    assert driver.block == struct.pack("<f4xQQQQ", 2.0, 0x1000, 3, 0x2000, 5)
    assert driver.calls == [
        ("h2d", 0x1000, 12, 77), ("h2d", 0x2000, 20, 77), ("launch", 5, 4, 2, 1, 64, 1, 1, 0, 77, 0),
        ("d2h", 0x2000, 20, 77), ("sync", 77),
    ]  # fmt: skip
    assert y.tolist() == [0, 2, 4, 6, 8]
    assert device.closed == [0x1000, 0x2000]


def test_device_arrays_are_used_in_place_without_waiting() -> None:
    driver = FakeDriver()
    made, device = executor(driver)
    x, y = (
        SimpleNamespace(__cuda_array_interface__={"data": (address, False), "shape": (4,), "typestr": "<f4"})
        for address in (0xA000, 0xB000)
    )
    made.run(Launch(SPEC, (1, 1, 1), (64, 1, 1), 60_000, 9), pack(SPEC, (2.0, x, y)))
    assert driver.block == struct.pack("<f4xQQQQ", 2.0, 0xA000, 4, 0xB000, 4)
    assert driver.calls == [("attribute", 8, 60_000, 5, 3), ("launch", 5, 1, 1, 1, 64, 1, 1, 60_000, 9, 0)]
    assert not device.closed


class Status(int):
    name = "CUDA_ERROR_ILLEGAL_ADDRESS"


def test_faults_are_explained_and_memory_is_freed() -> None:
    driver = FakeDriver(Status(700))
    made, device = executor(driver)
    arrays = (2.0, np.ones(3, np.float32), np.ones(3, np.float32))
    with pytest.raises(InvalidMemoryAccessError, match="kernel `saxpy`: invalid memory access"):
        made.run(Launch(SPEC, (1, 1, 1), (1, 1, 1), 0, None), pack(SPEC, arrays))
    assert device.closed == [0x1000, 0x2000]


@pytest.mark.parametrize(
    ("status", "cls"),
    [
        ("CUDA_ERROR_LAUNCH_FAILED", KernelTrapError),
        ("CUDA_ERROR_HARDWARE_STACK_ERROR", DeviceError),
        ("CUDA_ERROR_OUT_OF_MEMORY", ToolError),
    ],
)
def test_driver_errors(status: str, cls: type[Exception]) -> None:
    error = cuda.driver_error(status, "k")
    assert type(error) is cls
    assert status in str(error)


def test_choice_of_code() -> None:
    cubins = [cuda.Cubin(arch, arch.encode()) for arch in ("sm_75", "sm_80", "sm_86", "sm_90", "sm_90a", "sm_120")]
    chosen = {
        capability: cuda.choose_cubin(cubins, capability).arch
        for capability in ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (12, 1))
    }
    assert chosen == {
        (7, 5): "sm_75", (8, 0): "sm_80", (8, 6): "sm_86", (8, 9): "sm_86", (9, 0): "sm_90a", (12, 1): "sm_120",
    }  # fmt: skip
    with pytest.raises(InvalidInputError, match=r"sm_100.*built for: sm_75, sm_80"):
        cuda.choose_cubin(cubins, (10, 0))


@pytest.mark.parametrize(("device", "number"), [("cuda", 0), ("cuda:0", 0), ("cuda:12", 12)])
def test_device_names(device: str, number: int) -> None:
    assert cuda.device_number(device) == number


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "sim"])
def test_wrong_device_names(device: str) -> None:
    with pytest.raises(InvalidInputError, match="no device"):
        cuda.device_number(device)


@pytest.mark.cuda
@pytest.mark.skipif(importlib.util.find_spec("cuda") is None, reason="the cuda-core wheel is not installed")
def test_no_gpu_is_a_clear_error() -> None:
    try:
        made = cuda.CudaExecutor("cuda:0", [])
    except ToolError as error:
        assert 'use device="sim"' in str(error)
    except InvalidInputError as error:
        # There is a GPU after all, and no code for it.
        assert "no code for this GPU" in str(error)
    else:
        pytest.fail(f"a module without code was loaded: {made}")
