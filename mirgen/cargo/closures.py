"""Closures in methods of traits: whose generic body a closure's type means.

rustc's text names such a closure by an implementation (``<S as m::Trait>::method::{closure#0}``), whichever body the
method has there, and the generic body by the trait (``m::Trait::method::{closure#0}``) or by where an implementation
stands.  Where a closure is made, the text has the place of its head in the source; the generic body is the one whose
result is said to stand there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mirgen.cargo.callee import Callee, parse_callee, short, without_regions
from mirgen.cargo.dump import CrateDump
from mirgen.cargo.impl_heads import impl_head
from mirgen.cargo.join import may_be_one_elsewhere
from mirgen.cargo.unit import UnitRecord
from mirgen.ingest import Header
from mirgen.mir.names import erase_regions
from mirgen.mir.rvalue import ClosureAggregate
from mirgen.mir.statement import Assign, Span
from mirgen.mir.ty import (
    BoolTy,
    CharTy,
    ClosureTy,
    CoroutineTy,
    FloatTy,
    IntTy,
    NeverTy,
    StrTy,
    TupleTy,
    Ty,
)
from mirgen.mir.tyof import place_ty

#: A type, its method, and what is inside of that.
_ENOUGH = 3
#: The path of the closure that a body takes.
_OWN_PATH = re.compile(r"^(?:&'\{erased\} (?:mut )?)?\{(?:static )?(.+?) closure_kind_ty=")
_PLACE = re.compile(r"(.+):(\d+):(\d+): (\d+):(\d+)")


def closures_written_at(closure: ClosureTy | CoroutineTy, printed_by: CrateDump, home: CrateDump) -> Iterator[Header]:
    """The bodies in ``home`` of a closure in a trait's method, which is made in what ``printed_by`` holds."""
    parsed = parse_callee(closure.path)
    inside = parsed.names
    # A trait that is exported is called so: `std::iter::Iterator::find::check::{closure#0}`.
    item = next((i for i, segment in enumerate(inside) if segment[:1].isupper()), None)
    if parsed.trait is None and item is None:
        return
    trait = inside[item or 0] if parsed.trait is None else parsed.trait[1].partition("<")[0].rpartition("::")[2]
    inside = inside[(0 if parsed.trait is not None else item or 0) + 1 :]
    named = [
        header
        for header in home.by_name.get(parsed.method, ())
        if header.kind == "fn" and _is_in_method(parse_callee(header.header).segments, trait, inside)
    ]
    places = {_absolute(place, printed_by) for place in _places(closure, printed_by)} if named else set[Span]()
    for header, body in home.bodies(named).items():
        own = None if body.span is None else _absolute(body.span, home)
        if any(own is not None and _holds(place, own) for place in places):
            yield header


def closures_of_own_path(
    closure: ClosureTy | CoroutineTy, homes: Iterable[CrateDump]
) -> list[tuple[CrateDump, Header]]:  # fmt: skip
    """The bodies that take a closure of the path that ``closure`` has, up to modules by which it is exported.

    The crate that wrote it calls it by its own path: what of that the two have in common must be the item around the
    function and all inside of that.
    """
    wanted = parse_callee(closure.path)
    found: list[tuple[CrateDump, Header]] = []
    for home in homes:
        for header in home.by_name.get(wanted.method, ()):
            receiver = _OWN_PATH.search(header.args[0]) if header.kind == "fn" and header.args else None
            if receiver is not None and _is_exported_as(parse_callee(receiver[1]), wanted):
                found.append((home, header))
    return found


def functions_of_own_path(path: str, homes: Iterable[CrateDump]) -> list[tuple[CrateDump, Header]]:
    """The functions inside methods that ``path`` may be of, in the same way."""
    wanted = parse_callee(path)
    return [
        (home, header)
        for home in homes
        for header in home.by_name.get(wanted.method, ())
        if header.kind == "fn"
        and (_is_exported_as(own := parse_callee(header.header), wanted) or _is_in_impl(own, wanted, home))
    ]


def _is_exported_as(own: Callee, path: Callee) -> bool:
    """Whether a path within a crate may be what others call ``path``."""
    if own.trait is not None and path.trait is not None:
        heads = [short(trait[0]).partition("<")[0] for trait in (own.trait, path.trait)]
        # A type's text that has a closure in it may be anything's; a parameter is one word.
        same = heads[0] == heads[1] or own.trait[0].isidentifier()
        same = same and all(map(may_be_one_elsewhere, path.trait, own.trait))
        return same and own.names[1:] == path.names[1:]
    of_impl = any(segment.startswith("<impl ") for segment in (*own.segments, *path.segments))
    if own.trait is not None or path.trait is not None or of_impl:
        return False
    mine, theirs = own.names, path.names
    item = next((i for i, segment in enumerate(mine) if segment[:1].isupper()), None)
    return item is not None and len(mine) - item >= _ENOUGH and mine[item:] == theirs[item - len(mine) :]


def _is_in_impl(own: Callee, path: Callee, home: CrateDump) -> bool:
    """Whether a path within ``home`` that says where an impl stands may be what others call ``path``, of whose type and
    trait that impl then is."""
    at = next((i for i, segment in enumerate(own.segments) if segment.startswith("<impl at")), None)
    if at is None or path.trait is None or own.names[at + 1 :] != path.names[1:]:
        return False
    head = impl_head(own.segments[at], UnitRecord.load(home.unit.record).cwd)
    names = tuple(text.partition("<")[0].rpartition("::")[2] for text in map(erase_regions, path.trait))
    return head is not None and (head.type, head.trait_name) == names


def _is_in_method(segments: tuple[str, ...], trait: str, inside: tuple[str, ...]) -> bool:
    """Whether a header's path is ``inside`` a trait, or an impl, which may be of that trait."""
    at = len(segments) - len(inside)
    return at > 0 and segments[at:] == inside and (segments[at - 1] == trait or segments[at - 1].startswith("<impl at"))


def arguments_of_trait(path: str) -> list[str]:
    """The type and the trait's generic arguments of ``<Type as Trait<..>>::..``, but for regions."""
    trait = parse_callee(path).trait
    if trait is None:
        return []
    at = trait[1].find("<")
    return [trait[0], *(without_regions(trait[1][at + 1 : -1]) if at >= 0 else ())]


def primitive(text: str, crate: str) -> tuple[dict[str, Any], Ty] | None:
    """A primitive type as an entry of a type table, and as it is read; ``None`` for any other."""
    if match := re.fullmatch(r"([iu])(8|16|32|64|128|size)", text):
        bits = 64 if match[2] == "size" else int(match[2])
        return {"kind": "int", "text": text, "name": text}, IntTy(text, crate, bits, match[1] == "i")
    if text in ("f32", "f64"):
        return {"kind": "float", "text": text, "name": text}, FloatTy(text, crate, int(text[1:]))
    if (plain := {"bool": BoolTy, "char": CharTy, "str": StrTy, "!": NeverTy}.get(text)) is not None:
        return {"kind": "never" if text == "!" else text, "text": text}, plain(text, crate)
    if text == "()":
        return {"kind": "tuple", "text": text, "elems": []}, TupleTy(text, crate, ())
    return None


def _places(closure: ClosureTy | CoroutineTy, dump: CrateDump) -> Iterator[Span]:
    """Where the closure is made."""
    wanted = erase_regions(closure.text)
    for _, unit in dump.documents:
        for body in unit.bodies:
            for block in body.blocks:
                for statement in block.statements:
                    match statement:
                        case Assign(place=place, rvalue=ClosureAggregate(location=location)):
                            match = _PLACE.match(location.removeprefix("coroutine@"))
                            if match and erase_regions(place_ty(body.locals, place).text) == wanted:
                                yield Span(match[1], *map(int, match.groups()[1:]))
                        case _:
                            pass


def _absolute(span: Span, dump: CrateDump) -> Span:
    unit = UnitRecord.load(dump.unit.record)
    return Span(str(unit.absolute(Path(span.file))), span.line, span.col, span.end_line, span.end_col)


def _holds(head: Span, result: Span) -> bool:
    """Whether a closure's result (which may be said nowhere, behind the arguments) stands in a closure's head."""
    begins, ends = (head.line, head.col), (head.end_line, head.end_col)
    inside = begins <= (result.line, result.col) and (result.end_line, result.end_col) <= ends
    return head.file == result.file and inside
