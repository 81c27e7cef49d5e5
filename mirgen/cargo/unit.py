"""What the shim's wrapper recorded of one compilation (``rustc-shim/shim/src/unit.rs``), as far as Python needs it."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

from mirgen.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class UnitRecord:
    """``root_file`` is the crate's root source file; ``source_dir`` the directory that holds all of its sources."""

    root_file: Path
    source_dir: Path
    cwd: Path

    def absolute(self, path: Path) -> Path:
        """A path as rustc printed it."""
        return path if path.is_absolute() else self.cwd / path

    @staticmethod
    @functools.cache
    def load(record: Path) -> UnitRecord:
        """Read a recorded unit.

        Raises:
            InvalidInputError: the file is no recording.
        """
        try:
            data = json.loads(record.read_bytes())
            cwd = Path(data["cwd"])
            inputs = [arg for arg in data["args"] if arg.endswith(".rs") and not arg.startswith("-")]
            manifest_dir = Path(data["package"]["manifest_dir"])
        except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
            raise InvalidInputError(f"not a recorded unit: {error}", str(record)) from error
        if len(inputs) != 1:
            raise InvalidInputError(f"a unit with {len(inputs)} root files", str(record))
        root = Path(inputs[0])
        root = root if root.is_absolute() else cwd / root
        source = manifest_dir if root.is_relative_to(manifest_dir) else root.parent
        return UnitRecord(root, source, cwd)
