"""What a device can do with a checked launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from mirgen.runtime.abi import KernelSpec
from mirgen.runtime.errors import Dim3
from mirgen.runtime.packing import PackedArguments


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch that :func:`mirgen.runtime.dims.check_launch` has let through; ``shared`` is dynamic, in bytes."""

    kernel: KernelSpec
    grid: Dim3
    block: Dim3
    shared: int
    stream: Any


class Executor(Protocol):
    """A device with a module loaded."""

    #: bytes of shared memory that a block may have
    max_shared: int

    def run(self, launch: Launch, arguments: PackedArguments) -> None:
        """Runs the grid; written host arrays hold their results when it returns.  Raises :class:`DeviceError`."""
        ...
