"""Copies of a package's sources with something added: questions, features, and items that may be named."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from mirgen.cargo.hoist import hoisted_lines
from mirgen.errors import InternalError

#: Where what is added to the end of a file stands.
MODULE = "__mirgen_queries"
#: A constant that is added to a method of an impl which a macro wrote: its type names the trait.
TRAIT_MARK = "__MIRGEN_TRAIT"
_ITEM = re.compile(
    r"(pub(\([^)]*\))?\s+)?(default|const|async|unsafe|extern|mod|fn|struct|enum|union|trait|type|static)\b"
)
_IMPL = re.compile(r"(?:unsafe\s+)?impl\b")
_OUTLINE = re.compile(r"(?:pub(?:\([^)]*\))?\s+)?mod (\w+);")
_INNER = re.compile(r"(?:pub\([^)]*\) )?(?:unsafe )?(?:mod|fn|struct|enum|union|trait|type) ")


class Addition(Protocol):
    """Text for ``file`` (absolute), at ``at`` (line and column) or at its end; the crate must enable ``feature``."""

    @property
    def file(self) -> Path: ...
    @property
    def text(self) -> str: ...
    @property
    def feature(self) -> str | None: ...
    @property
    def at(self) -> tuple[int, int] | None: ...


@dataclass(frozen=True, slots=True)
class Overlay:
    """A copy of a package's sources: links to the originals, but for ``changed`` files."""

    root_file: Path
    copy: Path
    original: Path
    changed: tuple[Path, ...]

    def flags(self) -> list[str]:
        """The shim's flags."""
        flags = ["--overlay", str(self.root_file), str(self.copy), str(self.original)]
        return flags + [part for path in self.changed for part in ("--overlay-file", str(path))]


@dataclass(frozen=True, slots=True, order=True)
class Private:
    """A private item that a question names: where its definition begins (1-based).  ``attribute`` goes before it where
    it is made public; an impl, which has no visibility, gets its attribute only."""

    file: Path
    line: int
    col: int
    attribute: str = ""

    def __post_init__(self) -> None:
        """One spelling of a file: rustc says `core/src/../../portable-simd/..`."""
        object.__setattr__(self, "file", Path(os.path.normpath(self.file)))


def private_item(file: Path, line: int, col: int) -> Private | None:
    """The item whose definition rustc says begins there; ``None`` where no item that can have a visibility does.

    rustc counts columns wrongly in a file that is not what it compiled (a copy was): before the line's first item means
    that item.
    """
    try:
        text = _line(file, line)
    except (OSError, IndexError, UnicodeDecodeError):
        return None
    start = max(col - 1, len(text) - len(text.lstrip()))
    return Private(file, line, start + 1) if _ITEM.match(text, start) else None


def _line(file: Path, number: int) -> str:
    """A line of a source file; behind its end, of what is moved there in a copy of a library."""
    written = file.read_text(encoding="utf-8").splitlines()
    return written[number - 1] if number <= len(written) else hoisted_lines(file)[number - 1]


def module_file(module: Private) -> Path | None:
    """The file of an outline module; ``None`` where ``module`` is none."""
    declared = _OUTLINE.match(_line(module.file, module.line), module.col - 1)
    if declared is None:
        return None
    folder = module.file.parent if module.file.stem in ("mod", "lib") else module.file.with_suffix("")
    files = (folder / f"{declared[1]}.rs", folder / declared[1] / "mod.rs")
    return next((file for file in files if file.is_file()), None)


def shares_its_name(module: Private) -> bool:
    """Whether a module holds a public function or macro of its own name that the module around it exports.

    Whoever imports that from there would get the module too.
    """
    file = module_file(module)
    if file is None:
        return False
    name = file.parent.name if file.stem == "mod" else file.stem
    text, around = file.read_text(encoding="utf-8"), module.file.read_text(encoding="utf-8")
    exported = re.search(rf"^\s*pub(?:\([^)]*\))? use (?:self::)?{name}::", around, re.MULTILINE)
    holds = re.search(rf"^pub (?:(?:const|unsafe) )*(?:fn|macro) {name}\b", text, re.MULTILINE)
    return exported is not None and holds is not None


def private_items_of(file: Path) -> frozenset[Private]:
    """The private items of a file, outline modules among them.

    Constant functions are left out: what else may use them depends on whether they are public.
    """
    lines = file.read_text(encoding="utf-8").splitlines()
    return frozenset(Private(file, i, 1) for i, line in enumerate(lines, 1) if _INNER.match(line))


def make_overlay(
    root_file: Path, original: Path, queries: Sequence[Addition], folder: Path, exposed: Collection[Private] = (),
    visibility: str = "pub(crate)", features: Collection[str] = (), texts: Mapping[Path, str] = MappingProxyType({}),
    crates: Collection[str] = (),
) -> Overlay:  # fmt: skip
    """Lay a copy of ``original`` (the directory that holds all sources) with ``queries`` added out in ``folder``.

    ``exposed`` items get ``visibility``, which changes what may be named, never what it means; ``features`` are
    enabled; ``texts`` are taken for what stands in those files; ``crates`` get their names at the root.
    The copy's name depends on what was added, so that one copy is never changed under another's text.
    """
    by_file: dict[Path, list[Addition]] = {}
    for query in queries:
        file = query.file if query.file.is_relative_to(original) else root_file
        by_file.setdefault(file, []).append(query)
    for file in (*(item.file for item in exposed), *texts):
        by_file.setdefault(file, [])
    enabled = sorted({*features, *(query.feature for query in queries if query.feature is not None)})
    if enabled or crates:
        by_file.setdefault(root_file, [])
    state = hashlib.sha256(repr([(str(f), [q.text for q in qs]) for f, qs in by_file.items()]).encode())
    state.update(repr((visibility, sorted(exposed), enabled, sorted(texts.items()), sorted(crates))).encode())
    copy = folder / state.hexdigest()[:16]
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    solid = {root_file, *by_file}
    _mirror(original, copy, solid)
    changed: list[Path] = []
    for file, own in by_file.items():
        target = copy / file.relative_to(original)
        if not target.parent.resolve().is_relative_to(copy.resolve()):
            raise InternalError(f"{file} would be changed where it is, not in a copy")
        text = texts[file] if file in texts else file.read_text(encoding="utf-8")
        text = _inserting(text, own)
        text = _exposing(text, [item for item in exposed if item.file == file], visibility)
        text = _linking(_enabling(text, enabled), crates) if file == root_file else text
        target.write_text(text + _module([query for query in own if query.at is None]), encoding="utf-8")
        changed.append(target)
    return Overlay(copy / root_file.relative_to(original), copy, original, tuple(changed))


def _inserting(text: str, queries: Sequence[Addition]) -> str:
    """Questions inside bodies, each on the line of the item that it follows."""
    lines = text.splitlines(keepends=True)
    for line, col, question in sorted((*q.at, q.text) for q in queries if q.at is not None)[::-1]:
        lines[line - 1] = f"{lines[line - 1][: col - 1]} {question}{lines[line - 1][col - 1 :]}"
    return "".join(lines)


def _exposing(text: str, items: Collection[Private], visibility: str) -> str:
    lines = text.splitlines(keepends=True)
    for item in sorted(items, reverse=True):
        line, at = lines[item.line - 1], item.col - 1
        rest = re.sub(r"^pub(\([^)]*\))?\s+", "", line[at:])
        public = "" if _IMPL.match(rest) else f"{visibility} "
        lines[item.line - 1] = f"{line[:at]}{item.attribute}{public}{rest}"
    return "".join(lines)


def _enabling(text: str, features: Sequence[str]) -> str:
    """A crate root with more features, on the line of what comes first; one that is enabled twice is an error."""
    missing = [feature for feature in features if not re.search(rf"\b{feature}\b", text)]
    if not missing:
        return text
    at = text.index("\n") + 1 if re.match(r"#!(?!\s*\[)", text) else 0
    return f"{text[:at]}#![feature({', '.join(missing)})] {text[at:]}"


def _linking(text: str, crates: Collection[str]) -> str:
    """A crate root in which ``::alloc`` names a crate that is linked but was not named."""
    return text + "".join(f"\n#[allow(unused_extern_crates)] extern crate {crate};" for crate in sorted(crates))


def _module(queries: Sequence[Addition]) -> str:
    if not queries:
        return ""
    body = "\n".join(query.text for query in queries)
    return f"\n#[doc(hidden)]\n#[allow(warnings)]\nmod {MODULE} {{\n{body}\n}}\n"


def _mirror(original: Path, copy: Path, solid: set[Path]) -> None:
    """Links to everything in ``original``; directories on the way to ``solid`` files are real, and so are they."""
    for entry in original.iterdir():
        target = copy / entry.name
        inside = [path for path in solid if path == entry or entry in path.parents]
        if not inside:
            target.symlink_to(entry)
        elif entry.is_dir():
            target.mkdir()
            _mirror(entry, target, solid)
        elif entry in solid:
            shutil.copyfile(entry, target)
        else:
            raise InternalError(f"{entry} is neither file nor directory")
