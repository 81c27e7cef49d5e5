"""Asking rustc for the body of an instance that its inliner left behind.

A function that does nothing but call ``utils::get::<u64>`` is added, in a copy of the crate's sources, to the file in
which the call was written: there the path can be named, private or not.  rustc resolves it and inlines it, and the
added function's body *is* the instance's.  Each question has a small tower of its own.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from mirgen.cargo.callee import short
from mirgen.cargo.source import Names, callee_source, type_source
from mirgen.errors import InternalError
from mirgen.ingest import Header
from mirgen.mir.body import Body, FnKey
from mirgen.mir.ty import FnDefTy

MODULE = "__mirgen_queries"
#: Functions outside of that module have it in their own names.
INSIDE = f"{MODULE}_"
_LEVELS = 4
_ITEM = re.compile(
    r"(pub(\([^)]*\))?\s+)?(default|const|async|unsafe|extern|mod|fn|struct|enum|union|trait|type|static)\b"
)


@dataclass(frozen=True, slots=True)
class Query:
    """One question about ``key``: ``name`` is the added function, ``file`` the source file (absolute) it is added to.

    ``fn`` is the function whose body is asked for; ``None`` where it is a constant's value, ``path`` as ``key`` has it.
    ``feature`` must be enabled in the crate.  ``at`` is where in the file the text goes, line and column, if not to its
    end: inside a function's body, where what is asked about has a name.
    """

    name: str
    key: FnKey
    file: Path
    text: str
    fn: FnDefTy | None = None
    feature: str | None = None
    at: tuple[int, int] | None = None


def query_source(name: str, fn: FnDefTy, names: Names) -> str:
    """A tower of functions with ``fn``'s signature; the outermost is ``name``.

    Raises:
        UnnameableError: a type or the path cannot be written.
    """
    sig = fn.sig
    params = ", ".join(f"a{i}: {type_source(ty.text, names)}" for i, ty in enumerate(sig.inputs))
    args = ", ".join(f"a{i}" for i in range(len(sig.inputs)))
    output = type_source(sig.output.text, names)
    callee = callee_source(fn.path, names)
    lines: list[str] = []
    for level in range(_LEVELS):
        own = name if level == _LEVELS - 1 else f"{name}_{level}"
        lines.append(f"#[inline] pub unsafe fn {own}<'a>({params}) -> {output} {{ unsafe {{ {callee}({args}) }} }}")
        callee = own
    return "\n".join(lines)


def chosen_level(headers: Sequence[Header], name: str) -> list[Header]:
    """The tower's functions of query ``name`` among ``headers``, outermost first."""
    order = {own: i for i, own in enumerate((name, *(f"{name}_{i}" for i in reversed(range(_LEVELS - 1)))))}
    found = [h for h in headers if f"{MODULE}" in h.header and h.header.rpartition("::")[2] in order]
    return sorted(found, key=lambda header: order[header.header.rpartition("::")[2]])


def answers(body: Body, fn: FnDefTy) -> bool:
    """Whether ``body`` holds ``fn`` inlined, and is not merely a call of it: then it may stand for ``fn``."""
    wanted = short(fn.path)
    inlined = (scope.inlined.partition(" - shim(")[0] for scope in body.scopes if scope.inlined is not None)
    return any(short(name) == wanted for name in inlined)


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
    """A private item that a question names: where its definition begins (1-based)."""

    file: Path
    line: int
    col: int


def private_item(file: Path, line: int, col: int) -> Private | None:
    """The item whose definition rustc says begins there; ``None`` where no item that can have a visibility does.

    rustc prints column 0 for a file that is not what it compiled (a copy was); the item is then the line's first.
    """
    try:
        text = file.read_text(encoding="utf-8").splitlines()[line - 1]
    except (OSError, IndexError, UnicodeDecodeError):
        return None
    start = col - 1 if col > 0 else len(text) - len(text.lstrip())
    return Private(file, line, start + 1) if _ITEM.match(text, start) else None


def make_overlay(
    root_file: Path, original: Path, queries: Sequence[Query], folder: Path, exposed: Collection[Private] = (),
    visibility: str = "pub(crate)",
) -> Overlay:  # fmt: skip
    """Lay a copy of ``original`` (the directory that holds all sources) with ``queries`` added out in ``folder``.

    ``exposed`` items get ``visibility``, which changes what may be named, never what it means.
    The copy's name depends on what was added, so that one copy is never changed under another's text.
    """
    by_file: dict[Path, list[Query]] = {}
    for query in queries:
        file = query.file if query.file.is_relative_to(original) else root_file
        by_file.setdefault(file, []).append(query)
    for item in exposed:
        by_file.setdefault(item.file, [])
    features = sorted({query.feature for query in queries if query.feature is not None})
    if features:
        by_file.setdefault(root_file, [])
    state = hashlib.sha256(repr([(str(f), [q.text for q in qs]) for f, qs in by_file.items()]).encode())
    state.update(repr((visibility, sorted(exposed))).encode())
    copy = folder / state.hexdigest()[:16]
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    solid = {root_file, *by_file}
    _mirror(original, copy, solid)
    changed: list[Path] = []
    for file, own in by_file.items():
        target = copy / file.relative_to(original)
        text = file.read_text(encoding="utf-8")
        text = _inserting(text, own)
        text = _exposing(text, [item for item in exposed if item.file == file], visibility)
        text = _enabling(text, features) if file == root_file else text
        target.write_text(text + _module([query for query in own if query.at is None]), encoding="utf-8")
        changed.append(target)
    return Overlay(copy / root_file.relative_to(original), copy, original, tuple(changed))


def _inserting(text: str, queries: Sequence[Query]) -> str:
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
        lines[item.line - 1] = f"{line[:at]}{visibility} {rest}"
    return "".join(lines)


def _enabling(text: str, features: Sequence[str]) -> str:
    """A crate root with more features, on the line of what comes first; one that is enabled twice is an error."""
    missing = [feature for feature in features if not re.search(rf"\b{feature}\b", text)]
    if not missing:
        return text
    at = text.index("\n") + 1 if re.match(r"#!(?!\s*\[)", text) else 0
    return f"{text[:at]}#![feature({', '.join(missing)})] {text[at:]}"


def _module(queries: Sequence[Query]) -> str:
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
