"""Where the sources of the device crates are: in a checkout and in an installed wheel alike."""

from __future__ import annotations

from pathlib import Path

from mirgen.errors import ToolError


def crates_dir() -> Path:
    """The folder that holds ``device/`` and ``macros/``.

    Raises:
        ToolError: this installation is incomplete.
    """
    folder = Path(__file__).resolve().parents[1] / "_crates"
    if not (folder / "device" / "Cargo.toml").is_file():
        raise ToolError("mirgen", f"the device crates are missing from this installation ({folder})")
    return folder.resolve()
