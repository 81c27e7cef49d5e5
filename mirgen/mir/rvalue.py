"""Right-hand sides of assignments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from mirgen.mir.place import Operand, Place
from mirgen.mir.ty import Ty


@dataclass(frozen=True, slots=True)
class Use:
    operand: Operand


@dataclass(frozen=True, slots=True)
class Repeat:
    operand: Operand
    count: int | None


@dataclass(frozen=True, slots=True)
class Ref:
    borrow: Literal["shared", "mut", "fake"]
    place: Place


@dataclass(frozen=True, slots=True)
class RawPtr:
    mutable: bool
    place: Place


@dataclass(frozen=True, slots=True)
class ThreadLocalRef:
    path: str


#: mirgen's own kind of :class:`Cast`: the address of a function that only a panic's message names.  It is null.
NEVER_CALLED = "PointerCoercion(NeverCalled, Implicit)"


@dataclass(frozen=True, slots=True)
class Cast:
    """``cast`` is rustc's CastKind text, e.g. ``PointerCoercion(Unsize, Implicit)``."""

    cast: str
    operand: Operand
    ty: Ty


@dataclass(frozen=True, slots=True)
class BinaryOp:
    op: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class UnaryOp:
    op: Literal["Not", "Neg", "PtrMetadata"]
    operand: Operand


@dataclass(frozen=True, slots=True)
class Discriminant:
    place: Place


@dataclass(frozen=True, slots=True)
class CopyForDeref:
    place: Place


@dataclass(frozen=True, slots=True)
class ArrayAggregate:
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class TupleAggregate:
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class AdtAggregate:
    """Operands in declaration order.  For a union the single operand's field name may be wrong."""

    path: str
    variant: str | None
    fields: tuple[str, ...]
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class ClosureAggregate:
    """``location`` is the closure expression's span, or ``coroutine@`` and its span.

    ``complete`` is false where rustc's text lost captured operands and nothing restored them."""

    location: str
    operands: tuple[Operand, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class RawPtrAggregate:
    ty: Ty
    data: Operand
    meta: Operand


@dataclass(frozen=True, slots=True)
class WrapBinder:
    operand: Operand
    ty: Ty


Rvalue: TypeAlias = (
    Use | Repeat | Ref | RawPtr | ThreadLocalRef | Cast | BinaryOp | UnaryOp | Discriminant | CopyForDeref
    | ArrayAggregate | TupleAggregate | AdtAggregate | ClosureAggregate | RawPtrAggregate | WrapBinder
)  # fmt: skip
