"""Bodies, allocations and the program that later stages see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mirgen.mir.place import Operand
from mirgen.mir.statement import Span, Statement, Terminator
from mirgen.mir.ty import Ty


@dataclass(frozen=True, slots=True)
class Local:
    ty: Ty
    mutable: bool
    name: str | None
    span: Span | None


@dataclass(frozen=True, slots=True)
class Scope:
    """``inlined`` is the callee's text where an inlined body begins; ``span`` is then the call site."""

    parent: int | None
    inlined: str | None
    track_caller: bool
    span: Span | None


@dataclass(frozen=True, slots=True)
class Block:
    cleanup: bool
    statements: tuple[Statement, ...]
    terminator: Terminator


@dataclass(frozen=True, slots=True)
class Body:
    """One MIR body.  Locals: ``_0`` is the return place, ``_1`` to ``_arg_count`` the arguments.

    ``promoted`` is the index where ``kind`` is ``promoted``; ``ctfe`` marks the second body of a ``const fn``, the one
    rustc itself evaluates.  ``track_caller`` is where a function is defined whose panics are reported where it
    was called.
    """

    crate: str
    kind: Literal["fn", "const", "static", "static_mut", "promoted", "anon"]
    header: str
    instance: str | None
    arg_count: int
    locals: tuple[Local, ...]
    scopes: tuple[Scope, ...]
    blocks: tuple[Block, ...]
    span: Span | None
    promoted: int | None = None
    ctfe: bool = False
    track_caller: Span | None = None

    @property
    def name(self) -> str:
        """The spelling to show a user: the instance where known, else the header."""
        return self.instance or self.header


@dataclass(frozen=True, slots=True)
class Relocation:
    """A pointer of ``size`` bytes at byte ``at``, to ``alloc`` plus ``offset`` bytes."""

    at: int
    size: int
    alloc: int
    offset: int


@dataclass(frozen=True, slots=True)
class MemoryAlloc:
    """``data`` holds zeroes where bytes are uninitialised or a pointer stands; ``static`` is the static's path.

    Several documents may mention one static, each with a number of its own: ``identity`` is its path from its crate's
    name on, whichever crate's text it stands in.  Allocations of one identity are one place in memory.
    """

    static: str | None
    align: int
    data: bytes
    uninit: tuple[tuple[int, int], ...]
    relocations: tuple[Relocation, ...]
    identity: str = ""


@dataclass(frozen=True, slots=True)
class FnAlloc:
    """A function's address; ``instance`` is rustc's callee text."""

    instance: str


@dataclass(frozen=True, slots=True)
class OtherAlloc:
    what: str
    text: str


Alloc: TypeAlias = MemoryAlloc | FnAlloc | OtherAlloc

#: A function is named by the crate whose compilation printed the name, and rustc's callee text in it.
FnKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Param:
    """A kernel's parameter as the user wrote it."""

    name: str
    ty: Ty


@dataclass(frozen=True, slots=True)
class Kernel:
    """An entry point: ``name`` is the PTX entry, ``body`` keys :attr:`Program.functions`."""

    name: str
    body: FnKey
    params: tuple[Param, ...]
    span: Span | None


@dataclass(frozen=True, slots=True)
class TrivialConst:
    ty: Ty
    value: Operand


@dataclass(frozen=True, slots=True)
class Program:
    """A closed program: every call in ``functions`` is a key of ``functions``, an intrinsic, or diverges.

    ``functions`` maps callee texts (per crate) to bodies; two keys may share one body.  ``allocs`` is one
    numbering over all crates.  ``constants`` gives values of constants that rustc's text left as paths.

    ``tables`` are the allocations that are trait objects' tables, by ``Ty.key``; ``targets`` says of each function that
    calls through one which it may call (:mod:`mirgen.analysis.objects`).
    """

    kernels: tuple[Kernel, ...]
    functions: dict[FnKey, Body]
    allocs: dict[int, Alloc]
    constants: dict[FnKey, Operand]
    target: str
    compiler: str
    tables: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    targets: dict[FnKey, frozenset[FnKey]] = field(default_factory=dict[FnKey, frozenset[FnKey]])
