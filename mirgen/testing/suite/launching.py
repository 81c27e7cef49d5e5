"""One test on the simulator or a GPU: launched as a kernel without arguments."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Final

from mirgen.errors import Diagnostic, MirgenError, ToolError
from mirgen.link.manifest import load_manifest
from mirgen.runtime.dims import LaunchConfig
from mirgen.runtime.errors import DeviceError, KernelPanicError, KernelTimeoutError, KernelTrapError
from mirgen.runtime.loading import module_of
from mirgen.runtime.module import Module
from mirgen.testing.suite.marks import CrateTest
from mirgen.testing.suite.verdict import Ended, Panic

#: Seconds that a process gets to start and to open its device, on top of a test's own.
_START: Final = 60.0


def launch(module: Module, test: CrateTest) -> Ended:
    """Runs the test to its end."""
    start = time.perf_counter()
    try:
        module[test.symbol].launch(LaunchConfig(test.grid, test.block))
    except DeviceError as error:
        return _stopped(error, test, module.device, time.perf_counter() - start)
    except MirgenError as error:
        return Ended(time.perf_counter() - start, error=error)
    return Ended(time.perf_counter() - start)


def _stopped(error: DeviceError, test: CrateTest, device: str, seconds: float) -> Ended:
    shown = error.diagnostic(f"test `{test.path}`")
    if isinstance(error, KernelPanicError):
        return Ended(seconds, Panic(error.message, error.location, shown))
    if isinstance(error, KernelTrapError) and device != "sim":
        return Ended(seconds, Panic(None, error.location, shown))
    return Ended(seconds, trouble=(shown,), timed_out=isinstance(error, KernelTimeoutError))


@dataclass(slots=True)
class DeviceProcess:
    """Runs tests on a device in a process of its own, and in a new one after each that failed: what a GPU stopped
    leaves its process without it."""

    manifest: Path
    device: str
    timeout: float | None
    _running: tuple[SpawnProcess, Connection] | None = field(default=None, init=False)

    def launch(self, test: CrateTest) -> Ended:
        """Runs the test to its end, or to its time's."""
        process, connection = self._running or self._start()
        start = time.perf_counter()
        connection.send(test)
        try:
            if not connection.poll(None if self.timeout is None else self.timeout + _START):
                self.stop()
                shown = Diagnostic("", f"still running after {self.timeout} s", notes=[f"in test `{test.path}`"])
                return Ended(time.perf_counter() - start, trouble=(shown,), timed_out=True)
            ended: Ended = connection.recv()
        except (EOFError, OSError):
            process.join()
            ended = Ended(
                time.perf_counter() - start, error=ToolError("device", "the process died", status=process.exitcode or 0)
            )
        if ended != Ended(ended.seconds):
            self.stop()
        return ended

    def stop(self) -> None:
        """Ends the process."""
        if self._running is not None:
            process, connection = self._running
            self._running = None
            connection.close()
            process.kill()
            process.join()

    def _start(self) -> tuple[SpawnProcess, Connection]:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self.manifest, self.device), daemon=True)
        process.start()
        theirs.close()
        self._running = (process, ours)
        return self._running


def _serve(connection: Connection, manifest: Path, device: str) -> None:
    """The other process: a test comes in, its end goes out."""
    module: Module | None = None
    with suppress(EOFError, OSError):
        while True:
            test: CrateTest = connection.recv()
            try:
                module = module or module_of(load_manifest(manifest), manifest.parent, device)
                connection.send(launch(module, test))
            except MirgenError as error:
                connection.send(Ended(0.0, error=ToolError("device", str(error))))
