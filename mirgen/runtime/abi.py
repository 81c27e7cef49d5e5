"""Kernels as the launcher sees them, whatever told it: a manifest, or lowering itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from mirgen.errors import InvalidInputError

ParamKind = Literal["scalar", "aggregate", "slice", "ref", "disjoint", "shared"]


class ParamSource(Protocol):
    """Fields that lowering's and the manifest's parameters have in common."""

    @property
    def name(self) -> str: ...
    @property
    def rust_type(self) -> str: ...
    @property
    def kind(self) -> ParamKind: ...
    @property
    def offset(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def align(self) -> int: ...
    @property
    def elem(self) -> str | None: ...
    @property
    def elem_size(self) -> int: ...
    @property
    def mutable(self) -> bool: ...


class KernelSource(Protocol):
    """Fields that lowering's and the manifest's kernels have in common."""

    @property
    def name(self) -> str: ...
    @property
    def params(self) -> Iterable[ParamSource]: ...
    @property
    def static_shared(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter; see :class:`mirgen.link.manifest.Param`.  Sizes and offsets in bytes."""

    name: str
    rust_type: str
    kind: ParamKind
    offset: int
    size: int
    align: int
    elem: str | None = None
    elem_size: int = 0
    mutable: bool = False

    @classmethod
    def of(cls, source: ParamSource) -> Param:
        """The same parameter."""
        return cls(
            source.name, source.rust_type, source.kind, source.offset, source.size, source.align, source.elem,
            source.elem_size, source.mutable,
        )  # fmt: skip

    @property
    def shown(self) -> str:
        """The type as users write it: rustc's text without erased lifetimes, the device library's types by the names
        that its prelude has for them."""
        without_paths = re.sub(r"\bmirgen_device::(?:\w+::)*", "", self.rust_type)
        return re.sub(r"<'(?:\{erased\}|_)>|'(?:\{erased\}|_),? ?", "", without_paths)

    @property
    def is_str(self) -> bool:
        """Whether the bytes have to be UTF-8."""
        return self.shown in ("&str", "&mut str")

    @property
    def is_argument(self) -> bool:
        """Whether a launch has to give a value."""
        return self.kind != "shared"


@dataclass(frozen=True, slots=True)
class Facts:
    """What a kernel says of its launches: only the first ``dimensions`` axes are used, blocks have shape ``block``."""

    dimensions: int = 3
    block: tuple[int, int, int] | None = None

    @classmethod
    def of(cls, facts: Mapping[str, int]) -> Facts:
        """From the manifest's form.  Raises :class:`InvalidInputError` for a fact that this launcher can't check."""
        known = {"dimensions", "block_x", "block_y", "block_z"}
        unknown = sorted(set(facts) - known)
        if unknown:
            raise InvalidInputError(f"the launch fact `{unknown[0]}` is not known: build with this version of mirgen")
        block = None
        if facts.keys() & {"block_x", "block_y", "block_z"}:
            block = (facts.get("block_x", 1), facts.get("block_y", 1), facts.get("block_z", 1))
        return cls(facts.get("dimensions", 3), block)


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """One kernel: ``name`` as users call it, ``symbol`` as generated code does."""

    name: str
    params: tuple[Param, ...]
    static_shared: int = 0
    symbol: str = ""
    facts: Facts = field(default_factory=Facts)

    @classmethod
    def of(cls, source: KernelSource, symbol: str = "", facts: Facts | None = None) -> KernelSpec:
        """The same kernel."""
        params = tuple(Param.of(param) for param in source.params)
        return cls(source.name, params, source.static_shared, symbol or source.name, facts or Facts())

    @property
    def arguments(self) -> tuple[Param, ...]:
        """The parameters that a launch gives values for, in order."""
        return tuple(param for param in self.params if param.is_argument)

    @property
    def block_size(self) -> int:
        """Bytes of the packed parameter block."""
        return max((param.offset + param.size for param in self.arguments), default=0)

    @property
    def signature(self) -> str:
        """As in Rust: ``saxpy(a: f32, x: &[f32], y: Disjoint<[f32]>)``."""
        return f"{self.name}({', '.join(f'{param.name}: {param.shown}' for param in self.params)})"
