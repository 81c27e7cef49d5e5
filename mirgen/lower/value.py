"""The three forms of a value, and places: the only things that travel between the files of this package.

Every pointer is ``i8*`` in LLVM; the pointee's type appears only at a load, store or call.  A scalar whose layout
``is_bool`` is held as ``i1`` and stored as ``i8``, as rustc does (``types.llvm_immediate`` and ``types.llvm_memory``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from llvmlite import ir

from mirgen.layout.data import Layout, ReprMemory, ReprPair, ReprScalar
from mirgen.mir.ty import Ty


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value whose layout is one scalar; ``value`` is an immediate (``i1`` where the layout ``is_bool``)."""

    value: ir.Value
    layout: Layout


@dataclass(frozen=True, slots=True)
class Pair:
    """A value whose layout is a scalar pair (wide pointers, ``Option<u32>``, ``(u8, f32)``): two immediates."""

    first: ir.Value
    second: ir.Value
    layout: Layout


@dataclass(frozen=True, slots=True)
class Memory:
    """A value that lies at ``ptr`` (``i8*``), aligned to ``align`` bytes, and stays unchanged while it is in use.

    Zero-sized values are ``Memory`` too: their ``ptr`` is never read.
    """

    ptr: ir.Value
    layout: Layout
    align: int


Value: TypeAlias = Scalar | Pair | Memory


@dataclass(frozen=True, slots=True)
class Place:
    """Memory of type ``ty`` at ``ptr`` (``i8*``), known to be aligned to ``align`` bytes.

    ``meta`` is the length of an unsized place (``[T]``, ``str``).  ``variant`` is the index of the enum's variant
    that a downcast selected; ``layout`` is then that variant's layout while ``ty`` stays the enum.
    """

    ptr: ir.Value
    layout: Layout
    ty: Ty
    align: int
    meta: ir.Value | None = None
    variant: int | None = None


def is_zst(layout: Layout) -> bool:
    """Whether values of ``layout`` occupy no memory (an unsized layout is not zero-sized)."""
    return layout.size == 0 and not is_unsized(layout)


def is_unsized(layout: Layout) -> bool:
    """Whether the layout's size is known only at run time."""
    return isinstance(layout.repr, ReprMemory) and not layout.repr.sized


def is_memory_form(layout: Layout) -> bool:
    """Whether a value of ``layout`` has the form :class:`Memory`."""
    return is_zst(layout) or not isinstance(layout.repr, ReprScalar | ReprPair)
