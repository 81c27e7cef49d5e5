"""Running kernels: ``load`` a crate, launch on the simulator or on a GPU.

Names are looked up when they are used: the simulator's worker imports this package too, and needs little of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mirgen.runtime.arrays import asarray, empty, zeros
    from mirgen.runtime.dims import LaunchConfig
    from mirgen.runtime.errors import (
        ArgumentTypeError,
        ArgumentValueError,
        DeviceError,
        DivergentBarrierError,
        HeapError,
        InvalidMemoryAccessError,
        KernelNotFoundError,
        KernelPanicError,
        KernelTimeoutError,
        KernelTrapError,
        LaunchError,
    )
    from mirgen.runtime.loading import load
    from mirgen.runtime.module import Kernel, Module
    from mirgen.runtime.sim.launch import SimOptions

_HOMES = {
    "asarray": "arrays", "empty": "arrays", "zeros": "arrays", "LaunchConfig": "dims", "ArgumentTypeError": "errors",
    "ArgumentValueError": "errors", "DeviceError": "errors", "DivergentBarrierError": "errors",
    "HeapError": "errors", "InvalidMemoryAccessError": "errors", "KernelNotFoundError": "errors",
    "KernelPanicError": "errors", "KernelTimeoutError": "errors", "KernelTrapError": "errors", "LaunchError": "errors",
    "Kernel": "module", "Module": "module", "SimOptions": "sim.launch", "load": "loading",
}  # fmt: skip

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "DeviceError",
    "DivergentBarrierError",
    "HeapError",
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


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"mirgen.runtime.{_HOMES[name]}"), name)
    raise AttributeError(f"module `mirgen.runtime` has no attribute `{name}`")
