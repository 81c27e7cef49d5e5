"""Where in the user's own source a statement comes from, through rustc's inlining."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mirgen.errors import Location

if TYPE_CHECKING:  # `mir` lies above this layer: its values are only looked at here
    from mirgen.mir.body import Body
    from mirgen.mir.statement import SourceInfo, Span

#: Sources that are not the user's: rustc's library, crates from a registry or git, mirgen's own device crates.
_RUST_LIBRARY = re.compile(
    r"(?:^|/)(?:rustc/[0-9a-f]{40}|rustc-[0-9.]+|lib/rustlib/src/rust)/library/|(?:^|/)library/(?:core|alloc|std)/src/"
)
_DEPENDENCY = re.compile(r"/registry/src/|/git/checkouts/|(?:^|/)(?:_crates|rustc-shim)/(?:device|macros)/")


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of an inlining chain: a position, and the function (rustc's text) whose source it lies in."""

    span: Span | None
    function: str

    @property
    def location(self) -> Location | None:
        return None if self.span is None else to_location(self.span)


def to_location(span: Span) -> Location:
    """A MIR span as a diagnostic's location."""
    return Location(span.file, span.line, span.col, span.end_line, span.end_col)


def is_rust_library(file: str) -> bool:
    """Whether ``file`` is a source of core, alloc or std."""
    return _RUST_LIBRARY.search(file) is not None


def is_users_own(file: str) -> bool:
    """Whether ``file`` is neither the standard library's nor a downloaded crate's nor mirgen's."""
    return not is_rust_library(file) and _DEPENDENCY.search(file) is None


def frames(body: Body, source: SourceInfo) -> tuple[Frame, ...]:
    """The inlining chain of one statement, innermost first; the last frame lies in ``body`` itself."""
    out: list[Frame] = []
    span = source.span
    scope = source.scope
    while scope is not None and 0 <= scope < len(body.scopes):
        entry = body.scopes[scope]
        if entry.inlined is not None:
            out.append(Frame(span, entry.inlined))
            span = entry.span
        scope = entry.parent
    out.append(Frame(span, body.name))
    return tuple(out)


def user_frame(body: Body, source: SourceInfo) -> int:
    """Position in :func:`frames` of the first that lies in the user's own source, else of the outermost."""
    chain = frames(body, source)
    for i, frame in enumerate(chain):
        if frame.span is not None and is_users_own(frame.span.file):
            return i
    return len(chain) - 1


def user_location(body: Body, source: SourceInfo) -> Location | None:
    """Where to point: the innermost place in the user's own source, else the outermost known one.

    Falls back to the body's own span where the statement has none.
    """
    chain = frames(body, source)
    at = user_frame(body, source)
    found = chain[at].location or next((f.location for f in reversed(chain) if f.location is not None), None)
    if found is None and body.span is not None:
        return to_location(body.span)
    return found


def short_file(file: str) -> str:
    """``file`` as it is best shown in a note: library and registry prefixes cut off."""
    m = _RUST_LIBRARY.search(file)
    if m is not None:
        return file[file.index("library/", m.start()) + len("library/") :]
    _, found, rest = file.partition("/registry/src/")
    return rest.partition("/")[2] if found else file
