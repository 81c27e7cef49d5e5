"""What the shim's wrapper recorded of one compilation (``rustc-shim/shim/src/unit.rs``), as far as Python needs it."""

from __future__ import annotations

import functools
import itertools
import json
from dataclasses import dataclass
from pathlib import Path

from mirgen.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class UnitRecord:
    """``root_file`` is the crate's root source file; ``source_dir`` the directory that holds all of its sources.

    ``externs`` maps the crate names that the crate sees to their metadata files; ``primary`` tells the user's own;
    ``package`` is the cargo package's name and version.
    """

    crate_name: str
    root_file: Path
    source_dir: Path
    cwd: Path
    externs: dict[str, Path]
    primary: bool
    package: str

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
            args: list[str] = data["args"]
            if data.get("overlay"):
                root, source = Path(data["overlay"]["original_input"]), Path(data["overlay"]["original"])
            else:
                root, source = _sources(args, cwd, Path(data["package"]["manifest_dir"]))
            package = f"{data['package']['name']} {data['package']['version']}"
            return UnitRecord(data["crate_name"], root, source, cwd, _externs(args), bool(data["primary"]), package)
        except (OSError, json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"not a recorded unit: {error}", str(record)) from error


def _sources(args: list[str], cwd: Path, manifest_dir: Path) -> tuple[Path, Path]:
    inputs = [arg for arg in args if arg.endswith(".rs") and not arg.startswith("-")]
    if len(inputs) != 1:
        raise ValueError(f"a unit with {len(inputs)} root files")
    root = Path(inputs[0])
    root = root if root.is_absolute() else cwd / root
    return root, manifest_dir if root.is_relative_to(manifest_dir) else root.parent


def _externs(args: list[str]) -> dict[str, Path]:
    """``--extern [options:]name=path``."""
    found: dict[str, Path] = {}
    for option, value in itertools.pairwise(args):
        if option == "--extern" and "=" in value:
            name, path = value.split("=", 1)
            found[name.rpartition(":")[2]] = Path(path)
    return found
