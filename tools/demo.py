"""`./x demo`: the whole path on a fixture crate, with every step shown.

Compiles the crate for two architectures, runs a kernel on the simulator, runs the same Rust as plain CPU code that
rustc compiled, compares the two bit by bit, and says what to try next.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from mirgen.link.files import ArtifactFolder
from mirgen.link.manifest import Manifest, load_manifest

ROOT = Path(__file__).resolve().parents[1]
CRATE = ROOT / "fixtures" / "crates" / "saxpy"
ARCHS = "sm_90,sm_100"
GRID, BLOCK, COUNT = 4, 256, 1000
A = np.float32(1.7)

#: Lines of a build that the demo shows at its own end.
_AT_THE_END = (["Kernel"], ["Artefact"], ["Manifest"])
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

Floats = npt.NDArray[np.float32]


def shown(path: Path) -> str:
    """``path`` as a user in the repository's root types it."""
    return os.path.relpath(path, ROOT)


def run(what: str, command: list[str], title: list[str] | None = None) -> None:
    """Run a command in the crate's folder as users would, its messages shown; the demo ends where it fails."""
    print(f"$ {' '.join(title or command)}", flush=True)
    color = "always" if sys.stderr.isatty() and not os.environ.get("NO_COLOR") else "auto"
    env = {"CARGO_TERM_COLOR": color, **os.environ, "CARGO_TARGET_DIR": str(CRATE / "target")}
    with subprocess.Popen(command, cwd=CRATE, env=env, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if _COLOUR.sub("", line).split(maxsplit=1)[:1] not in _AT_THE_END:
                sys.stderr.write(line)
                sys.stderr.flush()
    if process.returncode:
        raise SystemExit(f"demo: {what} failed with status {process.returncode}; its message stands above")


def build() -> Path:
    """Build the crate with the command that users type; the folder of its manifest."""
    run("the build", ["cargo", "mirgen", "build", "--release", "--arch", ARCHS])
    return ArtifactFolder.of(CRATE / "target", "release", "saxpy").root


def inputs() -> tuple[Floats, Floats]:
    """x and y, reproducible."""
    generator = np.random.default_rng(1)
    return generator.standard_normal(COUNT, dtype=np.float32), generator.standard_normal(COUNT, dtype=np.float32)


def simulated(folder: Path) -> Floats:
    """y after the kernel ran on the simulator."""
    for name, array in zip("xy", inputs(), strict=True):
        np.save(folder / f"{name}.npy", array)
    command = ["cargo", "mirgen", "run", "saxpy", "--release", "--device", "sim"]
    command += ["--grid", str(GRID), "--block", str(BLOCK), "--arg", f"a={A:g}"]
    files = [("--arg", f"x=@{folder}/x.npy"), ("--arg", f"y=@{folder}/y.npy"), ("--out", f"y={folder}/out.npy")]
    title = [*command, *(word.replace(f"{folder}/", "") for pair in files for word in pair)]
    run("the launch", [*command, *(word for pair in files for word in pair)], title)
    return np.load(folder / "out.npy")


def native(folder: Path) -> Floats:
    """y after the same Rust function ran as plain CPU code."""
    given, made = folder / "in", folder / "out"
    given.mkdir()
    made.mkdir()
    for parameter, value in zip("axy", (np.array([A]), *inputs()), strict=True):
        (given / f"{parameter}.bin").write_bytes(value.tobytes())
    command = ["cargo", "run", "--quiet", "--release", "--example", "native"]
    run("the native run", [*command, "--", "saxpy", str(GRID), str(BLOCK), str(given), str(made)], command)
    return np.frombuffer((made / "y.bin").read_bytes(), dtype=np.float32)


def show_kernels(console: Console, manifest: Manifest, folder: Path) -> None:
    """What was made: kernels with their resources on each architecture, and the files."""
    table = Table(box=None, pad_edge=False)
    for column in ("kernel", "arch", "registers", "shared", "stack", "spills"):
        table.add_column(column, justify="left" if column in ("kernel", "arch") else "right")
    for artifact in manifest.artifacts:
        for kernel in manifest.kernels:
            used = artifact.resources.get(kernel.symbol)
            if used is None:  # no assembler here
                table.add_row(kernel.name, artifact.arch, "PTX only")
                continue
            spills = used.spill_stores + used.spill_loads
            cells = (used.registers, f"{used.shared} B", f"{used.stack} B", f"{spills} B")
            table.add_row(kernel.name, artifact.arch, *(str(cell) for cell in cells))
    console.print(table)
    files = [name for artifact in manifest.artifacts for kind, name in artifact.files.items() if kind != "ll"]
    for name in [*files, "manifest.json"]:
        console.print(f"  {shown(folder / name)}", highlight=False)


def show_next(console: Console) -> None:
    """Where to go from here."""
    manifest = f"--manifest-path {shown(CRATE)}/Cargo.toml"
    for what, command in (
        ("what the GPU executes", f"./x exec cargo mirgen asm saxpy --sass --rust --release {manifest}"),
        ("a crate of your own", "./x exec cargo mirgen new hello-gpu"),
        ("what is installed here", "./x exec cargo mirgen doctor"),
        ("the first ten minutes", "docs/quickstart.md"),
        ("how it works", "docs/architecture.md"),
    ):
        console.print(f"  {what:<24}{command}", highlight=False, markup=False)


def main() -> int:
    """All steps; 0 when the simulator and the CPU agree."""
    argparse.ArgumentParser(prog="./x demo", description=__doc__).parse_args()
    start = time.monotonic()
    console = Console(soft_wrap=True)

    def step(text: str) -> None:
        console.print(f"\n[bold]{text}[/bold]")

    step(f"1. Compile the kernels of {shown(CRATE)} (no GPU needed)")
    folder = build()
    with tempfile.TemporaryDirectory(prefix="mirgen-demo-") as name:
        step(f"2. Run saxpy on the simulator: y += {A:g} * x, {COUNT} elements")
        ours = simulated(Path(name))
        step("3. Run the same Rust on the CPU, compiled by rustc")
        theirs = native(Path(name))
    same = ours.tobytes() == theirs.tobytes()
    differing = int(np.count_nonzero(ours.view(np.uint32) != theirs.view(np.uint32)))
    step("Kernels and files")
    show_kernels(console, load_manifest(folder), folder)
    step("Check")
    console.print(f"simulator  y[:4] = {ours[:4]}\nnative     y[:4] = {theirs[:4]}", highlight=False, markup=False)
    verdict = f"all {COUNT} elements are bit-equal" if same else f"{differing} of {COUNT} elements DIFFER"
    console.print(f"[bold {'green' if same else 'red'}]{verdict}[/]")
    if not same:
        return 1
    step("What to try next")
    show_next(console)
    console.print(f"\nDone in {time.monotonic() - start:.1f} s.", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
