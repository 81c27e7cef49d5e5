"""One process, and one thread of it, holds a lock; it may take it again."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mirgen.cargo.lock import locked

#: Takes the lock, says so, and keeps it until its input ends.
HOLDER = """
import sys
from pathlib import Path
from mirgen.cargo.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def _holder(file: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_who_comes_second_is_told_and_waits(tmp_path: Path) -> None:
    """Another process has it: `waiting` is called, and the lock comes when that one ends."""
    file = tmp_path / "folder" / ".lock"
    with _holder(file) as other:
        assert other.stdout is not None and other.stdin is not None
        assert other.stdout.readline() == "held\n"
        told = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            taken = pool.submit(_take, file, told)
            assert told.wait(20)
            assert not taken.done()
            other.stdin.close()
            taken.result(20)


def _take(file: Path, told: threading.Event) -> None:
    with locked(file, told.set):
        pass


def test_taken_again_and_given_back(tmp_path: Path) -> None:
    """Inside itself it is no other lock, and its outermost end gives it back."""
    file = tmp_path / ".lock"
    waited: list[str] = []
    with locked(file), locked(file, lambda: waited.append("again")):
        pass
    assert not waited
    with locked(file):
        with locked(file):
            pass
        with _holder(file) as other:
            threading.Event().wait(0.5)
            assert other.poll() is None
            other.kill()
            assert other.stdout is not None and other.stdout.read() == ""


def test_a_forked_child_does_not_keep_it(tmp_path: Path) -> None:
    """It has the same open file, but the lock is given back and not only closed."""
    file = tmp_path / ".lock"
    child = multiprocessing.get_context("fork").Process(target=threading.Event().wait, args=(60,))
    with locked(file):
        child.start()
    with _holder(file) as other:
        assert other.stdout is not None and other.stdin is not None
        assert other.stdout.readline() == "held\n"
        other.stdin.close()
    assert child.is_alive()
    child.kill()
    child.join()


def test_threads_exclude_each_other(tmp_path: Path) -> None:
    """Two threads of a process never hold it at once."""
    file, inside, most = tmp_path / ".lock", 0, 0
    guard = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        for _ in range(50):
            with locked(file):
                with guard:
                    inside += 1
                    most = max(most, inside)
                threading.Event().wait(0.0005)
                with guard:
                    inside -= 1

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work) for _ in range(4)]:
            done.result()
    assert most == 1
