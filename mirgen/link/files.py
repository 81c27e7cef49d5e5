"""Artefact files: where they lie, and writing them whole or not at all."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mirgen.link.arch import Arch


def write_atomic(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``: readers see the old content or the new one, never a part.  Makes the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@dataclass(frozen=True, slots=True)
class ArtifactFolder:
    """``<target-dir>/mirgen/<profile>/<crate>``: the manifest, files for no particular architecture, and one folder
    for each architecture."""

    root: Path

    @classmethod
    def of(cls, target_dir: Path, profile: str, crate: str) -> ArtifactFolder:
        """The folder of one crate built with one profile under cargo's target folder."""
        return cls(target_dir / "mirgen" / profile / crate)

    def path(self, kind: str, crate: str, arch: Arch | None = None) -> Path:
        """Where the file of one kind (its extension: ``ll``, ``ptx``, ``cubin``, ``mir.json``) lies."""
        folder = self.root / arch.name if arch is not None else self.root
        return folder / f"{crate}.{kind}"

    def write(self, kind: str, crate: str, data: bytes, arch: Arch | None = None) -> str:
        """Write one file; its path relative to the root, as the manifest names it."""
        path = self.path(kind, crate, arch)
        write_atomic(path, data)
        return path.relative_to(self.root).as_posix()
