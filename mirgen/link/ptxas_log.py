"""Reads what ptxas -v (and nvJitLink -verbose, which runs the same assembler) prints of each kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PROPERTIES = re.compile(r"Function properties for '?([^'\s]+?)'?:?$")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_COMPILING = re.compile(r"Compiling entry function '([^']+)'")
_USED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?")
_SMEM = re.compile(r"(\d+)(?:\+(\d+))? bytes smem")


@dataclass(frozen=True, slots=True)
class LogKernel:
    """One kernel's lines: bytes of stack, spills and static shared memory; registers and barriers."""

    registers: int
    barriers: int
    shared: int
    stack: int
    spill_stores: int
    spill_loads: int


def read_log(log: str) -> dict[str, LogKernel]:
    """The kernels that the log tells of, by name."""
    frames: dict[str, tuple[int, int, int]] = {}
    kernels: dict[str, LogKernel] = {}
    entry = function = ""
    for line in log.splitlines():
        if match := _COMPILING.search(line):
            entry = match.group(1)
        elif match := _PROPERTIES.search(line.strip()):
            function = match.group(1)
        elif match := _FRAME.search(line):
            frames[function] = (int(match.group(1)), int(match.group(2)), int(match.group(3)))
        elif (match := _USED.search(line)) and entry:
            smem = _SMEM.search(line)
            shared = sum(int(part) for part in smem.groups() if part) if smem else 0
            stack, stores, loads = frames.get(entry, (0, 0, 0))
            kernels[entry] = LogKernel(int(match.group(1)), int(match.group(2) or 0), shared, stack, stores, loads)
            entry = ""
    return kernels


def warnings(log: str) -> list[str]:
    """The lines that warn or advise, without the tool's prefix."""
    found: list[str] = []
    for line in log.splitlines():
        match = re.search(r"(?:warning|ptxas info)\s*: (?:\(C\d+\) )?(.*)", line)
        if match and ("warning" in line or "(C" in line):
            found.append(match.group(1).strip())
    return found
