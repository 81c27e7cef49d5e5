"""Executes launches inside the worker process: memory maps, operating system threads, and the native scheduler."""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import platform
import queue
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from mirgen.errors import InternalError, ToolError
from mirgen.runtime.sim import layout as n
from mirgen.runtime.sim.compile import CompiledKernel, Jit, LoadedModule, NativeCode
from mirgen.runtime.sim.guarded import GuardedMap

_SHARED_ALIGN: Final = 128
_ARGS_ALIGN: Final = 256
_FAULTS: Final = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT)
_SA_SIGINFO, _SA_ONSTACK = 4, 0x08000000
#: Seconds that other blocks get to notice that the launch has failed.
_GRACE: Final = 1.0

_libc = ctypes.CDLL(None, use_errno=True)


class _SigAction(ctypes.Structure):
    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint8 * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class _AltStack(ctypes.Structure):
    _fields_ = (("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


@dataclass(frozen=True, slots=True)
class PointerSlot:
    """The word at ``at`` in the parameter block shall be the address of byte ``offset`` of ``buffer``, where an array
    of ``nbytes`` begins."""

    at: int
    buffer: int
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """One launch.  Sizes in bytes; ``writable`` lists the buffers that the kernel may write."""

    module: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    static_shared: int
    dynamic_shared: int
    schedule: int
    seed: int
    os_threads: int
    pointers: tuple[PointerSlot, ...]
    writable: frozenset[int]
    args: bytes


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """``failed``: the report in the status page says why.  ``stuck``: some block did not stop; the worker must end."""

    failed: bool
    stuck: bool
    seconds: float


class Engine:
    """The state of a worker.  ``status`` is the page, shared with the caller, in which failures are reported."""

    def __init__(self, status: n.StatusPage, alive: Callable[[float], bool]) -> None:
        """``alive(seconds)`` waits as long as nothing comes from the caller; false when the caller is gone."""
        if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
            raise ToolError("simulator", f"runs on 64-bit Linux only, not on {sys.platform} {platform.machine()}")
        self._jit = Jit()
        self._status = status
        self._alive = alive
        self._modules: dict[str, LoadedModule] = {}
        self._loads = itertools.count()
        self._maps: dict[int, GuardedMap] = {}
        self._threads: list[_BlockThread] = []
        self._run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._jit.run_address)
        self._jit.set_status_page(ctypes.addressof(status))
        _catch_faults(self._jit.on_signal_address)

    # ---- modules and memory ------------------------------------------------------------------------------

    def load(self, module: str, code: NativeCode) -> None:
        """Links native code, with memory of its own, under a new name."""
        self._modules[module] = self._jit.load(code, f"{module}.{next(self._loads)}")

    def unload(self, module: str) -> None:
        """Forgets a module and frees its memory."""
        self._modules.pop(module, None)

    def map(self, buffer: int, fd: int, capacity: int) -> None:
        """Maps a caller's buffer and closes the descriptor."""
        self._maps[buffer] = GuardedMap(fd, capacity)
        os.close(fd)

    def unmap(self, buffer: int) -> None:
        found = self._maps.pop(buffer, None)
        if found is not None:
            found.close()

    # ---- launches ----------------------------------------------------------------------------------------

    def launch(self, request: LaunchRequest) -> LaunchResult:
        """Runs a whole grid."""
        module = self._modules.get(request.module)
        kernel = module.kernels.get(request.kernel) if module is not None else None
        if kernel is None:
            raise InternalError(f"kernel {request.kernel} of module {request.module} is not loaded")
        args = _Arguments(request.args)
        for number, slot in enumerate(request.pointers):
            address = self._maps[slot.buffer].address + slot.offset
            if number < n.MAX_ARRAYS:
                region = self._status.arrays[number]
                region.start, region.end = address, address + slot.nbytes
            ctypes.c_uint64.from_address(args.address + slot.at).value = address
        for buffer in {slot.buffer for slot in request.pointers}:
            self._maps[buffer].protect(writable=buffer in request.writable)

        launch = self._native_launch(request, kernel, args.address)
        count = max(1, min(request.os_threads, launch.blocks, n.MAX_SLOTS))
        while len(self._threads) < count:
            self._threads.append(_BlockThread(self._run, self._status, len(self._threads)))
        finished: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()
        started = time.perf_counter()
        for thread in self._threads[:count]:
            thread.start_launch(launch, request, finished)
        results = self._wait(finished, launch, count)
        seconds = time.perf_counter() - started
        for result in results:
            if isinstance(result, BaseException):
                raise result
        failed = any(result != 0 for result in results)
        return LaunchResult(failed, len(results) < count, seconds)

    def _native_launch(self, request: LaunchRequest, kernel: CompiledKernel, args: int) -> n.Launch:
        launch = n.Launch()
        launch.entry, launch.args = kernel.address, args
        launch.blocks = math.prod(request.grid)
        launch.mul, launch.add = _block_order(launch.blocks, request.schedule, request.seed)
        launch.seed = request.seed & (2**64 - 1)
        launch.ntid[:], launch.nctaid[:] = request.block, request.grid
        launch.threads = math.prod(request.block)
        launch.schedule = request.schedule
        launch.coroutine = int(kernel.coroutine)
        launch.report = ctypes.addressof(self._status)
        return launch

    def _wait(
        self, finished: queue.SimpleQueue[int | BaseException], launch: n.Launch, count: int
    ) -> list[int | BaseException]:
        results: list[int | BaseException] = []
        deadline = math.inf
        while len(results) < count and time.monotonic() < deadline:
            try:
                results.append(finished.get(timeout=0.2))
            except queue.Empty:
                if not self._alive(0):
                    os._exit(1)
            if launch.stop and deadline == math.inf:
                deadline = time.monotonic() + _GRACE
        return results


class _Arguments:
    """A copy of the parameter block, aligned for any parameter."""

    def __init__(self, data: bytes) -> None:
        self._room = ctypes.create_string_buffer(len(data) + _ARGS_ALIGN)
        self.address = -(-ctypes.addressof(self._room) // _ARGS_ALIGN) * _ARGS_ALIGN
        ctypes.memmove(self.address, data, len(data))


class _BlockThread:
    """One operating system thread that runs blocks, with its own contexts, arena and shared memory."""

    def __init__(self, run: Callable[[int], int], status: n.StatusPage, index: int) -> None:
        self._run = run
        self._contexts = (n.Context * n.MAX_THREADS)()
        self._handles = (ctypes.c_void_p * n.MAX_THREADS)()
        self._order = (ctypes.c_uint32 * n.MAX_THREADS)()
        self._shared: GuardedMap | None = None
        self._slot = n.Slot()
        self._slot.contexts = ctypes.addressof(self._contexts)
        self._slot.handles = ctypes.addressof(self._handles)
        self._slot.order = ctypes.addressof(self._order)
        self._slot.status = ctypes.addressof(status.slots[index])
        self._region = status.shared[index]
        self._work: queue.SimpleQueue[tuple[n.Launch, queue.SimpleQueue[int | BaseException]]] = queue.SimpleQueue()
        threading.stack_size(n.STACK_SIZE)
        self._thread = threading.Thread(target=self._loop, name=f"blocks-{index}", daemon=True)
        self._thread.start()
        threading.stack_size(0)

    def start_launch(
        self, launch: n.Launch, request: LaunchRequest, finished: queue.SimpleQueue[int | BaseException]
    ) -> None:
        """Makes the thread take blocks of ``launch``; it puts its result, or an exception, into ``finished``."""
        static = -(-request.static_shared // 16) * 16
        size = static + request.dynamic_shared if request.dynamic_shared else request.static_shared
        rounded = -(-size // _SHARED_ALIGN) * _SHARED_ALIGN
        if self._shared is None or self._shared.capacity < rounded or self._shared.capacity > 2 * rounded + 4096:
            if self._shared is not None:
                self._shared.close()
            self._shared = GuardedMap(-1, max(4096, -(-rounded // 4096) * 4096))
        shared = self._shared.address + self._shared.capacity - rounded
        self._slot.shared, self._slot.shared_size = shared, rounded
        self._region.start, self._region.end = shared, shared + rounded
        self._slot.launch = ctypes.addressof(launch)

        self._slot.dynamic_shared = request.dynamic_shared
        self._work.put((launch, finished))

    def _loop(self) -> None:
        stack = ctypes.create_string_buffer(64 << 10)
        alternative = _AltStack(ctypes.addressof(stack), 0, len(stack))
        if _libc.sigaltstack(ctypes.byref(alternative), None) != 0:
            raise ToolError("simulator", "sigaltstack failed")
        while True:
            _, finished = self._work.get()
            try:
                finished.put(self._run(ctypes.addressof(self._slot)))
            except BaseException as error:
                finished.put(error)


def _catch_faults(handler: int) -> None:
    action = _SigAction(handler=handler, flags=_SA_SIGINFO | _SA_ONSTACK)
    for number in _FAULTS:
        if _libc.sigaction(int(number), ctypes.byref(action), None) != 0:
            raise ToolError("simulator", "sigaction failed")


def _block_order(blocks: int, schedule: int, seed: int) -> tuple[int, int]:
    """``mul`` and ``add`` such that ``(i * mul + add) % blocks`` visits every block once, without overflow."""
    if schedule == n.FORWARD or blocks == 1 or blocks >= 1 << 32:
        return 1, 0
    if schedule == n.REVERSE:
        return blocks - 1, blocks - 1
    generator = random.Random(seed)
    limit = min(blocks, 1 << 31)
    mul = 1
    for _ in range(64):
        candidate = generator.randrange(1, limit)
        if math.gcd(candidate, blocks) == 1:
            mul = candidate
            break
    return mul, generator.randrange(blocks)


def pointer_slots(rows: Sequence[Sequence[int]]) -> tuple[PointerSlot, ...]:
    """Pointer slots from their wire form."""
    return tuple(PointerSlot(*row) for row in rows)
