"""Volatile loads and stores, which llvmlite's builder does not have."""

from __future__ import annotations

from llvmlite import ir
from llvmlite.ir.instructions import LoadInstr, StoreInstr


class _VolatileLoad(LoadInstr):
    def descr(self, buf: list[str]) -> None:
        plain: list[str] = []
        super().descr(plain)
        buf.append("".join(plain).replace("load ", "load volatile ", 1))


class _VolatileStore(StoreInstr):
    def descr(self, buf: list[str]) -> None:
        plain: list[str] = []
        super().descr(plain)
        buf.append("".join(plain).replace("store ", "store volatile ", 1))


def load(b: ir.IRBuilder, ptr: ir.Value, align: int) -> ir.Value:
    """One volatile load through a typed pointer."""
    instruction = _VolatileLoad(b.block, ptr)
    instruction.align = align
    b._insert(instruction)  # pyright: ignore[reportPrivateUsage]
    return instruction


def store(b: ir.IRBuilder, value: ir.Value, ptr: ir.Value, align: int) -> None:
    """One volatile store through a typed pointer."""
    instruction = _VolatileStore(b.block, value, ptr)
    instruction.align = align
    b._insert(instruction)  # pyright: ignore[reportPrivateUsage]
