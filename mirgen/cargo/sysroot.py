"""``core`` and ``alloc`` for nvptx64, compiled once per toolchain from its own library sources.

The metadata keeps MIR of every function (``-Zalways-encode-mir``), so that core's non-inline functions can be dumped
like any dependency's.  Only metadata is made (about 20 s on two cores): mirgen generates all code itself.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from mirgen.cargo.toolchain import NVPTX_TARGET, Toolchain, cache_dir
from mirgen.errors import ToolError

_FLAGS = (
    "-Copt-level=3", "-Cpanic=abort", "-Zalways-encode-mir", "-Zinline-mir", "-Zmir-enable-passes=-JumpThreading",
    "-Zforce-unstable-if-unmarked", "--cap-lints", "allow",
)  # fmt: skip
#: Raised when the flags, the set of crates or their records change, so that old caches are not taken for new ones.
_RECIPE = 2
_COMPILER_BUILTINS = "#![no_std]\n#![feature(compiler_builtins)]\n#![compiler_builtins]\n"
MISSING_SOURCES = (
    "library sources are not installed: `rustup component add rust-src`, or Debian's `rust-web-src` beside `rustc-web`"
)


def sysroot_path(toolchain: Toolchain, target: str = NVPTX_TARGET) -> Path:
    """Where the toolchain's own sysroot for ``target`` lies once built."""
    return cache_dir() / "sysroots" / f"{toolchain.identity}-{target}-{_RECIPE}"


def built_sysroot(toolchain: Toolchain, target: str = NVPTX_TARGET) -> Path | None:
    """The sysroot built earlier by :func:`build_sysroot`, if any."""
    path = sysroot_path(toolchain, target)
    return path if (path / "complete").is_file() else None


def build_sysroot(
    toolchain: Toolchain, target: str = NVPTX_TARGET, progress: Callable[[str], None] = lambda _: None
) -> Path:
    """Compile ``core``, ``compiler_builtins`` (empty) and ``alloc`` for ``target``; no work where it was done.

    Raises:
        ToolError: no library sources, or rustc failed.
    """
    done = built_sysroot(toolchain, target)
    if done is not None:
        return done
    if toolchain.library is None:
        raise ToolError("rust-src", f"{MISSING_SOURCES} (looked in {toolchain.sysroot}/lib/rustlib/src/rust/library)")
    final = sysroot_path(toolchain, target)
    final.parent.mkdir(parents=True, exist_ok=True)
    with (final.parent / f".{final.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if built_sysroot(toolchain, target) is None:  # whoever held the lock may have built it
            _build_in(toolchain, toolchain.library, target, final, progress)
    return final


def _build_in(toolchain: Toolchain, library: Path, target: str, final: Path, progress: Callable[[str], None]) -> None:
    work = Path(tempfile.mkdtemp(prefix=f".{final.name}-", dir=final.parent))
    try:
        _compile_all(toolchain, library, target, work, final, progress)
        (work / "complete").touch()
        if final.exists():
            shutil.rmtree(final)
        work.rename(final)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _compile_all(
    toolchain: Toolchain, library: Path, target: str, work: Path, final: Path, progress: Callable[[str], None]
) -> None:
    relative = Path("lib") / "rustlib" / target / "lib"
    (work / relative).mkdir(parents=True)
    (work / "units").mkdir()
    builtins = work / "compiler_builtins.rs"
    builtins.write_text(_COMPILER_BUILTINS)
    crates = (
        ("core", "2024", library / "core" / "src" / "lib.rs"),
        ("compiler_builtins", "2021", builtins),
        ("alloc", "2024", library / "alloc" / "src" / "lib.rs"),
    )
    for name, edition, source in crates:
        progress(f"{name} for {target}")
        args = ["--crate-name", name, "--edition", edition, "--crate-type", "rlib", "--target", target, *_FLAGS]
        found = ["--sysroot", str(work)] if name != "core" else []
        _run([str(toolchain.rustc), *args, *found, "--emit=metadata", "--out-dir", str(work / relative), str(source)])
        if name != "compiler_builtins":
            _record_unit(toolchain, name, args, source, target, work, final, relative)


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "RUSTC_BOOTSTRAP": "1", "RUSTC_ICE": "0"},
    )
    if done.returncode != 0:
        raise ToolError(
            "rustc", "could not compile the standard library's sources", command=command, output=done.stderr,
            status=done.returncode,
        )  # fmt: skip


def _record_unit(
    toolchain: Toolchain, name: str, args: list[str], source: Path, target: str, work: Path, final: Path, relative: Path
) -> None:
    """Write the unit as the wrapper would have, so that ``mirgen-rustc`` can dump core and ask about its types too.

    core itself needs no sysroot, but whoever asks about core's types does.
    """
    out = final / relative
    unit = {
        "schema": "mirgen-unit",
        "version": 1,
        "crate_name": name,
        "edition": "2024",
        "crate_types": ["rlib"],
        "target": target,
        "primary": False,
        "package": {"name": name, "version": toolchain.release, "manifest_dir": str(source.parents[1])},
        "rustc": str(toolchain.rustc),
        "cwd": str(final),
        "args": [*args, "--emit=metadata", "--out-dir", str(out), str(source)],
        "env": {},
        "sysroot": str(final),
        "metadata": str(out / f"lib{name}.rmeta"),
        "dep_info": None,
    }
    (work / "units" / f"{name}.json").write_text(json.dumps(unit, indent=1))
