"""One process at a time in a folder that several could write into, as cargo does it for its own."""

from __future__ import annotations

import errno
import fcntl
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

#: A file system that knows no locks: cargo goes on without, too.
_NO_LOCKS: Final = frozenset({errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK})


@dataclass(slots=True)
class _Mutex:
    """flock excludes a process's own other descriptors as well: its threads wait for each other here, and the one
    that holds the lock may take it again."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    depth: int = 0


_guard: Final = threading.Lock()
_mutexes: Final[dict[Path, _Mutex]] = {}


def lock_file(folder: Path) -> Path:
    """The lock of what lies in ``folder``."""
    return folder / ".lock"


@contextmanager
def locked(file: Path, waiting: Callable[[], None] = lambda: None) -> Generator[None]:
    """Holds the lock that is ``file`` (made, with its folder); ``waiting`` is called where another process has it."""
    with _guard:
        mutex = _mutexes.setdefault(file.absolute(), _Mutex())
    with mutex.lock:
        mutex.depth += 1
        try:
            if mutex.depth > 1:
                yield
                return
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("w") as handle:
                _lock(handle.fileno(), waiting)
                try:
                    yield
                finally:
                    # Not by closing: a child process may have the descriptor too.
                    fcntl.flock(handle, fcntl.LOCK_UN)
        finally:
            mutex.depth -= 1


def _lock(descriptor: int, waiting: Callable[[], None]) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        waiting()
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
