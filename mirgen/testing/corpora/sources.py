"""Where the corpora lie, and how they are fetched from Debian's archive."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mirgen.errors import InvalidInputError, ToolError

ROOT: Final = Path(__file__).resolve().parents[3]

#: The folder of the sources, and the script that fills it, unless the environment names others.
_FOLDER: Final = ROOT / ".corpora"
_SCRIPT: Final = ROOT.parent / "shared" / "tools" / "rust-test-sources"


@dataclass(frozen=True, slots=True)
class Sources:
    """rustc's own tests of 1.85 (``tests/ui``, ``tests/mir-opt``, ``tests/codegen``) and those of 1.96's library."""

    folder: Path

    @property
    def ui(self) -> Path:
        return self.folder / "rustc-1.85" / "tests" / "ui"

    @property
    def library(self) -> Path:
        """``coretests`` and ``alloctests`` are in it."""
        return self.folder / "rust-src-1.96" / "library"

    @property
    def complete(self) -> bool:
        return self.ui.is_dir() and (self.library / "coretests").is_dir()


def find_sources(*, fetch: bool = True) -> Sources:
    """The sources in ``MIRGEN_CORPORA`` or ``.corpora``, fetched (about 180 MB) where they are missing.

    Raises:
        InvalidInputError: they are not there, and the script that fetches them is not either.
        ToolError: the script failed.
    """
    sources = Sources(Path(os.environ.get("MIRGEN_CORPORA") or _FOLDER))
    if sources.complete:
        return sources
    script = Path(os.environ.get("MIRGEN_CORPORA_SCRIPT") or _SCRIPT)
    if not fetch or not script.is_file():
        raise InvalidInputError(
            f"rustc's test sources are not in {sources.folder}; MIRGEN_CORPORA names another folder, "
            "MIRGEN_CORPORA_SCRIPT a script that fills the folder it is given"
        )
    command = [str(script), str(sources.folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not sources.complete:
        raise ToolError(
            script.name, "could not fetch rustc's test sources", command=command, output=done.stderr,
            status=done.returncode,
        )  # fmt: skip
    return sources
