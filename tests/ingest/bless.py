"""Writes the golden texts of this folder again."""

from __future__ import annotations

from pathlib import Path

from mirgen.ingest import load_mir
from mirgen.mir.printer import format_bodies

if __name__ == "__main__":
    data = Path(__file__).parent / "data"
    unit = load_mir(data / "every-construct.json")
    text = format_bodies(unit.bodies, unit.allocs, verbose=True)
    (data / "every-construct.mir").write_text(text, encoding="utf-8")
