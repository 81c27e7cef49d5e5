"""Dependencies compiled from copies of their sources in which some private items may be named.

A question about ``a::f::<b::T>`` can only be written in crate ``a``; where ``b::T`` is private to ``b``, ``b`` is
compiled from a copy in which it is not.  Visibility decides what may be named, never what code means.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mirgen.cargo.overlay import Private, make_overlay
from mirgen.cargo.unit import UnitRecord
from mirgen.errors import MirgenError

_FILE = "exposed.json"
_STANDARD = "exposed-standard"


class ExposureNeededError(MirgenError):
    """Not an error of anyone's: private ``items`` must be named, for which cargo must run again."""

    def __init__(self, items: frozenset[tuple[Path, Private]]) -> None:
        super().__init__(f"{len(items)} private item(s) must be named")
        self.items = items


@dataclass(frozen=True, slots=True)
class _Package:
    root_file: Path
    source_dir: Path
    items: tuple[Private, ...]


def expose(work: Path, wanted: Iterable[tuple[Path, Private]]) -> bool:
    """Remember items (each with its unit's record) for builds in ``work``; whether any was new."""
    packages = {package.root_file: package for package in _load(work)}
    before = packages.copy()
    for record, item in wanted:
        unit = UnitRecord.load(record)
        known = packages.get(unit.root_file, _Package(unit.root_file, unit.source_dir, ()))
        items = tuple(sorted({*known.items, item}))
        packages[unit.root_file] = _Package(unit.root_file, unit.source_dir, items)
    if packages == before:
        return False
    data = [
        {
            "root_file": str(p.root_file),
            "source_dir": str(p.source_dir),
            "items": [[str(i.file), i.line, i.col, _digest(i.file)] for i in p.items],
        }
        for p in packages.values()
    ]
    work.mkdir(parents=True, exist_ok=True)
    (work / _FILE).write_text(json.dumps(data, indent=1))
    return True


def use_standard(work: Path, sysroot: Path | None) -> bool:
    """Have builds in ``work`` see ``sysroot``; whether that is new.

    Only builds that need it do see one in which private items may be named: code that imports everything of a module
    would import what is private elsewhere.
    """
    if sysroot is None or sysroot == standard(work):
        return False
    work.mkdir(parents=True, exist_ok=True)
    (work / _STANDARD).write_text(str(sysroot))
    return True


def standard(work: Path) -> Path | None:
    """The sysroot that builds in ``work`` see instead of the usual one."""
    file = work / _STANDARD
    sysroot = Path(file.read_text()) if file.is_file() else None
    return sysroot if sysroot is not None and (sysroot / "complete").is_file() else None


def withdraw(work: Path) -> None:
    """Forget every exposure: a copy did not compile."""
    (work / _FILE).unlink(missing_ok=True)
    (work / _STANDARD).unlink(missing_ok=True)


def overlays(work: Path) -> Path | None:
    """The map for the wrapper (``MIRGEN_OVERLAYS``), its copies laid out; ``None`` where nothing is exposed."""
    packages = _load(work)
    if not packages:
        return None
    table: dict[str, dict[str, str]] = {}
    for package in packages:
        table[str(package.root_file)] = _laid_out(package, work)
    text = json.dumps(table, indent=1)
    path = work / f"overlays-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
    path.write_text(text)
    return path


def _laid_out(package: _Package, work: Path) -> dict[str, str]:
    """The package's copy; one that is there and as it would be made again is left alone: cargo sees no change."""
    folder = work / "exposed" / hashlib.sha256(str(package.root_file).encode()).hexdigest()[:12]
    note = folder / "laid-out.json"
    files = sorted({package.root_file, *(item.file for item in package.items)})
    listing = sorted(str(path) for path in package.source_dir.rglob("*"))
    described = repr((package.items, [_digest(file) for file in files], listing))
    state = hashlib.sha256(described.encode()).hexdigest()
    try:
        known = json.loads(note.read_bytes())
        if known["state"] == state and Path(known["copy"]["input"]).is_file():
            return known["copy"]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # to be laid out
    note.unlink(missing_ok=True)
    copy = make_overlay(package.root_file, package.source_dir, (), folder, package.items, "pub")
    made = {
        "original_input": str(package.root_file),
        "original": str(package.source_dir),
        "input": str(copy.root_file),
        "copy": str(copy.copy),
    }
    note.write_text(json.dumps({"state": state, "copy": made}, indent=1))
    return made


def _load(work: Path) -> list[_Package]:
    """What was exposed earlier; files that have changed since are forgotten, their positions with them."""
    path = work / _FILE
    if not path.is_file():
        return []
    packages: list[_Package] = []
    for entry in json.loads(path.read_bytes()):
        items = [
            Private(Path(file), line, col)
            for file, line, col, digest in entry["items"]
            if _digest(Path(file)) == digest
        ]
        if items:
            packages.append(_Package(Path(entry["root_file"]), Path(entry["source_dir"]), tuple(items)))
    return packages


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
