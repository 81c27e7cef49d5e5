"""What one document becomes: a :class:`MirUnit`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mirgen.mir.body import Alloc, Body, TrivialConst
from mirgen.mir.ty import Ty


@dataclass(frozen=True, slots=True)
class Compiler:
    """The rustc that printed the text; ``grammar`` is the one the shim read it by (``1.96``)."""

    release: str
    commit_hash: str | None
    commit_date: str | None
    host: str | None
    llvm_version: str | None
    grammar: str

    def __str__(self) -> str:
        commit = f" ({self.commit_hash[:9]} {self.commit_date})" if self.commit_hash and self.commit_date else ""
        return f"rustc {self.release}{commit}"


@dataclass(frozen=True, slots=True)
class Header:
    """One body of the crate, read or not.  ``line`` is its line in the dump; ``args`` and ``output`` are type texts."""

    header: str
    instance: str | None
    kind: Literal["fn", "const", "static", "static_mut", "promoted", "anon", "trivial_const"]
    line: int
    args: tuple[str, ...]
    output: str

    @property
    def name(self) -> str:
        """The spelling to show a user."""
        return self.instance or self.header


@dataclass(frozen=True, slots=True)
class MirUnit:
    """Selected bodies of one crate as one rustc printed them.

    ``types`` is the document's type table (a ``TyId`` indexes it).  ``allocs`` has its own numbering: dense, from
    the ``first_alloc`` given to :func:`mirgen.ingest.load_mir`.  ``trivial_consts`` maps headers to one-line
    constants; headers that stand for several different ones, or whose bytes rustc did not print, are in
    ``unknown_consts`` instead.
    """

    crate: str
    compiler: Compiler
    target: str
    flags: tuple[str, ...]
    notes: tuple[str, ...]
    types: tuple[Ty, ...]
    index: tuple[Header, ...]
    bodies: tuple[Body, ...]
    trivial_consts: dict[str, TrivialConst]
    unknown_consts: frozenset[str]
    allocs: dict[int, Alloc]
