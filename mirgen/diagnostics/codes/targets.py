"""MG05xx: targets and linking."""

from __future__ import annotations

from mirgen.diagnostics.codes.code import Code

CODES: tuple[Code, ...] = ()
