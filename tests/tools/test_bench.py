"""What the bench measures with, and how it counts."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from bench_stages import PeakMemory  # noqa: E402
from bench_twins import METRICS, Measured, ratios  # noqa: E402

MEGABYTES = 60


def touch(seconds: float = 0.3) -> str:
    """A program that fills memory and then waits."""
    return f"import time; held = bytearray(b'x' * ({MEGABYTES} << 20)); time.sleep({seconds})"


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_memory_of_a_stage_is_that_of_all_its_processes(depth: int) -> None:
    """In this process, in a child, in a child's child; and a later stage does not inherit the peak."""
    program = touch()
    for _ in range(depth - 1):
        program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}])"
    with PeakMemory() as peak:
        if depth:
            subprocess.run([sys.executable, "-c", program], check=True)
        else:
            held = bytearray(b"x" * (MEGABYTES << 20))
            time.sleep(0.1)
            del held
    with PeakMemory() as later:
        time.sleep(0.05)
    assert peak.bytes > later.bytes + (MEGABYTES - 10 << 20)


def test_ratios_are_ours_over_theirs() -> None:
    kernels = [
        Measured("k", "mirgen (llvm)", 2.0, 30, 40, 40, 8),
        Measured("k", "nvcc", 1.0, 15, 80, 80, 16),
        Measured("other", "nvcc", 1.0, 1, 1, 1, 1),
    ]
    assert ratios(kernels) == [
        {"kernel": "k", "over": "nvcc", **dict(zip(METRICS, (2, 2, 0.5, 0.5, 0.5), strict=True))}
    ]
