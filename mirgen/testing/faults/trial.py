"""One fault in a copy of the package, and the tests that have to notice."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from mirgen.errors import InternalError

#: A summary line of pytest: which test did not pass.
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", re.MULTILINE)
#: pytest's status where tests ran and some failed.
_TESTS_FAILED = 1


@dataclass(frozen=True, slots=True)
class Fault:
    """A change of one piece of text.  ``file`` is relative to the package; ``tests``, relative to the repository, are
    pytest's arguments, the likeliest to notice first."""

    name: str
    file: str
    old: str
    new: str
    meaning: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """``caught_by`` is the first test that failed; empty where none did."""

    fault: str
    caught_by: str
    seconds: float


def planted(fault: Fault, text: str) -> str:
    """``text`` with the fault.

    Raises:
        InternalError: what is to be changed does not stand there exactly once.
    """
    found = text.count(fault.old)
    if found != 1:
        raise InternalError(f"the fault `{fault.name}`: its text stands {found} times in mirgen/{fault.file}")
    return text.replace(fault.old, fault.new)


@contextmanager
def package_copy(package: Path, fault: Fault | None) -> Generator[Path]:
    """A folder with a copy of ``package``, with ``fault`` where one is given; gone afterwards."""
    with TemporaryDirectory(prefix="mirgen-fault-") as folder:
        copy = Path(folder) / package.name
        shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__", "_crates"))
        crates = package / "_crates"
        if crates.is_dir():  # links into the repository, which a build follows
            (copy / "_crates").mkdir()
            for link in crates.iterdir():
                (copy / "_crates" / link.name).symlink_to(link.resolve())
        if fault is not None:
            file = copy / fault.file
            file.write_text(planted(fault, file.read_text()))
        yield Path(folder)


def run_tests(repository: Path, folder: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """pytest, with the package that lies in ``folder``, up to the first failure."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "--no-header", "-p", "no:cacheprovider",
        "-o", f"pythonpath={folder} {repository}", *tests,
    ]  # fmt: skip
    return subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True)


def check_unbroken(repository: Path, tests: Sequence[str]) -> None:
    """The tests pass on a copy without fault; otherwise a failure would mean nothing.

    Raises:
        InternalError: they do not.
    """
    with package_copy(repository / "mirgen", None) as folder:
        done = run_tests(repository, folder, tests)
    if done.returncode:
        raise InternalError(f"the tests fail without any fault:\n{done.stdout}{done.stderr}")


def attempt(repository: Path, fault: Fault) -> Verdict:
    """Plants ``fault`` and runs its tests, one file after another.

    Raises:
        InternalError: the fault does not fit, or pytest itself cannot run the tests.
    """
    start = time.monotonic()
    with package_copy(repository / "mirgen", fault) as folder:
        for test in fault.tests:
            done = run_tests(repository, folder, [test])
            if done.returncode == 0:
                continue
            failed = _FAILED.search(done.stdout)
            if done.returncode != _TESTS_FAILED or failed is None:
                raise InternalError(f"the fault `{fault.name}`: pytest itself failed:\n{done.stdout}{done.stderr}")
            return Verdict(fault.name, failed[1], time.monotonic() - start)
    return Verdict(fault.name, "", time.monotonic() - start)
