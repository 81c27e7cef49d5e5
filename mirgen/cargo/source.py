"""rustc's texts of types and callees, written as Rust source that means the same inside the crate they come from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mirgen.cargo.callee import without_regions
from mirgen.mir.names import LEAF, erase_regions, region_end, skip_group

_WORD = re.compile(r"[A-Za-z_]\w*")
#: A calling convention's name: the strings that types have.
ABI = re.compile(r'"[^"]*"')
#: Words of a type's source that are no items.
SOURCE_WORDS = frozenset(
    [
        "mut",
        "const",
        "dyn",
        "fn",
        "as",
        "for",
        "unsafe",
        "extern",
        "impl",
        "where",
        "in",
        "u8",
        "u16",
        "u32",
        "u64",
        "u128",
        "usize",
        "i8",
        "i16",
        "i32",
        "i64",
        "i128",
        "isize",
        "f16",
        "f32",
        "f64",
        "f128",
        "bool",
        "char",
        "str",
        "true",
        "false",
    ]
)
#: How rustc prints a type parameter of a question: with its number.
PARAMETER = "MirgenParameter"
#: Which of its function's parameters a type parameter of a question is, where rustc's text says so.
PARAMETERS_NUMBER = re.compile(rf"(?<={PARAMETER}\d)/#\d+")
_OWN_PARAMETER = re.compile(rf"({PARAMETER}\d+)/#\d+")
#: In a text whose other regions are ``'_``.
_ELIDED = "\x01"
#: A region that the innermost binder binds.
_OWN_REGION = re.compile(r"'\^\d+(?![\d_])")
_UNNAMEABLE = ("{", "ValTree(Branch", "Opaque(", "DefId(", "...", "<impl at")


#: Crates that every other can name, and what they see themselves: their modules may be called like others' crates.
_STANDARD: Mapping[str, frozenset[str]] = MappingProxyType({"core": frozenset(), "alloc": frozenset({"core"})})


@dataclass(frozen=True, slots=True)
class Names:
    """Where paths begin: the text was printed while compiling ``printed_by``, the source is for the crate ``own``."""

    own: str
    printed_by: str
    externs: frozenset[str]

    def root(self, word: str, *, is_path: bool) -> str:
        """The first segment ``word`` of a path, rooted.

        Raises:
            UnnameableError: an item of ``printed_by``, which ``own`` does not see.
        """
        if self.printed_by in _STANDARD and self.own != self.printed_by:
            return f"::{word}" if is_path and word in _STANDARD[self.printed_by] else f"::{self.printed_by}::{word}"
        if is_path and word in self.externs:
            return "crate" if word == self.own else f"::{word}"
        if self.own != self.printed_by:
            raise UnnameableError(word)
        return f"crate::{word}"


class UnnameableError(Exception):
    """The text holds something that Rust source cannot name: a closure, a coroutine, an opaque type."""


def type_source(text: str, names: Names, lifetime: str = "'a") -> str:
    """A type's source; regions become ``lifetime``.

    Raises:
        UnnameableError: see there.
    """
    text = LEAF.sub(_literal, erase_regions(_without_bound_regions(text)))
    _refuse_unnameable(text)
    return _bound(_rooted(text, names)).replace("'_", lifetime).replace(_ELIDED, "'_")


def callee_source(path: str, names: Names) -> str:
    """A callee's source: ``core::slice::<impl [u8]>::iter`` becomes ``<[u8]>::iter``.

    Raises:
        UnnameableError: see there.
    """
    text = LEAF.sub(_literal, erase_regions(path))
    at = text.find("<impl ")
    if at >= 0 and "<impl at" not in text:
        end = skip_group(text, at)
        text = f"<{text[at + 6 : end - 1]}>{text[end:]}"
    _refuse_unnameable(text)
    return _bound(_rooted(_without_regions_of_functions(text), names))


def _without_bound_regions(text: str) -> str:
    """A text in which the regions that a function pointer's or trait object's own ``for<..>`` binds are elided: one of
    the signature around it would make it another type."""
    if "for<" not in text:
        return text
    out: list[str] = []
    depth, binders = 0, list[int]()  # how deep the binders stand that reach to the place
    i = 0
    while i < len(text):
        end = i + 1
        if text[i] in ",)]}>" and not text.endswith("->", 0, i + 1):
            depth -= text[i] != ","
            while binders and (binders[-1] > depth or (text[i] == "," and binders[-1] == depth)):
                binders.pop()
        elif text.startswith("for<", i) and not (i > 0 and (text[i - 1].isalnum() or text[i - 1] == "_")):
            end = skip_group(text, i + 3)
            binders.append(depth)
        elif text[i] in "([{<":
            depth += 1
        elif (region := region_end(text, i)) is not None:
            end = region
            if binders and _OWN_REGION.match(text, i):
                out.append(_ELIDED)
                i = end
                continue
        out.append(text[i:end])
        i = end
    return "".join(out)


def _bound(text: str) -> str:
    """Trait objects as every edition reads them: in 2015 `dyn ::path` is the path `dyn::path`."""
    return text.replace("dyn ::", "dyn for<> ::")


def _refuse_unnameable(text: str) -> None:
    for mark in _UNNAMEABLE:
        if mark in text:
            raise UnnameableError(text)


def _literal(match: re.Match[str]) -> str:
    bits, ty = int(match[1], 16), match[2]
    if ty == "bool":
        return "true" if bits else "false"
    if ty == "char":
        return f"'\\u{{{bits:x}}}'"
    if ty.startswith("i"):
        width = 4 * len(match[1])
        value = bits - (1 << width) if bits >> (width - 1) else bits
        return f"{{{value}}}" if value < 0 else str(value)
    return str(bits)


def without_turbofish(path: str) -> str:
    """A function's path without the generic arguments at its end."""
    at = _last_turbofish(path) if path.endswith(">") else -1
    return path if at < 0 else path[:at]


def _without_regions_of_functions(path: str) -> str:
    """Drop region arguments of the last segment: late-bound ones cannot be given."""
    if not path.endswith(">"):
        return path
    at = _last_turbofish(path)
    if at < 0:
        return path
    kept = without_regions(path[at + 3 : -1])
    return path[:at] + (f"::<{', '.join(kept)}>" if kept else "")


def _last_turbofish(path: str) -> int:
    """Where the turbofish that ends ``path`` begins (at its ``::``), or -1."""
    i = 0
    while i < len(path):
        if path.startswith("::<", i):
            end = skip_group(path, i + 2)
            if end == len(path):
                return i
            i = end
        elif path[i] in "<([{":
            i = skip_group(path, i)
        else:
            i += 1
    return -1


def _rooted(text: str, names: Names) -> str:
    """Begin every path at ``crate`` or at an extern crate."""
    out: list[str] = []
    i = 0
    while i < len(text):
        if text[i] == "'":
            match = _WORD.match(text, i + 1)
            end = match.end() if match else i + 1
            out.append(text[i:end])
            i = end
            continue
        match = _WORD.match(text, i)
        if match is None:
            quoted = ABI.match(text, i)
            end = quoted.end() if quoted else i + 1
            out.append(text[i:end])
            i = end
            continue
        word, end = match[0], match.end()
        if (parameter := _OWN_PARAMETER.match(text, i)) is not None:
            out.append(parameter[1])
            i = parameter.end()
            continue
        inside_path = text.endswith("::", 0, i) or (i > 0 and (text[i - 1].isalnum() or text[i - 1] == "_"))
        is_path = text.startswith("::", end)  # `str::` and `f32::` are modules of core
        if not inside_path and (is_path or word not in SOURCE_WORDS) and not text.startswith(" =", end):
            word = names.root(word, is_path=is_path)
        out.append(word)
        i = end
    return "".join(out)
