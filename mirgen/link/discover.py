"""Where the CUDA tools and LLVM are: wheels first, then ``CUDA_HOME``, then PATH and the usual folders.

Needs nothing installed: what is absent is simply not found.  The build and ``doctor`` both look here.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mirgen.errors import ToolError

#: What to tell a user who lacks a CUDA tool.
CUDA_FIX = "install NVIDIA's wheels with `pip install 'mirgen[cuda]'`, or set CUDA_HOME to a CUDA toolkit"


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool that was found: ``version`` as it calls itself; ``source`` says where it was found."""

    name: str
    path: Path
    version: str
    source: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """How to find one tool: the wheel that ships it, its file name there (a pattern), and where a toolkit has it."""

    name: str
    what: str
    wheel: str
    file: str
    folders: tuple[str, ...]
    program: bool


_LIBS = ("lib64", "lib", "nvvm/lib64", "nvvm/lib", "targets/x86_64-linux/lib")

#: In the order in which ``doctor`` shows them.
WANTED: tuple[Wanted, ...] = (
    Wanted("libnvvm", "libNVVM, NVIDIA's code generator", "nvidia-nvvm", r"libnvvm\.so(\.\d+)*", _LIBS, False),
    Wanted(
        "libdevice",
        "NVIDIA's math library for kernels",
        "nvidia-nvvm",
        r"libdevice\.10\.bc",
        ("nvvm/libdevice",),
        False,
    ),
    Wanted("nvjitlink", "the linker as a library", "nvidia-nvjitlink", r"libnvJitLink\.so(\.\d+)*", _LIBS, False),
    Wanted("ptxas", "the assembler", "nvidia-cuda-nvcc", r"ptxas", ("bin",), True),
    Wanted("fatbinary", "joins several architectures in one file", "nvidia-cuda-nvcc", r"fatbinary", ("bin",), True),
    Wanted("nvdisasm", "the disassembler", "nvidia-cuda-nvdisasm", r"nvdisasm", ("bin",), True),
    Wanted("cuobjdump", "shows what a cubin holds", "nvidia-cuda-cuobjdump", r"cuobjdump", ("bin",), True),
    Wanted("nvcc", "NVIDIA's compiler, only for comparisons", "nvidia-cuda-nvcc", r"nvcc", ("bin",), True),
)


def _wanted(name: str) -> Wanted:
    for row in WANTED:
        if row.name == name:
            return row
    raise KeyError(name)


def _in_wheel(row: Wanted) -> Tool | None:
    """The tool in the wheel that ships it."""
    try:
        distribution = importlib.metadata.distribution(row.wheel)
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in distribution.files or ():
        if re.fullmatch(row.file, file.name):
            path = Path(str(distribution.locate_file(file)))
            if path.is_file():
                return Tool(row.name, path, distribution.version, f"wheel {row.wheel}")
    return None


def _toolkits() -> Iterator[tuple[str, Path]]:
    """Folders that may hold a whole CUDA toolkit, with the name of who said so."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        named = os.environ.get(variable)
        if named:
            yield variable, Path(named)
    compiler = shutil.which("nvcc")
    if compiler:
        yield "PATH", Path(compiler).resolve().parent.parent
    yield "/usr/local/cuda", Path("/usr/local/cuda")


def _program_version(path: Path) -> str:
    """What ``path --version`` calls itself, such as ``13.5.37``, or ``unknown``."""
    try:
        done = subprocess.run([str(path), "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    match = re.search(r"\bV(\d+\.\d+(?:\.\d+)*)", done.stdout) or re.search(r"release (\d+\.\d+)", done.stdout)
    return match.group(1) if match else "unknown"


def _library_version(path: Path) -> str:
    """The version in the real file's name, such as ``4.0.0`` of ``libnvvm.so.4.0.0``, or ``unknown``."""
    match = re.search(r"\.so\.(\d+(?:\.\d+)*)$", path.resolve().name)
    return match.group(1) if match else "unknown"


def _in_toolkit(row: Wanted) -> Tool | None:
    """The tool in a CUDA toolkit, or (programs) anywhere on PATH."""
    for source, root in _toolkits():
        for folder in row.folders:
            place = root / folder
            if not place.is_dir():
                continue
            for path in sorted(place.iterdir()):
                if re.fullmatch(row.file, path.name) and path.is_file():
                    version = _program_version(path) if row.program else _library_version(path)
                    return Tool(row.name, path, version, source)
    if row.program:
        found = shutil.which(row.name)
        if found:
            return Tool(row.name, Path(found), _program_version(Path(found)), "PATH")
    return None


def find_tool(name: str) -> Tool | None:
    """The tool called ``name`` (a name of `WANTED`), or None where it is not installed."""
    row = _wanted(name)
    return _in_wheel(row) or _in_toolkit(row)


def require_tool(name: str) -> Tool:
    """Like `find_tool`; a missing tool is a ToolError that says how to get it."""
    tool = find_tool(name)
    if tool is None:
        row = _wanted(name)
        raise ToolError(name, f"not found ({row.what}): {CUDA_FIX}")
    return tool


def find_package(name: str) -> Tool | None:
    """A Python package as a tool: its folder and version, or None where it is not installed."""
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    return Tool(name, Path(str(distribution.locate_file(""))), distribution.version, "Python package")


def find_driver() -> Tool | None:
    """NVIDIA's kernel driver with its version, or None where no GPU driver is loaded."""
    path = Path("/proc/driver/nvidia/version")
    try:
        text = path.read_text()
    except OSError:
        return None
    match = re.search(r"\s(\d+\.\d+(?:\.\d+)*)\s", text)
    return Tool("driver", path, match.group(1) if match else "unknown", "kernel")


def all_tools() -> dict[str, Tool | None]:
    """Everything that code generation, linking and running on a GPU use, each with what was found."""
    found: dict[str, Tool | None] = {"llvmlite": find_package("llvmlite")}
    found.update({row.name: find_tool(row.name) for row in WANTED})
    found["cuda-bindings"] = find_package("cuda-bindings")
    found["cuda-core"] = find_package("cuda-core")
    found["driver"] = find_driver()
    return found
