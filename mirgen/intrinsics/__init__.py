"""The registry of intrinsics: every function that has no body and yet a meaning.

``core::intrinsics::*`` (``std::intrinsics::*``) and the device crate's reserved ``__mirgen_*`` externs.
:func:`lookup` is what lowering asks; :func:`is_intrinsic` is for whoever only wants to know.
``python -m mirgen.intrinsics --table`` prints what is supported.
"""

from __future__ import annotations

from functools import lru_cache

from mirgen.intrinsics import atomics, calls, control, floats, gpu, heap, ints, memory, pointers
from mirgen.intrinsics.registry import Intrinsic, Table, refusal
from mirgen.lower.callsite import Handler
from mirgen.lower.panic import strip_generics

_MODULES = ("core::intrinsics::", "std::intrinsics::")
#: Where ``alloc`` declares what an allocator has to bring.
_ALLOCATOR = ("alloc::alloc", "std::alloc", "alloc")


@lru_cache(maxsize=1)
def core_table() -> Table:
    """Entries of ``core::intrinsics`` by name."""
    entries: dict[str, Intrinsic] = {}
    for part in (ints, floats, memory, pointers, control, calls, atomics):
        for name, entry in part.table().items():
            if name in entries:
                raise AssertionError(f"two entries for {name}")
            entries[name] = entry
    return entries


@lru_cache(maxsize=1)
def device_table() -> Table:
    """Entries of the device crate's reserved externs by name."""
    return gpu.table()


@lru_cache(maxsize=1)
def heap_table() -> Table:
    """Entries of the functions that an allocator has to bring, by name."""
    return heap.table()


def find(path: str) -> Intrinsic | None:
    """The entry for a callee's text; ``None`` where it is no intrinsic.

    A name in ``core::intrinsics`` that the registry does not know gets an entry that refuses it.
    """
    plain = strip_generics(path)
    name = plain.rpartition("::")[2]
    if name.startswith(gpu.RESERVED):
        return device_table().get(name) or gpu.find(name)
    if name in heap_table() and plain.rpartition("::")[0] in _ALLOCATOR:
        return heap_table()[name]
    module = next((prefix for prefix in _MODULES if plain.startswith(prefix)), None)
    if module is None:
        return None
    if name.startswith("simd_") or plain.startswith(f"{module}simd::"):
        return control.SIMD
    return core_table().get(name) or refusal("MG0370", "mirgen does not know this intrinsic")


def lookup(path: str) -> Handler | None:
    """The handler for a callee's text with generic arguments; ``None`` where it is no intrinsic."""
    entry = find(path)
    return None if entry is None else entry.handler


def is_intrinsic(path: str) -> bool:
    """Whether a callee's text names an intrinsic, supported or refused."""
    return find(path) is not None
