"""Where panics are reported: outside of macros, and where functions that are ``#[track_caller]`` were called.

rustc's text of MIR does not say which functions are; the function's source does.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mirgen.analysis.runtime_checks import successors
from mirgen.cargo.build import Unit
from mirgen.cargo.callee import parse_callee
from mirgen.cargo.macro_calls import MacroCalls, groups, read_macro_calls
from mirgen.cargo.shim import run_shim
from mirgen.diagnostics.origin import is_rust_library
from mirgen.errors import ToolError
from mirgen.mir import statement as st
from mirgen.mir.body import Block, Body, FnKey, Scope
from mirgen.mir.place import Constant, ZstConst
from mirgen.mir.statement import SourceInfo, Span
from mirgen.mir.ty import FnDefTy

_STANDARD = ("core", "alloc", "std")
_STRING = r'"(?:[^"\\]|\\.)*"'
#: An attribute or a comment.
_ATTRIBUTE = rf'//[^\n]*\n|/\*.*?\*/|\#!?\[(?:{_STRING}|[^\[\]"]|\[(?:{_STRING}|[^\[\]"])*\])*\]'
_ATTRIBUTES = re.compile(_ATTRIBUTE, re.DOTALL)
#: What stands before a function's `fn`: attributes and comments, then what belongs to its definition.
_HEAD = re.compile(
    rf"(?P<attributes>(?:{_ATTRIBUTE}|\s)*)"
    rf"(?:(?:pub(?:\s*\([^()]*\))?|default|const|async|unsafe|safe|extern(?:\s*{_STRING})?)\s+)*\Z",
    re.DOTALL,
)
_TRACK_CALLER = re.compile(r"#\[\s*track_caller\s*\]")
#: How many lines an attribute or comment may have before a function.
_LINES_OF_AN_ATTRIBUTE = 20
#: A method's name before its arguments.
_METHOD = re.compile(r"\.\s*(?P<name>[A-Za-z_]\w*)\s*(?:::\s*<.*>\s*)?\Z", re.DOTALL)
#: Where a body's own code stands among its frames.
_BODY = -1


class PanicPlaces:
    """Reads what is needed of the crates of a build, when it is needed."""

    def __init__(self, shim: Path, units: Mapping[str, Sequence[Unit]], library: Path | None) -> None:
        """``units`` are those of each crate's name; ``library`` are the standard library's sources."""
        self._shim = shim
        self._library = library
        self._units = units
        self._calls: dict[str, tuple[MacroCalls, ...]] = {}
        self._texts: dict[Path, str] = {}
        self._has_macros: dict[tuple[str, str], bool] = {}

    def moved(self, functions: Mapping[FnKey, Body]) -> dict[int, Body]:
        """The bodies with the places of their calls, assertions and inlined calls outside of macros, and with
        ``track_caller``, by the old body's ``id``."""
        bodies = {id(body): body for body in functions.values()}
        tracked = {ident: at for ident, body in bodies.items() if (at := self._tracked(body)) is not None}
        keys = frozenset(key for key, body in functions.items() if id(body) in tracked)
        return {
            ident: replace(_Moving(self, body, keys).result(), track_caller=tracked.get(ident))
            for ident, body in bodies.items()
        }

    def name_in_call(self, span: Span, home: str) -> Span:
        """Where a call is reported that is at ``span``: at a method's name, or where the whole call begins."""
        for unit in self._units.get(home, ()):
            text = self._text(self._path(unit, span.file))
            if text:
                return method_name(text, span)
        return span

    def _tracked(self, body: Body) -> Span | None:
        """Where a function is defined that is ``#[track_caller]``."""
        if body.kind != "fn" or body.span is None:
            return None
        for unit in self._units.get(body.crate, ()):
            text = self._text(self._path(unit, body.span.file))
            if text:
                return tracked_definition(text, parse_callee(body.header).method, body.span)
        return None

    def _path(self, unit: Unit, file: str) -> Path:
        """A source file as rustc names it."""
        if is_rust_library(file) and self._library is not None:
            return self._library / file.rpartition("library/")[2]
        return _folder(unit) / file

    def _text(self, path: Path) -> str:
        if path not in self._texts:
            try:
                self._texts[path] = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                self._texts[path] = ""
        return self._texts[path]

    def of(self, function: str, home: str, span: Span) -> tuple[MacroCalls, ...]:
        """What may have the code at ``span`` in ``function``, where that could be a macro's.

        ``home`` is the crate that printed the function's path.
        """
        crate = self.crate_of(function, home)
        if crate in _STANDARD or not (is_rust_library(span.file) or self._may_have_macros(crate, span.file)):
            return ()
        if crate not in self._calls:
            read = (self._read(unit) for unit in self._units.get(crate, ()))
            self._calls[crate] = tuple(calls for calls in read if calls is not None)
        return self._calls[crate]

    def crate_of(self, function: str, home: str) -> str:
        """The crate of a function whose path ``home`` printed."""
        head = parse_callee(function).segments[:1]
        return head[0] if head and head[0] in (*self._units, *_STANDARD) else home

    def _read(self, unit: Unit) -> MacroCalls | None:
        """What rustc says of a unit; nothing where it cannot: places then stay inside macros."""
        try:
            told = run_shim(self._shim, ["dump", "--unit", str(unit.record), "--emit-text", "--regions"])
        except ToolError:
            return None
        path = Path(told.strip())
        return read_macro_calls(path.read_text(encoding="utf-8"), _folder(unit))

    def _may_have_macros(self, crate: str, file: str) -> bool:
        """Whether a source file of a crate defines macros."""
        key = (crate, file)
        if key not in self._has_macros:
            texts = (self._text(self._path(unit, file)) for unit in self._units.get(crate, ()))
            self._has_macros[key] = any("macro_rules!" in text for text in texts)
        return self._has_macros[key]


@functools.lru_cache(maxsize=1 << 10)
def _folder(unit: Unit) -> Path:
    """What file names in rustc's text of a unit are relative to."""
    return Path(json.loads(unit.record.read_bytes())["cwd"])


def method_name(text: str, call: Span) -> Span:
    """Where the method's name stands in the call at ``call``; ``call`` itself for a call of another kind."""
    lines = text.split("\n")
    if call.end_line > len(lines):
        return call
    starts = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    begin, end = starts[call.line - 1] + call.col - 1, starts[call.end_line - 1] + call.end_col - 1
    opened = next((at for at, closed in groups(text, begin, end) if closed == end), None)
    match = None if opened is None else _METHOD.search(text, begin, opened)
    if match is None:
        return call
    name = match.start("name")
    line = text.count("\n", 0, name) + 1
    return replace(call, line=line, col=name - starts[line - 1] + 1)


def _head(text: str, end: int) -> re.Match[str] | None:
    """What belongs to the function whose `fn` stands at ``end``, as many lines up as there is nothing else."""
    found = None
    start, failed = end, 0
    while failed <= _LINES_OF_AN_ATTRIBUTE and start > 0:
        start = text.rfind("\n", 0, start - 1) + 1
        match = _HEAD.fullmatch(text, start, end)
        found, failed = (match, 0) if match is not None else (found, failed + 1)
    return found or _HEAD.search(text, text.rfind("\n", 0, end) + 1, end)


def tracked_definition(text: str, name: str, result: Span) -> Span | None:
    """Where the function ``name`` is defined in a source file, if it is ``#[track_caller]``.

    ``result`` is where its type of result stands, or would.  An attribute that depends on a configuration does not
    count: whether it holds is not known here.
    """
    lines = text.split("\n")
    if result.line > len(lines):
        return None
    before = "\n".join([*lines[: result.line - 1], lines[result.line - 1][: result.col - 1]])
    heads = list(re.finditer(rf"\bfn\s+{re.escape(name)}\b", before))
    if not heads:
        return None
    end = heads[-1].start()
    head = _head(before, end)
    if head is None or not any(map(_TRACK_CALLER.fullmatch, _ATTRIBUTES.findall(head["attributes"]))):
        return None
    at = head.end("attributes")
    line = before.count("\n", 0, at) + 1
    col = at - (before.rfind("\n", 0, at) + 1) + 1
    return Span(result.file, line, col, line, col)


class _Moving:
    """One body.  A frame is the scope with which an inlined body begins, or :data:`_BODY`."""

    def __init__(self, places: PanicPlaces, body: Body, tracked: frozenset[FnKey]) -> None:
        """``tracked`` are the functions that are told where they are called."""
        self._places = places
        self._body = body
        self._tracked = tracked
        self._before: dict[int, int] = {}
        for i, block in enumerate(body.blocks):
            for target in successors(block.terminator):
                self._before.setdefault(target, i)
        self._frames = [self._frame(scope) for scope in range(len(body.scopes))]

    def result(self) -> Body:
        blocks = [self._block(i) for i in range(len(self._body.blocks))]
        scopes = [self._scope(i, scope) for i, scope in enumerate(self._body.scopes)]
        if all(
            new is old for new, old in zip((*blocks, *scopes), (*self._body.blocks, *self._body.scopes), strict=True)
        ):
            return self._body
        return replace(self._body, blocks=tuple(blocks), scopes=tuple(scopes))

    def _block(self, i: int) -> Block:
        block = self._body.blocks[i]
        terminator = block.terminator
        if not isinstance(terminator, st.Call | st.Assert) or terminator.source.span is None:
            return block
        frame = self._frame_of(terminator.source)
        place = self._place(lambda: i, terminator.source.span, frame)
        if place is None and isinstance(terminator, st.Call) and self._calls_tracked(terminator):
            place = self._places.name_in_call(terminator.source.span, self._home(frame))
        if place is None:
            return block
        return replace(block, terminator=replace(terminator, source=replace(terminator.source, span=place)))

    def _calls_tracked(self, call: st.Call) -> bool:
        func = call.func
        if not (isinstance(func, Constant) and isinstance(func.const, ZstConst)):
            return False
        ty = func.const.ty
        return isinstance(ty, FnDefTy) and (ty.crate, ty.path) in self._tracked

    def _home(self, frame: int) -> str:
        """The crate in whose source a frame's code stands."""
        return self._places.crate_of(self._function(frame), self._body.crate)

    def _scope(self, i: int, scope: Scope) -> Scope:
        if scope.inlined is None or scope.span is None:
            return scope
        frame = _BODY if scope.parent is None else self._frames[scope.parent]
        place = self._place(lambda: self._block_in(i), scope.span, frame)
        return scope if place is None else replace(scope, span=place)

    def _place(self, block: Callable[[], int], span: Span, frame: int) -> Span | None:
        """Where the macro was called whose code is at ``span`` in ``frame``, in a ``block``; ``None`` for code of no
        macro."""
        function = self._function(frame)
        for calls in self._places.of(function, self._body.crate, span):
            path = parse_callee(function).segments
            if (path[-1], span) in calls.code:
                branches = self._branches(block, frame, calls)
                return calls.place_of(path, span, branches, lambda: self._turn(block(), span, frame))
        return None

    def _branches(self, block: Callable[[], int], frame: int, calls: MacroCalls) -> Iterator[Span]:
        """The branches of one frame before a block, nearest first, that no macro wrote."""
        begin = block()
        seen = {begin}
        at = self._before.get(begin)
        while at is not None and at not in seen:
            seen.add(at)
            terminator = self._body.blocks[at].terminator
            if isinstance(terminator, st.SwitchInt | st.Assert) and self._frame_of(terminator.source) == frame:
                span = terminator.source.span
                if span is not None and span in calls.branches:
                    yield span
            at = self._before.get(at)

    def _turn(self, block: int, span: Span, frame: int) -> tuple[int, int]:
        """Which of how many calls or assertions at ``span`` in ``frame`` ends a block."""
        same = [
            i
            for i, other in enumerate(self._body.blocks)
            if isinstance(other.terminator, st.Call | st.Assert)
            and other.terminator.source.span == span
            and self._frame_of(other.terminator.source) == frame
        ]
        return (same.index(block), len(same)) if block in same else (0, -1)

    # ---- frames ------------------------------------------------------------------------------------------

    def _frame(self, scope: int) -> int:
        at: int | None = scope
        while at is not None and self._body.scopes[at].inlined is None:
            at = self._body.scopes[at].parent
        return _BODY if at is None else at

    def _frame_of(self, source: SourceInfo) -> int:
        return _BODY if source.scope is None or source.scope >= len(self._frames) else self._frames[source.scope]

    def _function(self, frame: int) -> str:
        return (self._body.header if frame == _BODY else self._body.scopes[frame].inlined) or ""

    def _block_in(self, scope: int) -> int:
        """The first block with something in ``scope`` or inside it; a block that is none where there is nothing."""
        inside = {scope}
        for i, other in enumerate(self._body.scopes):
            if other.parent in inside:
                inside.add(i)
        for i, block in enumerate(self._body.blocks):
            if any(part.source.scope in inside for part in (*block.statements, block.terminator)):
                return i
        return -1
