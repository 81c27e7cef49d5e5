"""Traits and types that share a name: where the side channel does not say which of them an implementation is of.

It names an implementation ``<Type as Trait>::method`` by the last segments of both.  Where the sources of the build's
crates define several items of such a name, more is needed: of a type, its whole path in the body's own signature (in
its own crate: others may name it by another path); of a trait, that the implementation stands in the trait's own module
and names it without a path, for there the name means what the module defines.  Otherwise rustc is asked which
implementation a call means.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from mirgen.cargo.callee import Callee, parse_callee
from mirgen.cargo.impl_heads import impl_head
from mirgen.cargo.unit import UnitRecord
from mirgen.ingest import Header
from mirgen.mir.names import erase_regions

_ITEM = re.compile(r"\b(?:trait|struct|enum|union)\s+([A-Za-z_]\w*)")
_PATH = re.compile(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*")


class Homonyms:
    """What the sources of some crates define, read when it is first asked for."""

    def __init__(self, records: Iterable[Path]) -> None:
        """``records`` are those of the units of all crates but the standard library's."""
        self._records = tuple(records)
        self._known: Counter[str] | None = None

    def are_settled(self, callee: Callee, caller: str, crate: str, header: Header, record: Path) -> bool:
        """Whether ``header``, which fits by last segments, must be of the trait and type that ``callee`` names.

        ``caller`` printed the callee, ``crate`` the header; ``record`` is the unit of ``crate``.
        """
        assert callee.trait is not None
        types, trait = (erase_regions(text) for text in callee.trait)
        name, _, arguments = trait.partition("<")
        if self._is_shared(name, standard_too=True) and not _in_its_module(_own(name, caller, crate), header, record):
            return False
        if caller != crate:
            return True
        words = {path for path in _PATH.findall(f"{types} {arguments}") if self._is_shared(path)}
        return words <= set(_PATH.findall(" ".join(map(erase_regions, (*header.args, header.output)))))

    def _is_shared(self, path: str, *, standard_too: bool = False) -> bool:
        """Whether several items have the last segment of ``path``, or one besides the standard library's."""
        if self._known is None:
            self._known = Counter()
            for record in self._records:
                self._known += _defined(UnitRecord.load(record).root_file.parent)
        standard = path.startswith(("core::", "alloc::", "std::"))
        times = self._known[path.rpartition("::")[2]]
        return times > (0 if standard and standard_too else 1)


def _defined(folder: Path) -> Counter[str]:
    """How often the sources below ``folder`` define an item of each name."""
    found: Counter[str] = Counter()
    for file in sorted(folder.rglob("*.rs")):
        found.update(_ITEM.findall(file.read_text(encoding="utf-8", errors="replace")))
    return found


def _own(path: str, caller: str, crate: str) -> str:
    """A path that ``caller`` printed as ``crate`` prints it."""
    return path if caller == crate else path.removeprefix(f"{crate}::")


def _in_its_module(trait: str, header: Header, record: Path) -> bool:
    """Whether an implementation stands in the module that defines ``trait``, and gives it by its name alone."""
    own = parse_callee(header.header).segments
    if len(own) < 2 or not own[-2].startswith("<impl at "):
        return False
    module, _, name = trait.rpartition("::")
    head = impl_head(own[-2], UnitRecord.load(record).cwd)
    return "::".join(own[:-2]) == module and head is not None and head.trait == name
