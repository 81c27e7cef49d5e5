"""Settings: ``[package.metadata.mirgen]`` in Cargo.toml, then ``MIRGEN_*``, then flags; the last one wins."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from mirgen.cli.command import joined
from mirgen.errors import InvalidInputError

DEFAULT_ARCH: Final = "sm_90"

#: Each key with its environment variable.
KEYS: Final = {
    "arch": "MIRGEN_ARCH", "codegen": "MIRGEN_CODEGEN", "assembler": "MIRGEN_ASSEMBLER", "target": "MIRGEN_TARGET_KIND",
    "panic": "MIRGEN_PANIC",
}  # fmt: skip

_CHOICES: Final = {
    "codegen": ("llvm", "nvvm"), "assembler": ("auto", "ptxas", "nvjitlink", "none"),
    "target": ("auto", "nvptx64", "host"), "panic": ("auto", "message", "code", "trap"),
}  # fmt: skip


def read_settings(flags: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The settings that are made, by key.

    Raises :class:`InvalidInputError` for an unknown key, or a value that the key cannot have, and says where.
    """
    environment = os.environ if environment is None else environment
    settings = _from_manifest(flags.get("manifest_path"), flags.get("package"))
    for key, variable in KEYS.items():
        if environment.get(variable):
            settings[key] = _checked(key, environment[variable], variable)
    return settings | {key: str(flags[key]) for key in KEYS if flags.get(key)}


def manifests_above(start: Path) -> list[Path]:
    """Every Cargo.toml in ``start`` and the folders above it, nearest first."""
    here = start.absolute()
    return [path for folder in (here, *here.parents) if (path := folder / "Cargo.toml").is_file()]


def source_roots(manifest: Path | str | None) -> list[Path]:
    """Folders that rustc's relative file names may start from: the package's, and the workspace's above it."""
    start = Path(manifest).parent if manifest else Path()
    return [path.parent for path in manifests_above(start)] or [Path()]


def package_of(manifest: Path | None, package: str | None) -> str | None:
    """The name of the library that cargo would build, as its Cargo.toml says; ``None`` where that is not clear."""
    path = _chosen(manifest, package)
    if path is None:
        return None
    name = _read(path).get("lib", {}).get("name") or _package(path).get("name")
    return name if isinstance(name, str) else None


def _chosen(manifest: Path | None, package: str | None) -> Path | None:
    """The Cargo.toml of the selected package."""
    path = manifest or next(iter(manifests_above(Path())), None)
    return path if path is None or package is None else _member(path, package)


def _from_manifest(manifest: Path | None, package: str | None) -> dict[str, str]:
    path = _chosen(manifest, package)
    if path is None:
        return {}
    table = _package(path).get("metadata", {}).get("mirgen", {})
    where = f"{path}, [package.metadata.mirgen]"
    if not isinstance(table, dict):
        raise InvalidInputError("`package.metadata.mirgen` is no table", str(path))
    return {key: _checked(key, value, where) for key, value in cast("dict[str, object]", table).items()}


def _member(nearest: Path, package: str) -> Path | None:
    """The manifest of ``package`` in the workspace of ``nearest``."""
    name = package.partition("@")[0]
    for root in manifests_above(nearest.parent):
        members: list[str] = _read(root).get("workspace", {}).get("members", [])
        for path in (root, *(path for member in members for path in root.parent.glob(f"{member}/Cargo.toml"))):
            if _package(path).get("name") == name:
                return path
    return None


def _package(manifest: Path) -> dict[str, Any]:
    package = _read(manifest).get("package", {})
    return cast("dict[str, Any]", package) if isinstance(package, dict) else {}


def _read(manifest: Path) -> dict[str, Any]:
    """The file's content; nothing where it cannot be read: cargo itself says what is wrong with it."""
    try:
        return tomllib.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}


def _checked(key: str, value: object, where: str) -> str:
    if key not in KEYS:
        close = difflib.get_close_matches(key, KEYS, 1)
        hint = f"did you mean `{close[0]}`?" if close else f"known are {joined(KEYS)}"
        raise InvalidInputError(f"unknown key `{key}`; {hint}", where)
    if key == "arch" and isinstance(value, list):
        value = ",".join(str(item) for item in cast("list[object]", value))
    if not isinstance(value, str):
        raise InvalidInputError(f"`{key}` is {value!r}, expected a string", where)
    choices = _CHOICES.get(key)
    if choices is not None and value not in choices:
        raise InvalidInputError(f"`{key}` is `{value}`, expected {joined(choices)}", where)
    return value
