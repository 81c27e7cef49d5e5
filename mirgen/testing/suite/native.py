"""Tests as rustc's own build runs them: what all other lanes are to do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

from mirgen.cargo.options import CargoOptions
from mirgen.cargo.toolchain import find_program, find_toolchain
from mirgen.errors import Diagnostic, Location, ToolError
from mirgen.testing.suite.marks import CrateTest
from mirgen.testing.suite.verdict import Ended, Panic

_PANIC: Final = re.compile(
    r"^thread '[^\n]*' (?:\(\d+\) )?panicked at (?P<file>[^\n]+):(?P<line>\d+):(?P<col>\d+):\n"
    r"(?P<message>.*?)\nnote: run with `RUST_BACKTRACE",
    re.MULTILINE | re.DOTALL,
)
#: What the harness exits with when a test has failed.
_FAILED: Final = 101


@dataclass(frozen=True, slots=True)
class NativeTests:
    """The program that ``cargo test`` makes; tests run in ``folder``."""

    program: Path
    folder: Path
    timeout: float | None

    def run(self, test: CrateTest) -> Ended:
        """One test, in a process of its own."""
        module, _, name = test.path.rpartition("::")
        names = (test.path, f"{module}::r#{name}".removeprefix("::"))  # one of them, as the source spells it
        command = [str(self.program), *names, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"]
        environment = {**os.environ, "RUST_BACKTRACE": "0"}
        start = time.perf_counter()
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True, errors="replace",
                timeout=self.timeout,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            shown = Diagnostic("", f"still running after {self.timeout} s", notes=[f"in test `{test.path}`"])
            return Ended(time.perf_counter() - start, trouble=(shown,), timed_out=True)
        seconds, output = time.perf_counter() - start, done.stdout + done.stderr
        if done.returncode not in (0, _FAILED) or "running 1 test\n" not in done.stdout:
            return Ended(seconds, error=ToolError(self.program.name, "", output=output, status=done.returncode))
        return Ended(seconds, _panic(test, done.stderr), output=output)


def _panic(test: CrateTest, said: str) -> Panic | None:
    """What the harness tells of a panic, whether the test was to panic or not."""
    match = _PANIC.search(said)
    if match is None:
        return None
    line, col = int(match["line"]), int(match["col"])
    at = Location(match["file"], line, col, line, col + 1)
    shown = Diagnostic("", match["message"], at, notes=[f"in test `{test.path}`, natively"])
    return Panic(match["message"], f"{match['file']}:{line}:{col}", shown)


def build_native(options: CargoOptions, folder: Path, timeout: float | None) -> NativeTests:
    """The crate's tests, built by plain cargo with the same selection.

    Raises:
        ToolError: cargo or rustc failed; their messages have been shown.
    """
    profile = "test" if options.profile == "dev" else options.profile
    plain = replace(options, tests=False, profile=profile)
    command = [str(find_program("cargo", "CARGO")), "test", "--no-run", *plain.selection()]
    command += ["--message-format", "json-render-diagnostics"]
    command += ["--target-dir", str(options.target_dir)] if options.target_dir is not None else []
    command += ["--quiet"] if options.quiet else []
    command += ["--color", options.color or ("always" if sys.stderr.isatty() else "auto"), *options.extra]
    environment = {**os.environ, "RUSTC": str(find_toolchain().rustc)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise ToolError("cargo", "", command=command, status=done.returncode)
    programs = [
        message["executable"]
        for line in done.stdout.splitlines()
        if line.startswith("{") and (message := cast("dict[str, Any]", json.loads(line))).get("executable")
    ]
    if len(programs) != 1:
        raise ToolError("cargo", f"made {len(programs)} test programs, not one", command=command)
    return NativeTests(Path(programs[0]), folder, timeout)
