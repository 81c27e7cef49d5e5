"""Volatile loads and stores, which llvmlite's builder does not have."""

from __future__ import annotations

from typing import Any

from llvmlite import ir


def load(b: ir.IRBuilder, ptr: ir.Value, align: int) -> ir.Value:
    """One volatile load through a typed pointer."""
    return _volatile(b.load(ptr, align=align), "load")


def store(b: ir.IRBuilder, value: ir.Value, ptr: ir.Value, align: int) -> None:
    """One volatile store through a typed pointer."""
    _volatile(b.store(value, ptr, align=align), "store")


def _volatile(instruction: ir.Instruction, operation: str) -> ir.Instruction:
    """Makes the instruction print itself as volatile."""
    printed: Any = instruction
    plain = printed.descr

    def descr(buf: list[str]) -> None:
        text: list[str] = []
        plain(text)
        buf.append("".join(text).replace(operation, f"{operation} volatile", 1))

    printed.descr = descr
    return instruction
