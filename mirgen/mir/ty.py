"""Types of MIR.  A type's identity is rustc's own text for it inside one crate; layouts are joined by that pair.

Equality and hashes use that identity alone, so a type is as cheap a dictionary key as a string, however deep it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True, eq=False)
class TyBase:
    """``text`` is rustc's spelling (regions erased) as printed while compiling ``crate``."""

    text: str
    crate: str = field(repr=False)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, TyBase) and self.text == other.text and self.crate == other.crate

    def __hash__(self) -> int:
        return hash((self.text, self.crate))

    @property
    def key(self) -> tuple[str, str]:
        """The key under which the layout table holds this type."""
        return (self.crate, self.text)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, eq=False)
class IntTy(TyBase):
    """Signed or unsigned integer; ``bits`` is 64 for ``isize`` and ``usize``."""

    bits: int
    signed: bool


@dataclass(frozen=True, slots=True, eq=False)
class FloatTy(TyBase):
    bits: int


@dataclass(frozen=True, slots=True, eq=False)
class BoolTy(TyBase):
    pass


@dataclass(frozen=True, slots=True, eq=False)
class CharTy(TyBase):
    pass


@dataclass(frozen=True, slots=True, eq=False)
class StrTy(TyBase):
    pass


@dataclass(frozen=True, slots=True, eq=False)
class NeverTy(TyBase):
    pass


@dataclass(frozen=True, slots=True, eq=False)
class TupleTy(TyBase):
    elems: tuple[Ty, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PointerTy(TyBase):
    """A reference or raw pointer."""

    pointee: Ty
    mutable: bool
    is_ref: bool


@dataclass(frozen=True, slots=True, eq=False)
class ArrayTy(TyBase):
    """``length`` is ``None`` where rustc left it generic."""

    elem: Ty
    length: int | None


@dataclass(frozen=True, slots=True, eq=False)
class SliceTy(TyBase):
    elem: Ty


@dataclass(frozen=True, slots=True, eq=False)
class AdtTy(TyBase):
    """``args`` are the type arguments (const and region arguments are in ``text`` only)."""

    path: str
    args: tuple[Ty, ...]
    const_args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FnSig:
    inputs: tuple[Ty, ...]
    output: Ty
    abi: str
    unsafe: bool
    variadic: bool


@dataclass(frozen=True, slots=True, eq=False)
class FnPtrTy(TyBase):
    sig: FnSig


@dataclass(frozen=True, slots=True, eq=False)
class FnDefTy(TyBase):
    """The zero-sized type of the function ``path`` (rustc's callee text, generic arguments included)."""

    path: str
    sig: FnSig


@dataclass(frozen=True, slots=True, eq=False)
class ClosureTy(TyBase):
    path: str
    closure_kind: Literal["Fn", "FnMut", "FnOnce"] | None
    sig: FnSig | None
    upvars: tuple[Ty, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CoroutineTy(TyBase):
    """A coroutine, ``async fn`` or ``async`` block; ``path`` is that of the body that resumes it.

    Like an enum it has variants, its states; what it captured are fields beside them.
    """

    path: str
    upvars: tuple[Ty, ...]
    resume: Ty
    yields: Ty
    returns: Ty


@dataclass(frozen=True, slots=True, eq=False)
class DynTy(TyBase):
    """``dyn Trait``; only its metadata (a vtable pointer) matters to a code generator."""


@dataclass(frozen=True, slots=True, eq=False)
class UnsupportedTy(TyBase):
    """Generic parameters, projections, async closures, pattern types, .. : ``what`` is the wire's kind."""

    what: str


Ty: TypeAlias = (
    IntTy | FloatTy | BoolTy | CharTy | StrTy | NeverTy | TupleTy | PointerTy | ArrayTy | SliceTy | AdtTy | FnPtrTy
    | FnDefTy | ClosureTy | CoroutineTy | DynTy | UnsupportedTy
)  # fmt: skip


def parts(ty: Ty) -> tuple[Ty, ...]:
    """The types that ``ty`` is directly made of, signatures and generic arguments included."""
    match ty:
        case TupleTy(elems=inside) | AdtTy(args=inside):
            return inside
        case PointerTy(pointee=one) | ArrayTy(elem=one) | SliceTy(elem=one):
            return (one,)
        case FnPtrTy(sig=sig) | FnDefTy(sig=sig):
            return (*sig.inputs, sig.output)
        case ClosureTy(sig=sig, upvars=upvars):
            return upvars if sig is None else (*upvars, *sig.inputs, sig.output)
        case CoroutineTy(upvars=upvars):
            return (*upvars, ty.resume, ty.yields, ty.returns)
        case _:
            return ()
