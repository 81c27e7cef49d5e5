"""What ``cargo mirgen new`` makes: a crate of cargo's own making, with the device library and a first kernel."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from mirgen.cargo.crates import crates_dir
from mirgen.errors import InternalError, ToolError

_FILES = Path(__file__).with_name("template_files")


def new_crate(path: Path, *, cargo: str = "cargo", args: Sequence[str] = ()) -> Path:
    """Runs ``cargo new --lib`` with ``args`` (its own, as ``--name``, ``--vcs`` or ``--edition``) for ``path``, and
    makes a GPU crate of what it made.  Cargo's messages stay on stderr.  The path of ``Cargo.toml``.

    Raises :class:`ToolError` if cargo refuses the path or the name, or if this installation lacks the device library.
    """
    device = crates_dir() / "device"
    command = [cargo, "new", "--lib", *args, "--", str(path)]
    try:
        status = subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode
    except OSError as error:
        raise ToolError("cargo", str(error), command=command) from error
    if status:
        raise ToolError("cargo", f"new: exit status {status}", command=command, status=status)
    manifest = path / "Cargo.toml"
    text = manifest.read_text()
    head, section, rest = text.partition("[dependencies]\n")
    if not section:
        raise InternalError(f"cargo new: no [dependencies] in {manifest}")
    # A JSON string is a TOML string.
    dependency = f"mirgen-device = {{ path = {json.dumps(str(device), ensure_ascii=False)} }}\n"
    manifest.write_text(head + section + dependency + rest)
    (path / "src" / "lib.rs").write_text((_FILES / "lib.rs").read_text())
    return manifest
