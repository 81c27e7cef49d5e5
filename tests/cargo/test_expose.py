"""Copies of dependencies: laid out once, and again when what they are a copy of has changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mirgen.cargo.expose import expose, overlays, standard, use_standard, withdraw
from mirgen.cargo.overlay import Private


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """The record of a unit with a private item in a file of its own, beside a file that stays as it is."""
    source = tmp_path / "package" / "src"
    source.mkdir(parents=True)
    (source / "lib.rs").write_text("mod a;\nmod b;\n")
    (source / "a.rs").write_text("struct Hidden;\n")
    (source / "b.rs").write_text("struct Other;\n")
    path = tmp_path / "unit.json"
    record = {
        "crate_name": "dep",
        "cwd": str(tmp_path),
        "args": ["--crate-name", "dep", str(source / "lib.rs")],
        "package": {"name": "dep", "version": "1.0.0", "manifest_dir": str(source.parent)},
        "primary": False,
    }
    path.write_text(json.dumps(record))
    return path


def copied(work: Path) -> dict[str, tuple[str, int]]:
    """Text and time of every real file in the copy."""
    table = overlays(work)
    assert table is not None
    (entry,) = json.loads(table.read_text()).values()
    copy = Path(entry["copy"])
    assert Path(entry["input"]).is_file()
    files = [path for path in copy.rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(path.relative_to(copy)): (path.read_text(), path.stat().st_mtime_ns) for path in files}


def test_a_copy_is_left_alone_until_its_original_changes(record: Path, tmp_path: Path) -> None:
    source, work = tmp_path / "package" / "src", tmp_path / "work"
    items = frozenset({(record, Private(source / "a.rs", 1, 1))})
    assert expose(work, items)
    assert not expose(work, items)
    first = copied(work)
    assert first["src/a.rs"][0] == "pub struct Hidden;\n"
    assert copied(work) == first
    (source / "lib.rs").write_text("mod a;\nmod b;\nmod c;\n")
    (source / "c.rs").write_text("struct New;\n")
    second = copied(work)
    assert second["src/lib.rs"][0] == "mod a;\nmod b;\nmod c;\n"
    (link,) = (path for path in (work / "exposed").rglob("c.rs"))
    assert link.read_text() == "struct New;\n"
    (source / "b.rs").write_text("struct Changed;\n")
    assert copied(work) == second, "a link to it, which needs no change"
    (link,) = (path for path in (work / "exposed").rglob("b.rs"))
    assert link.read_text() == "struct Changed;\n"


def test_only_builds_that_need_it_see_the_opened_standard_library(tmp_path: Path) -> None:
    work, sysroot = tmp_path / "work", tmp_path / "sysroot"
    assert standard(work) is None
    assert not use_standard(work, None), "there is none"
    sysroot.mkdir()
    (sysroot / "complete").touch()
    assert use_standard(work, sysroot)
    assert not use_standard(work, sysroot), "nothing new"
    assert standard(work) == sysroot
    assert standard(tmp_path / "other") is None
    (sysroot / "complete").unlink()
    assert standard(work) is None, "one that was cleaned away"
    (sysroot / "complete").touch()
    withdraw(work)
    assert standard(work) is None
