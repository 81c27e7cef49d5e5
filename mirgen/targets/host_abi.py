"""What host code and the simulator that runs it agree on: names, and the context's fields (offsets in bytes)."""

from __future__ import annotations

from typing import Final

#: ``void (i8* ctx, i32 site)``: the marker of a barrier; the simulator turns it into a suspension.
BARRIER: Final = "__mirgen_sim_barrier"
#: ``void (i8* ctx, i32 site, i64 a, i64 b)``, never returns: a panic with at most two numbers.
PANIC: Final = "__mirgen_panic"
#: ``void (i8* ctx, i32 site, i64* words, i32 count, i64 texts)``, never returns: a panic.  Where a bit of ``texts`` is
#: set, the word of its number is an address, of as many bytes as the next word says.
PANIC_WORDS: Final = "__mirgen_panic_words"
#: The kind of a panic's value that is no part of its message, but the place that its caller gave; it comes first.
PLACE: Final = "@"
#: Most words that a panic takes.
MAX_WORDS: Final = 32
#: ``void (i8* ctx)``, never returns: a trap without a message.
TRAP: Final = "__mirgen_sim_trap"
#: ``i8* (i8* ctx, i64 size, i64 align)``: memory for a coroutine's frame, from the block's arena.
FRAME: Final = "__mirgen_sim_frame"
#: Rust's allocation functions, with the context before their own parameters (pointers, ``i64`` sizes and alignments).
HEAP: Final = {op: f"__mirgen_sim_{op}" for op in ("alloc", "alloc_zeroed", "dealloc", "realloc")}
#: Bytes of JSON: for each site in order its message, ``file:line:col`` or null, and the kinds of its values.
SITES: Final = "__mirgen_sites"
#: ``double (double, double, double, i32 op, i32 mode)`` and ``float`` with ``f``: arithmetic rounded otherwise.
ROUNDED: Final = "__mirgen_sim_rounded"

#: What precedes a kernel's name in its symbol, so that a kernel called `exp` is not taken for libm's.
ENTRY: Final = "mirgen.kernel."

#: Fields of the context.  Three ``u32`` each, in the order x y z.
REGISTERS: Final = {"tid": 0, "ntid": 12, "ctaid": 24, "nctaid": 36}
#: Address of the block's shared memory: static part first.
SHARED: Final = 48
#: ``u32``: bytes of shared memory that the launch adds behind the static part, which is rounded up to 16.
DYNAMIC_SHARED: Final = 64
#: ``u32``: the site at which the thread waits.
WAIT_SITE: Final = 68

#: Operations of :data:`ROUNDED`.
ROUNDED_OPS: Final = {"add": 0, "sub": 1, "mul": 2, "div": 3, "rcp": 4, "sqrt": 5, "fma": 6}
#: Modes of :data:`ROUNDED`, by libdevice's suffix.
ROUNDED_MODES: Final = {"rn": 0, "rd": 1, "ru": 2, "rz": 3}

_LAYOUTS: Final = {
    "x86_64": "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128",
    "aarch64": "e-m:e-p270:32:32-p271:32:32-p272:64:64-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32",
}


def triple(machine: str) -> str:
    """LLVM's triple for Linux on ``machine`` (:func:`platform.machine`)."""
    return f"{machine}-unknown-linux-gnu"


def data_layout(machine: str) -> str:
    """LLVM 22's data layout for Linux on ``machine``; raises ``KeyError`` for a machine that the simulator lacks."""
    return _LAYOUTS[machine]
