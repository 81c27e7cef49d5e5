"""Three kernels by mirgen, by rustc's own nvptx64 target and by nvcc: compile time, instructions, registers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench_stages import ARCH

from mirgen.cargo.sysroot import build_sysroot
from mirgen.cargo.toolchain import NVPTX_TARGET, probe
from mirgen.errors import MirgenError
from mirgen.link import assemble, find_arch, find_tool, parse_ptx, require_tool

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "fixtures" / "bench"

#: Fixture crate and kernel; the twins in fixtures/bench are named after the kernel.
KERNELS = (("saxpy", "saxpy"), ("tiled_matmul", "matmul"), ("mandelbrot", "mandelbrot"))


@dataclass(frozen=True, slots=True)
class Measured:
    """One kernel by one compiler.  ``seconds`` from a changed source to PTX; instructions are static counts.

    ``sass_body`` leaves out the functions that the kernel calls out of line (mirgen's report of a panic), whose
    registers count all the same.
    """

    kernel: str
    compiler: str
    seconds: float
    ptx_instructions: int
    sass_instructions: int
    sass_body: int
    registers: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A lane that cannot run here, with the reason."""

    compiler: str
    reason: str


def sass_instructions(cubin: bytes, kernel: str) -> tuple[int, int]:
    """How many SASS instructions the kernel has: in all, and without the functions that it calls out of line.

    The padding and the loop that ends every function do not count.
    """
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(require_tool("nvdisasm").path), "-c", file.name]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    total = body = 0
    inside = called = False
    label = ""
    for line in listing.splitlines():
        if line.startswith(("\t.section", "//-----")):
            inside = called = False
        elif line == f".text.{kernel}:":
            inside = True
        elif match := re.match(r"([.$\w]+):$", line):
            label = match.group(1)
            called = called or label.startswith(f"${kernel}$")
        elif inside and (match := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line)):
            counts = match.group(1) not in ("NOP", f"BRA `({label})")
            total += counts
            body += counts and not called
    if not total:
        raise LookupError(kernel)
    return total, body


def examine(kernel: str, compiler: str, seconds: float, ptx: str) -> Measured:
    """What the PTX of one compiler holds, and what the same ptxas makes of it."""
    names = parse_ptx(ptx).entries
    cubin = assemble(ptx, find_arch(ARCH), kernels=names)
    entry = parse_ptx(ptx).functions[kernel]
    sass, body = sass_instructions(cubin.data, kernel)
    return Measured(kernel, compiler, seconds, entry.instructions, sass, body, cubin.kernels[kernel].registers)


def fastest(runs: int, action: Callable[[], None]) -> float:
    """The least of the wall-clock seconds of ``runs`` runs."""
    seconds: list[float] = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return round(min(seconds), 4)


def run(command: list[str], **variables: str) -> None:
    """Run a compiler; its messages are shown when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    if done.returncode:
        raise SystemExit(f"bench: {' '.join(command)}\n{done.stdout}{done.stderr}")


def by_mirgen(crate: str, kernel: str, codegen: str, folder: Path, runs: int) -> Measured:
    """`cargo mirgen build` after a change of the kernel's crate; the crates below it are compiled."""
    manifest = ROOT / "fixtures" / "crates" / crate / "Cargo.toml"
    source = manifest.parent / "src" / "lib.rs"
    command = [str(Path(sys.executable).parent / "mirgen"), "build", "--quiet", "--release", "--arch", ARCH]
    command += ["--codegen", codegen, "--assembler", "none", "--manifest-path", str(manifest)]
    command += ["--target-dir", str(folder / crate), kernel]

    def action() -> None:
        os.utime(source)
        run(command)

    action()
    seconds = fastest(runs, action)
    (ptx,) = (folder / crate / "mirgen").rglob("*.ptx")
    return examine(kernel, f"mirgen ({codegen})", seconds, ptx.read_text())


def by_rustc(kernel: str, rustc: Path, sysroot: Path, folder: Path, runs: int) -> Measured:
    """rustc's own target; `core` is compiled beforehand."""
    out = folder / f"{kernel}.rustc.ptx"
    command = [str(rustc), "--edition", "2021", "--crate-type", "lib", "--target", NVPTX_TARGET]
    command += ["--sysroot", str(sysroot), "-Copt-level=3", "-Cpanic=abort", f"-Ctarget-cpu={ARCH}"]
    command += ["--emit=asm", "-o", str(out), str(SOURCES / f"{kernel}_nvptx.rs")]
    seconds = fastest(runs, lambda: run(command, RUSTC_BOOTSTRAP="1"))
    return examine(kernel, "rustc nvptx64", seconds, out.read_text())


def by_nvcc(kernel: str, folder: Path, runs: int) -> Measured:
    """nvcc, without the contraction that Rust does not do either."""
    out = folder / f"{kernel}.nvcc.ptx"
    command = [str(require_tool("nvcc").path), "-O3", "-fmad=false", f"-arch={ARCH}", "-ptx"]
    command += [str(SOURCES / f"{kernel}.cu"), "-o", str(out)]
    seconds = fastest(runs, lambda: run(command))
    return examine(kernel, "nvcc", seconds, out.read_text())


def compare(runs: int, say: Callable[[str], None]) -> tuple[list[Measured], list[Skipped]]:
    """All kernels by all compilers that are here, in turn, so that a noisy moment hits all alike."""
    measured: list[Measured] = []
    skipped: list[Skipped] = []
    named = os.environ.get("MIRGEN_RUSTC_196")
    sysroot: Path | None = None
    if named is None:
        skipped.append(
            Skipped("rustc nvptx64", "MIRGEN_RUSTC_196 is not set: tools/debian-rustc .toolchains/rust-1.96")
        )
    else:
        try:
            sysroot = build_sysroot(probe(Path(named)), progress=say)
        except MirgenError as error:
            skipped.append(Skipped("rustc nvptx64", str(error)))
    if find_tool("nvcc") is None:
        skipped.append(Skipped("nvcc", "not installed"))
    with tempfile.TemporaryDirectory(prefix="mirgen-bench-") as name:
        folder = Path(name)
        for crate, kernel in KERNELS:
            for codegen in ("llvm", "nvvm"):
                say(f"{kernel} by mirgen ({codegen})")
                measured.append(by_mirgen(crate, kernel, codegen, folder / codegen, runs))
            if named is not None and sysroot is not None:
                say(f"{kernel} by rustc's nvptx64 target")
                measured.append(by_rustc(kernel, Path(named), sysroot, folder, runs))
            if find_tool("nvcc") is not None:
                say(f"{kernel} by nvcc")
                measured.append(by_nvcc(kernel, folder, runs))
    return measured, skipped


METRICS = ("seconds", "ptx_instructions", "sass_instructions", "sass_body", "registers")


def ratios(measured: list[Measured]) -> list[dict[str, Any]]:
    """mirgen (llvm) over each other compiler, for each kernel and metric: below 1 is better."""
    found: list[dict[str, Any]] = []
    for ours in measured:
        if ours.compiler != "mirgen (llvm)":
            continue
        for other in measured:
            if other.kernel == ours.kernel and other is not ours:
                mine, theirs = asdict(ours), asdict(other)
                row = {metric: round(mine[metric] / theirs[metric], 3) for metric in METRICS}
                found.append({"kernel": ours.kernel, "over": other.compiler, **row})
    return found
