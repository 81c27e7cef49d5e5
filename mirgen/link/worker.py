"""Runs LLVM, libNVVM and nvJitLink in a process of their own, because they abort or exit on some inputs."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from mirgen.errors import InternalError, ToolError

#: Seconds that one job may take before its worker is ended.
DEFAULT_TIMEOUT = 600.0


class WorkerDied(Exception):
    """The worker ended in the middle of a job, or was ended because it took too long.

    ``stage`` is what it was about to do, ``output`` what it printed, ``how`` such as ``was killed by SIGABRT``.
    """

    def __init__(self, tool: str, stage: str, how: str, output: str, status: int) -> None:
        super().__init__(f"{tool} {how} while it was to {stage}")
        self.tool = tool
        self.stage = stage
        self.how = how
        self.output = output
        self.status = status

    def tool_error(self, blame: str = "") -> ToolError:
        """The error for the user; ``blame`` names the kernel or function that is at fault, where that was found."""
        where = blame or self.stage
        return ToolError(self.tool, f"{self.how} during: {where}", output=self.output, status=self.status)


def _how(status: int) -> str:
    if status < 0:
        try:
            return f"was killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"was killed by signal {-status}"
    return f"ended its process (status {status})"


class Worker:
    """A worker process, started at the first job and again after a death.  Use it as a context manager.

    One job at a time.  The worker imports mirgen from where this process has it.
    """

    def __init__(self, timeout: float = DEFAULT_TIMEOUT) -> None:
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._requests = -1
        self._answers = -1
        self._buffer = b""
        self._log: Any = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the worker process, if one runs."""
        if self._process is None:
            return
        for fd in (self._requests, self._answers):
            os.close(fd)
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
        self._process = None

    def run(self, job: str, tool: str, request: Mapping[str, Any], timeout: float | None = None) -> dict[str, Any]:
        """Do one job and return its answer.

        Raises ToolError when the tool refuses its input, WorkerDied when the process ends or takes longer than
        ``timeout`` seconds, InternalError when the worker's own code is at fault.
        """
        if self._process is None:
            self._start()
        limit = self._timeout if timeout is None else timeout
        deadline = time.monotonic() + limit
        self._log.seek(0)
        self._log.truncate()
        stage = "start"
        try:
            os.write(self._requests, json.dumps({**request, "job": job}).encode() + b"\n")
        except BrokenPipeError:
            self._raise_dead(tool, stage)
        while True:
            line = self._read_line(deadline)
            if line is None:
                self._raise_dead(tool, stage, "" if time.monotonic() < deadline else f"took longer than {limit:g} s")
            answer: dict[str, Any] = json.loads(line)
            if "stage" in answer:
                stage = answer["stage"]
            elif "ok" in answer:
                return answer["ok"]
            elif "error" in answer:
                error = answer["error"]
                raise ToolError(error["tool"], error["message"], output=error["output"])
            else:
                raise InternalError(f"the {tool} worker failed:\n{answer.get('internal', answer)}")

    def _start(self) -> None:
        request_read, self._requests = os.pipe()
        self._answers, answer_write = os.pipe()
        self._log = tempfile.TemporaryFile()
        self._buffer = b""
        env = dict(os.environ)
        # The package's own parent first, so that the worker runs this very code.
        here = str(Path(__file__).resolve().parents[2])
        env["PYTHONPATH"] = os.pathsep.join([here, *filter(None, [env.get("PYTHONPATH")])])
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mirgen.link.worker_main", str(request_read), str(answer_write)],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(request_read, answer_write),
                env=env,
            )
        finally:
            os.close(request_read)
            os.close(answer_write)

    def _read_line(self, deadline: float) -> bytes | None:
        """The next answer line; None at the end of the process or at the deadline."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    return None
                piece = os.read(self._answers, 1 << 16)
                if not piece:
                    return None
                self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _raise_dead(self, tool: str, stage: str, how: str = "") -> NoReturn:
        """Collect what is known of the dead (or late) process, forget it, and raise WorkerDied."""
        process = self._process
        assert process is not None
        if how:
            process.kill()
        status = process.wait()
        self._log.seek(0)
        output = self._log.read().decode(errors="replace").strip()
        self.close()
        raise WorkerDied(tool, stage, how or _how(status), output, status)
