"""Generic arguments put into a generic body, as rustc's text for it became JSON.

A body that rustc's dump holds in generic form is made concrete: each parameter's entry of the type table is replaced by
the argument's, and every text is spelled as the crate sees it in which the instance will live.  Nothing is resolved
here: a trait's method of a parameter becomes the same method of the argument, for rustc to answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mirgen.cargo.callee import parse_callee
from mirgen.cargo.made import is_made
from mirgen.cargo.source import SOURCE_WORDS
from mirgen.mir import ty as t
from mirgen.mir.names import LEAF, erase_regions, region_end, skip_group, usize_argument

#: An entry of a document's type table, a body, or a part of one.
Json = dict[str, Any]

_WORD = re.compile(r"[A-Za-z_]\w*")
_CONST_PARAM = re.compile(r"([A-Za-z_]\w*)/#\d+")
#: Words of rustc's texts that are no items.
_WORDS = SOURCE_WORDS | {
    "where", "closure_kind_ty", "closure_sig_as_fn_ptr_ty", "upvar_tys", "resume_ty", "yield_ty", "return_ty", "static",
    "Region", "BrNamed", "BrAnon", "BrEnv",
    "ValTree", "Leaf", "Branch", "Binder", "value", "Trait", "Projection", "AutoTrait", "bound_vars",
}  # fmt: skip
#: In the place of entries that only other bodies of the document mention.
_UNIT: Json = {"kind": "tuple", "text": "()", "elems": []}
#: The allocator that every type of alloc has unless another is given, and those types' paths.
GLOBAL = re.compile(r"(?:\w+::)?(?:alloc::)?Global")
_OF_ALLOC = re.compile(r"(?:std::|alloc::)?(?:boxed|collections|rc|sync|vec|raw_vec)::")
_CALL_TRAITS = frozenset({"Fn", "FnMut", "FnOnce"})


class NotSubstitutedError(Exception):
    """The body cannot be made concrete; the text says what is in the way."""


@dataclass(slots=True)
class Bindings:
    """What generic parameters stand for: types by the parameter's text, constants (rustc's text) by its name.

    ``aliases`` are projections of parameters, by text, that a signature tells.  ``known`` are the types of the
    arguments' document, by text.
    """

    types: dict[str, t.Ty] = field(default_factory=dict[str, t.Ty])
    consts: dict[str, str] = field(default_factory=dict[str, str])
    aliases: dict[str, t.Ty] = field(default_factory=dict[str, t.Ty])
    known: Mapping[str, t.Ty] = field(default_factory=dict[str, t.Ty], repr=False)

    @property
    def count(self) -> int:
        """How many parameters are bound."""
        return len(self.types) + len(self.consts)

    def bind(self, generic: t.Ty, concrete: t.Ty) -> bool:
        """Match ``concrete`` against ``generic``; whether they fit each other and what was bound before.

        Projections bind no parameters.
        """
        match generic, concrete:
            case t.UnsupportedTy(what="param"), _:
                return self.bind_param(generic.text, concrete)
            case t.ClosureTy(), t.ClosureTy() | t.FnDefTy() if is_made(generic):
                captured = concrete.upvars if isinstance(concrete, t.ClosureTy) else ()
                return self._bind_all(generic.upvars, captured) and self.bind_param(generic.text, concrete)
            case t.UnsupportedTy(what="alias"), _ if _is_told(generic, concrete):
                return _is_bound_to(self.aliases, generic.text, concrete)
            case (t.UnsupportedTy(), _) | (_, t.UnsupportedTy(what="alias")):
                return True
            case t.AdtTy(args=()), _ if is_bare(generic.path) and not _same_item(generic, concrete):
                return self.bind_param(generic.path, concrete)
            case t.ArrayTy(elem=elem, length=length), t.ArrayTy(elem=other, length=count):
                return self.bind(elem, other) and (length == count or self._bind_length(generic.text, count))
            case t.PointerTy(), t.PointerTy():
                same = (generic.mutable, generic.is_ref) == (concrete.mutable, concrete.is_ref)
                return same and self.bind(generic.pointee, concrete.pointee)
            case t.AdtTy(), t.AdtTy():
                return (
                    _same_item(generic, concrete)
                    and self._bind_given(generic.args, self._with_defaults(concrete, len(generic.args)))
                    and self._bind_consts(generic, concrete)
                )
            case (t.ClosureTy(), t.ClosureTy()) | (t.CoroutineTy(), t.CoroutineTy()):
                return parse_callee(generic.path).method == parse_callee(concrete.path).method and self._bind_all(
                    t.parts(generic), t.parts(concrete)
                )
            case t.IntTy() | t.FloatTy(), _:
                return generic.text == concrete.text
            case _, _:
                return type(generic) is type(concrete) and self._bind_all(t.parts(generic), t.parts(concrete))

    def bind_param(self, param: str, concrete: t.Ty) -> bool:
        """Bind one parameter; whether that fits what was bound before."""
        return _is_bound_to(self.types, param, concrete)

    def _bind_all(self, generic: Sequence[t.Ty], concrete: Sequence[t.Ty]) -> bool:
        return len(generic) == len(concrete) and all(map(self.bind, generic, concrete))

    def _bind_given(self, generic: Sequence[t.Ty], concrete: Sequence[t.Ty]) -> bool:
        """Bind what is printed: rustc leaves out arguments at the end that are their parameters' defaults, which
        something else must tell."""
        return len(generic) >= len(concrete) and all(map(self.bind, generic[: len(concrete)], concrete))

    def _with_defaults(self, concrete: t.AdtTy, count: int) -> tuple[t.Ty, ...]:
        """The arguments of a type, with those that rustc does not print because they are their parameters' defaults:
        of alloc's types the last may be the allocator."""
        missing = count - len(concrete.args)
        allocator = next((ty for text, ty in self.known.items() if GLOBAL.fullmatch(text)), None)
        of_alloc = concrete.path.startswith(("std::", "alloc::")) or concrete.crate == "alloc"
        if missing != 1 or allocator is None or not of_alloc or not _OF_ALLOC.match(concrete.path):
            return concrete.args
        return (*concrete.args, allocator)

    def _bind_length(self, text: str, count: int | None) -> bool:
        names = _CONST_PARAM.findall(text.rpartition(";")[2])
        return len(names) == 1 and count is not None and self._bind_const(names[0], usize_argument(count))

    def _bind_consts(self, generic: t.AdtTy, concrete: t.AdtTy) -> bool:
        if len(generic.const_args) != len(concrete.const_args):
            return False
        for mine, theirs in zip(generic.const_args, concrete.const_args, strict=True):
            param = _CONST_PARAM.fullmatch(mine)
            if (mine != theirs) if param is None else not self._bind_const(param[1], theirs):
                return False
        return True

    def _bind_const(self, name: str, text: str) -> bool:
        return self.consts.setdefault(name, text) == text


def _is_told(generic: t.Ty, concrete: t.Ty) -> bool:
    """Whether ``concrete`` tells what ``generic``, a projection, is: what an ``impl Trait`` is, the body says."""
    return not is_opaque(generic) and not isinstance(concrete, t.UnsupportedTy)


def _is_bound_to(bound: dict[str, t.Ty], name: str, concrete: t.Ty) -> bool:
    """Whether a name is bound to ``concrete``, to which it is bound where it was not."""
    return erase_regions(bound.setdefault(name, concrete).text) == erase_regions(concrete.text)


def is_opaque(ty: t.Ty) -> bool:
    """Whether it is an ``impl Trait`` that a function returns."""
    return isinstance(ty, t.UnsupportedTy) and ty.what == "alias" and ty.text.startswith("Opaque(")


def is_bare(path: str) -> bool:
    """Whether a type's path is one word: a parameter, or an item of the crate's root; rustc's text does not tell."""
    return path.isidentifier()


def _same_item(generic: t.AdtTy, concrete: t.Ty) -> bool:
    return isinstance(concrete, t.AdtTy) and generic.path.rpartition("::")[2] == concrete.path.rpartition("::")[2]


@dataclass(frozen=True, slots=True)
class Spelling:
    """Texts printed while compiling one crate, as another crate spells them, with parameters replaced.

    ``prefix`` is the name of the crate that printed them, for paths that begin inside it; empty where both are one.
    ``externs`` are the crates that it names by their own names.
    """

    prefix: str
    externs: frozenset[str]
    types: Mapping[str, str] = field(default_factory=dict[str, str])
    consts: Mapping[str, str] = field(default_factory=dict[str, str])

    def __call__(self, text: str) -> str:
        """The new text."""
        opaque = sorted((name for name in self.types if not name.isidentifier()), key=len)[::-1]  # `impl FnMut(..)`
        out: list[str] = []
        i = 0
        while i < len(text):
            end = self._verbatim(text, i)
            name = next((name for name in opaque if _stands_at(text, i, name)), None)
            if name is not None:
                end = i + len(name)
                out.append(self.types[name])
            elif end > i:
                out.append(text[i:end])
            else:
                match = _WORD.match(text, i)
                end = match.end() if match else i + 1
                if match is not None and (param := _CONST_PARAM.match(text, i)) is not None:
                    end = param.end()
                    out.append(self._const(param))
                else:
                    out.append(text[i:end] if match is None else self._word(text, i, match[0]))
            i = end
        return "".join(out)

    @staticmethod
    def _verbatim(text: str, i: int) -> int:
        """Where a part that begins at ``i`` and is not rewritten ends; ``i`` where none does."""
        if text[i] == "'":
            return region_end(text, i) or i + 1
        if text[i] == '"':
            return text.index('"', i + 1) + 1
        if text.startswith("DefId(", i):
            return skip_group(text, i + 5)
        if text[i].isdigit():
            at = i
            while at < len(text) and (text[at].isalnum() or text[at] == "_"):
                at += 1
            return at
        return i

    def _const(self, param: re.Match[str]) -> str:
        return self.consts.get(param[1], param[0])

    def _word(self, text: str, at: int, word: str) -> str:
        end = at + len(word)
        if text.endswith("::", 0, at) or text.startswith(("#", " ="), end):
            return word
        if text.startswith("::", end):
            return word if word in self.externs or not self.prefix else f"{self.prefix}::{word}"
        if word in self.types:
            return self.types[word]
        return word if word in _WORDS or not self.prefix else f"{self.prefix}::{word}"


def _stands_at(text: str, at: int, name: str) -> bool:
    """Whether ``name``, no identifier, stands at ``at`` and is not the beginning of another."""
    end = at + len(name)
    return text.startswith(name, at) and not (text[end : end + 1].isidentifier() or text.startswith("::", end))


class Substitution:
    """One generic body made concrete.  ``source`` is the type table that holds the arguments."""

    def __init__(
        self, document: Json, bindings: Bindings, source: Sequence[Json], own: Spelling, theirs: Spelling
    ) -> None:
        """``own`` spells the generic body's texts (parameters not yet replaced), ``theirs`` those of ``source``."""
        self._document = document
        self._source = source
        self._theirs = theirs
        self._types: list[Json] = []
        self._locals: Sequence[Json] = ()
        self._imported: dict[int, int] = {}
        self._bound = bindings
        spelled = {name: theirs(ty.text) for name, ty in (bindings.aliases | bindings.types).items()}
        consts = {name: theirs(text) for name, text in bindings.consts.items()}
        self._spell = Spelling(own.prefix, own.externs, spelled, consts)
        self._by_text = {entry["text"]: i for i, entry in reversed(list(enumerate(source)))}

    def document(self, body: Json, name: str, crate: str, *, all_bound: bool) -> Json:
        """A document of ``crate`` that holds the one body, under ``name``; ``all_bound``: no parameter lacks a binding.

        Raises:
            NotSubstitutedError: something generic would be left.
        """
        table: list[Json] = self._document["types"]
        held = _mentioned(body, table)
        self._locals = body["locals"]
        self._types = [self._entry(entry) if i in held else _UNIT for i, entry in enumerate(table)]
        for i in held:
            entry = table[i]
            if self._is_param(entry, all_bound=all_bound):
                self._types[i] = self._types[self._argument(entry["text"])]
        for i in held:
            if table[i]["kind"] == "alias":
                self._types[i] = self._projection(table[i])
        return {
            **self._document,
            "crate_name": crate,
            "index": [],
            "trivial_consts": [],
            "types": self._types,
            "bodies": [{**self._part(body), "header": name, "instance": None}],
        }

    def _is_param(self, entry: Json, *, all_bound: bool) -> bool:
        bare = entry["kind"] == "adt" and is_bare(entry["path"])
        stands = entry["kind"] == "param" or (entry["kind"] == "closure" and entry["text"] in self._bound.types)
        return stands or (bare and (entry["path"] in self._bound.types or not all_bound))

    def _argument(self, param: str) -> int:
        ty = self._bound.types.get(param)
        if ty is None:
            raise NotSubstitutedError(f"nothing tells what `{param}` is")
        return self._argument_at(ty)

    def _argument_at(self, ty: t.Ty) -> int:
        index = self._by_text.get(ty.text)
        if index is None:
            raise NotSubstitutedError(f"`{ty.text}` does not stand in the call's document")
        return self._import(index)

    def _import(self, index: int) -> int:
        """Take over an entry of the arguments' table and all that it mentions."""
        known = self._imported.get(index)
        if known is not None:
            return known
        entry = _with_types(self._source[index], self._import)
        entry = _with_texts(entry, self._theirs)
        self._types.append(entry)
        self._imported[index] = len(self._types) - 1
        return self._imported[index]

    def _entry(self, entry: Json) -> Json:
        new = _with_texts(entry, self._spell)
        if entry["kind"] == "array" and entry["len"] is None:
            leaf = LEAF.fullmatch(new["text"].rpartition("; ")[2].removesuffix("]"))
            if leaf is None:
                raise NotSubstitutedError(f"the length of `{new['text']}` is not known")
            new["len"] = str(int(leaf[1], 16))
        return new

    def _projection(self, entry: Json) -> Json:
        """What a signature tells, or what calling a parameter returns, where it stands for a closure or function; other
        projections stay."""
        told = self._bound.aliases.get(entry["text"])
        if told is not None:
            return self._types[self._argument_at(told)]
        parsed = parse_callee(entry["text"])
        if parsed.trait is None or parsed.method != "Output":
            return _with_texts(entry, self._spell)
        ty = self._bound.types.get(parsed.trait[0])
        while isinstance(ty, t.PointerTy):
            ty = ty.pointee
        called = parsed.trait[1].partition("<")[0].rpartition("::")[2] in _CALL_TRAITS
        if called and isinstance(ty, t.ClosureTy | t.FnDefTy | t.FnPtrTy) and ty.sig is not None:
            return self._types[self._import(self._by_text[ty.sig.output.text])]
        return _with_texts(entry, self._spell)

    def _constant(self, param: str) -> Json:
        """A constant argument as an operand."""
        leaf = LEAF.fullmatch(self._spell(param))
        if leaf is None:
            raise NotSubstitutedError(f"nothing tells what `{param}` is")
        bits, name = leaf[1], leaf[2]
        kind = name if name in ("bool", "char") else "int"
        self._types.append({"kind": kind, "text": name} | ({"name": name} if kind == "int" else {}))
        return {"kind": "scalar", "ty": len(self._types) - 1, "bits": f"0x{bits}", "size": max(1, len(bits) // 2)}

    def _length(self, place: Json) -> str:
        """The length of the array at ``place``: where an array of a generic length is made, its type tells it."""
        local, types = int(place["local"]), self._types
        ty = types[int(self._locals[local]["ty"])]
        steps: Sequence[Json] = place.get("proj", ())
        for step in steps:
            if step["kind"] == "field":
                ty = types[int(step["ty"])]
            elif step["kind"] == "deref" and "pointee" in ty:
                ty = types[int(ty["pointee"])]
            elif step["kind"] != "downcast":
                raise NotSubstitutedError("an array of a generic length is made in the middle of another value")
        if ty["kind"] != "array" or ty["len"] is None:
            raise NotSubstitutedError(f"an array of a generic length is made, of type `{ty['text']}`")
        return ty["len"]

    def _part(self, part: Any) -> Any:
        """A part of a body with its texts spelled anew."""
        if isinstance(part, list):
            return [self._part(each) for each in part]  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(part, dict):
            return part
        new: Json = {key: self._part(value) for key, value in part.items()}  # pyright: ignore[reportUnknownVariableType]
        match new:
            case {"kind": "unevaluated", "path": str(path)} | {"kind": "adt", "path": str(path)}:
                new["path"] = self._spell(path)
            case {"kind": "ty_const", "text": str(text)} if not text.startswith("ValTree(Branch("):
                return self._constant(text)
            case {"kind": "assign", "place": place, "rvalue": {"kind": "repeat", "count": None} as made}:
                new["rvalue"] = {**made, "count": self._length(place)}
            case {"inlined": str(inlined)}:
                new["inlined"] = self._spell(inlined)
            case _:
                pass
        return new


def _mentioned(body: Json, table: Sequence[Json]) -> frozenset[int]:
    """The entries that ``body`` mentions, and what they mention."""
    found: set[int] = set()

    def note(index: int) -> int:
        if index not in found:
            found.add(index)
            _with_types(table[index], note)
        return index

    stack: list[Any] = [body]
    while stack:
        part = stack.pop()
        if isinstance(part, list):
            stack.extend(part)  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(part, dict):
            entry: Json = part  # pyright: ignore[reportUnknownVariableType]
            if isinstance(entry.get("ty"), int):
                note(entry["ty"])
            stack.extend(entry.values())
    return frozenset(found)


def _with_texts(entry: Json, spell: Spelling) -> Json:
    """An entry of a type table with its own texts spelled anew."""
    new = {**entry, "text": spell(entry["text"])}
    if "path" in entry:
        new["path"] = spell(entry["path"])
    if entry["kind"] == "adt":
        new["args"] = [
            arg if arg["kind"] != "const" else {**arg, "text": spell(arg["text"])} for arg in entry["args"]
        ]  # fmt: skip
    return new


def index_of(ty: t.Ty, table: Sequence[Json]) -> int:
    """Where a type is in the type table of its document."""
    return next(i for i, entry in enumerate(table) if entry["text"] == ty.text)


def take_over(index: int, table: Sequence[Json], into: list[Json], respelled: Callable[[Json], Json] = dict) -> int:
    """Where an entry of ``table`` is in another, to which it and all that it mentions is added where they are missing;
    ``respelled`` has an entry's texts in the other's words."""
    known = {entry["text"]: i for i, entry in reversed(list(enumerate(into)))}
    taken: dict[int, int] = {}

    def take(index: int) -> int:
        if index not in taken:
            entry = respelled(table[index])
            at = known.get(entry["text"])
            if at is None:
                entry = _with_types(entry, take)
                into.append(entry)
                at = known[entry["text"]] = len(into) - 1
            taken[index] = at
        return taken[index]

    return take(index)


def _with_types(entry: Json, convert: Any) -> Json:
    """An entry with every index that it holds converted."""
    new = dict(entry)
    for key in ("pointee", "elem", "resume", "yields", "returns"):
        if key in entry:
            new[key] = convert(entry[key])
    for key in ("elems", "upvars"):
        if key in entry:
            new[key] = [convert(i) for i in entry[key]]
    if entry.get("sig"):
        sig = entry["sig"]
        new["sig"] = {**sig, "inputs": [convert(i) for i in sig["inputs"]], "output": convert(sig["output"])}
    if entry["kind"] == "adt":
        new["args"] = [{**arg, "ty": convert(arg["ty"])} if arg["kind"] == "type" else arg for arg in entry["args"]]
    return new
