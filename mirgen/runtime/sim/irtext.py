"""Pieces of LLVM IR text that the native parts share: addresses and loads of structure fields."""

from __future__ import annotations

import ctypes


def field(struct: type[ctypes.Structure], name: str, pointer: str, as_: str) -> str:
    """An instruction that computes a field's address."""
    return f"  {as_} = getelementptr i8, ptr {pointer}, i64 {getattr(struct, name).offset}"


def load(struct: type[ctypes.Structure], name: str, pointer: str, as_: str, ty: str) -> str:
    return f"{field(struct, name, pointer, as_ + '.p')}\n  {as_} = load {ty}, ptr {as_}.p"
