"""What rustc lists of a compiled crate: which crates are behind it, whether it brings an allocator."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from mirgen.cargo.toolchain import Toolchain
from mirgen.errors import ToolError


def crates_behind(toolchain: Toolchain, metadata: Path) -> frozenset[str]:
    """The names of all crates that a crate depends on, at any distance."""
    _, heading, listed = _listing(toolchain, metadata).partition("=External Dependencies=\n")
    if not heading:
        raise ToolError("rustc", f"did not list what {metadata.name} depends on")
    return frozenset(line.split()[1].rsplit("-", 1)[0] for line in listed.splitlines() if len(line.split()) > 1)


def has_global_allocator(toolchain: Toolchain, metadata: Path) -> bool:
    """Whether a crate has a ``#[global_allocator]``."""
    _, _, rest = _listing(toolchain, metadata).partition("has_global_allocator ")
    if not rest.startswith(("true", "false")):
        raise ToolError("rustc", f"did not say whether {metadata.name} has an allocator")
    return rest.startswith("true")


def _listing(toolchain: Toolchain, metadata: Path) -> str:
    command = [str(toolchain.rustc), "-Zls=root", str(metadata)]
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise ToolError(
            "rustc", f"could not read {metadata.name}", command=command, output=done.stderr, status=done.returncode
        )
    return done.stdout
