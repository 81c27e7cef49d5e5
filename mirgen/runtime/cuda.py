"""The executor for GPUs, through ``cuda.core``.

Devices, streams, memory and code objects are ``cuda.core``'s.  The launch itself goes to the driver with the packed
parameter block (``CU_LAUNCH_PARAM_BUFFER_POINTER``), the same that the simulator takes.  Everything that needs no
driver is a function of its own.
"""

from __future__ import annotations

import ctypes
import importlib
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, SupportsIndex

from mirgen.errors import InvalidInputError, ToolError
from mirgen.runtime.device_panics import PanicRecord
from mirgen.runtime.dims import MAX_SHARED
from mirgen.runtime.errors import DeviceError, InvalidMemoryAccessError, KernelTrapError, Site
from mirgen.runtime.executor import Launch
from mirgen.runtime.packing import ArrayArgument, DeviceArray, PackedArguments

_PARAM_END, _PARAM_BUFFER, _PARAM_SIZE = 0, 1, 2
#: Dynamic shared memory beyond this has to be asked for.
_SHARED_WITHOUT_ASKING: Final = 48 << 10

#: The driver's errors of a kernel that failed, and what they mean.
_FAULTS: Final[dict[str, tuple[type[DeviceError], str]]] = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": (InvalidMemoryAccessError, "invalid memory access"),
    "CUDA_ERROR_MISALIGNED_ADDRESS": (InvalidMemoryAccessError, "misaligned memory access"),
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": (InvalidMemoryAccessError, "access to the wrong kind of memory"),
    "CUDA_ERROR_HARDWARE_STACK_ERROR": (DeviceError, "stack overflow"),
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": (KernelTrapError, "executed a trap (a panic, or an assertion)"),
    "CUDA_ERROR_LAUNCH_FAILED": (KernelTrapError, "executed a trap (a panic, or an assertion)"),
    "CUDA_ERROR_ASSERT": (KernelTrapError, "an assertion failed"),
    "CUDA_ERROR_LAUNCH_TIMEOUT": (DeviceError, "ran longer than the driver allows"),
}
#: Those of them that a panic ends in.
_STOPS: Final = frozenset({"CUDA_ERROR_ILLEGAL_INSTRUCTION", "CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_ASSERT"})


@dataclass(frozen=True, slots=True)
class Cubin:
    """Code for one architecture, such as ``sm_90``."""

    arch: str
    image: bytes


def device_number(device: str) -> int:
    """The N of ``cuda:N``; ``cuda`` is 0.  Raises :class:`InvalidInputError`."""
    match = re.fullmatch(r"cuda(?::(\d+))?", device)
    if match is None:
        raise InvalidInputError(f"no device {device!r}: it is sim, cuda or cuda:N")
    return int(match[1] or 0)


def choose_cubin(cubins: Sequence[Cubin], capability: tuple[int, int]) -> Cubin:
    """The code for a GPU of compute ``capability``: same major version, greatest minor that is not newer.

    Raises :class:`InvalidInputError` that lists what there is.
    """
    best: tuple[int, Cubin] | None = None
    for cubin in cubins:
        match = re.fullmatch(r"sm_(\d+)(\d)([af]?)", cubin.arch)
        if match is None:
            continue
        major, minor, suffix = int(match[1]), int(match[2]), match[3]
        exact = (major, minor) == capability
        fits = exact if suffix == "a" else major == capability[0] and minor <= capability[1]
        if fits and (best is None or (minor, bool(suffix)) > (best[0], best[1].arch[-1] in "af")):
            best = (minor, cubin)
    if best is None:
        have = ", ".join(cubin.arch for cubin in cubins) or "none"
        raise InvalidInputError(
            f"no code for this GPU (sm_{capability[0]}{capability[1]}); the crate was built for: {have}"
        )
    return best[1]


def fill_addresses(block: bytes, addresses: Mapping[int, int]) -> bytes:
    """The parameter block with the device address ``addresses[at]`` in the word at ``at``."""
    filled = bytearray(block)
    for at, address in addresses.items():
        filled[at : at + 8] = address.to_bytes(8, "little")
    return bytes(filled)


def architecture(device: str) -> str:
    """The architecture to build for, such as ``sm_90``.  Raises :class:`ToolError` where there is no GPU."""
    capability = _open(device).compute_capability
    return f"sm_{capability.major}{capability.minor}"


class ParameterBuffer:
    """The driver's ``extra`` array for a packed block; keep it alive until the launch call returns."""

    def __init__(self, block: bytes) -> None:
        self._block = ctypes.create_string_buffer(block, max(1, len(block)))
        self._size = ctypes.c_size_t(len(block))
        self._extra = (ctypes.c_void_p * 5)(
            _PARAM_BUFFER, ctypes.addressof(self._block), _PARAM_SIZE, ctypes.addressof(self._size), _PARAM_END
        )

    @property
    def address(self) -> int:
        """What ``cuLaunchKernel`` takes as ``extra``."""
        return ctypes.addressof(self._extra)


class CudaExecutor:
    """One GPU with a module loaded."""

    def __init__(self, device: str, cubins: Sequence[Cubin], sites: Sequence[Site] = ()) -> None:
        """``sites`` are the places whose numbers panics leave.

        Raises :class:`ToolError` without driver, GPU or the ``cuda.core`` wheel.
        """
        core = _import("cuda.core")
        self._driver = _import("cuda.bindings.driver")
        self._device = _open(device)
        capability = self._device.compute_capability
        cubin = choose_cubin(cubins, (capability.major, capability.minor))
        self._code = core.ObjectCode.from_cubin(cubin.image)
        self._kernels: dict[str, Any] = {}
        self._panics = PanicRecord(self._driver, int(self._code.handle), sites) if sites else None
        self.max_shared: int = min(MAX_SHARED, self._device.properties.max_shared_memory_per_block_optin)

    def run(self, launch: Launch, arguments: PackedArguments) -> None:
        """Host arrays are copied to the GPU and, where written, back: then the call waits for the kernel.

        With device arrays only, the launch is asynchronous on its stream.
        """
        self._device.set_current()
        stream = self._device.default_stream if launch.stream is None else launch.stream
        handle = _stream_handle(stream)
        addresses: dict[int, int] = {}
        owned: list[tuple[ArrayArgument, Any, int]] = []
        try:
            for argument in arguments.arrays:
                if isinstance(argument.array, DeviceArray):
                    addresses[argument.at] = argument.array.pointer
                    continue
                buffer = self._device.allocate(max(1, argument.nbytes), stream=stream)
                address = int(buffer.handle)
                addresses[argument.at] = address
                owned.append((argument, buffer, address))
                host = argument.array.ctypes.data
                self._check(launch, self._driver.cuMemcpyHtoDAsync(address, host, argument.nbytes, handle))
            parameters = ParameterBuffer(fill_addresses(arguments.block, addresses))
            self._launch(launch, handle, parameters)
            for argument, _, address in owned:
                if argument.writable and not isinstance(argument.array, DeviceArray):
                    host = argument.array.ctypes.data
                    self._check(launch, self._driver.cuMemcpyDtoHAsync(host, address, argument.nbytes, handle))
            if owned:
                self._check(launch, self._driver.cuStreamSynchronize(handle))
        finally:
            for _, buffer, _ in owned:
                buffer.close(stream)

    def _launch(self, launch: Launch, stream: Any, parameters: ParameterBuffer) -> None:
        kernel = launch.kernel
        symbol = kernel.symbol or kernel.name
        if symbol not in self._kernels:
            self._kernels[symbol] = self._code.get_kernel(symbol)
        handle = self._kernels[symbol].handle
        if launch.shared > _SHARED_WITHOUT_ASKING - kernel.static_shared:
            attribute = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            number = self._device.device_id
            self._check(launch, self._driver.cuKernelSetAttribute(attribute, launch.shared, handle, number))
        function = self._driver.CUfunction(int(handle))
        self._check(
            launch,
            self._driver.cuLaunchKernel(
                function, *launch.grid, *launch.block, launch.shared, stream, 0, parameters.address
            ),
        )

    def _check(self, launch: Launch, result: tuple[Any, ...]) -> None:
        """Raises what a status of the driver means."""
        status = result[0]
        if int(status) == 0:
            return
        name, kernel = str(status.name), launch.kernel.name
        panic = self._panics.read(kernel) if self._panics is not None and name in _STOPS else None
        raise panic or driver_error(name, kernel)


def driver_error(status: str, kernel: str) -> DeviceError | ToolError:
    """The exception for a status of the driver, by its name."""
    fault = _FAULTS.get(status)
    if fault is None:
        return ToolError("CUDA driver", f"{status} while launching kernel `{kernel}`")
    return fault[0](f"{fault[1]} ({status})", kernel=kernel)


def _open(device: str) -> Any:
    """The current ``cuda.core`` device."""
    core = _import("cuda.core")
    number = device_number(device)
    try:
        opened = core.Device(number)
        opened.set_current()
    except Exception as error:
        message = f'no GPU {device}: {error} (use device="sim" to run on the simulator)'
        raise ToolError("CUDA driver", message) from error
    return opened


def _stream_handle(stream: Any) -> Any:
    """The driver's handle of a ``cuda.core`` stream, of an object with ``__cuda_stream__``, or of an address."""
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    if isinstance(stream, SupportsIndex):
        return operator.index(stream)
    raise InvalidInputError(f"{type(stream).__name__} is no CUDA stream")


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ToolError(
            "CUDA", f"{name} is not installed: {error} (pip install 'mirgen[cuda]', or use device=\"sim\")"
        ) from error
