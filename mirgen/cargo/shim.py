"""Calls of ``mirgen-rustc``, the Rust shim, and what its failures mean."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from mirgen.errors import InternalError, InvalidInputError, ToolError

_RUSTC_FAILED = 101
_UNKNOWN_TEXT = 103


def run_shim(shim: Path, args: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
    """Run one subcommand of the shim.

    Raises:
        ToolError: rustc refused what it was asked (its own message is in ``output``).
        InvalidInputError: rustc printed text that the shim does not know.
        InternalError: the shim failed otherwise.
    """
    command = [str(shim), *args]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}, timeout=900
        )
    except OSError as error:
        raise ToolError("mirgen-rustc", str(error), command=command) from error
    except subprocess.TimeoutExpired as error:
        raise ToolError("mirgen-rustc", "no answer within 900 s", command=command) from error
    if done.returncode == 0:
        return
    if done.returncode == _RUSTC_FAILED:
        raise ToolError("rustc", "rustc refused", command=command, output=done.stderr, status=done.returncode)
    if done.returncode == _UNKNOWN_TEXT:
        raise _unknown_text(done.stderr)
    raise InternalError(f"mirgen-rustc {args[0]} failed with status {done.returncode}: {done.stderr.strip()}")


def _unknown_text(stderr: str) -> InvalidInputError:
    for line in reversed(stderr.strip().splitlines()):
        try:
            report = json.loads(line)
        except json.JSONDecodeError:
            continue
        return InvalidInputError(
            f"rustc's MIR text holds something mirgen does not know: {report.get('message', '')}",
            where=f"{report.get('file', '?')}:{report.get('line', '?')}",
        )
    return InvalidInputError(f"rustc's MIR text was not understood: {stderr.strip()}")
