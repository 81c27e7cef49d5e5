"""`./x demo`: the whole path on a fixture crate, with every step shown.

Compiles the crate for two architectures, runs a kernel on the simulator, runs the same Rust as plain CPU code that
rustc compiled, compares the two bit by bit, and says what to try next.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

import mirgen
from mirgen.errors import MirgenError
from mirgen.link.files import ArtifactFolder
from mirgen.link.manifest import Manifest, load_manifest

ROOT = Path(__file__).resolve().parents[1]
CRATE = ROOT / "fixtures" / "crates" / "saxpy"
ARCHS = "sm_90,sm_100"
GRID, BLOCK, COUNT = 4, 256, 1000
A = np.float32(1.7)

Floats = npt.NDArray[np.float32]


def shown(path: Path) -> str:
    """``path`` as a user in the repository's root types it."""
    return os.path.relpath(path, ROOT)


def step(console: Console, number: int, text: str) -> None:
    """The headline of one step."""
    console.print(f"\n[bold]{number}. {text}[/bold]")


def build() -> Path:
    """Build the crate with the command that users type; the folder of its manifest."""
    command = ["cargo", "mirgen", "build", "--release", "--arch", ARCHS]
    print(f"$ cd {shown(CRATE)} && {' '.join(command)}", flush=True)
    done = subprocess.run(command, cwd=CRATE)
    if done.returncode:
        raise SystemExit(f"demo: the build failed with status {done.returncode}; its message stands above")
    return ArtifactFolder.of(CRATE / "target", "release", "saxpy").root


def show_kernels(console: Console, manifest: Manifest, folder: Path) -> None:
    """What was made: kernels with their resources on each architecture, and the files."""
    table = Table(box=None, pad_edge=False)
    for column in ("kernel", "arch", "registers", "shared", "spills", "stack"):
        table.add_column(column, justify="left" if column in ("kernel", "arch") else "right")
    for artifact in manifest.artifacts:
        for name, used in artifact.resources.items():
            spills = used.spill_stores + used.spill_loads
            cells = (used.registers, f"{used.shared} B", f"{spills} B", f"{used.stack} B")
            table.add_row(name, artifact.arch, *(str(cell) for cell in cells))
    console.print(table)
    for kernel in manifest.kernels:
        parameters = ", ".join(f"{param.name}: {param.rust_type}" for param in kernel.params)
        console.print(f"fn {kernel.name}({parameters})", highlight=False, markup=False)
    files = [name for artifact in manifest.artifacts for name in artifact.files.values()]
    for name in [*files, "manifest.json"]:
        console.print(f"  {shown(folder / name)}", highlight=False)


def inputs() -> tuple[Floats, Floats]:
    """x and y, reproducible."""
    generator = np.random.default_rng(1)
    return generator.standard_normal(COUNT, dtype=np.float32), generator.standard_normal(COUNT, dtype=np.float32)


def simulate(folder: Path) -> Floats:
    """y after the kernel ran on the simulator (or on MIRGEN_DEVICE)."""
    x, y = inputs()
    module = mirgen.load(folder)
    module.saxpy[GRID, BLOCK](A, x, y)
    return y


def native() -> Floats:
    """y after the same Rust function ran as plain CPU code."""
    x, y = inputs()
    with tempfile.TemporaryDirectory() as name:
        given, made = Path(name, "in"), Path(name, "out")
        given.mkdir()
        made.mkdir()
        for parameter, value in (("a", np.array([A])), ("x", x), ("y", y)):
            (given / f"{parameter}.bin").write_bytes(value.tobytes())
        command = ["cargo", "run", "--quiet", "--release", "--example", "native", "--"]
        command += ["saxpy", str(GRID), str(BLOCK), str(given), str(made)]
        done = subprocess.run(command, cwd=CRATE)
        if done.returncode:
            raise SystemExit(f"demo: the native run failed with status {done.returncode}")
        return np.frombuffer((made / "y.bin").read_bytes(), dtype=np.float32)


def main() -> int:
    """All steps; 0 when the simulator and the CPU agree."""
    argparse.ArgumentParser(prog="./x demo", description=__doc__).parse_args()
    console = Console(soft_wrap=True)
    step(console, 1, f"Compile the kernels of {shown(CRATE)}")
    folder = build()
    manifest = load_manifest(folder)
    step(console, 2, "What was made")
    show_kernels(console, manifest, folder)
    step(console, 3, f"Run saxpy[{GRID}, {BLOCK}]({A:g}, x, y) on {COUNT} elements")
    try:
        ours = simulate(folder)
    except MirgenError as error:
        raise SystemExit(f"demo: {error}") from None
    theirs = native()
    same = ours.tobytes() == theirs.tobytes()
    differing = int(np.count_nonzero(ours.view(np.uint32) != theirs.view(np.uint32)))
    verdict = "bit-equal" if same else f"{differing} of {COUNT} elements DIFFER"
    console.print(f"mirgen  y[:4] = {ours[:4]}\nrustc   y[:4] = {theirs[:4]}\n{verdict}", highlight=False, markup=False)
    if not same:
        return 1
    step(console, 4, "What to try next")
    for text in (
        f"./x exec cargo mirgen asm saxpy --ptx --manifest-path {shown(CRATE)}/Cargo.toml",
        "./x exec cargo mirgen new hello-gpu",
        "./x exec cargo mirgen doctor",
        "docs/architecture.md: how it works, stage by stage",
    ):
        console.print(f"  {text}", highlight=False, markup=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
