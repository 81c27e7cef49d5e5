"""`manifest.json`: what a build made, for whom it is, and how to launch it.

    target/mirgen/<profile>/<crate>/manifest.json

Paths in it are relative to its folder.  The format has a version; a file of another one is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Protocol, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mirgen.errors import InvalidInputError
from mirgen.link.cubin import Cubin
from mirgen.link.files import write_atomic

#: The format's version; a change of meaning raises it.
MANIFEST_VERSION = 1

MANIFEST_NAME = "manifest.json"

ParamKind = Literal["scalar", "aggregate", "slice", "ref", "disjoint", "shared"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ParamSource(Protocol):
    """What lowering says of one kernel parameter (`mirgen.targets.base.KernelParam`)."""

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


class Param(_Model):
    """One kernel parameter.  ``offset``, ``size`` and ``align`` in bytes in the packed parameter block.

    ``rust_type`` and ``elem`` are types as users read them.  ``slice`` and ``disjoint`` are a pointer and an element
    count of 8 bytes each, ``ref`` is a pointer, ``shared`` takes no argument (``elem_size`` is its bytes per block).
    """

    name: str
    rust_type: str
    kind: ParamKind
    offset: int = Field(ge=0)
    size: int = Field(ge=0)
    align: int = Field(ge=1)
    elem: str | None
    elem_size: int = Field(ge=0)
    mutable: bool

    @classmethod
    def of(cls, source: ParamSource) -> Param:
        """The manifest's form of lowering's parameter."""
        return cls(
            name=source.name,
            rust_type=source.rust_type,
            kind=source.kind,
            offset=source.offset,
            size=source.size,
            align=source.align,
            elem=source.elem,
            elem_size=source.elem_size,
            mutable=source.mutable,
        )


class Span(_Model):
    """A place in a source file, 1-based."""

    file: str
    line: int = Field(ge=1)
    col: int = Field(ge=1)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col}"


class Panic(_Model):
    """One place in the program that can panic; device code reports its ``index``.

    ``message`` is a Rust format string over values of the kinds ``args``: Rust types without references, or ``?`` and
    the type where the value is not shown.
    """

    index: int = Field(ge=0)
    message: str
    span: Span | None = None
    args: tuple[str, ...] = ()


class Kernel(_Model):
    """One kernel: ``symbol`` is its name in PTX and cubin, ``path`` its Rust path.

    ``static_shared`` is the bytes of block memory of its ``Shared`` parameters; ``facts`` are what it says of its
    launches, such as ``{"grid_1d": 1}``.
    """

    name: str
    symbol: str
    path: str
    params: tuple[Param, ...]
    static_shared: int = Field(ge=0)
    facts: dict[str, int] = Field(default_factory=dict)
    span: Span | None = None


class Resources(_Model):
    """What a kernel takes on one architecture: registers, stack and spill bytes per thread, shared bytes per block."""

    registers: int
    shared: int
    stack: int
    spill_stores: int
    spill_loads: int
    barriers: int


class Artifact(_Model):
    """What was made for one architecture: files by kind (``ll``, ``ptx``, ``cubin``), resources by symbol."""

    arch: str
    codegen: Literal["llvm", "nvvm"]
    assembler: Literal["ptxas", "nvjitlink"] | None
    files: dict[str, str]
    resources: dict[str, Resources]

    @staticmethod
    def resources_of(cubin: Cubin) -> dict[str, Resources]:
        """The manifest's form of a cubin's resources."""
        return {
            name: Resources(
                registers=kernel.registers,
                shared=kernel.shared,
                stack=kernel.stack,
                spill_stores=kernel.spill_stores,
                spill_loads=kernel.spill_loads,
                barriers=kernel.barriers,
            )
            for name, kernel in cubin.kernels.items()
        }


class Manifest(_Model):
    """The whole file.  ``files`` are those for no particular architecture (``mir.json``, ``host.ll``, ``fatbin``);
    ``panic`` is what GPU code does when it panics."""

    version: Literal[1] = MANIFEST_VERSION
    mirgen: str
    crate_name: str
    crate_version: str
    profile: str
    target: str
    rustc: str
    tools: dict[str, str]
    kernels: tuple[Kernel, ...]
    panics: tuple[Panic, ...] = ()
    panic: Literal["message", "code", "trap"] = "trap"
    files: dict[str, str] = Field(default_factory=dict)
    artifacts: tuple[Artifact, ...]

    def kernel(self, name: str) -> Kernel:
        """The kernel called ``name``; InvalidInputError lists those there are."""
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        have = ", ".join(sorted(kernel.name for kernel in self.kernels)) or "none"
        raise InvalidInputError(f"no kernel `{name}` in crate {self.crate_name} (it has: {have})")

    def artifact(self, arch: str) -> Artifact:
        """What was made for ``arch``; InvalidInputError lists the architectures there are."""
        for artifact in self.artifacts:
            if artifact.arch == arch:
                return artifact
        have = ", ".join(artifact.arch for artifact in self.artifacts) or "none"
        raise InvalidInputError(f"crate {self.crate_name} was not built for {arch} (it was for: {have})")


def write_manifest(manifest: Manifest, folder: Path) -> Path:
    """Write ``manifest`` as ``folder``/manifest.json, whole or not at all; the path of the file."""
    path = folder / MANIFEST_NAME
    write_atomic(path, (manifest.model_dump_json(indent=2) + "\n").encode())
    return path


def load_manifest(path: Path) -> Manifest:
    """The manifest in the file ``path``, or in ``path``/manifest.json.

    Raises InvalidInputError: no such file, another version, not a manifest, a file it names is gone or outside.
    """
    file = path / MANIFEST_NAME if path.is_dir() else path
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"cannot be read: {error.strerror}", str(file)) from None
    try:
        raw = cast("object", json.loads(data))
    except ValueError as error:
        raise InvalidInputError(f"is not JSON: {error}", str(file)) from None
    version = cast("dict[str, object]", raw).get("version") if isinstance(raw, dict) else None
    if version != MANIFEST_VERSION:
        what = f"is a manifest of version {version}, this mirgen reads version {MANIFEST_VERSION}: build again"
        raise InvalidInputError(what, str(file))
    try:
        manifest = Manifest.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidInputError(f"{place}: {first['msg']}", str(file)) from None
    names = [*manifest.files.values(), *(name for artifact in manifest.artifacts for name in artifact.files.values())]
    _check_files(file, names)
    return manifest


def _check_files(manifest: Path, names: Iterable[str]) -> None:
    folder = manifest.parent.resolve()
    for name in names:
        target = (folder / name).resolve()
        if not target.is_relative_to(folder):
            raise InvalidInputError(f"names a file outside its folder: {name}", str(manifest))
        if not target.is_file():
            raise InvalidInputError(f"the artifact {name} is gone: build again", str(manifest))
