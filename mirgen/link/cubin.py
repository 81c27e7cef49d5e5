"""What a cubin says of itself: its kernels, their registers, shared memory, stack and parameters."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass, field
from typing import Any

from mirgen.errors import ToolError
from mirgen.link.arch import Arch

# Attributes of the sections .nv.info and .nv.info.<kernel>; names as NVIDIA's tools print them.
_EIATTR_FRAME_SIZE = 0x11
_EIATTR_KPARAM_INFO = 0x17
_EIATTR_REGCOUNT = 0x2F
_EIATTR_KPARAM_INFO_V2 = 0x45
_EIFMT_SVAL = 4

#: The bit of a symbol's st_other that marks a kernel.
_STO_CUDA_ENTRY = 0x10


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What one kernel takes: registers per thread; ``shared`` (static) per block, ``stack`` and spills per thread, in
    bytes; ``params`` are offset and size in bytes of each parameter as the assembler sees it."""

    name: str
    registers: int
    shared: int
    stack: int
    spill_stores: int
    spill_loads: int
    barriers: int
    code_bytes: int
    params: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Cubin:
    """An assembled program for one architecture; ``tool`` made it, ``log`` is what that said."""

    data: bytes
    arch: Arch
    tool: str
    kernels: dict[str, KernelResources]
    log: str = ""
    seconds: float = 0.0
    tools: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def entries(self) -> tuple[str, ...]:
        """The kernels' names."""
        return tuple(self.kernels)


@dataclass(frozen=True, slots=True)
class ElfKernel:
    """The part of `KernelResources` that stands in the ELF file."""

    name: str
    registers: int
    stack: int
    code_bytes: int
    params: tuple[tuple[int, int], ...]


def _attributes(data: bytes) -> list[tuple[int, bytes]]:
    """The (attribute, value) pairs of an .nv.info section."""
    found: list[tuple[int, bytes]] = []
    position = 0
    while position + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, position)
        position += 4
        if form == _EIFMT_SVAL:
            found.append((attribute, data[position : position + size]))
            position += size
        else:
            found.append((attribute, struct.pack("<H", size)))
    return found


def _params(attributes: list[tuple[int, bytes]]) -> tuple[tuple[int, int], ...]:
    """Offset and size of each parameter, in order."""
    params: list[tuple[int, int, int]] = []
    for attribute, value in attributes:
        if attribute == _EIATTR_KPARAM_INFO:
            _, ordinal, offset, packed = struct.unpack("<IHHI", value)
            params.append((ordinal, offset, packed >> 18))
        elif attribute == _EIATTR_KPARAM_INFO_V2:
            _, ordinal, offset, _, _, size = struct.unpack("<IHHHHI", value[:16])
            params.append((ordinal, offset, size))
    return tuple((offset, size) for _, offset, size in sorted(params))


def read_elf(data: bytes, tool: str) -> dict[str, ElfKernel]:
    """The kernels of a cubin by name; ToolError (of ``tool``, which made it) when it is not a cubin."""
    # Here, so that tool discovery runs where nothing is installed.
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        elf: Any = ELFFile(io.BytesIO(data))
        sections: list[Any] = list(elf.iter_sections())
        by_name: dict[str, Any] = {section.name: section for section in sections}
        table: Any = by_name[".symtab"]
        raw: bytes = table.data()
        symbols: list[str] = [symbol.name for symbol in table.iter_symbols()]
        others = raw[5::24]
        registers: dict[int, int] = {}
        stacks: dict[int, int] = {}
        for attribute, value in _attributes(by_name[".nv.info"].data() if ".nv.info" in by_name else b""):
            if attribute in (_EIATTR_REGCOUNT, _EIATTR_FRAME_SIZE):
                index, number = struct.unpack("<II", value)
                (registers if attribute == _EIATTR_REGCOUNT else stacks)[index] = number
        kernels: dict[str, ElfKernel] = {}
        for index, name in enumerate(symbols):
            if not others[index] & _STO_CUDA_ENTRY:
                continue
            info = by_name[f".nv.info.{name}"].data() if f".nv.info.{name}" in by_name else b""
            kernels[name] = ElfKernel(
                name=name,
                registers=registers.get(index, 0),
                stack=stacks.get(index, 0),
                code_bytes=int(by_name[f".text.{name}"]["sh_size"]),
                params=_params(_attributes(info)),
            )
    except (ELFError, KeyError, struct.error) as error:
        raise ToolError(
            tool, f"its output is not a cubin that can be read ({type(error).__name__}: {error})"
        ) from error
    return kernels
