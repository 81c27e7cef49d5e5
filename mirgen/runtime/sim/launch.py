"""What a simulated launch consists of."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mirgen.runtime.errors import Dim3, Site
from mirgen.runtime.sim.memory import Buffer

Schedule = Literal["forward", "reverse", "random"]


@dataclass(frozen=True, slots=True)
class SimOptions:
    """How the simulator runs a launch.

    ``schedule`` orders the threads of a block between barriers, and the blocks; ``seed`` makes ``random`` repeatable.
    ``os_threads`` run blocks side by side (1: repeatable also where blocks race).  ``timeout`` is in seconds.
    ``opt_level`` is LLVM's, 0 to 3.
    """

    schedule: Schedule = "forward"
    seed: int = 0
    os_threads: int = 1
    timeout: float | None = None
    opt_level: int = 3


@dataclass(frozen=True, slots=True)
class SimModule:
    """Host IR with its entries; ``sites`` explains the numbers that panics and barriers report.

    Native code is kept in ``cache`` plus the optimisation level, where that is a path.  Modules that differ in
    ``instance`` only share it, but each has statics of its own.
    """

    text: str = field(repr=False)
    kernels: tuple[str, ...]
    sites: tuple[Site, ...] = ()
    cache: Path | None = None
    instance: int = 0

    def key(self, opt_level: int) -> str:
        """A name for the native code."""
        digest = hashlib.sha256(self.text.encode())
        digest.update(repr((self.kernels, opt_level)).encode())
        return digest.hexdigest()

    def place(self, opt_level: int) -> str:
        """A name for the native code with its memory."""
        return f"{self.key(opt_level)}.{self.instance}"


@dataclass(frozen=True, slots=True)
class BufferPointer:
    """The word at ``at`` in the parameter block points at byte ``offset`` of ``buffer``, where the array called
    ``name`` begins, ``nbytes`` long."""

    at: int
    buffer: Buffer
    offset: int
    writable: bool
    nbytes: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class SimLaunch:
    """A launch with everything checked and packed.  Sizes in bytes; ``title`` is the kernel's name in messages."""

    kernel: str
    grid: Dim3
    block: Dim3
    static_shared: int
    dynamic_shared: int
    args: bytes
    pointers: tuple[BufferPointer, ...] = ()
    title: str = ""

    @property
    def name(self) -> str:
        """What to call the kernel."""
        return self.title or self.kernel
