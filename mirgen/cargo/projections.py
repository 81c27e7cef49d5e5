"""Projections of types that hold closures, ``<Map<I, {closure}> as IntoIterator>::IntoIter``, in what was generic.

rustc normalises what it prints, but for generic bodies; made concrete, these hold projections as they were written.
Those without closures mean what rustc says of them wherever they are named; these have no name, so each is asked about
(:mod:`mirgen.cargo.alike`) and what it is put in its place, before anything is looked up by its text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mirgen.cargo.closure import NormalType, Unresolved
from mirgen.cargo.made import made_number
from mirgen.cargo.source import PARAMETER
from mirgen.cargo.substitute import Json, take_over
from mirgen.mir.body import FnKey
from mirgen.mir.ty import Ty


@dataclass(frozen=True, slots=True)
class OpenProjection:
    """A projection's text as ``crate`` prints it, the types without a name that it is of, and the call whose body holds
    it."""

    crate: str
    text: str
    items: tuple[Ty, ...]
    call: Unresolved

    @property
    def key(self) -> FnKey:
        """What it is known by."""
        return self.crate, self.text


def open_projections(document: Json, items: Sequence[Ty]) -> dict[str, tuple[Ty, ...]]:
    """The projections in a document that are of some of ``items``, with these."""
    texts = [entry["text"] for entry in document["types"] if entry["kind"] == "alias" and entry["text"].startswith("<")]
    found = {text: tuple(item for item in items if item.text in text) for text in texts}
    return {text: of for text, of in found.items() if of}


def normalised(document: Json, answers: Mapping[str, NormalType]) -> Json:
    """The document with what ``answers`` say in the place of projections."""
    types: list[Json] = [*document["types"]]
    for text in sorted(answers, key=len, reverse=True):
        index = _taken(answers[text], types)
        into = types[index]["text"]
        types = [types[index] if entry["text"] == text else _respelled(entry, text, into) for entry in types]
        bodies = [{**_respelled(body, text, into), "header": body["header"]} for body in document["bodies"]]
        document = {**document, "bodies": bodies}
    return {**document, "types": types}


def _taken(answer: NormalType, types: list[Json]) -> int:
    """Where the answer's type is among ``types``, to which what is missing is added."""
    made = {
        entry["text"]: answer.items[f"{PARAMETER}{number}"].text
        for entry in answer.table
        if entry["kind"] == "closure" and (number := made_number(entry["path"])) is not None
    }

    def spelled(entry: Json) -> Json:
        for text in sorted(made, key=len, reverse=True):
            entry = _respelled(entry, text, made[text])
        return entry

    return take_over(answer.index, answer.table, types, spelled)


def _respelled(part: Any, text: str, into: str) -> Any:
    """A part of a document with ``into`` in the place of ``text`` in all its texts."""
    if isinstance(part, str):
        return part.replace(text, into)
    if isinstance(part, list):
        return [_respelled(each, text, into) for each in part]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(part, dict):
        return {key: _respelled(value, text, into) for key, value in part.items()}  # pyright: ignore[reportUnknownVariableType]
    return part
