"""Where in the source the macros were called whose code panics.

A panic is reported where its outermost macro was called, but rustc's text of MIR has the place inside the macro.  The
same bodies, as rustc built them, with what its coverage knows of their blocks, have the places of the calls: a region
of the source that ends in ``!`` is one.  Code that a macro wrote belongs to the call that is named in its own block or,
as rustc names a call once, in the nearest block before it.

Code that rustc inlined and optimised is told by the macro's line that it comes from, the function that it was written
in, and the branches that lead to it.  What fits several calls stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mirgen.cargo.callee import parse_callee
from mirgen.mir.statement import Span

_FUNCTION = re.compile(r"^fn (?P<path>.+?)\((?:_1: .*)?\) -> .*\{$")
_REGION = re.compile(r"^ {4}coverage Code \{ bcb: (?P<bcb>bcb\d+) \} => (?P<span>.+?) \(#0\);$")
_BLOCK = re.compile(r"^ {4}(?P<block>bb\d+)(?: \(cleanup\))?: \{$")
_COUNTER = re.compile(r"^ {8}Coverage::VirtualCounter\((?P<bcb>bcb\d+)\);")
_LINE = re.compile(r"^ {8}(?P<text>\S.*?)\s+// (?:bb\d+\[\d+\]: )?scope \d+ at (?P<span>.+)$")
_SPAN = re.compile(r"(?P<file>.+?):(?P<line>\d+):(?P<col>\d+): (?P<end_line>\d+):(?P<end_col>\d+)")
_TARGETS = re.compile(r"-> (\[[^\[\]]*\]|bb\d+);$")
_TARGET = re.compile(r"(?<!unwind: )\b(bb\d+)")
_BRANCHES = ("switchInt(", "assert(")

#: How many branches before a call are told.
_BRANCHES_TOLD = 8
#: What counts of Rust's tokens when its delimiters are matched.
_DELIMITER = re.compile(
    r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\[^\']+)\'|//[^\n]*|/\*.*?\*/|(?P<open>[(\[{])|(?P<close>[)\]}])', re.DOTALL
)


@dataclass(frozen=True, slots=True)
class MacroCode:
    """A call or assertion that a macro wrote into the function of that ``path``, at ``span`` in the macro.

    ``branches`` are the places of the branches before it that no macro wrote, nearest first; ``place`` is where the
    outermost macro was called, ``None`` where that is not certain.
    """

    path: tuple[str, ...]
    span: Span
    branches: tuple[Span, ...]
    place: Span | None


@dataclass(frozen=True, slots=True)
class MacroCalls:
    """What was read of one crate: the code of its macros by place and the last name of the function's path, and the
    places of plain branches."""

    code: dict[tuple[str, Span], tuple[MacroCode, ...]]
    branches: frozenset[Span]

    def place_of(
        self, path: tuple[str, ...], span: Span, branches: Iterable[Span],
        turn: Callable[[], tuple[int, int]] = lambda: (0, -1),
    ) -> Span | None:  # fmt: skip
        """Where the macro was called whose code is at ``span``; ``None`` for code of no macro, or of several.

        Of functions of one name in several modules it is the one of the whole ``path``, where that is among them.
        ``turn`` says which of how many calls or assertions the code is that are at ``span`` in one copy of the
        function.
        """
        found = _of_path(self.code.get((path[-1], span), ()), path)
        places = {each.place for each in found}
        if len(places) == 1:
            return places.pop()
        for branch in branches:
            ranks = {id(each): each.branches.index(branch) for each in found if branch in each.branches}
            if ranks:
                nearest = min(ranks.values())
                places = {each.place for each in found if ranks.get(id(each)) == nearest}
                if len(places) == 1:
                    return places.pop()
                break
        number, count = turn() if found else (0, -1)
        return found[number].place if len(found) == count else None


def _of_path(found: tuple[MacroCode, ...], path: tuple[str, ...]) -> tuple[MacroCode, ...]:
    """Those whose path is the end of ``path``, with most of its parts; all where there are none."""
    fitting = [each for each in found if path[-len(each.path) :] == each.path]
    longest = max((len(each.path) for each in fitting), default=0)
    return tuple(each for each in fitting if len(each.path) == longest) or found


def read_macro_calls(text: str, folder: Path) -> MacroCalls:
    """Reads rustc's text of a crate with regions; files in it are relative to ``folder``."""
    sources = _Sources(folder)
    code: dict[tuple[str, Span], tuple[MacroCode, ...]] = {}
    branches: set[Span] = set()
    for function in _functions(text):
        branches |= {block.branch for block in function.blocks.values() if block.branch is not None}
        for each in _macro_code(function, sources):
            key = (each.path[-1], each.span)
            code[key] = (*code.get(key, ()), each)
    return MacroCalls(code, frozenset(branches))


# ---- reading -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Block:
    """``may_panic``: it ends in a call or an assertion; ``diverges``: in a call that does not return."""

    counter: str | None = None
    last: str = ""
    span: Span | None = None
    targets: tuple[str, ...] = ()
    branch: Span | None = None

    @property
    def may_panic(self) -> bool:
        return self.last.startswith("assert(") or " = " in self.last

    @property
    def diverges(self) -> bool:
        return self.may_panic and not self.targets


@dataclass(slots=True)
class _Function:
    path: tuple[str, ...]
    regions: dict[str, list[Span]] = field(default_factory=dict[str, list[Span]])
    blocks: dict[str, _Block] = field(default_factory=dict[str, _Block])

    def is_own(self, span: Span) -> bool:
        """Whether ``span`` lies between the function's first and last region: no macro wrote what is there."""
        every = [region for regions in self.regions.values() for region in regions]
        first, last = min(map(_start, every)), max(map(_start, every))
        return span.file == every[0].file and first <= _start(span) <= last


def _functions(text: str) -> Iterator[_Function]:
    """The functions that have regions, with their blocks."""
    function: _Function | None = None
    block: _Block | None = None
    for line in text.split("\n"):
        if line.startswith("fn "):
            match = _FUNCTION.match(line)
            function, block = (None if match is None else _Function(parse_callee(match["path"]).segments)), None
        elif function is None:
            continue
        elif line == "}":
            if function.regions:
                for each in function.blocks.values():
                    _finish(function, each)
                yield function
            function = None
        elif (match := _REGION.match(line)) is not None:
            span = _span(match["span"])
            if span is not None:
                function.regions.setdefault(match["bcb"], []).append(span)
        elif (match := _BLOCK.match(line)) is not None:
            block = function.blocks[match["block"]] = _Block()
        elif block is not None and (match := _LINE.match(line)) is not None:
            counter = _COUNTER.match(line)
            if counter is not None:
                block.counter = counter["bcb"]
            block.last, block.span = match["text"], _span(match["span"])


def _finish(function: _Function, block: _Block) -> None:
    targets = _TARGETS.search(block.last)
    block.targets = () if targets is None else tuple(_TARGET.findall(targets[1]))
    if block.span is not None and block.last.startswith(_BRANCHES) and function.is_own(block.span):
        block.branch = block.span


def _span(text: str) -> Span | None:
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        return None
    return Span(match["file"], int(match["line"]), int(match["col"]), int(match["end_line"]), int(match["end_col"]))


def _start(span: Span) -> tuple[int, int]:
    return span.line, span.col


# ---- calls ---------------------------------------------------------------------------------------------------


def _macro_code(function: _Function, sources: _Sources) -> Iterator[MacroCode]:
    before: dict[str, str] = {}
    for name, block in function.blocks.items():
        for target in block.targets:
            before.setdefault(target, name)
    calls = {bcb: sources.outermost_calls(regions) for bcb, regions in function.regions.items()}
    for name, block in function.blocks.items():
        if block.span is None or not block.may_panic or function.is_own(block.span):
            continue
        chain = list(_chain(name, before))
        branches = [branch for each in chain[1:] if (branch := function.blocks[each].branch) is not None]
        place = _call_of(block, [calls.get(function.blocks[each].counter or "", []) for each in chain])
        yield MacroCode(function.path, block.span, tuple(branches[:_BRANCHES_TOLD]), place)


def _chain(name: str, before: dict[str, str]) -> Iterator[str]:
    """A block and those before it, the first of several."""
    seen: set[str] = set()
    at: str | None = name
    while at is not None and at not in seen:
        seen.add(at)
        yield at
        at = before.get(at)


def _call_of(block: _Block, calls: Sequence[Sequence[Span]]) -> Span | None:
    """The call that wrote what ends ``block``, of those named in it and the blocks before it."""
    nearest = next((each for each in calls if each), ())
    if not nearest:
        return None
    # Where control ends, the last call of the block is the one; code after which it goes on may be any's.
    return nearest[-1] if block.diverges or len(nearest) == 1 else None


class _Sources:
    """The text of source files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, list[str]] = {}

    def outermost_calls(self, regions: Sequence[Span]) -> list[Span]:
        """Those regions that name macros, in order, without calls among the arguments of others."""
        found: list[Span] = []
        end = (0, 0)
        for region in sorted((r for r in regions if self._names_macro(r)), key=_start):
            if _start(region) >= end:
                found.append(region)
                end = self._end_of_arguments(region)
        return found

    def _lines(self, file: str) -> list[str]:
        if file not in self._files:
            try:
                self._files[file] = (self._folder / file).read_text(encoding="utf-8").split("\n")
            except (OSError, UnicodeDecodeError):
                self._files[file] = []
        return self._files[file]

    def _names_macro(self, region: Span) -> bool:
        lines = self._lines(region.file)
        return region.end_line <= len(lines) and lines[region.end_line - 1][: region.end_col - 1].endswith("!")

    def _end_of_arguments(self, region: Span) -> tuple[int, int]:
        """Just past the delimiter that closes a macro's arguments."""
        lines = self._lines(region.file)
        text = "\n".join([lines[region.end_line - 1][region.end_col - 1 :], *lines[region.end_line :]])
        closed = next((closed for at, closed in groups(text) if not text[:at].strip()), 0)
        line = region.end_line + text.count("\n", 0, closed)
        first = line == region.end_line
        return line, closed - (text.rfind("\n", 0, closed) + 1) + (region.end_col if first else 1)


def groups(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Where the groups in a piece of Rust open, and just past where they close, inner ones first."""
    opened: list[int] = []
    for token in _DELIMITER.finditer(text, start, len(text) if end is None else end):
        if token["open"]:
            opened.append(token.start())
        elif token["close"] and opened:
            yield opened.pop(), token.end()
