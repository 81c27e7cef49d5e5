"""What ``doctor`` looks at: each tool where the build itself would look for it.

Imports nothing outside the standard library and mirgen's own discovery, so that it runs where little is installed.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.metadata
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mirgen.cargo.crates import crates_dir
from mirgen.cargo.sysroot import built_sysroot
from mirgen.cargo.toolchain import NVPTX_TARGET, Toolchain, find_program, find_shim, find_toolchain
from mirgen.errors import MirgenError, ToolError
from mirgen.link.discover import CUDA_FIX, WANTED, find_package, find_tool

State = Literal["ok", "missing", "optional"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: ``state`` is ``missing`` where a build cannot do without, ``optional`` where something is lost."""

    group: str
    name: str
    state: State
    detail: str
    path: str = ""
    fix: str = ""


def check_up() -> tuple[Finding, ...]:
    """Everything, in the order of the build."""
    return tuple(finding for part in (_rust, _mirgen, _python, _cuda, _device) for finding in part())


def summary(findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """What works with what was found, one line each."""
    by_name = {finding.name: finding.state == "ok" for finding in findings}
    rust = by_name["rustc"] and by_name["cargo"] and by_name["mirgen-rustc"] and by_name["llvmlite"]
    lines = [f"build to PTX and run on the simulator: {'yes' if rust else 'no'}"]
    targets = NVPTX_TARGET if by_name["nvptx64 core"] else "the host target only"
    lines.append(f"crates compiled for: {targets if by_name['rustc'] else 'none'}")
    cubin = rust and (by_name["ptxas"] or (by_name["nvjitlink"] and by_name["cuda-bindings"]))
    nvvm = rust and by_name["libnvvm"] and by_name["cuda-bindings"]
    lines.append(f"cubins: {'yes' if cubin else 'no'}; libNVVM as code generator: {'yes' if nvvm else 'no'}")
    lines.append(f"run on a GPU: {'yes' if by_name['driver'] and by_name['cuda-core'] and cubin else 'no'}")
    return tuple(lines)


def _attempt(group: str, name: str, ask: Callable[[], tuple[str, Path]], fix: str) -> Finding:
    try:
        detail, path = ask()
    except ToolError as error:
        return _failed(group, name, error, fix)
    except MirgenError as error:
        return Finding(group, name, "missing", str(error), fix=fix)
    return Finding(group, name, "ok", detail, str(path))


def _failed(group: str, name: str, error: ToolError, fix: str) -> Finding:
    """A tool that is not there, or says why it cannot work (rustup without a toolchain does) and perhaps what helps."""
    lines = [line.strip() for line in error.output.splitlines()]
    first = next((line.removeprefix("error: ") for line in lines if line), "")
    help_ = next((line.removeprefix("help: ") for line in lines if line.startswith("help: ")), fix)
    detail = f"{error.message}: {first}" if first else error.message
    return Finding(group, name, "missing", detail, fix=help_)


def _rust() -> Iterator[Finding]:
    toolchain: Toolchain | None = None
    fix = "https://rustup.rs, or `rustup update`"
    try:
        toolchain = find_toolchain()
        yield Finding("Rust", "rustc", "ok", toolchain.release, str(toolchain.rustc))
    except ToolError as error:
        yield _failed("Rust", "rustc", error, fix)
    yield _attempt("Rust", "cargo", _cargo, "https://rustup.rs")
    yield _core(toolchain)


def _cargo() -> tuple[str, Path]:
    path = find_program("cargo", "CARGO")
    done = subprocess.run([str(path), "--version"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError("cargo", "did not answer", output=done.stderr)
    return done.stdout.removeprefix("cargo ").strip(), path


def _core(toolchain: Toolchain | None) -> Finding:
    name = "nvptx64 core"
    if toolchain is None:
        return Finding("Rust", name, "optional", "no rustc", fix="install rustc first")
    built = built_sysroot(toolchain)
    if built is not None:
        return Finding("Rust", name, "ok", "built by `cargo mirgen setup`, with MIR of all functions", str(built))
    if toolchain.has_shipped_core(NVPTX_TARGET):
        return Finding("Rust", name, "ok", "shipped by the toolchain", str(toolchain.sysroot))
    if toolchain.library is not None:
        return Finding(
            "Rust", name, "optional", "its sources are installed; crates are compiled for the host until it is built",
            str(toolchain.library), "cargo mirgen setup",
        )  # fmt: skip
    return Finding(
        "Rust", name, "optional", "not there; crates are compiled for the host, whose SIMD paths are refused",
        fix=f"rustup target add {NVPTX_TARGET}; or rustup component add rust-src (Debian: rust-web-src), then "
        "cargo mirgen setup",
    )  # fmt: skip


def _mirgen() -> Iterator[Finding]:
    yield _attempt("mirgen", "mirgen-rustc", _shim, "pip install mirgen; in a checkout: ./x demo")
    yield _attempt(
        "mirgen", "device crates", lambda: ("mirgen-device, mirgen-macros", crates_dir()), "pip install mirgen"
    )


def _shim() -> tuple[str, Path]:
    path = find_shim()
    done = subprocess.run([str(path), "--version"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError("mirgen-rustc", "did not answer", output=done.stderr)
    return done.stdout.split()[-1], path


def _python() -> Iterator[Finding]:
    for package, why in (("llvmlite", "LLVM: PTX and the simulator"), ("numpy", "arrays"), ("pydantic", "documents")):
        try:
            version = importlib.metadata.version(package)
            yield Finding("Python", package, "ok", version)
        except importlib.metadata.PackageNotFoundError:
            yield Finding("Python", package, "missing", f"not installed ({why})", fix=f"pip install {package}")


def _cuda() -> Iterator[Finding]:
    for wanted in WANTED:
        tool = find_tool(wanted.name)
        if tool is None:
            yield Finding("CUDA", wanted.name, "optional", f"not found ({wanted.what})", fix=CUDA_FIX)
        else:
            yield Finding("CUDA", wanted.name, "ok", f"{tool.version} ({tool.source})", str(tool.path))
    for package, why in (("cuda-bindings", "libNVVM and nvJitLink are called through it"), ("cuda-core", "launches")):
        found = find_package(package)
        if found is None:
            yield Finding("CUDA", package, "optional", f"not installed ({why})", fix=CUDA_FIX)
        else:
            yield Finding("CUDA", package, "ok", f"{found.version} (Python package)")


def _device() -> Iterator[Finding]:
    library = ctypes.util.find_library("cuda") or "libcuda.so.1"
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        yield Finding("GPU", "driver", "optional", "no NVIDIA driver; kernels run on the simulator")
        return
    status, version, count = driver.cuInit(0), ctypes.c_int(), ctypes.c_int()
    if status != 0:
        yield Finding("GPU", "driver", "optional", f"the driver does not start (CUresult {status})", library)
        return
    driver.cuDriverGetVersion(ctypes.byref(version))
    driver.cuDeviceGetCount(ctypes.byref(count))
    detail = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}, {count.value} device(s)"
    yield Finding("GPU", "driver", "ok" if count.value else "optional", detail, library)
