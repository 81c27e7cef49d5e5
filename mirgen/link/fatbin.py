"""Joins cubins and PTX of several architectures in one file that the CUDA driver picks from."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mirgen.errors import InternalError, ToolError
from mirgen.link.arch import Arch
from mirgen.link.cubin import Cubin
from mirgen.link.discover import require_tool


def fatbin(cubins: Sequence[Cubin], ptx: Sequence[tuple[Arch, str]] = ()) -> bytes:
    """A fat binary of the cubins and, for GPUs still to come, PTX texts with the architecture each is for.

    Raises ToolError with fatbinary's own lines.
    """
    if not cubins and not ptx:
        raise InternalError("a fat binary of nothing")
    tool = require_tool("fatbinary")
    with tempfile.TemporaryDirectory(prefix="mirgen-") as folder:
        out = Path(folder, "out.fatbin")
        command = [str(tool.path), "--64", "--create", str(out)]
        for cubin in cubins:
            file = Path(folder, f"{cubin.arch}.cubin")
            file.write_bytes(cubin.data)
            command.append(f"--image3=kind=elf,sm={cubin.arch.id},file={file}")
        for arch, text in ptx:
            file = Path(folder, f"{arch}.ptx")
            file.write_text(text, encoding="utf-8")
            command.append(f"--image3=kind=ptx,sm={arch.id},file={file}")
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        if done.returncode:
            output = (done.stdout + done.stderr).strip()
            raise ToolError(
                "fatbinary", "cannot join the images", command=command, output=output, status=done.returncode
            )
        return out.read_bytes()
