"""Launch facts: what a kernel's safety rests on, left in its MIR as calls of reserved functions.

``__mirgen_fact_dimensions(n)``: only the first ``n`` dimensions of grid and block may be larger than 1.
``__mirgen_fact_block_size(x, y, z)``: the block has exactly this shape.
Every launcher checks them; the manifest carries them.  Facts about uniformity are proved, not checked:
see :mod:`mirgen.analysis.uniformity`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mirgen.errors import InternalError
from mirgen.mir import place as pl
from mirgen.mir import statement as st
from mirgen.mir import ty as tys
from mirgen.mir.body import Body

PREFIX = "__mirgen_fact_"


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """``dimensions`` is 1 to 3; ``block`` is the exact block shape, or ``None`` where any will do."""

    dimensions: int = 3
    block: tuple[int, int, int] | None = None


def launch_facts(bodies: Iterable[Body]) -> LaunchFacts:
    """The facts of all ``bodies`` that a kernel reaches, together.

    Raises:
        InternalError: a fact's arguments are no constants, or two facts contradict each other.
    """
    dimensions = 3
    block: tuple[int, int, int] | None = None
    for body in bodies:
        for name, args in fact_calls(body):
            if name == "dimensions":
                dimensions = min(dimensions, _constants(name, args)[0])
            elif name == "block_size":
                x, y, z = _constants(name, args)
                if block not in (None, (x, y, z)):
                    raise InternalError(f"the kernel needs blocks of {block} and of {(x, y, z)}")
                block = (x, y, z)
    return LaunchFacts(dimensions, block)


def fact_calls(body: Body) -> Iterable[tuple[str, tuple[pl.Operand, ...]]]:
    """``(name without prefix, arguments)`` of each fact in ``body``."""
    for block in body.blocks:
        terminator = block.terminator
        if isinstance(terminator, st.Call) and (name := _fact_name(terminator.func)):
            yield name, terminator.args


def _fact_name(func: pl.Operand) -> str:
    if isinstance(func, pl.Constant) and isinstance(func.const, pl.ZstConst):
        ty = func.const.ty
        if isinstance(ty, tys.FnDefTy):
            last = ty.path.rpartition("::")[2]
            return last.removeprefix(PREFIX) if last.startswith(PREFIX) else ""
    return ""


def _constants(name: str, args: tuple[pl.Operand, ...]) -> list[int]:
    values: list[int] = []
    for arg in args:
        if not (isinstance(arg, pl.Constant) and isinstance(arg.const, pl.ScalarConst)):
            raise InternalError(f"the launch fact `{name}` has an argument that rustc did not evaluate")
        values.append(arg.const.bits)
    return values
