"""Which constant a path means that is an item, or a block, inside a function's body.

Such a constant has no path that could be written elsewhere, but its body stands in the dump of the crate that wrote it,
behind that of the function.  The function is told like any other: by its path, by the instance that the side channel
gives, or, in a crate on which that aborts, by where the code that uses the constant comes from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from mirgen.analysis.references import references
from mirgen.cargo.callee import Callee, parse_callee, short
from mirgen.cargo.dump import CrateDump
from mirgen.cargo.implementations import holds, spans_from
from mirgen.cargo.join import Ambiguous, is_open, may_be_of_trait, names_body, own_segments
from mirgen.cargo.unit import UnitRecord
from mirgen.ingest import Header
from mirgen.mir.body import Body
from mirgen.mir.place import UnevaluatedConst
from mirgen.mir.statement import SourceInfo, Span

_BODIES = ("fn", "const", "static", "static_mut", "anon")


def constants_inside(path: str, by_name: dict[str, list[Header]]) -> list[tuple[Header, Header]]:
    """The constants inside bodies that have the name of ``path``, each with the header of the body around it.

    Items inside a generic function do not depend on its arguments, but blocks do.
    """
    parsed = parse_callee(path)
    kinds = ("const", "trivial_const") if parsed.generics else ("const", "trivial_const", "anon")
    named = (header for header in by_name.get(parsed.method, ()) if header.kind in kinds)
    found = ((header, _around(header, by_name)) for header in named)
    return [(header, around) for header, around in found if around is not None]


def find_inside(path: str, printed_by: str, crate: str, by_name: dict[str, list[Header]]) -> Header | Ambiguous | None:
    """The constant in ``crate`` that ``path``, printed by ``printed_by``, names, if it is inside a function's body."""
    segments = parse_callee(path).segments[:-1]
    every = [
        header
        for header, around in constants_inside(path, by_name)
        if _names_around(segments, printed_by, crate, around, by_name)
    ]
    if len(every) > 1:  # a re-exported function may be any of its name
        own = own_segments(parse_callee(path), printed_by, crate)
        every = [header for header in every if parse_callee(header.header).segments == own] or every
    if len(every) > 1:
        return Ambiguous(tuple(every))
    return every[0] if every else None


def find_by_spans(
    const: UnevaluatedConst, source: SourceInfo, body: Body, unit: UnitRecord, home: CrateDump,
    among: Ambiguous | None = None,
) -> Header | None:  # fmt: skip
    """The constant in ``home`` that ``body``, of ``unit``, uses at ``source``, by the spans of what is around that use.

    The one (of those that the path may name) whose function's body they lie inside; ``None`` where that is not certain.
    """
    inside = [
        (header, around)
        for header, around in constants_inside(const.path, home.by_name)
        if header.kind in ("const", "trivial_const") and (among is None or header in among.candidates)
    ]
    owner = const.path.rpartition("::")[0]
    inside = [(h, a) for h, a in inside if _may_be_method(parse_callee(owner), a, home.by_name)]
    found = _with_spans(inside, owner, source, body, unit, home)
    if len(found) > 1 and const.ty is not None:  # one macro wrote them
        text = short(const.ty.text)
        found = [header for header in found if short(header.output) == text]
    return found[0] if len(found) == 1 else None


def written_text(header: Header, home: CrateDump) -> bytes | None:
    """The string that a ``&str`` constant inside a function's body is, where it is written as a literal without
    escapes; ``None`` where that cannot be seen."""
    around = _around(header, home.by_name)
    body = None if around is None else home.bodies([around])[around]
    if body is None or body.span is None or short(header.output) != "&str":
        return None
    file = UnitRecord.load(home.unit.record).absolute(Path(body.span.file))
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    ends = [block.terminator.source.span for block in body.blocks]
    last = max((span.end_line for span in ends if span is not None and span.file == body.span.file), default=0)
    name = re.escape(parse_callee(header.header).method)
    literal = rf"\bconst {name}: &(?:'static )?str =\s*(?://[^\n]*\n\s*)*\"([^\"\\]*)\";"
    found = re.findall(literal, "\n".join(lines[body.span.line - 1 : last]))
    return found[0].encode() if len(found) == 1 else None


def _may_be_method(path: Callee, around: Header, by_name: dict[str, list[Header]]) -> bool:
    """Whether a body may be that of ``path``; of a trait's method, by its trait and by what it takes."""
    if path.trait is None:
        return True
    ty, trait = path.trait[0], path.trait[1].partition("<")[0].rpartition("::")[2]
    receiver = around.args[0] if around.args else ""
    of_type = is_open(receiver) or not receiver.startswith("&") or short(receiver) == short(f"&{ty}")
    return of_type and may_be_of_trait(around, trait, by_name, told=False)


def find_promoted_by_spans(
    const: UnevaluatedConst, source: SourceInfo, body: Body, unit: UnitRecord, home: CrateDump
) -> Header | None:
    """The promoted constant in ``home`` that ``body``, of ``unit``, uses at ``source``, in the same way.

    Only one that no generic argument has a part in.
    """
    if const.ty is None:
        return None
    text = short(const.ty.text)
    found = promoted_by_spans(const, source, body, unit, home, lambda header: short(header.output) == text)
    bodies = home.bodies(found)
    return found[0] if len(found) == 1 and _is_concrete(bodies[found[0]]) else None


def promoted_by_spans(
    const: UnevaluatedConst, source: SourceInfo, body: Body, unit: UnitRecord, home: CrateDump,
    may_be: Callable[[Header], bool] = lambda _: True,
) -> list[Header]:  # fmt: skip
    """The promoted constants in ``home`` that ``body``, of ``unit``, may use at ``source``, generic ones too."""
    named = filter(may_be, home.by_name.get(f"promoted[{const.promoted}]", ()))
    inside = [(header, around) for header in named if (around := _around(header, home.by_name)) is not None]
    return _with_spans(inside, const.path, source, body, unit, home)


def _with_spans(
    inside: Sequence[tuple[Header, Header]], path: str, source: SourceInfo, body: Body, unit: UnitRecord,
    home: CrateDump,
) -> list[Header]:  # fmt: skip
    """Those of the constants whose function, which ``path`` names, has what is around the use at ``source``."""
    method = parse_callee(path).method
    named = [(header, around) for header, around in inside if parse_callee(around.header).segments[-1] == method]
    spans = spans_from(body, path, source, unit) if named else frozenset[Span]()
    if not spans:
        return []
    bodies = home.bodies(around for _, around in named)
    own = UnitRecord.load(home.unit.record)
    return [header for header, around in named if holds(bodies[around], spans, own)]


def _is_concrete(body: Body) -> bool:
    """Whether a promoted constant's body is the same whatever the generic arguments of its function are."""
    refs = references(body)
    return not refs.callees and not refs.unevaluated and not any(is_open(ty.text) for ty in refs.types)


def _around(header: Header, by_name: dict[str, list[Header]]) -> Header | None:
    """The body around a constant; impls that one macro wrote share their text, but a constant stands behind its own."""
    segments = parse_callee(header.header).segments
    if len(segments) < 2:
        return None
    text = header.header.removesuffix(f"::{segments[-1]}")
    bodies = (other for other in by_name.get(segments[-2], ()) if other.header == text and other.kind in _BODIES)
    return max((other for other in bodies if other.line < header.line), key=lambda other: other.line, default=None)


def _names_around(
    segments: Sequence[str], printed_by: str, crate: str, around: Header, by_name: dict[str, list[Header]]
) -> bool:
    """Whether ``segments`` are the path of ``around``, or of what that is inside of with the same names behind it."""
    if not segments or parse_callee(around.header).segments[-1] != segments[-1]:
        return False
    if names_body(printed_by, Callee(tuple(segments), ()), crate, around, by_name):
        return True
    outer = _around(around, by_name)
    return outer is not None and _names_around(segments[:-1], printed_by, crate, outer, by_name)
