"""The command line as users meet it: each call is a process, all builds share one target folder."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURE = ROOT / "fixtures" / "crates" / "saxpy"

#: Variables that would change what the tests see.
_IGNORED = ("MIRGEN_", "CARGO_", "NO_COLOR", "RUSTFLAGS", "RUSTC", "RUSTC_WRAPPER")

PRELUDE = "#![no_std]\nuse mirgen_device::prelude::*;\n"


@dataclass(frozen=True, slots=True)
class Done:
    """What a call left: its exit code and both streams."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Mirgen:
    """Calls ``mirgen``, with all output below ``target``."""

    target: Path
    variables: dict[str, str] = field(default_factory=dict[str, str])

    def __call__(self, *args: str | Path, cwd: Path, **variables: str) -> Done:
        env = {key: value for key, value in os.environ.items() if not key.startswith(_IGNORED)}
        for kept in ("CARGO_HOME", "MIRGEN_RUSTC_SHIM"):
            env |= {kept: os.environ[kept]} if kept in os.environ else {}
        env |= {"PYTHONPATH": str(ROOT), "CARGO_TERM_PROGRESS_WHEN": "never", **self.variables, **variables}
        words = [str(arg) for arg in args]
        done = subprocess.run(
            [sys.executable, "-m", "mirgen", *words], cwd=cwd, env=env, capture_output=True, text=True, timeout=300
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def build(self, *args: str, cwd: Path, verb: str = "build", **variables: str) -> Done:
        """A command that compiles."""
        return self(verb, "--target-dir", self.target, "--target", "host", "--offline", *args, cwd=cwd, **variables)


def make_crate(folder: Path, source: str, manifest: str = "", name: str = "saxpy") -> Path:
    """A crate with the fixture's dependencies, and its lock file: no index is asked."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "lib.rs").write_text(source)
    device = ROOT / "rustc-shim" / "device"
    (folder / "Cargo.toml").write_text(
        f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n\n'
        f'[dependencies]\nmirgen-device = {{ path = "{device}" }}\n{manifest}'
    )
    lock = (FIXTURE / "Cargo.lock").read_text()
    (folder / "Cargo.lock").write_text(lock.replace('name = "saxpy"', f'name = "{name}"'))
    return folder
