"""PTX to cubin with ptxas, in its own process."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from pathlib import Path

from mirgen.errors import ToolError
from mirgen.link.arch import Arch
from mirgen.link.cubin import Cubin
from mirgen.link.discover import require_tool
from mirgen.link.resources import join_resources
from mirgen.link.worker import DEFAULT_TIMEOUT


def _explain(output: str, ptx: str) -> tuple[str, str]:
    """The first error line, and all of them with the PTX line that each points at."""
    lines = ptx.splitlines()
    shown: list[str] = []
    first = ""
    for line in output.splitlines():
        shown.append(line)
        match = re.search(r"line (\d+); (?:error|fatal)\s*:\s*(.*)", line)
        if match:
            first = first or match.group(2)
            number = int(match.group(1))
            if 0 < number <= len(lines):
                shown.append(f"    {number} | {lines[number - 1].strip()}")
        elif re.search(r"\b(?:error|fatal)\s*:", line):
            first = first or line.strip()
    return first or "assembling failed", "\n".join(shown)


def assemble_ptx(
    ptx: str, arch: Arch, *, opt_level: int = 3, debug: bool = False, timeout: float = DEFAULT_TIMEOUT
) -> Cubin:
    """The cubin of ``ptx`` for ``arch``, with each kernel's resources.

    Raises ToolError with ptxas's own lines and the PTX lines that they point at.
    """
    tool = require_tool("ptxas")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="mirgen-") as folder:
        source, out = Path(folder, "in.ptx"), Path(folder, "out.cubin")
        source.write_text(ptx, encoding="utf-8")
        command = [str(tool.path), f"--gpu-name={arch.name}", "--verbose", f"--opt-level={opt_level}", "--fmad=false"]
        if debug:
            command.append("--generate-line-info")
        command += ["--output-file", str(out), str(source)]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout
            )
        except subprocess.TimeoutExpired:
            raise ToolError("ptxas", f"took longer than {timeout:g} s", command=command) from None
        log = done.stdout.decode(errors="replace")
        if done.returncode:
            first, lines = _explain(log, ptx)
            raise ToolError("ptxas", first, command=command, output=lines, status=done.returncode)
        data = out.read_bytes()
    kernels = join_resources(data, log, "ptxas")
    return Cubin(data, arch, "ptxas", kernels, log, time.perf_counter() - start, {"ptxas": tool.version})
