"""Calls of ``mirgen-rustc``, the Rust shim, and what its failures mean."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from mirgen.cargo.toolchain import cache_dir
from mirgen.errors import Diagnostic, InternalError, Location, ToolError, UnsupportedError

_RUSTC_FAILED = 101
_UNKNOWN_TEXT = 103


def run_shim(shim: Path, args: Sequence[str], *, env: Mapping[str, str] | None = None) -> str:
    """Run one subcommand of the shim; what it printed.

    Raises:
        ToolError: rustc refused what it was asked (its own message is in ``output``).
        UnsupportedError: rustc printed text that the shim does not know.
        InternalError: the shim failed otherwise.
    """
    command = [str(shim), *args]
    # What dependencies are is the same in every build.
    environment = {**os.environ, "MIRGEN_ANSWERS": str(cache_dir() / "answers"), **(env or {})}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=900)
    except OSError as error:
        raise ToolError("mirgen-rustc", str(error), command=command) from error
    except subprocess.TimeoutExpired as error:
        raise ToolError("mirgen-rustc", "no answer within 900 s", command=command) from error
    if done.returncode == 0:
        return done.stdout
    if done.returncode == _RUSTC_FAILED:
        raise ToolError("rustc", "rustc refused", command=command, output=done.stderr, status=done.returncode)
    if done.returncode == _UNKNOWN_TEXT:
        raise _unknown_text(done.stderr)
    raise InternalError(f"mirgen-rustc {args[0]} failed with status {done.returncode}: {done.stderr.strip()}")


def _unknown_text(stderr: str) -> UnsupportedError:
    message, where = stderr.strip(), None
    for line in reversed(stderr.strip().splitlines()):
        try:
            report = json.loads(line)
        except json.JSONDecodeError:
            continue
        message = str(report.get("message", ""))
        at = int(report.get("line", 1))
        where = Location(str(report.get("file", "?")), at, 1, at, 1)
        break
    return UnsupportedError(
        Diagnostic(
            code="MG0001",
            message=f"rustc's MIR text holds something mirgen does not know: {message}",
            location=where,
            helps=["this rustc may be newer than this mirgen: see `cargo mirgen doctor`"],
        )
    )
