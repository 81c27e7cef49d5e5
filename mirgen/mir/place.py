"""Places, constants and operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from mirgen.mir.ty import Ty


@dataclass(frozen=True, slots=True)
class Deref:
    pass


@dataclass(frozen=True, slots=True)
class Field:
    index: int
    ty: Ty


@dataclass(frozen=True, slots=True)
class Downcast:
    """Selects an enum's variant by ``variant`` name, or by ``index`` where it has none."""

    variant: str | None
    index: int | None


@dataclass(frozen=True, slots=True)
class Index:
    local: int


@dataclass(frozen=True, slots=True)
class ConstantIndex:
    offset: int
    min_length: int
    from_end: bool


@dataclass(frozen=True, slots=True)
class Subslice:
    from_: int
    to: int
    from_end: bool


@dataclass(frozen=True, slots=True)
class OpaqueCast:
    kind: Literal["opaque_cast", "unwrap_binder"]
    ty: Ty


Projection: TypeAlias = Deref | Field | Downcast | Index | ConstantIndex | Subslice | OpaqueCast


@dataclass(frozen=True, slots=True)
class Place:
    local: int
    proj: tuple[Projection, ...] = ()


@dataclass(frozen=True, slots=True)
class ScalarConst:
    """``bits`` is the unsigned pattern, ``size`` its width in bytes."""

    ty: Ty
    bits: int
    size: int


@dataclass(frozen=True, slots=True)
class PointerConst:
    """``alloc`` is a key of :attr:`Program.allocs`."""

    ty: Ty
    alloc: int
    offset: int


@dataclass(frozen=True, slots=True)
class ZstConst:
    ty: Ty


@dataclass(frozen=True, slots=True)
class SliceConst:
    ty: Ty
    alloc: int
    meta: int


@dataclass(frozen=True, slots=True)
class IndirectConst:
    ty: Ty
    alloc: int
    offset: int


@dataclass(frozen=True, slots=True)
class UnevaluatedConst:
    """A path that rustc did not evaluate; the closure stage replaces it, else lowering refuses it."""

    path: str
    promoted: int | None
    ty: Ty | None

    @property
    def full_path(self) -> str:
        """The path, with the promoted constant's number."""
        return self.path if self.promoted is None else f"{self.path}::promoted[{self.promoted}]"


@dataclass(frozen=True, slots=True)
class TyConst:
    text: str
    ty: Ty | None


Const: TypeAlias = ScalarConst | PointerConst | ZstConst | SliceConst | IndirectConst | UnevaluatedConst | TyConst


@dataclass(frozen=True, slots=True)
class Copy:
    place: Place


@dataclass(frozen=True, slots=True)
class Move:
    place: Place


@dataclass(frozen=True, slots=True)
class Constant:
    const: Const


@dataclass(frozen=True, slots=True)
class RuntimeChecks:
    """A session flag of rustc: ``UbChecks``, ``ContractChecks``, ``OverflowChecks``."""

    check: str


Operand: TypeAlias = Copy | Move | Constant | RuntimeChecks
