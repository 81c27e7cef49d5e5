"""Intrinsics that a program declares itself: rustc's code generator replaces their bodies, and the text does not say
so."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

from mirgen.cargo.closure import STANDARD_CRATES, Closure, Reached
from mirgen.cargo.unit import UnitRecord
from mirgen.errors import Diagnostic, UnsupportedError
from mirgen.mir.names import readable

_MARK = "#[rustc_intrinsic"


def refuse_own_intrinsics(kernels: Mapping[str, tuple[Reached, Closure]]) -> None:
    """Check that no kernel reaches a ``#[rustc_intrinsic]`` function with a body, outside the standard library.

    Raises:
        UnsupportedError: one does.
    """
    lines = functools.cache(_lines)  # for this build only: files change between builds
    for kernel, (_, closure) in kernels.items():
        for reached in closure.functions.values():
            if reached.dump.crate not in STANDARD_CRATES and _is_intrinsic(reached, lines):
                chain = " -> ".join(readable(name) for name in reached.chain())
                raise UnsupportedError(
                    Diagnostic(
                        code="MG0204",
                        message=f"kernel `{kernel}` calls `{readable(reached.body.name)}`, a compiler intrinsic that "
                        f"crate `{reached.dump.crate}` declares",
                        notes=[
                            "its body is not what rustc compiles a call of it to",
                            f"reached from kernel {kernel}: {chain}",
                        ],
                        helps=["call the function of `core` that stands for it"],
                    )
                )


def _is_intrinsic(reached: Reached, lines_of: Callable[[Path], list[str]]) -> bool:
    span = reached.body.span
    if span is None:
        return False
    lines = lines_of(UnitRecord.load(reached.dump.unit.record).absolute(Path(span.file)))
    for line in reversed(lines[: span.line]):
        if _MARK in line:
            return True
        if line.rstrip().endswith(("}", ";")) and line is not lines[span.line - 1]:
            return False
    return False


def _lines(file: Path) -> list[str]:
    """A source file, if it has any such mark; nothing otherwise."""
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    return text.splitlines() if _MARK in text else []
