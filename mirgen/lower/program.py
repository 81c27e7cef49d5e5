"""The entry point of lowering."""

from __future__ import annotations

from dataclasses import dataclass

from mirgen.layout.data import LayoutTable
from mirgen.lower.callsite import Lookup
from mirgen.lower.context import PanicSite
from mirgen.mir.body import Program
from mirgen.targets.base import KernelAbi, Target


@dataclass(frozen=True, slots=True)
class Lowered:
    """LLVM text of a program.  ``symbols`` maps LLVM symbols to rustc's names."""

    text: str
    kernels: tuple[KernelAbi, ...]
    panics: tuple[PanicSite, ...]
    symbols: dict[str, str]


def lower_program(
    program: Program, layouts: LayoutTable, target: Target, *, annotate: bool = False, debug: bool = False,
    intrinsics: Lookup | None = None,
) -> Lowered:  # fmt: skip
    """Lowers ``program`` for ``target``.

    Raises :class:`UnsupportedError` with every diagnostic of every function, after all were tried; ``annotate`` puts
    each MIR statement as a comment above its instructions; ``debug`` adds line
    tables.  ``intrinsics`` replaces :func:`mirgen.intrinsics.lookup`.
    """
    from mirgen.lower.module import lower_module

    return lower_module(program, layouts, target, annotate=annotate, debug=debug, intrinsics=intrinsics)
