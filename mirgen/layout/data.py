"""Layouts as data, as rustc computed them.  Sizes, alignments and offsets are in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mirgen.mir.ty import TyBase


@dataclass(frozen=True, slots=True)
class Scalar:
    """``primitive``: ``i8``..``i128``, ``f16``..``f128`` or ``pointer``.  The inclusive valid range may wrap."""

    primitive: str
    signed: bool
    initialized: bool
    valid_start: int
    valid_end: int

    @property
    def size(self) -> int:
        return 8 if self.primitive == "pointer" else int(self.primitive[1:]) // 8

    @property
    def is_bool(self) -> bool:
        """Whether rustc's code generator holds this scalar as one bit (``0..=1``)."""
        return self.primitive == "i8" and (self.valid_start, self.valid_end) == (0, 1) and not self.signed


@dataclass(frozen=True, slots=True)
class ReprScalar:
    value: Scalar


@dataclass(frozen=True, slots=True)
class ReprPair:
    """``second_offset`` is where the second scalar lies: ``first.size`` rounded up to the second's alignment."""

    first: Scalar
    second: Scalar
    second_offset: int


@dataclass(frozen=True, slots=True)
class ReprVector:
    element: Scalar
    count: int


@dataclass(frozen=True, slots=True)
class ReprMemory:
    sized: bool


BackendRepr: TypeAlias = ReprScalar | ReprPair | ReprVector | ReprMemory


@dataclass(frozen=True, slots=True)
class FieldsPrimitive:
    pass


@dataclass(frozen=True, slots=True)
class FieldsUnion:
    count: int


@dataclass(frozen=True, slots=True)
class FieldsArray:
    stride: int
    count: int


@dataclass(frozen=True, slots=True)
class FieldsArbitrary:
    """Offsets in declaration order."""

    offsets: tuple[int, ...]


Fields: TypeAlias = FieldsPrimitive | FieldsUnion | FieldsArray | FieldsArbitrary


@dataclass(frozen=True, slots=True)
class TagNiche:
    """``niche_start`` is the tag of variant ``niche_first``; every other tag value means ``untagged_variant``."""

    untagged_variant: int
    niche_first: int
    niche_last: int
    niche_start: int


@dataclass(frozen=True, slots=True)
class VariantsEmpty:
    pass


@dataclass(frozen=True, slots=True)
class VariantsSingle:
    index: int


@dataclass(frozen=True, slots=True)
class VariantsMultiple:
    """``niche`` is ``None`` for a direct tag, which then holds the variant's discriminant."""

    tag: Scalar
    tag_offset: int
    niche: TagNiche | None
    variants: tuple[Layout, ...]


Variants: TypeAlias = VariantsEmpty | VariantsSingle | VariantsMultiple


@dataclass(frozen=True, slots=True)
class VariantName:
    name: str
    discriminant: int


@dataclass(frozen=True, slots=True)
class Layout:
    """``names`` lists an enum's variants in index order, ``None`` for other types.

    ``needs_drop``: whether dropping a value may run code; ``None`` where that was not asked (a variant's layout).
    """

    size: int
    align: int
    repr: BackendRepr
    fields: Fields
    variants: Variants
    uninhabited: bool
    names: tuple[VariantName, ...] | None = None
    needs_drop: bool | None = None


#: Layouts by ``Ty.key``: (crate that printed the type, rustc's text).
LayoutTable: TypeAlias = Mapping[tuple[str, str], Layout]


class MissingLayoutError(KeyError):
    """No layout for a type; the caller turns it into an error with span and chain."""

    def __init__(self, ty: TyBase) -> None:
        super().__init__(ty.text)
        self.ty = ty
