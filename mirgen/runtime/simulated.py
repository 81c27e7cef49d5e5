"""The executor for ``device="sim"``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirgen.runtime.dims import MAX_SHARED
from mirgen.runtime.errors import ArgumentTypeError
from mirgen.runtime.executor import Launch
from mirgen.runtime.packing import ArrayArgument, DeviceArray, PackedArguments
from mirgen.runtime.sim.client import Simulator, default_simulator
from mirgen.runtime.sim.launch import BufferPointer, SimLaunch, SimModule, SimOptions
from mirgen.runtime.sim.memory import Buffer
from mirgen.targets.host_abi import ENTRY


class SimExecutor:
    """Runs kernels of one host module in the simulator's worker, with statics that no other executor sees."""

    def __init__(
        self, module: SimModule, options: SimOptions | None = None, simulator: Simulator | None = None
    ) -> None:
        self.max_shared = MAX_SHARED
        self._simulator = simulator or default_simulator()
        self._module = self._simulator.instance(module, self)
        self.options = options or SimOptions()
        self._simulator.warm()

    def run(self, launch: Launch, arguments: PackedArguments) -> None:
        """Copies arrays to the worker's memory (those made by :func:`mirgen.empty` are there already), runs, copies
        written ones back, also when the kernel fails."""
        copies: dict[tuple[int, int], tuple[Buffer, NDArray[np.uint8]]] = {}
        taken: list[Buffer] = []
        back: list[tuple[ArrayArgument, NDArray[np.uint8]]] = []
        pointers: list[BufferPointer] = []
        try:
            for argument in arguments.arrays:
                array = _host(argument)
                address, nbytes = array.ctypes.data, array.nbytes
                placed = self._simulator.registry.find(address, nbytes) if nbytes else None
                if placed is not None and address % argument.align == 0:
                    pointers.append(_pointer(argument, placed, address - placed.address))
                    continue
                # Two shared borrows of one array are one copy.
                key = (address, nbytes)
                if key not in copies or argument.writable:
                    buffer = self._simulator.pool.take(nbytes)
                    taken.append(buffer)
                    copy = buffer.bytes_at_end(nbytes)
                    copy[:] = array.reshape(-1).view(np.uint8)
                    copies[key] = (buffer, copy)
                buffer, copy = copies[key]
                pointers.append(_pointer(argument, buffer, buffer.offset_of(nbytes)))
                if argument.writable:
                    back.append((argument, copy))
            kernel = launch.kernel
            self._simulator.launch(
                self._module,
                SimLaunch(
                    ENTRY + kernel.name, launch.grid, launch.block, kernel.static_shared, launch.shared,
                    arguments.block, tuple(pointers), kernel.name,
                ),
                self.options,
            )  # fmt: skip
        finally:
            for argument, copy in back:
                _host(argument).reshape(-1).view(np.uint8)[:] = copy
            self._simulator.release(taken)


def _pointer(argument: ArrayArgument, buffer: Buffer, offset: int) -> BufferPointer:
    return BufferPointer(argument.at, buffer, offset, argument.writable, argument.nbytes, argument.param)


def _host(argument: ArrayArgument) -> NDArray[Any]:
    if isinstance(argument.array, DeviceArray):
        raise ArgumentTypeError(f"argument `{argument.param}` lies in a GPU's memory; the simulator takes numpy arrays")
    return argument.array
