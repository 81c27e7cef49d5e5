"""The rustc and cargo that are already installed: which, which version, what they can target."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from mirgen.errors import ToolError

#: The oldest rustc whose MIR text the shim reads.
MINIMUM_RELEASE = (1, 95, 0)
NVPTX_TARGET = "nvptx64-nvidia-cuda"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """One rustc: ``release`` like ``1.96.0`` or ``1.97.0-nightly``; ``library`` is its ``rust-src``, if installed."""

    rustc: Path
    release: str
    commit_hash: str
    host: str
    sysroot: Path
    library: Path | None

    @property
    def identity(self) -> str:
        """Names this compiler in caches: two builds with one identity read the same metadata."""
        return f"{self.release}-{self.commit_hash[:12]}"

    @property
    def version(self) -> tuple[int, int, int]:
        match = re.match(r"(\d+)\.(\d+)\.(\d+)", self.release)
        if match is None:
            raise ToolError("rustc", f"unreadable release `{self.release}`")
        return (int(match[1]), int(match[2]), int(match[3]))

    def has_shipped_core(self, target: str) -> bool:
        """Whether the toolchain itself brings ``core`` for ``target`` (``rustup target add``)."""
        lib = self.sysroot / "lib" / "rustlib" / target / "lib"
        return any(lib.glob("libcore-*.rlib")) or any(lib.glob("libcore-*.rmeta"))


def find_program(name: str, variable: str) -> Path:
    """The program of environment ``variable``, else ``name`` on ``PATH``.

    Raises:
        ToolError: there is none.
    """
    wanted = os.environ.get(variable) or name
    found = shutil.which(wanted)
    if found is None:
        source = f"{variable}={wanted}" if os.environ.get(variable) else f"`{name}` on PATH"
        raise ToolError(
            name, f"no {name} found ({source}); install Rust {MINIMUM_RELEASE[0]}.{MINIMUM_RELEASE[1]} or newer: "
            "https://rustup.rs"
        )  # fmt: skip
    return Path(found).absolute()


def find_toolchain() -> Toolchain:
    """The rustc that cargo would run: ``RUSTC``, else ``rustc`` on ``PATH``.

    Raises:
        ToolError: there is no rustc, it does not answer, or it is older than :data:`MINIMUM_RELEASE`.
    """
    return probe(find_program("rustc", "RUSTC"))


@functools.cache
def probe(rustc: Path) -> Toolchain:
    """Ask ``rustc`` for its version and sysroot, in the current directory (rustup's overrides apply)."""
    verbose = _ask(rustc, "-vV")
    fields = dict(line.split(": ", 1) for line in verbose.splitlines() if ": " in line)
    sysroot = Path(_ask(rustc, "--print", "sysroot").strip())
    library = sysroot / "lib" / "rustlib" / "src" / "rust" / "library"
    toolchain = Toolchain(
        rustc=rustc,
        release=fields.get("release", ""),
        commit_hash=fields.get("commit-hash", "unknown"),
        host=fields.get("host", ""),
        sysroot=sysroot,
        library=library.resolve() if (library / "core" / "src" / "lib.rs").is_file() else None,
    )
    if toolchain.version < MINIMUM_RELEASE:
        minimum = ".".join(map(str, MINIMUM_RELEASE))
        raise ToolError(
            "rustc", f"rustc {toolchain.release} is too old; mirgen needs {minimum} or newer (rustup update)"
        )
    return toolchain


def _ask(rustc: Path, *args: str) -> str:
    command = [str(rustc), *args]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    except OSError as error:
        raise ToolError("rustc", str(error), command=command) from error
    except subprocess.TimeoutExpired as error:
        raise ToolError("rustc", "no answer within 120 s", command=command) from error
    if done.returncode != 0:
        raise ToolError(
            "rustc", "did not answer", command=command, output=done.stderr or done.stdout, status=done.returncode
        )
    return done.stdout


def cache_dir() -> Path:
    """Where mirgen keeps what it builds once per toolchain: ``MIRGEN_CACHE_DIR``, else the platform's cache folder."""
    configured = os.environ.get("MIRGEN_CACHE_DIR")
    return Path(configured) if configured else Path(platformdirs.user_cache_dir("mirgen"))


def find_shim() -> Path:
    """The ``mirgen-rustc`` binary: ``MIRGEN_RUSTC_SHIM``, beside this Python, or this checkout's release build.

    Raises:
        ToolError: none is there.
    """
    name = "mirgen-rustc.exe" if os.name == "nt" else "mirgen-rustc"
    checkout = Path(__file__).resolve().parents[2] / "rustc-shim" / "target" / "release" / name
    candidates = [checkout, Path(sys.executable).parent / name, Path(sys.prefix) / "bin" / name]
    configured = os.environ.get("MIRGEN_RUSTC_SHIM")
    if configured:
        candidates.insert(0, Path(configured))
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    on_path = shutil.which(name)
    if on_path:
        return Path(on_path)
    raise ToolError(
        "mirgen-rustc", "the shim is not installed; in a checkout run `./x demo` or `cargo build --release`"
    )
