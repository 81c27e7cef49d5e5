"""Which body of a crate's dump a call names.

Headers name impls by span (``<impl at f.rs:4:1: 4:9>::f``), calls by type and trait, and a re-exported item has two
spellings.  A body is taken only on evidence from rustc: the definition path in the call's signature, the instance that
the side channel gives, or an exact path; the signature narrows.  More than one candidate is an error, not a choice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mirgen.cargo.callee import PATH_HEAD, Callee, definition_path, parse_callee, short
from mirgen.cargo.impl_heads import ImplHead, impl_head, inherent_type
from mirgen.cargo.overlay import TRAIT_MARK
from mirgen.cargo.source import ABI, SOURCE_WORDS
from mirgen.ingest import Header
from mirgen.mir.names import erase_regions, skip_group
from mirgen.mir.place import UnevaluatedConst
from mirgen.mir.ty import FnDefTy

#: A part of a type's text that may be any type's.
_HOLE = "\0"
_WORD = re.compile(r"[A-Za-z_]\w*")
_PARAM_NUMBER = re.compile(r"/#\d+")
#: The crates whose items ``std`` exports again.
BEHIND_STD = ("core", "alloc")
_MARKED = re.compile(r"\bdyn (?:\w+::)*(\w+)")
_CLOSED_WORDS = SOURCE_WORDS | {"ValTree", "Leaf"}


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Several bodies fit the call equally well."""

    candidates: tuple[Header, ...]


def find_body(
    callee: FnDefTy, crate: str, by_name: dict[str, list[Header]], *, blind: bool = False,
    is_settled: Callable[[Header], bool] = lambda _: True,
) -> Header | Ambiguous | None:  # fmt: skip
    """The body in ``crate``'s index that ``callee`` (printed while compiling ``callee.crate``) names, if any.

    ``by_name`` groups the index by the last segment of the header; ``blind`` where no header can name its instance;
    ``is_settled`` says of a trait's method that fits by last segments whether these mean what the callee means.
    """
    parsed = parse_callee(callee.path)
    if parsed.generics:
        return None
    named = [header for header in by_name.get(parsed.method, ()) if header.kind == "fn"]
    # A trait method's signature may be printed with projections; its instance alone decides.
    fitting = named if parsed.trait else [h for h in named if _signature_fits(callee, h) and may_be_inherent(parsed, h)]
    chosen = [h for h in _with_evidence(callee, parsed, crate, fitting) if not _is_nested(h, parsed, by_name)]
    if parsed.trait is not None:
        chosen = [header for header in chosen if is_settled(header)]
    if not chosen and blind and parsed.trait is None:
        segments = own_segments(parsed, callee.crate, crate)
        chosen = [h for h in fitting if names_inherent(segments, h)]
        if not chosen:
            chosen = [h for h in fitting if names_inherent(segments, h, of_macros=True)]
    if len(chosen) > 1:
        chosen = _narrow(callee, parsed, crate, chosen)
    if not chosen and blind and parsed.trait is not None:
        chosen = _only_implementation(callee, parsed, crate, named, by_name)
        chosen = chosen or [h for h in _of_own_type(callee, parsed, crate, named, by_name) if is_settled(h)]
    if len(chosen) > 1:
        return Ambiguous(tuple(chosen))
    return chosen[0] if chosen else None


def _only_implementation(
    callee: FnDefTy, parsed: Callee, crate: str, named: Sequence[Header], by_name: dict[str, list[Header]]
) -> list[Header]:
    """The impl of a trait method in a crate on which rustc's side channel aborts.

    Where trait and types are all of that one crate, the impl is in it too (the orphan rule), or the trait's own body of
    the method is: that body is among those of its name whose signature may be the call's and whose impl is not of
    another trait, as the source says, and if that is one, it is this.
    """
    assert parsed.trait is not None
    heads = {head for text in parsed.trait for head in PATH_HEAD.findall(text)}
    own = callee.crate == crate == "core"  # which sees no other crate
    if not own and (callee.crate == crate or not all(may_be_of(head, crate) for head in heads)):
        return []
    trait = short(parsed.trait[1]).partition("<")[0]
    told = "std" in heads  # which is more crates than one
    owned = (h for h in named if may_be_of_trait(h, trait, by_name, told=told))
    every = [header for header in owned if len(header.args) == len(callee.sig.inputs)]
    fitting = [header for header in every if all(may_be_one_elsewhere(*pair) for pair in _signatures(callee, header))]
    # A trait's own body counts where no implementation has another, and there is one implementation for a type.
    certain = [
        h for h in fitting if _trait_of(h, by_name) == trait and all(_is_certain(*p) for p in _signatures(callee, h))
    ]
    if len(certain) == 1:
        return certain
    # A generic body is none that can be compiled.
    return [h for h in fitting if len(fitting) > 1 or all(_is_certain(*pair) for pair in _signatures(callee, h))]


def _of_own_type(
    callee: FnDefTy, parsed: Callee, crate: str, named: Sequence[Header], by_name: dict[str, list[Header]]
) -> list[Header]:
    """The impl of a trait method for a type that the call and the body, of one crate, spell alike.

    A trait without arguments has one impl for a type.  More than one body that may be it is none: traits, and macros'
    impls, are told by names.
    """
    assert parsed.trait is not None
    owner, trait = parsed.trait
    inputs = [erase_regions(ty.text) for ty in callee.sig.inputs]
    receivers = {owner, f"&'_ {owner}", f"&'_ mut {owner}"}
    if callee.crate != crate or "<" in trait or not inputs or inputs[0] not in receivers:
        return []
    name = short(trait)
    fitting = [
        header for header in named
        if may_be_of_trait(header, name, by_name, told=False) and [*map(erase_regions, header.args)] == inputs
    ]  # fmt: skip
    return fitting if len(fitting) == 1 and _trait_of(fitting[0], by_name) == name else []


def may_be_of_trait(header: Header, trait: str, by_name: dict[str, list[Header]], *, told: bool) -> bool:
    """Whether a method may be a trait's; of an impl that a macro's arguments name, unless it must be ``told``."""
    if "<impl at" not in header.header:
        return parse_callee(header.header).segments[-2:-1] == (trait,)
    known = _trait_of(header, by_name)
    return known == trait or (known is None and not told and impl_head(_impl(header)) is None)


def _impl(header: Header) -> str:
    segments = parse_callee(header.header).segments
    return segments[-2] if len(segments) > 1 else ""


def _trait_of(header: Header, by_name: dict[str, list[Header]]) -> str | None:
    """The name of the trait that a method's impl is of, as the source says, or the mark behind the method's head."""
    head = impl_head(_impl(header))
    if head is not None:
        return head.trait_name
    text = f"{header.header}::{TRAIT_MARK}"
    marks = [mark for mark in by_name.get(TRAIT_MARK, ()) if mark.header == text and mark.line > header.line]
    mark = min(marks, key=lambda mark: mark.line, default=None)
    same = by_name.get(parse_callee(header.header).segments[-1], ())
    if mark is None or any(header.line < other.line < mark.line for other in same if other.header == header.header):
        return None
    told = _MARKED.search(mark.output)
    return None if told is None else told[1]


def may_be_inherent(path: Callee, header: Header) -> bool:
    """Whether a header may be of what ``Type::method`` names, which no trait's method is."""
    if path.trait is not None or any(segment.startswith("<impl ") for segment in path.segments):
        return True
    head = impl_head(_impl(header))
    return head is None or head.trait is None


def _signatures(callee: FnDefTy, header: Header) -> Iterator[tuple[str, str]]:
    """The call's types and the body's."""
    mine = [ty.text for ty in (*callee.sig.inputs, callee.sig.output)]
    return zip(mine, (*header.args, header.output), strict=True)


def _is_certain(mine: str, theirs: str) -> bool:
    return short(mine) == short(theirs) or _HOLE not in _open(theirs)


def may_be_one_elsewhere(mine: str, theirs: str) -> bool:
    """Whether the texts of two crates may be of one type, where projections and parameters may be anything."""
    return _fit(short(_open(mine)), short(_open(theirs)))


def may_be_one(mine: str, theirs: str) -> bool:
    """Whether two texts that were printed in one crate may be of one type, in the same way."""
    return _fit(_open(mine), _open(theirs))


def _fit(mine: str, theirs: str) -> bool:
    texts = mine, theirs
    holes = [_HOLE in text for text in texts]
    if all(holes):
        return True
    text, pattern = texts if holes[1] else texts[::-1]
    return re.fullmatch(re.escape(pattern).replace(re.escape(_HOLE), ".+"), text) is not None


def is_open(text: str) -> bool:
    """Whether a type's text has a projection or what may be a parameter."""
    return _HOLE in _open(text)


@lru_cache(maxsize=1 << 12)
def _open(text: str) -> str:
    """A type's text with a hole for each projection, ``impl Trait`` and parameter.

    A crate's own items at its root look like parameters.
    """
    text = erase_regions(text)
    if "impl " in text:
        return _HOLE
    out: list[str] = []
    i = 0
    while i < len(text):
        inside = i > 0 and (text[i - 1].isalnum() or text[i - 1] in "_:'")
        match = None if inside else _WORD.match(text, i)
        end = match.end() if match else abi.end() if (abi := ABI.match(text, i)) else i + 1
        if text[i] == "<" and not inside:
            end = skip_group(text, i)
            while text.startswith("::", end) and (member := _WORD.match(text, end + 2)) is not None:
                end = member.end()
            out.append(_HOLE)
        elif match is None or text.startswith(("::", "<"), end) or match[0] in _CLOSED_WORDS:
            out.append(text[i:end])
        else:
            number = _PARAM_NUMBER.match(text, end)
            end = number.end() if number else end
            out.append(_HOLE)
        i = end
    return "".join(out)


def find_promoted(
    const: UnevaluatedConst, printed_by: str, crate: str, by_name: dict[str, list[Header]],
    is_settled: Callable[[Header], bool] = lambda _: True,
) -> Header | Ambiguous | None:  # fmt: skip
    """The body in ``crate`` of the promoted constant that a body of ``printed_by`` names, if any.

    Impls that one macro wrote share their text: there it counts that promoted bodies stand right behind their owner's.
    ``is_settled`` is as for :func:`find_body`.
    """
    parsed = parse_callee(const.path)
    name = f"promoted[{const.promoted}]"
    owners = _owners(parsed, printed_by, crate, by_name)
    if parsed.trait is not None:
        owners = [owner for owner in owners if is_settled(owner)]
    every: list[Header] = []
    for owner in owners:
        same = [other.line for other in by_name.get(parsed.method, ()) if other.header == owner.header]
        end = min((line for line in same if line > owner.line), default=None)
        every += [
            header for header in by_name.get(name, ())
            if header.header == f"{owner.header}::{name}" and owner.line < header.line
            and (end is None or header.line < end)
        ]  # fmt: skip
    if const.ty is not None and not parsed.generics:
        every = [header for header in every if short(header.output) == short(const.ty.text)]
    if len(every) > 1:
        return Ambiguous(tuple(every))
    return every[0] if every else None


def _owners(owner: Callee, printed_by: str, crate: str, by_name: dict[str, list[Header]]) -> list[Header]:
    """The bodies that ``owner`` names."""
    return [
        header
        for header in by_name.get(owner.method, ())
        if header.kind in ("fn", "const", "static", "static_mut")
        and names_body(printed_by, owner, crate, header, by_name)
    ]  # fmt: skip


def names_body(printed_by: str, path: Callee, crate: str, header: Header, by_name: dict[str, list[Header]]) -> bool:
    """Whether ``path``, printed while compiling ``printed_by``, may name a body of ``crate`` by all that is known."""
    return _names(printed_by, path, crate, header) and not _is_nested(header, path, by_name)


def _is_nested(header: Header, parsed: Callee, by_name: dict[str, list[Header]]) -> bool:
    """Whether the header is of an item inside a function's body that the path only looks like: it is not its own."""
    own = parse_callee(header.header).segments
    if len(own) < 2 or own in (parsed.segments, parsed.segments[1:]):
        return False
    parent = "::".join(own[:-1])
    return any(other.header == parent for other in by_name.get(own[-2], ()))


def group_by_name(index: Iterable[Header]) -> dict[str, list[Header]]:
    """Headers by the last segment of their path."""
    groups: dict[str, list[Header]] = {}
    for header in index:
        groups.setdefault(parse_callee(header.header).segments[-1], []).append(header)
    return groups


def _signature_fits(callee: FnDefTy, header: Header) -> bool:
    inputs = callee.sig.inputs
    return (
        len(inputs) == len(header.args)
        and all(short(ty.text) == short(text) for ty, text in zip(inputs, header.args, strict=True))
        and short(callee.sig.output.text) == short(header.output)
    )


def _with_evidence(callee: FnDefTy, parsed: Callee, crate: str, headers: Iterable[Header]) -> Iterable[Header]:
    definition = None if parsed.trait else definition_path(callee.text)
    for header in headers:
        if definition is not None:
            if definition[0] == crate and defines(definition[1], header):
                yield header
        elif _names(callee.crate, parsed, crate, header):
            yield header


def defines(segments: tuple[str, ...], header: Header) -> bool:
    """Whether a header's path is a definition's, impl numbers against impl spans."""
    own = parse_callee(header.header).segments
    return len(own) == len(segments) and all(
        mine == theirs or (theirs.startswith("{impl#") and mine.startswith("<impl at"))
        for mine, theirs in zip(own, segments, strict=True)
    )


def _names(caller: str, parsed: Callee, crate: str, header: Header) -> bool:
    own = parse_callee(header.header).segments
    if parsed.trait is not None:
        return _same_trait_method(parsed, header)
    if parsed.is_plain and own == own_segments(parsed, caller, crate):
        return True
    if header.instance is not None and "<impl at" in header.header:
        instance = parse_callee(header.instance).segments
        return len(instance) >= 2 and len(parsed.segments) >= 2 and instance[-2:] == parsed.segments[-2:]
    # A re-exported free function: same name, same signature, and the call's path starts at this crate.
    exported = parsed.is_plain and caller != crate and not any("<" in s for s in own)
    return exported and may_be_of(parsed.segments[0], crate)


def may_be_of(head: str, crate: str) -> bool:
    """Whether a path that begins with ``head`` may be of an item of ``crate``: ``std`` exports what others hold."""
    return head == crate or (head == "std" and crate in BEHIND_STD)


def own_segments(path: Callee, caller: str, crate: str) -> tuple[str, ...]:
    """A path as ``crate`` itself would print it, if it is of that crate."""
    return path.segments if caller == crate else path.segments[1:]


def names_inherent(segments: Sequence[str], header: Header, *, of_macros: bool = False) -> bool:
    """Whether ``module::Type::method``, or an item inside such a method, names the header of one in an inherent impl of
    that module, as the impl's source says.  Generic arguments do not matter.

    ``of_macros``: in an impl whose type a macro's arguments tell, which may be any.
    """
    own = parse_callee(header.header).segments
    impls = [i for i, segment in enumerate(own) if segment.startswith("<impl at")]
    if len(impls) != 1 or len(own) != len(segments) or impls[0] > len(own) - 2:
        return False
    plain = [segment.partition("<")[0] for segment in segments]
    return all(
        mine == theirs if i != impls[0] else _is_of_macro(mine) if of_macros else inherent_type(mine) == theirs
        for i, (mine, theirs) in enumerate(zip(own, plain, strict=True))
    )


def _is_of_macro(impl: str) -> bool:
    return impl_head(impl) == ImplHead(None, None)


def _same_trait_method(parsed: Callee, header: Header) -> bool:
    if header.instance is None:
        return False
    instance = parse_callee(header.instance)
    mine, theirs = instance.trait, parsed.trait
    return (
        mine is not None
        and theirs is not None
        and instance.method == parsed.method
        and short(mine[0]) == short(theirs[0])
        and short(mine[1]) == short(theirs[1])
    )


def _narrow(callee: FnDefTy, parsed: Callee, crate: str, headers: list[Header]) -> list[Header]:
    """Prefer an exact path, then what the side channel confirms."""
    own = callee.path if callee.crate == crate else callee.path.removeprefix(f"{crate}::")
    exact = [h for h in headers if h.header in (callee.path, own) or h.instance == callee.path]
    if exact:
        return exact
    confirmed = [
        h for h in headers
        if h.instance is not None and parse_callee(h.instance).segments[-2:] == parsed.segments[-2:]
    ]  # fmt: skip
    return confirmed or headers
