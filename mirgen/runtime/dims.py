"""Launch configurations, and the limits that CUDA sets to them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, SupportsIndex, cast

from mirgen.runtime.abi import KernelSpec
from mirgen.runtime.errors import Dim3, LaunchError

#: What a user may write for a grid or a block.
DimLike = SupportsIndex | Sequence[SupportsIndex]

MAX_BLOCK: Final[Dim3] = (1024, 1024, 64)
MAX_THREADS: Final = 1024
MAX_GRID: Final[Dim3] = (2**31 - 1, 65535, 65535)
#: Bytes of shared memory that a kernel may declare, and of static and dynamic memory together (opt-in, sm_90).
MAX_STATIC_SHARED: Final = 48 << 10
MAX_SHARED: Final = 227 << 10


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """A launch: ``grid`` blocks of ``block`` threads, ``shared`` bytes of dynamic shared memory per block.

    ``stream`` is a ``cuda.core`` stream, ignored by the simulator.
    """

    grid: DimLike
    block: DimLike
    stream: Any = None
    shared: int = 0


def dim3(value: DimLike, what: str) -> Dim3:
    """``value`` with three axes; raises :class:`LaunchError` for anything but one to three integers."""
    if isinstance(value, (str, bytes)):
        raise LaunchError(f"{what} is {value!r}, expected an integer or up to three of them")
    if isinstance(value, SupportsIndex):
        return (operator.index(value), 1, 1)
    if not isinstance(cast("object", value), Iterable):
        raise LaunchError(f"{what} is {value!r}, expected an integer or up to three of them")
    axes = tuple(value)
    if not 1 <= len(axes) <= 3 or not all(isinstance(cast("object", axis), SupportsIndex) for axis in axes):
        raise LaunchError(f"{what} is {value!r}, expected an integer or up to three of them")
    x, y, z = (*(operator.index(axis) for axis in axes), 1, 1)[:3]
    return (x, y, z)


def check_launch(kernel: KernelSpec, grid: Dim3, block: Dim3, shared: int, *, max_shared: int = MAX_SHARED) -> None:
    """Refuses what CUDA would refuse, and what the kernel's own facts forbid.  Raises :class:`LaunchError`."""
    name = f"kernel `{kernel.name}`"
    for axis, value, limit in zip("xyz", block, MAX_BLOCK, strict=True):
        if not 1 <= value <= limit:
            raise LaunchError(f"{name}: block.{axis} is {value}, allowed are 1 to {limit}")
    threads = block[0] * block[1] * block[2]
    if threads > MAX_THREADS:
        raise LaunchError(f"{name}: the block {block} has {threads} threads, allowed are {MAX_THREADS}")
    for axis, value, limit in zip("xyz", grid, MAX_GRID, strict=True):
        if not 1 <= value <= limit:
            raise LaunchError(f"{name}: grid.{axis} is {value}, allowed are 1 to {limit}")
    if shared < 0:
        raise LaunchError(f"{name}: {shared} bytes of dynamic shared memory")
    if kernel.static_shared > MAX_STATIC_SHARED:
        raise LaunchError(
            f"{name} declares {kernel.static_shared} bytes of shared memory, allowed are {MAX_STATIC_SHARED}"
        )
    total = total_shared(kernel.static_shared, shared)
    if total > max_shared:
        raise LaunchError(f"{name} takes {total} bytes of shared memory per block, allowed are {max_shared}")
    facts = kernel.facts
    for number, axis in enumerate("xyz"):
        if number >= facts.dimensions and (grid[number] != 1 or block[number] != 1):
            raise LaunchError(
                f"{name} needs a launch of {facts.dimensions} dimension{'s' if facts.dimensions != 1 else ''}: "
                f"{axis} of grid {grid} and block {block} must be 1"
            )
    if facts.block is not None and block != facts.block:
        raise LaunchError(f"{name} needs blocks of {facts.block}, found {block}")


def total_shared(static: int, dynamic: int) -> int:
    """Bytes per block: the dynamic part starts at a multiple of 16."""
    return -(-static // 16) * 16 + dynamic if dynamic else static
