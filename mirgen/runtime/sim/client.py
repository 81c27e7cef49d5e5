"""The caller's side of the simulator: starts the worker, hands it modules and launches, explains its death."""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

import mirgen.errors
from mirgen.errors import InternalError, InvalidInputError, ToolError
from mirgen.runtime.errors import (
    DeviceError,
    Dim3,
    DivergentBarrierError,
    InvalidMemoryAccessError,
    KernelPanicError,
    KernelTimeoutError,
    KernelTrapError,
    Site,
)
from mirgen.runtime.sim import layout, wire
from mirgen.runtime.sim.guarded import GUARD, PAGE
from mirgen.runtime.sim.memory import Buffer, BufferPool, BufferRegistry

Schedule = Literal["forward", "reverse", "random"]
_SCHEDULES: Final[Mapping[str, int]] = {
    "forward": layout.FORWARD, "reverse": layout.REVERSE, "random": layout.RANDOM,
}  # fmt: skip


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

    Native code is kept in ``cache`` plus the optimisation level, where that is a path.
    """

    text: str = field(repr=False)
    kernels: tuple[str, ...]
    sites: tuple[Site, ...] = ()
    cache: Path | None = None

    def key(self, opt_level: int) -> str:
        """A name for the native code."""
        digest = hashlib.sha256(self.text.encode())
        digest.update(repr((self.kernels, opt_level)).encode())
        return digest.hexdigest()


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


@dataclass(slots=True)
class _Worker:
    """One running process and what it knows."""

    process: subprocess.Popen[bytes]
    sock: socket.socket
    modules: set[str] = field(default_factory=set[str])
    buffers: set[int] = field(default_factory=set[int])

    def kill(self) -> int:
        self.sock.close()
        self.process.kill()
        return self.process.wait()


@dataclass(frozen=True, slots=True)
class _Native:
    image: bytes
    coroutines: dict[str, bool]


class Simulator:
    """A simulated device.  Starts its worker on first use; safe to use from several threads, one launch at a time."""

    def __init__(self) -> None:
        self.pool = BufferPool()
        self.registry = BufferRegistry()
        self._lock = threading.RLock()
        self._worker: _Worker | None = None
        self._native: dict[str, _Native] = {}
        self._drop: deque[int] = deque()
        self._status_fd = -1
        self._status = layout.StatusPage()
        itself = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _after_fork(itself()))

    # ---- public ------------------------------------------------------------------------------------------

    def load(self, module: SimModule, opt_level: int = 3) -> dict[str, bool]:
        """Compiles ``module`` if need be; tells for each kernel whether it reaches a barrier."""
        with self._lock:
            return self._load(module, opt_level).coroutines

    def warm(self) -> None:
        """Starts the worker, without waiting for it."""
        with self._lock:
            self._start()

    def launch(self, module: SimModule, launch: SimLaunch, options: SimOptions | None = None) -> float:
        """Runs a grid to its end; returns the seconds that the kernel took.

        Raises a :class:`DeviceError` for whatever goes wrong in the kernel.
        """
        options = options or SimOptions()
        with self._lock:
            self._load(module, options.opt_level)
            worker = self._start()
            known = {pointer.buffer.id: pointer.buffer for pointer in launch.pointers}
            new = [buffer for number, buffer in known.items() if number not in worker.buffers]
            gone: set[int] = set()
            while self._drop:
                gone.add(self._drop.popleft())
            drop = sorted(gone & worker.buffers)
            for buffer in new:
                weakref.finalize(buffer, self._drop.append, buffer.id)
            header = {
                "op": "launch", "module": module.key(options.opt_level), "kernel": launch.kernel,
                "grid": launch.grid, "block": launch.block,
                "static_shared": launch.static_shared, "dynamic_shared": launch.dynamic_shared,
                "schedule": _SCHEDULES[options.schedule], "seed": options.seed, "os_threads": options.os_threads,
                "pointers": [(p.at, p.buffer.id, p.offset, p.nbytes) for p in launch.pointers],
                "writable": sorted({p.buffer.id for p in launch.pointers if p.writable}),
                "new": [(buffer.id, buffer.capacity) for buffer in new], "drop": drop,
            }  # fmt: skip
            ctypes.memset(ctypes.addressof(self._status), 0, ctypes.sizeof(self._status))
            try:
                reply, _ = self._request(worker, header, launch.args, [b.fd for b in new], options.timeout)
            except _WorkerDiedError as death:
                self._explain_death(module, launch, death)
            except TimeoutError:
                self._explain_timeout(launch, options)
            worker.buffers.update(buffer.id for buffer in new)
            worker.buffers.difference_update(drop)
            if reply["stuck"]:
                self._stop()
            if reply["failed"]:
                self._explain_report(module, launch)
            return float(reply["seconds"])

    def release(self, buffers: Sequence[Buffer]) -> None:
        """Gives copies' buffers back to the pool."""
        with self._lock:
            self.pool.give_back(buffers)

    @property
    def worker_id(self) -> int | None:
        """The worker's process number, if one runs."""
        return None if self._worker is None else self._worker.process.pid

    def forget(self) -> None:
        """In the child of a fork: the worker, its buffers and the status page are the parent's."""
        self._lock = threading.RLock()
        self._worker, self._status_fd = None, -1
        self.pool = BufferPool()
        self._drop.clear()

    def close(self) -> None:
        """Ends the worker; the next launch starts another."""
        with self._lock:
            self._stop()

    # ---- the worker --------------------------------------------------------------------------------------

    def _start(self) -> _Worker:
        if self._worker is not None:
            if self._worker.process.poll() is None:
                return self._worker
            self._worker.kill()
        if self._status_fd < 0:
            self._status_fd = os.memfd_create("mirgen-status", os.MFD_CLOEXEC)
            os.ftruncate(self._status_fd, -(-ctypes.sizeof(layout.StatusPage) // PAGE) * PAGE)
            page = mmap.mmap(self._status_fd, ctypes.sizeof(layout.StatusPage))
            self._status = layout.StatusPage.from_buffer(page)
        ours, theirs = socket.socketpair()
        root = str(Path(mirgen.errors.__file__).parent.parent)
        path = os.environ.get("PYTHONPATH")
        with theirs:
            process = subprocess.Popen(
                [
                    sys.executable, "-P", "-m", "mirgen.runtime.sim.worker",
                    str(theirs.fileno()), str(self._status_fd),
                ],
                pass_fds=(theirs.fileno(), self._status_fd),
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{path}" if path else root},
            )  # fmt: skip
        self._worker = _Worker(process, ours)
        return self._worker

    def _stop(self) -> int:
        worker, self._worker = self._worker, None
        return 0 if worker is None else worker.kill()

    def _request(
        self, worker: _Worker, header: Mapping[str, Any], payload: bytes = b"", fds: Sequence[int] = (),
        timeout: float | None = None,
    ) -> tuple[wire.Header, bytes]:  # fmt: skip
        try:
            worker.sock.settimeout(None)
            wire.send(worker.sock, header, payload, fds)
            worker.sock.settimeout(timeout)
            reply, data, _ = wire.receive(worker.sock)
        except TimeoutError:
            self._stop()
            raise
        except (EOFError, OSError) as error:
            worker.sock.close()
            status = worker.process.wait()
            self._worker = None
            raise _WorkerDiedError(status) from error
        except BaseException:
            # An interrupt: the worker is still at it.
            self._stop()
            raise
        match reply.get("error"):
            case None:
                return reply, data
            case "input":
                raise InvalidInputError(reply["message"], reply["where"])
            case "tool":
                raise ToolError("simulator", reply["message"])
            case _:
                raise InternalError(reply["message"])

    def _load(self, module: SimModule, opt_level: int) -> _Native:
        key = module.key(opt_level)
        worker = self._start()
        native = self._native.get(key)
        if native is not None and key in worker.modules:
            return native
        try:
            if native is None:
                cache = None if module.cache is None else f"{module.cache.absolute()}.O{opt_level}"
                header = {
                    "op": "compile", "module": key, "kernels": module.kernels, "opt_level": opt_level, "cache": cache,
                }  # fmt: skip
                reply, image = self._request(worker, header, module.text.encode())
                native = self._native[key] = _Native(image, reply["coroutines"])
            else:
                header = {"op": "load", "module": key, "coroutines": native.coroutines}
                self._request(worker, header, native.image)
        except _WorkerDiedError as death:
            names = ", ".join(module.kernels)
            message = f"the worker died ({death}) while LLVM compiled {names}"
            raise ToolError("simulator", message, status=death.status) from death
        worker.modules.add(key)
        return native

    # ---- explanations ------------------------------------------------------------------------------------

    def _explain_report(self, module: SimModule, launch: SimLaunch) -> NoReturn:
        report = self._status.report
        site = _site(module, report.site)
        block = unlinear(report.block, launch.grid)
        thread = unlinear(report.thread, launch.block)
        match report.kind:
            case layout.PANIC:
                message = fill_message(site.message, report.a, report.b)
                raise KernelPanicError(message, kernel=launch.name, block=block, thread=thread, location=site.location)
            case layout.TRAP:
                raise KernelTrapError("executed a trap", kernel=launch.name, block=block, thread=thread)
            case layout.DIVERGENT:
                other = unlinear(report.other_thread, launch.block)
                places = (_where(module, report.site, thread), _where(module, report.other_site, other))
                raise DivergentBarrierError(
                    f"divergent barrier: {places[0]}, but {places[1]}",
                    kernel=launch.name, block=block, location=_barrier_location(module, report),
                )  # fmt: skip
            case kind:
                raise InternalError(f"the simulator failed without a report (kind {kind})")

    def _explain_death(self, module: SimModule, launch: SimLaunch, death: _WorkerDiedError) -> NoReturn:
        report = self._status.report
        if not report.published:
            block, thread = self._where_running(launch)
            message = f"the simulator's process died: {death}"
            raise DeviceError(message, kernel=launch.name, block=block, thread=thread) from death
        if report.kind != layout.SIGNAL:
            self._explain_report(module, launch)
        block = unlinear(report.block, launch.grid)
        thread = unlinear(report.thread, launch.block)
        name = signal.Signals(report.signal).name
        cls: type[DeviceError] = DeviceError
        if report.signal in (signal.SIGSEGV, signal.SIGBUS):
            if _stack_end(report):
                message = "stack overflow"
            else:
                cls, message = InvalidMemoryAccessError, self._explain_address(launch)
        elif report.signal == signal.SIGILL:
            cls, message = KernelTrapError, "executed a trap"
        elif report.signal == signal.SIGFPE:
            message = "integer division by zero or overflow that no check caught (SIGFPE)"
        else:
            message = f"died of {name}"
        raise cls(message, kernel=launch.name, block=block, thread=thread) from death

    def _explain_address(self, launch: SimLaunch) -> str:
        """The fault's address in terms of the launch's arrays."""
        report = self._status.report
        address = report.address
        access = "access"
        if report.code:
            access = "write" if report.code & 2 else "read"
        if address == 0 and not report.code & 4:
            # Not a page fault: the address is no canonical one, or the instruction wants an aligned one.
            return "invalid memory access: the address is not canonical or not aligned"
        best: tuple[int, str] | None = None
        for pointer, region in zip(launch.pointers, self._status.arrays, strict=False):
            where = _beside(address, region, f"`{pointer.name}`" if pointer.name else "an array")
            if where is not None and (best is None or where[0] < best[0]):
                best = where
        shared = _beside(address, self._status.shared[report.slot], "the block's shared memory")
        if shared is not None and (best is None or shared[0] < best[0]):
            best = shared
        if best is None:
            return f"invalid memory access: a {access} at {address:#x}, which is in no array"
        return f"invalid memory access: a {access} {best[1]}"

    def _explain_timeout(self, launch: SimLaunch, options: SimOptions) -> NoReturn:
        block, thread = self._where_running(launch)
        message = f"did not end within {options.timeout} s"
        raise KernelTimeoutError(message, kernel=launch.name, block=block, thread=thread)

    def _where_running(self, launch: SimLaunch) -> tuple[Dim3 | None, Dim3 | None]:
        """Block and thread that the first busy operating system thread runs."""
        for slot in self._status.slots:
            if slot.active:
                return unlinear(slot.block, launch.grid), unlinear(slot.thread, launch.block)
        return None, None


class _WorkerDiedError(Exception):
    """``status`` as :mod:`subprocess` gives it: negative for a signal."""

    def __init__(self, status: int) -> None:
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        super().__init__(how)
        self.status = status


def _after_fork(simulator: Simulator | None) -> None:
    if simulator is not None:
        simulator.forget()


def unlinear(index: int, extent: Dim3) -> Dim3:
    """The 3-D index of a linear one, ``x`` fastest."""
    x, y, _ = extent
    return (index % x, index // x % y, index // (x * y))


def _beside(address: int, region: layout.Region, what: str) -> tuple[int, str] | None:
    """How far ``address`` is from a region, and in words; ``None`` where it is nowhere near."""
    if not region.end:
        return None
    if address < region.start:
        distance, words = region.start - address, f"{region.start - address} bytes before {what}"
    elif address >= region.end:
        distance, words = address - region.end, f"{address - region.end} bytes past the end of {what}"
    else:
        return 0, f"of {what}, which is read-only"
    return (distance, words) if distance <= GUARD else None


def _site(module: SimModule, index: int) -> Site:
    if index < len(module.sites):
        return module.sites[index]
    return Site(f"site {index}")


def fill_message(message: str, *values: int) -> str:
    """A Rust format string with ``{}`` and ``{:#x}`` for ``values`` in order, and doubled literal braces."""
    left = iter(values)

    def part(match: re.Match[str]) -> str:
        match match[0]:
            case "{{" | "}}" as braces:
                return braces[0]
            case "{:#x}":
                return f"{next(left):#x}"
            case _:
                return str(next(left))

    return re.sub(r"\{\{|\}\}|\{\}|\{:#x\}", part, message)


def _where(module: SimModule, site: int, thread: Dim3) -> str:
    who = f"thread ({thread[0]}, {thread[1]}, {thread[2]})"
    if site == layout.EXITED:
        return f"{who} has left the kernel"
    found = _site(module, site)
    return f"{who} waits at the barrier at {found.location or found.message}"


def _barrier_location(module: SimModule, report: layout.Report) -> str | None:
    site = report.site if report.site != layout.EXITED else report.other_site
    return _site(module, site).location


def _stack_end(report: layout.Report) -> bool:
    """Whether the address lies in the last pages below a thread's stack."""
    low = report.stack - layout.STACK_SIZE
    return low - (1 << 16) <= report.address <= low + (1 << 17)


_default = Simulator()


def default_simulator() -> Simulator:
    """The process's simulator."""
    return _default
