"""Messages between the caller and the simulator's worker: a JSON header, raw bytes, file descriptors."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any

_FRAME = struct.Struct("<IQI")
#: The kernel passes at most 253 descriptors in one message.
MAX_FDS = 250

Header = dict[str, Any]


def send(sock: socket.socket, header: Mapping[str, Any], payload: bytes = b"", fds: Sequence[int] = ()) -> None:
    """Sends one message; raises :class:`OSError` when the other side is gone."""
    text = json.dumps(header).encode()
    frame = _FRAME.pack(len(text), len(payload), len(fds))
    sent = socket.send_fds(sock, [frame], list(fds)) if fds else 0
    sock.sendall(frame[sent:] + text)
    if payload:
        sock.sendall(payload)


def receive(sock: socket.socket) -> tuple[Header, bytes, list[int]]:
    """The next message; raises :class:`EOFError` when the other side is gone."""
    start, fds, _, _ = socket.recv_fds(sock, _FRAME.size, MAX_FDS)
    start += _exactly(sock, _FRAME.size - len(start), eof_ok=not start)
    text_size, payload_size, _ = _FRAME.unpack(start)
    header = json.loads(_exactly(sock, text_size))
    return header, _exactly(sock, payload_size), fds


def _exactly(sock: socket.socket, size: int, *, eof_ok: bool = False) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = sock.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise EOFError("the other side is gone" if eof_ok or not parts else "cut off in a message")
        parts += part
    return bytes(parts)
