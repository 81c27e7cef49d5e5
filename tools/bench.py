"""`./x bench`: where the time and memory go, and three kernels beside rustc's nvptx64 target and nvcc.

Prints tables, ratios first, and writes bench-result.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench_stages import ARCH
from bench_twins import METRICS, Measured, Skipped, compare, ratios
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
CRATES = ROOT / "fixtures" / "crates"

#: Crates whose stages are measured; sha2's kernel is a megabyte of MIR text.
STAGED = ("saxpy", "tiled_matmul", "mandelbrot", "crates_sha2")

HEADS = {
    "seconds": "compile s",
    "ptx_instructions": "PTX",
    "sass_instructions": "SASS",
    "sass_body": "SASS body",
    "registers": "registers",
}


def say(text: str) -> None:
    """One line of progress."""
    print(f"   Measuring {text}", file=sys.stderr, flush=True)


def stages(crate: str) -> dict[str, Any]:
    """One crate's stages, measured in a process of its own; an ``error`` instead where it does not compile."""
    say(f"the stages of {crate}")
    command = [sys.executable, str(ROOT / "tools" / "bench_stages.py"), str(CRATES / crate)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"crate": crate, "error": lines[-1] if lines else f"status {done.returncode}"}
    return json.loads(done.stdout.splitlines()[-1])


def table(console: Console, title: str, heads: list[str], rows: list[list[str]]) -> None:
    """A plain table; the first two columns are names."""
    console.print(f"\n[bold]{title}[/bold]")
    shown = Table(box=None, pad_edge=False)
    for number, head in enumerate(heads):
        shown.add_column(head, justify="left" if number < 2 else "right")
    for row in rows:
        shown.add_row(*row)
    console.print(shown)


def show_twins(console: Console, measured: list[Measured], skipped: list[Skipped]) -> None:
    """Ratios, then what they are made of."""
    rows = [[row["kernel"], row["over"], *(f"{row[metric]:.2f}" for metric in METRICS)] for row in ratios(measured)]
    table(console, "mirgen (llvm) over .. (below 1: mirgen is better)", ["kernel", "over", *HEADS.values()], rows)
    rows = [[one.kernel, one.compiler, *(f"{asdict(one)[metric]:.4g}" for metric in METRICS)] for one in measured]
    table(console, f"Kernels for {ARCH}, assembled by the same ptxas", ["kernel", "compiler", *HEADS.values()], rows)
    for lane in skipped:
        console.print(f"not measured: {lane.compiler} ({lane.reason})", highlight=False, markup=False)


def show_stages(console: Console, measured: list[dict[str, Any]]) -> None:
    """Seconds and memory of each stage from a cold start (with all processes that it starts), and lowering's speed."""
    rows: list[list[str]] = []
    for crate in measured:
        if "error" in crate:
            rows.append([crate["crate"], f"failed: {crate['error']}", "", ""])
            continue
        for entry in crate["stages"]:
            rows.append([crate["crate"], entry["stage"], f"{entry['seconds']:.2f}", f"{entry['peak_bytes'] / 1e6:.0f}"])
    table(console, "Stages from a cold start", ["crate", "stage", "seconds", "peak MB"], rows)
    keys = ("crate", "target", "bodies", "statements", "statements_per_second")
    rows = [[str(crate[key]) for key in keys] for crate in measured if "error" not in crate]
    table(console, "Lowering", ["crate", "target", "bodies", "MIR statements", "statements/s"], rows)


def main() -> int:
    """Measure, show, write; 1 when something could not be measured."""
    parser = argparse.ArgumentParser(prog="./x bench", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each compiler; the fastest counts (default 3)")
    parser.add_argument("--out", type=Path, default=ROOT / "bench-result.json", help="the JSON file")
    arguments = parser.parse_args()
    console = Console(soft_wrap=True)
    twins, skipped = compare(arguments.runs, say)
    crates = [stages(crate) for crate in STAGED]
    show_twins(console, twins, skipped)
    show_stages(console, crates)
    result = {
        "version": 1,
        "arch": ARCH,
        "cpus": os.cpu_count(),
        "ratios": ratios(twins),
        "kernels": [asdict(one) for one in twins],
        "skipped": [asdict(lane) for lane in skipped],
        "stages": crates,
    }
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    console.print(f"\nwritten to {os.path.relpath(arguments.out)}", highlight=False)
    return 1 if any("error" in crate for crate in crates) else 0


if __name__ == "__main__":
    sys.exit(main())
