"""The simulator's worker process: ``python -m mirgen.runtime.sim.worker SOCKET_FD STATUS_FD``.

Generated code runs here, so that its crash is a report and not the caller's end.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from mirgen.errors import InternalError, InvalidInputError, MirgenError, ToolError
from mirgen.runtime.sim import layout, wire
from mirgen.runtime.sim.cache import read_cached, write_cached
from mirgen.runtime.sim.compile import NativeCode, compile_module, machine_key
from mirgen.runtime.sim.engine import Engine, LaunchRequest, pointer_slots

_KINDS: dict[type[MirgenError], str] = {InvalidInputError: "input", ToolError: "tool", InternalError: "internal"}


def main(argv: list[str]) -> int:
    """Serves requests until the caller closes the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sock = socket.socket(fileno=int(argv[1]))
    page = mmap.mmap(int(argv[2]), ctypes.sizeof(layout.StatusPage))
    status = layout.StatusPage.from_buffer(page)

    def alive(seconds: float) -> bool:
        poller = select.poll()
        poller.register(sock, select.POLLRDHUP)
        return not poller.poll(seconds * 1000)

    engine: Engine | MirgenError
    try:
        engine = Engine(status, alive)
    except MirgenError as error:
        engine = error
    while True:
        try:
            header, payload, fds = wire.receive(sock)
        except (EOFError, OSError):
            return 0
        try:
            if isinstance(engine, MirgenError):
                raise engine
            reply, data = _serve(engine, header, payload, fds)
        except MirgenError as error:
            kind = next((name for cls, name in _KINDS.items() if isinstance(error, cls)), "internal")
            message = getattr(error, "message", str(error))
            reply, data = {"error": kind, "message": message, "where": getattr(error, "where", "")}, b""
        wire.send(sock, reply, data)
        if reply.get("stuck"):
            os._exit(0)


def _serve(engine: Engine, header: wire.Header, payload: bytes, fds: list[int]) -> tuple[dict[str, Any], bytes]:
    match header["op"]:
        case "compile":
            code = _compiled(header, payload.decode())
            engine.load(header["module"], code)
            return {"coroutines": code.coroutines}, code.image
        case "load":
            engine.load(header["module"], NativeCode(payload, header["coroutines"]))
            return {}, b""
        case "launch":
            for buffer in header["drop"]:
                engine.unmap(buffer)
            for module in header["unload"]:
                engine.unload(module)
            for (buffer, capacity), fd in zip(header["new"], fds, strict=True):
                engine.map(buffer, fd, capacity)
            result = engine.launch(
                LaunchRequest(
                    module=header["module"], kernel=header["kernel"],
                    grid=tuple(header["grid"]), block=tuple(header["block"]),
                    static_shared=header["static_shared"], dynamic_shared=header["dynamic_shared"],
                    schedule=header["schedule"], seed=header["seed"], os_threads=header["os_threads"],
                    pointers=pointer_slots(header["pointers"]), writable=frozenset(header["writable"]), args=payload,
                )
            )  # fmt: skip
            return {"failed": result.failed, "stuck": result.stuck, "seconds": result.seconds}, b""
        case op:
            raise InternalError(f"unknown request {op!r}")


def _compiled(header: wire.Header, text: str) -> NativeCode:
    """From the cache's file, where the caller names one and it is of this text, LLVM and CPU."""
    if header["cache"] is None:
        return compile_module(text, header["kernels"], header["opt_level"])
    path, key = Path(header["cache"]), f"{header['key']}.{machine_key()}"
    cached = read_cached(path, key)
    if cached is not None:
        return NativeCode(*cached)
    code = compile_module(text, header["kernels"], header["opt_level"])
    write_cached(path, key, code.image, code.coroutines)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv))
