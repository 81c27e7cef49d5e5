"""What of a library's private items is made public at once, where anything private of it must be named.

Each build of core and alloc takes its time, so that the first copy in which private items may be named opens all that
stand at the level of their modules.  What is public must say how stable it is, and so must the implementations that
this makes public: rustc checks it, and what it finds missing or too much is mended for the next try.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mirgen.cargo.hoist import hoisted_lines, moved_lines
from mirgen.cargo.impl_heads import read_head
from mirgen.cargo.overlay import Private, module_file, private_items_of, shares_its_name

_UNSTABLE = '#[unstable(feature = "mirgen_exposed", issue = "none")] '
_CONST_UNSTABLE = '#[rustc_const_unstable(feature = "mirgen_exposed", issue = "none")] '
_MISSING = re.compile(
    r"^error: (?:implementation|function) has missing (const )?stability attribute\n *--> (.+?):(\d+):(\d+)$",
    re.MULTILINE,
)
_PLACE = re.compile(r"(?:-->|:::) (.+?):(\d+):\d+")
_STABILITY = re.compile(r"\b(?:un)?stable\(")
_TRAIT_IMPL = re.compile(r"\s*(?:const )?(?:unsafe )?impl\b.*\bfor\b")
_TRAIT = re.compile(r"\btrait (\w+)")
_NAME = re.compile(r"\b(?:fn|struct|enum|union|trait|type) (\w+)")
_INLINE = re.compile(r"\bmod \w+ \{$")
_EXPORT = re.compile(r"\s+pub(?:\([^)]*\))? use\b")
_WORD = re.compile(r"\w+")
#: The first line of something else than an item's attributes, comments, continuation or end, at the file's own level.
_HEAD = re.compile(r"(?!where\b)[A-Za-z_]")
_MACRO = re.compile(r"macro_rules!|(?:pub(?:\([^)]*\))? )?macro |[\w:]+!")
_PUBLIC_TYPE = re.compile(r"pub (?:struct|enum|union) \w")
_METHOD = re.compile(r"    (?:pub\([^)]*\) )?(?:unsafe )?fn \w")
_EXPORTS = re.compile(r"^\s*pub use ([^;]*);", re.MULTILINE)
#: Lines of an impl's head.
_LONGEST_HEAD = 12
_IN_BODY = " " * 8
_WHOLE_FILE = re.compile(r"^#!\[unstable\(", re.MULTILINE)


def openable(source: Path) -> frozenset[Private]:
    """The private items of the library whose sources lie in ``source``, and the implementations to be marked.

    Not those that would come between others and the prelude's names where somebody imports all of a module.
    """
    prelude = {word for file in (source / "prelude").rglob("*.rs") for word in _WORD.findall(file.read_text("utf-8"))}
    files = [f for f in sorted(source.rglob("*.rs")) if "tests" not in (*f.relative_to(source).parts, f.stem)]
    uses = (use for file in files for use in _EXPORTS.findall("\n".join(hoisted_lines(file))))
    exported = {word for use in uses for word in _WORD.findall(use)}
    modules = {module_file(item) for file in files for item in private_items_of(file)}
    found: set[Private] = set()
    for file in files:
        found |= {*_items(file, prelude), *_silent(file), *_methods(file, exported, is_private=file in modules)}
    return frozenset(found)


def _items(file: Path, prelude: Collection[str]) -> Iterator[Private]:
    lines = hoisted_lines(file)
    for item in private_items_of(file):
        line = lines[item.line - 1]
        # A stable trait's methods would each have to say it too.
        stable_trait = _TRAIT.search(line) is not None and _is_marked(lines, item.line)
        hidden = shares_its_name(item) or stable_trait or _name(line) in prelude
        if not (hidden or _exports(lines, item.line)):
            yield with_stability(item)
    for line in moved_lines(file):
        yield with_stability(Private(file, line, 1))


def _exports(lines: Sequence[str], number: int) -> bool:
    """Whether a module that begins at that line (1-based) and ends in the same file exports what others hold: opened,
    it would be a place by which rustc's texts name them."""
    inside = itertools.takewhile(lambda line: line != "}", lines[number:])
    return _INLINE.search(lines[number - 1]) is not None and any(map(_EXPORT.match, inside))


def _silent(file: Path) -> Iterator[Private]:
    """The implementations of traits that do not say how stable they are, which public ones must."""
    lines = hoisted_lines(file)
    # What a whole file says counts for what is in no function.
    is_told = _WHOLE_FILE.search("\n".join(lines)) is not None
    private = {name[1] for item in private_items_of(file) if (name := _TRAIT.search(lines[item.line - 1]))}
    around = ""
    for number, line in enumerate(lines, 1):
        around = line if _HEAD.match(line) else around
        if _TRAIT_IMPL.match(line) is None or _is_marked(lines, number) or (is_told and not line.startswith(_IN_BODY)):
            continue
        # Macros implement traits for others too, with what these say of themselves, but for a private one's.
        of_macro = line[0] == " " and _MACRO.match(around) is not None
        if not of_macro or private & set(_WORD.findall(line)):
            yield Private(file, number, len(line) - len(line.lstrip()) + 1, _UNSTABLE)


def _methods(file: Path, exported: Collection[str], *, is_private: bool) -> Iterator[Private]:
    """The private methods of types that nobody outside the library can have a value of: elsewhere, what is called by
    such a name could become another.  ``is_private``: the file's module is."""
    lines = hoisted_lines(file)
    own = {_name(lines[item.line - 1]) for item in private_items_of(file)}
    if is_private and file.stem not in exported:
        own |= {_name(line) for line in lines if _PUBLIC_TYPE.match(line)} - set(exported)
    around = None
    for number, line in enumerate(lines, 1):
        if _HEAD.match(line):
            head = " ".join(lines[number - 1 : number + _LONGEST_HEAD]).partition("{")[0]
            found = read_head(head.removeprefix("const "))
            around = None if found is None or found.trait is not None else found.type
        if around is not None and around in own and _METHOD.match(line):
            yield with_stability(Private(file, number, len(line) - len(line.lstrip()) + 1))


def _name(line: str) -> str | None:
    name = _NAME.search(line)
    return None if name is None else name[1]


def _is_marked(lines: Sequence[str], number: int) -> bool:
    """Whether what begins at that line (1-based) says above how stable it is."""
    above = itertools.takewhile(_is_of_what_follows, (line.strip() for line in reversed(lines[: number - 1])))
    return any(_STABILITY.search(line) and not line.startswith("//") for line in above)


def _is_of_what_follows(line: str) -> bool:
    """Whether a line is a comment, or may be of an attribute, of the item behind it."""
    return line.startswith("//") or (bool(line) and not line.endswith(("}", ";", "{")))


def with_stability(item: Private) -> Private:
    """Every public item of core must say how stable it is, unless a module around it does.

    A constant function says nothing: those that call it would have to be as unstable.
    """
    lines = hoisted_lines(item.file)
    module = module_file(item)
    inner = "" if module is None else module.read_text(encoding="utf-8")
    marked = (
        _is_marked(lines, item.line)
        or re.search(r"^#!\[(un)?stable\(", inner, re.MULTILINE) is not None
        or "const fn" in lines[item.line - 1]
    )
    return replace(item, attribute="" if marked else _UNSTABLE)


def mended(items: Collection[Private], wanted: Collection[Private], output: str) -> tuple[Private, ...]:
    """The items to try after rustc refused ``items`` with ``output``: marks that it misses are there too, what it finds
    fault with is not, unless it is ``wanted``."""
    known = {(item.file, item.line): item for item in items}
    missing: dict[tuple[Path, int], Private] = {}
    for const, file, line, col in _MISSING.findall(output):
        place = (Path(file), int(line))
        item = missing.get(place) or known.get(place) or Private(*place, int(col))
        missing[place] = replace(item, attribute=item.attribute + (_CONST_UNSTABLE if const else _UNSTABLE))
    excused = {*missing, *((item.file, item.line) for item in wanted)}
    faulty = {(Private(Path(file), int(line), 1).file, int(line)) for file, line in _PLACE.findall(output)} - excused
    kept = (item for item in items if (item.file, item.line) not in faulty | missing.keys())
    return tuple(sorted({*kept, *missing.values()}))
