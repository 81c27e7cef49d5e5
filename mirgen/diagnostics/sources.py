"""Finding the source text that a diagnostic points into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


class SourceMap:
    """Reads source files by the names that rustc printed.

    ``roots`` are folders that relative names are looked up in, in order; ``remap`` gives folders for name prefixes
    (``/rustc/<commit>`` to a toolchain's ``lib/rustlib/src/rust``).  A file that cannot be read has no lines: the
    message is then shown without a snippet.
    """

    def __init__(self, roots: Sequence[Path] = (), remap: Mapping[str, Path] | None = None) -> None:
        self._roots = tuple(roots) or (Path(),)
        self._remap = dict(remap or {})
        self._lines: dict[str, list[str] | None] = {}

    def lines(self, file: str) -> list[str] | None:
        """The file's lines without their ends; ``None`` where it cannot be read."""
        if file not in self._lines:
            self._lines[file] = self._read(file)
        return self._lines[file]

    def path(self, file: str) -> Path | None:
        """The file on this machine, where there is one."""
        return next((p for p in self._candidates(file) if p.is_file()), None)

    def _read(self, file: str) -> list[str] | None:
        path = self.path(file)
        if path is None:
            return None
        try:
            return path.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            return None

    def _candidates(self, file: str) -> list[Path]:
        out = [
            folder / file[len(prefix) :].lstrip("/")
            for prefix, folder in self._remap.items()
            if file.startswith(prefix)
        ]
        path = Path(file)
        return [*out, path] if path.is_absolute() else [*out, *(root / path for root in self._roots)]
