"""Just enough of Rust's syntax to find the item around a position, to leave it out, and to open what is private."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

#: What braces and semicolons do not count in: comments, strings, characters (a lifetime is none).
_OPAQUE: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\bb?r(?P<hashes>\#*)".*?"(?P=hashes)|"(?:\\.|[^"\\])*"|'(?:\\(?:u\{[^}]*\}|.)[^']*|[^'\\])'""",
    re.DOTALL | re.VERBOSE,
)
_BRACE: Final = re.compile(r"[{}]")
_LEAF_END: Final = re.compile(r"\s*,?")
_FN: Final = re.compile(r"\bfn\s+\$?\w+")
_CONTAINER: Final = re.compile(r"^\s*(?:#!?\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+\$?\w+\s*$")

#: An attribute that makes a test, what may stand between it and its function, and the function's first word.
_USE: Final = re.compile(r"\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?use\b")
_TEST: Final = re.compile(
    r"#\[test\](?P<between>(?:\s|//[^\n]*|#\[[^\]\n]*\]|\$\(|\)[*+?])*)(?P<head>(?:const\s+|unsafe\s+)?fn\b)"
)
_MODULE: Final = re.compile(
    r"^(?P<before>[ \t]*|[^\n/\"]*[{;][ \t]*)(?:pub\((?:self|super|in [\w:]+)\)\s+)?(?P<head>mod\s+\$?\w+\s*[{;])",
    re.MULTILINE,
)
#: What calls a macro as an item of the file's own.
_MACRO_CALL: Final = re.compile(r"^(?!macro_rules\b)(?:\w+::)*\w+!\s*[({\[]", re.MULTILINE)
_MACRO: Final = re.compile(r"\bmacro_rules!")
#: Tests in a text.
TEST_MARK: Final = re.compile(r"#\[test\]")


@dataclass(frozen=True, slots=True)
class Extent:
    """Where an item stands in its file, from its attributes on; ``head`` is its text before the braces."""

    start: int
    end: int
    head: str

    @property
    def is_function(self) -> bool:
        return _FN.search(self.head) is not None


@functools.lru_cache(8)
def masked(text: str) -> str:
    """The text with comments, strings and characters blank."""
    return _OPAQUE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def offset(text: str, line: int, col: int) -> int:
    """The index of a position that rustc tells, both from 1 on."""
    lines = text.split("\n")
    return sum(len(each) + 1 for each in lines[: line - 1]) + col - 1


def items_around(text: str, at: int) -> Iterator[Extent]:
    """The items and blocks in which ``at`` stands, the innermost first."""
    blank = masked(text)
    opened: list[int] = []
    for brace in _BRACE.finditer(blank, 0, at):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            opened.pop()
    yield _statement(blank, at)
    for brace in reversed(opened):
        start = _start(blank, brace)
        yield Extent(start, _end(blank, brace), blank[start:brace])


def item_to_drop(text: str, at: int, end: int) -> Extent:
    """The function around ``at`` (the outermost one: tests have functions inside), else the smallest item.

    An attribute of the whole crate is an item by itself, and so is what a list of imports has up to ``end``.
    """
    line = Extent(text.rfind("\n", 0, at) + 1, text.find("\n", at), "")
    if text.startswith("#![", line.start):
        return line
    around = list(items_around(text, at))
    functions = [extent for extent in around if extent.is_function]
    if functions:
        return functions[-1]
    if any(_USE.match(extent.head) for extent in around[1:]):
        behind = _LEAF_END.match(text, end)
        return Extent(at, end if behind is None else behind.end(), "")
    inside = [extent for extent in around if _CONTAINER.match(extent.head) is None and extent.head.strip()]
    return inside[-1] if inside else around[0]


def without(text: str, extent: Extent) -> str:
    """The text with an item blank; lines keep their numbers."""
    return text[: extent.start] + re.sub(r"[^\n]", " ", text[extent.start : extent.end]) + text[extent.end :]


def callable_tests(text: str) -> str:
    """The text with its tests and modules open to the whole crate; lines keep their numbers."""
    opened = _TEST.sub(lambda m: f"#[test]{m['between']}pub(crate) {m['head']}", text)
    return _MODULE.sub(lambda m: f"{m['before']}pub(crate) {m['head']}", opened)


def plain_functions(text: str) -> str:
    """The text with tests as functions."""
    return TEST_MARK.sub("       ", text)


def without_tests(text: str) -> str:
    """The text without tests, and without what macros make at its outermost level; what is inside macros stays, for
    other files may call them.  Lines keep their numbers."""
    blank = masked(text)
    marks = [mark.start() for mark in TEST_MARK.finditer(blank)]
    tests = [at for at in marks if not any(_MACRO.search(around.head) for around in items_around(text, at))]
    starts = (*tests, *(call.start() for call in _MACRO_CALL.finditer(blank)))
    for extent in [_statement(blank, at) for at in starts]:
        text = without(text, extent)
    return text


def _statement(blank: str, at: int) -> Extent:
    start = end = _start(blank, at)
    depth = 0
    while end < len(blank):
        char = blank[end]
        end += 1
        if char in "{([":
            depth += 1
        elif char in "})]":
            depth -= 1
            if depth < 0:
                end -= 1
                break
            if depth == 0 and char == "}" and end > at and not blank[end:].lstrip().startswith(";"):
                break
        elif char == ";" and depth == 0 and end > at:
            break
    return Extent(start, end, blank[start:end])


def _start(blank: str, at: int) -> int:
    """Where what leads to ``at`` begins: behind the last ``;`` or brace of the same depth."""
    depth = 0
    for i in range(at - 1, -1, -1):
        char = blank[i]
        if char in ")]":
            depth += 1
        elif char in "([":
            depth -= 1
            if depth < 0:
                depth = 0
        elif char in "{};" and depth == 0:
            return i + 1
    return 0


def _end(blank: str, opening: int) -> int:
    depth = 0
    for brace in _BRACE.finditer(blank, opening):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return len(blank)
