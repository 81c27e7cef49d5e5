"""Joins what the ELF file and the assembler's log say of each kernel."""

from __future__ import annotations

from mirgen.errors import InternalError
from mirgen.link.cubin import KernelResources, read_elf
from mirgen.link.ptxas_log import read_log


def join_resources(data: bytes, log: str, tool: str) -> dict[str, KernelResources]:
    """Every kernel of the cubin ``data``; the log must tell of each of them, and of no more registers."""
    told = read_log(log)
    kernels: dict[str, KernelResources] = {}
    for name, elf in read_elf(data, tool).items():
        line = told.get(name)
        if line is None:
            raise InternalError(f"{tool} says nothing of the kernel `{name}` that it assembled:\n{log}")
        # What a kernel calls counts in the cubin only.
        if line.registers > elf.registers:
            raise InternalError(f"{tool} counts {line.registers} registers for `{name}`, the cubin {elf.registers}")
        kernels[name] = KernelResources(
            name=name,
            registers=elf.registers,
            # Not the ELF section, which from sm_90 on counts the 1 KiB that the system keeps for itself.
            shared=line.shared,
            stack=max(elf.stack, line.stack),
            spill_stores=line.spill_stores,
            spill_loads=line.spill_loads,
            barriers=line.barriers,
            code_bytes=elf.code_bytes,
            params=elf.params,
        )
    return kernels
