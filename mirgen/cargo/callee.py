"""Reading rustc's callee texts: ``<X as Trait>::f``, ``glam::Mat4::inverse``, ``core::slice::<impl [u8]>::iter``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from mirgen.mir.names import erase_regions, skip_group

_DEF_ID = re.compile(r"DefId\(\d+:\d+ ~ (\w+)\[[0-9a-f]+\]((?:::[^:\s()']+)+)::'")
#: The first segment of a path in a text: a crate, or a module of the crate that printed it.
PATH_HEAD = re.compile(r"(?<![\w:}])([A-Za-z_]\w*)::")
_PATH_PREFIX = re.compile(r"(?<![\w:}>])(?:[A-Za-z_]\w*::)+(?=[A-Za-z_])")


@dataclass(frozen=True, slots=True)
class Callee:
    """``segments`` are the path's parts without generic arguments; a qualified head (``<X as T>``) is one segment.

    ``generics`` are the texts of all generic argument lists that hold more than regions.
    """

    segments: tuple[str, ...]
    generics: tuple[str, ...]

    @property
    def method(self) -> str:
        return self.segments[-1]

    @property
    def trait(self) -> tuple[str, str] | None:
        """``(self type, trait)`` of ``<X as Trait>::f`` and of ``module::<impl Trait for X>::f``."""
        head = self.segments[0]
        if head.startswith("<") and (at := _find_top_level(head, 1, " as ")) >= 0:
            return head[1:at], head[at + 4 : -1]
        owner = self.segments[-2] if len(self.segments) >= 2 else ""
        if owner.startswith("<impl ") and (at := _find_top_level(owner, 6, " for ")) >= 0:
            return owner[at + 5 : -1], owner[6:at]
        return None

    @property
    def names(self) -> tuple[str, ...]:
        """The segments without the generic arguments that types inside a path have; a qualified head stays whole."""
        return tuple(segment.partition("<")[0] or segment for segment in self.segments)

    @property
    def is_plain(self) -> bool:
        """A path of identifiers only."""
        return not any("<" in segment for segment in self.segments)


def _find_top_level(head: str, start: int, word: str) -> int:
    """Position of ``word`` outside of all brackets that open after ``start``, or -1."""
    i = start
    while i < len(head) - 1:
        if head[i] in "<([{":
            i = skip_group(head, i)
        elif head.startswith(word, i):
            return i
        else:
            i += 1
    return -1


@lru_cache(maxsize=1 << 14)
def parse_callee(path: str) -> Callee:
    """Split rustc's callee text.  Regions are erased and argument lists that hold only regions are dropped."""
    text = erase_regions(path)
    segments: list[str] = []
    generics: list[str] = []
    start = i = 0
    while i < len(text):
        ch = text[i]
        if ch == "<":
            end = skip_group(text, i)
            if i > start or not segments or text[i - 2 : i] != "::" or text[i + 1 :].startswith("impl "):
                i = end
                continue
            arguments = text[i + 1 : end - 1]
            if without_regions(arguments):
                generics.append(arguments)
            i = start = end
        elif ch in "([{":
            i = skip_group(text, i)
        elif text.startswith("::", i):
            if i > start:
                segments.append(text[start:i])
            i += 2
            start = i
        else:
            i += 1
    if start < len(text):
        segments.append(text[start:])
    return Callee(tuple(segments), tuple(generics))


def split_arguments(text: str) -> list[str]:
    """Split at the top-level commas."""
    parts: list[str] = []
    start = i = 0
    while i < len(text):
        if text[i] in "<([{":
            i = skip_group(text, i)
        elif text[i] == ",":
            parts.append(text[start:i])
            i += 1
            start = i
        else:
            i += 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


def without_regions(arguments: str) -> list[str]:
    """The generic arguments in a list of them whose regions are erased, but for the regions."""
    return [part for text in split_arguments(arguments) if (part := text.strip()) != "'_"]


@lru_cache(maxsize=1 << 14)
def definition_path(fn_def_text: str) -> tuple[str, tuple[str, ...]] | None:
    """``(crate, segments)`` of the function's definition, where its signature's late-bound regions print it.

    ``DefId(15:2359 ~ glam[8184]::f32::scalar::mat4::{impl#0}::inverse::'_)`` gives
    ``("glam", ("f32", "scalar", "mat4", "{impl#0}", "inverse"))``.
    """
    # The leading binder's regions are the function's own; others may belong to its arguments.
    binder = fn_def_text[: skip_group(fn_def_text, 3)] if fn_def_text.startswith("for<") else ""
    match = _DEF_ID.search(binder)
    if match is None:
        return None
    return match[1], tuple(part for part in match[2].split("::") if part)


@lru_cache(maxsize=1 << 15)
def short(text: str) -> str:
    """A type's text with every path cut to its last segment: equal types in two crates' spellings are equal here.

    Different types may be equal too, so this only ever narrows candidates that other evidence has selected.
    """
    text = erase_regions(text).replace("'_ ", "").replace("'_, ", "").replace("<'_>", "").replace("::<", "<")
    return _PATH_PREFIX.sub("", text)


def same_callee(one: str, other: str) -> bool:
    """Whether two of rustc's texts name the same function, in whichever crate they were printed.

    A trait's method has two spellings: ``<X as Trait>::f``, and ``m::<impl Trait for X>::f`` where the impl is known.
    """
    if short(one) == short(other):
        return True
    first, second = parse_callee(one), parse_callee(other)
    if first.trait is None or second.trait is None or first.method != second.method:
        return False
    return [*map(short, first.trait), *map(short, first.generics)] == [
        *map(short, second.trait), *map(short, second.generics)
    ]  # fmt: skip
