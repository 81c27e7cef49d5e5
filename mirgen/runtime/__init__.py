"""Running kernels: ``load`` a crate, launch on the simulator or on a GPU."""

from __future__ import annotations

from mirgen.runtime.arrays import asarray, empty, zeros
from mirgen.runtime.dims import LaunchConfig
from mirgen.runtime.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DeviceError,
    DivergentBarrierError,
    InvalidMemoryAccessError,
    KernelNotFoundError,
    KernelPanicError,
    KernelTimeoutError,
    KernelTrapError,
    LaunchError,
)
from mirgen.runtime.load import load
from mirgen.runtime.module import Kernel, Module
from mirgen.runtime.sim.client import SimOptions

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "DeviceError",
    "DivergentBarrierError",
    "InvalidMemoryAccessError",
    "Kernel",
    "KernelNotFoundError",
    "KernelPanicError",
    "KernelTimeoutError",
    "KernelTrapError",
    "LaunchConfig",
    "LaunchError",
    "Module",
    "SimOptions",
    "asarray",
    "empty",
    "load",
    "zeros",
]
