"""The registry of diagnostic codes: what ``cargo mirgen explain MG0042`` says.

The first two digits are the stage: 00 rustc's text and the toolchain, 01 kernels, 02 what a kernel reaches, 03 types,
constructs, constants and intrinsics, 04 the simulator, 05 targets and linking.  A new code is entered here first.
"""

from __future__ import annotations

import difflib
from types import MappingProxyType

from mirgen.diagnostics.codes import closure, constructs, kernels, operations, targets, toolchain
from mirgen.diagnostics.codes.code import Code

__all__ = ["CODES", "Code", "explain", "find_code"]

#: Every code, in the order of the modules.
ALL = tuple(
    code for module in (toolchain, kernels, closure, constructs, operations, targets) for code in module.CODES
)  # fmt: skip

#: Every code by its name.
CODES = MappingProxyType({code.name: code for code in ALL})


def find_code(name: str) -> Code | None:
    """The code, in any spelling (``mg301``, ``301``, ``MG0301``); ``None`` where there is none."""
    digits = name.upper().removeprefix("MG")
    return CODES.get(f"MG{int(digits):04}") if digits.isascii() and digits.isdecimal() and len(digits) <= 4 else None


def explain(name: str) -> str | None:
    """Title and explanation, ready to print; ``None`` for an unknown code."""
    code = find_code(name)
    return None if code is None else f"{code.name}: {code.title}\n\n{code.explanation}"


def similar(name: str) -> list[str]:
    """Known codes that look like ``name``, best first."""
    return difflib.get_close_matches(name.upper(), CODES, n=3)
