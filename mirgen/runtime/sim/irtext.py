"""Pieces of LLVM IR text that the native parts share: addresses and loads of structure fields."""

from __future__ import annotations

import ctypes


def field(struct: type[ctypes.Structure], name: str, pointer: str, as_: str) -> str:
    """An instruction that computes a field's address."""
    return f"  {as_} = getelementptr i8, ptr {pointer}, i64 {getattr(struct, name).offset}"


def load(struct: type[ctypes.Structure], name: str, pointer: str, as_: str, ty: str) -> str:
    return f"{field(struct, name, pointer, as_ + '.p')}\n  {as_} = load {ty}, ptr {as_}.p"


def store(struct: type[ctypes.Structure], pointer: str, prefix: str, **values: str) -> str:
    """Stores a typed value into each of some fields; their addresses are called by ``prefix`` and the field's name."""
    return "\n".join(
        f"{field(struct, name, pointer, prefix + name)}\n  store {value}, ptr {prefix}{name}"
        for name, value in values.items()
    )
