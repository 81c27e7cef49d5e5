"""``cargo mirgen`` and ``mirgen``: the command line."""

from __future__ import annotations

from mirgen.cli.main import main

__all__ = ["main"]
