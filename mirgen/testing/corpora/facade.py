"""A ``std`` for programs that are written against it: what core and alloc have, under its names.

It lies in a sysroot beside core and alloc that keep all their MIR, so that mirgen reads the programs like any crate.
Nothing is printed; threads, files, the clock and hash maps are not in it, and programs that name them do not compile.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mirgen.cargo.build import Unit
from mirgen.cargo.lock import locked
from mirgen.cargo.sysroot import build_sysroot
from mirgen.cargo.toolchain import Toolchain, cache_dir
from mirgen.errors import ToolError
from mirgen.testing.corpora.sources import ROOT

SOURCE: Final = ROOT / "fixtures" / "facade" / "std.rs"
_EDITION: Final = "2024"


@dataclass(frozen=True, slots=True)
class Facade:
    """``sysroot`` is for rustc; ``units`` are std, core and alloc as mirgen reads them."""

    sysroot: Path
    units: tuple[Unit, ...]


def build_facade(toolchain: Toolchain, shim: Path, opened: Path | None = None) -> Facade:
    """The facade over the toolchain's own core, or over a sysroot ``opened`` for private items; built where missing.

    Raises:
        ToolError: no library sources, or rustc failed.
    """
    target = toolchain.host
    plain = build_sysroot(toolchain, target)
    below = opened or plain
    recipe = hashlib.sha256(SOURCE.read_bytes() + str(shim.stat().st_mtime_ns).encode()).hexdigest()[:12]
    final = cache_dir() / "facades" / f"{below.name}-{recipe}"
    with locked(final.parent / f".{final.name}.lock"):
        if not (final / "complete").is_file():
            _build(toolchain, shim, below, final)
    core = [Unit(name, plain / "units" / f"{name}.json", plain / "complete", False) for name in ("core", "alloc")]
    return Facade(final, (Unit("std", final / "units" / "std.json", final / "complete", False), *core))


def _build(toolchain: Toolchain, shim: Path, below: Path, final: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix=f".{final.name}-", dir=final.parent))
    relative = Path("lib") / "rustlib" / toolchain.host / "lib"
    try:
        (work / relative).mkdir(parents=True)
        for crate in (below / relative).iterdir():
            (work / relative / crate.name).symlink_to(crate)
        shutil.rmtree(final, ignore_errors=True)
        work.rename(final)
        args = ["--crate-name", "std", "--edition", _EDITION, "--crate-type", "rlib", "--target", toolchain.host]
        args += ["-Copt-level=3", "-Cpanic=abort", "--cap-lints", "allow"]
        record_unit(toolchain, shim, args, SOURCE, final / relative, final / "units", final)
        (final / "complete").touch()
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(final, ignore_errors=True)
        raise


def record_unit(
    toolchain: Toolchain, shim: Path, args: list[str], source: Path, out: Path, units: Path, sysroot: Path,
    overlays: Path | None = None, *, primary: bool = False,
) -> Path:  # fmt: skip
    """Compile one file to metadata through the shim, as cargo would have it done; the unit's record.

    Raises:
        ToolError: rustc refused it; its messages are the error's output.
    """
    name = args[args.index("--crate-name") + 1]
    for folder in (out, units):
        folder.mkdir(parents=True, exist_ok=True)
    command = [str(shim), str(toolchain.rustc), *args, "--emit=metadata,dep-info"]
    command += ["--out-dir", str(out), str(source)]
    environment = {
        **os.environ,
        "MIRGEN_WRAPPER_DIR": str(units),
        "MIRGEN_TARGET": toolchain.host,
        "MIRGEN_SYSROOT": str(sysroot),
        "MIRGEN_STAMP": "corpora",
        "CARGO_CRATE_NAME": name,
        "CARGO_PKG_NAME": name,
        "CARGO_PKG_VERSION": "0.0.0",
        "CARGO_MANIFEST_DIR": str(source.parent),
    }
    if primary:
        environment["CARGO_PRIMARY_PACKAGE"] = "1"
    if overlays is not None:
        environment["MIRGEN_OVERLAYS"] = str(overlays)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, errors="replace")
    record = units / f"{name}.json"
    if done.returncode or not record.is_file():
        raise ToolError("rustc", "", command=command, output=done.stderr, status=done.returncode)
    return record
