"""Finding kernels and tests: the marks that ``#[kernel]`` and ``#[mirgen::test]`` leave in a crate's dump."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mirgen.cargo.callee import parse_callee
from mirgen.errors import Diagnostic, UnsupportedError
from mirgen.ingest import Header

_MARK = re.compile(r"^__mirgen_(kernel|test)_(\w+)_L(\d+)$")


@dataclass(frozen=True, slots=True)
class MarkedKernel:
    """``levels`` are the tower's functions, shallowest first; ``path`` is the kernel as the user wrote it.

    ``test``: it is a test.  Its name is of its whole path, because tests of several modules share names.
    """

    name: str
    path: str
    levels: tuple[Header, ...]
    test: bool = False


def find_kernels(index: Iterable[Header]) -> tuple[MarkedKernel, ...]:
    """Kernels, and tests where the crate was compiled with them, in the order of the dump.

    Raises:
        UnsupportedError: two kernels have one name (the PTX entry would be ambiguous).
    """
    levels: dict[tuple[tuple[str, ...], str, str], list[tuple[int, Header]]] = {}
    for header in index:
        segments = parse_callee(header.header).segments
        mark = _MARK.match(segments[-1]) if header.kind == "fn" else None
        if mark is not None:
            levels.setdefault((segments[:-1], mark[1], mark[2]), []).append((int(mark[3]), header))
    kernels = [
        MarkedKernel(
            name if kind == "kernel" else "$".join(("test", *module, name)),
            "::".join((*module, name)),
            tuple(header for _, header in sorted(found, key=lambda f: f[0])),
            kind == "test",
        )
        for (module, kind, name), found in levels.items()
    ]
    _refuse_duplicates(kernels)
    return tuple(kernels)


def _refuse_duplicates(kernels: list[MarkedKernel]) -> None:
    by_name: dict[str, list[MarkedKernel]] = {}
    for kernel in kernels:
        by_name.setdefault(kernel.name, []).append(kernel)
    diagnostics = [
        Diagnostic(
            code="MG0102",
            message=f"two kernels are named `{name}`",
            notes=[f"`{kernel.path}`" for kernel in same],
            helps=["a kernel's name is its entry point in the module: rename one of them"],
        )
        for name, same in by_name.items()
        if len(same) > 1
    ]
    if diagnostics:
        raise UnsupportedError(*diagnostics)
