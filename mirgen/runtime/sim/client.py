"""The caller's side of the simulator: starts the worker, hands it modules and launches, explains its death."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import socket
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import mirgen.errors
from mirgen.errors import InternalError, InvalidInputError, ToolError
from mirgen.runtime.sim import layout, wire
from mirgen.runtime.sim.explain import Explainer, WorkerDiedError
from mirgen.runtime.sim.guarded import PAGE
from mirgen.runtime.sim.launch import SimLaunch, SimModule, SimOptions
from mirgen.runtime.sim.memory import Buffer, BufferPool, BufferRegistry

_SCHEDULES: Final[Mapping[str, int]] = {
    "forward": layout.FORWARD, "reverse": layout.REVERSE, "random": layout.RANDOM,
}  # fmt: skip


@dataclass(slots=True)
class _Worker:
    """One running process and what it knows; ``modules`` are instances by place."""

    process: subprocess.Popen[bytes]
    sock: socket.socket
    modules: dict[str, int] = field(default_factory=dict[str, int])
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
        self._unload: deque[int] = deque()
        self._instances = itertools.count(1)
        self._status_fd = -1
        self._status = layout.StatusPage()
        itself = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _after_fork(itself()))

    # ---- public ------------------------------------------------------------------------------------------

    def load(self, module: SimModule, opt_level: int = 3) -> dict[str, bool]:
        """Compiles ``module`` if need be; tells for each kernel whether it reaches a barrier."""
        with self._lock:
            return self._load(module, opt_level).coroutines

    def instance(self, module: SimModule, owner: object) -> SimModule:
        """``module`` with statics of its own, which start from their initial values and are ``owner``'s: gone when it
        is."""
        number = next(self._instances)
        weakref.finalize(owner, self._unload.append, number)
        return replace(module, instance=number)

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
                "op": "launch", "module": module.place(options.opt_level), "kernel": launch.kernel,
                "grid": launch.grid, "block": launch.block,
                "static_shared": launch.static_shared, "dynamic_shared": launch.dynamic_shared,
                "schedule": _SCHEDULES[options.schedule], "seed": options.seed, "os_threads": options.os_threads,
                "pointers": [(p.at, p.buffer.id, p.offset, p.nbytes) for p in launch.pointers],
                "writable": sorted({p.buffer.id for p in launch.pointers if p.writable}),
                "new": [(buffer.id, buffer.capacity) for buffer in new], "drop": drop, "unload": self._unloaded(worker),
            }  # fmt: skip
            ctypes.memset(ctypes.addressof(self._status), 0, ctypes.sizeof(self._status))
            try:
                reply, _ = self._request(worker, header, launch.args, [b.fd for b in new], options.timeout)
            except WorkerDiedError as death:
                raise Explainer(self._status, module, launch).of_death(death) from death
            except TimeoutError:
                raise Explainer(self._status, module, launch).of_timeout(options.timeout) from None
            worker.buffers.update(buffer.id for buffer in new)
            worker.buffers.difference_update(drop)
            if reply["stuck"]:
                self._stop()
            if reply["failed"]:
                raise Explainer(self._status, module, launch).of_report()
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
            raise WorkerDiedError(status) from error
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

    def _unloaded(self, worker: _Worker) -> list[str]:
        """Modules of the worker whose owners are gone."""
        gone: set[int] = set()
        while self._unload:
            gone.add(self._unload.popleft())
        places = sorted(place for place, instance in worker.modules.items() if instance in gone)
        for place in places:
            del worker.modules[place]
        return places

    def _load(self, module: SimModule, opt_level: int) -> _Native:
        key, place = module.key(opt_level), module.place(opt_level)
        worker = self._start()
        native = self._native.get(key)
        if native is not None and place in worker.modules:
            return native
        try:
            if native is None:
                cache = None if module.cache is None else f"{module.cache.absolute()}.O{opt_level}"
                header = {
                    "op": "compile", "module": place, "key": key, "kernels": module.kernels, "opt_level": opt_level,
                    "cache": cache,
                }  # fmt: skip
                reply, image = self._request(worker, header, module.text.encode())
                native = self._native[key] = _Native(image, reply["coroutines"])
            else:
                header = {"op": "load", "module": place, "coroutines": native.coroutines}
                self._request(worker, header, native.image)
        except WorkerDiedError as death:
            names = ", ".join(module.kernels)
            message = f"the worker died ({death}) while LLVM compiled {names}"
            raise ToolError("simulator", message, status=death.status) from death
        worker.modules[place] = module.instance
        return native


def _after_fork(simulator: Simulator | None) -> None:
    if simulator is not None:
        simulator.forget()


_default = Simulator()


def default_simulator() -> Simulator:
    """The process's simulator."""
    return _default
