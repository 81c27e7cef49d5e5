"""One crate through all stages in a process of its own: seconds and peak memory of each, and MIR statements per second.

python tools/bench_stages.py CRATE_FOLDER [KERNEL ..]     prints one JSON object
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from mirgen.cargo.build import cargo_build
from mirgen.cargo.options import CargoOptions
from mirgen.cargo.program import close_program
from mirgen.link import Worker, assemble, compile_ptx, find_arch
from mirgen.lower import lower_program
from mirgen.pipeline import is_intrinsic
from mirgen.targets.host import HostTarget
from mirgen.targets.nvptx import NvptxTarget

Result = TypeVar("Result")

#: The architecture of every comparison.
ARCH = "sm_90"


class PeakMemory:
    """The most memory that this process and all below it have had together since the start of its ``with`` block, by
    looking every few milliseconds."""

    def __init__(self) -> None:
        self.bytes = 0
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._look()
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._watcher.join()
        self._look()

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            self._look()

    def _look(self) -> None:
        self.bytes = max(self.bytes, sum(map(_resident, _family(os.getpid()))))


def _family(pid: int) -> Iterator[int]:
    """A process and all below it."""
    yield pid
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from _family(int(child))
    except OSError:  # it has just ended
        return


def _resident(pid: int) -> int:
    """Bytes of memory of a process; none of one that has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def measure(crate: Path, kernels: tuple[str, ...]) -> dict[str, Any]:
    """Stages from a cold start: nothing compiled, nothing cached but downloads."""
    stages: list[dict[str, Any]] = []

    def stage(name: str, action: Callable[[], Result]) -> Result:
        start = time.perf_counter()
        with PeakMemory() as peak:
            result = action()
            seconds = time.perf_counter() - start
        stages.append({"stage": name, "seconds": round(seconds, 4), "peak_bytes": peak.bytes})
        return result

    arch = find_arch(ARCH)
    with tempfile.TemporaryDirectory(prefix="mirgen-bench-") as folder, Worker() as worker:
        options = CargoOptions(
            manifest_path=crate / "Cargo.toml", profile="release", target_dir=Path(folder), quiet=True
        )
        made = stage("cargo and rustc", lambda: cargo_build(options))
        closed = stage("close the program", lambda: close_program(made, is_intrinsic(), kernels))
        device = stage("lower for the GPU", lambda: lower_program(closed.program, closed.layouts, NvptxTarget()))
        stage("lower for the simulator", lambda: lower_program(closed.program, closed.layouts, HostTarget()))
        names = [kernel.name for kernel in device.kernels]
        ptx = stage("PTX (LLVM)", lambda: compile_ptx(device.text, arch, kernels=names, worker=worker))
        stage("cubin (ptxas)", lambda: assemble(ptx.ptx, arch, kernels=names))
        target, compiler = made.target, made.toolchain.release
    bodies = {id(body): body for body in closed.program.functions.values()}
    statements = sum(len(block.statements) + 1 for body in bodies.values() for block in body.blocks)
    lowering = next(entry["seconds"] for entry in stages if entry["stage"] == "lower for the GPU")
    return {
        "crate": crate.name,
        "target": target,
        "rustc": compiler,
        "kernels": names,
        "bodies": len(bodies),
        "statements": statements,
        "statements_per_second": round(statements / lowering) if lowering else None,
        "llvm_ir_bytes": len(device.text),
        "stages": stages,
    }


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), tuple(sys.argv[2:]))))
