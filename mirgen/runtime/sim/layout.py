"""Native structures that the scheduler (LLVM IR) and the worker (ctypes) share.  x86-64 and AArch64 Linux."""

from __future__ import annotations

import ctypes as c
from typing import Final

from mirgen.targets.host_abi import MAX_WORDS

#: Operating system threads that can run blocks at once.
MAX_SLOTS: Final = 64
#: Arrays of one launch whose addresses a fault is compared with.
MAX_ARRAYS: Final = 64
#: A site that is no barrier: the thread has left the kernel.
EXITED: Final = 0xFFFF_FFFF
#: Threads in a block, as CUDA limits them.
MAX_THREADS: Final = 1024
JUMP_BUFFER: Final = 512
#: Bytes of strings and slices that a panic's report holds.
MAX_TEXT: Final = 4096
#: Bytes of stack of a thread that runs blocks; a kernel's own stack frames lie there.
STACK_SIZE: Final = 64 << 20

# Report.kind
NOTHING, PANIC, DIVERGENT, SIGNAL, TRAP, HEAP = range(6)

# Report.site of HEAP, which a and b explain: no piece of the heap (address); given back before (address, size); as of
# another size or alignment (allocated, given back)
HEAP_FOREIGN, HEAP_TWICE, HEAP_OTHER_SIZE, HEAP_OTHER_ALIGN = range(4)

FORWARD, REVERSE, RANDOM = range(3)


class Block(c.Structure):
    """What lies before every piece of the simulator's heap.  ``start`` is libc's address of it all, ``total`` its size;
    ``next`` leads through those that wait to be given back."""

    _fields_ = (
        ("state", c.c_uint64),
        ("size", c.c_uint64),
        ("align", c.c_uint64),
        ("start", c.c_void_p),
        ("total", c.c_uint64),
        ("next", c.c_void_p),
    )


class Context(c.Structure):
    """What a kernel's hidden parameter points at: one for each thread of the block."""

    _fields_ = (
        ("tid", c.c_uint32 * 3),
        ("ntid", c.c_uint32 * 3),
        ("ctaid", c.c_uint32 * 3),
        ("nctaid", c.c_uint32 * 3),
        ("shared", c.c_void_p),
        ("runtime", c.c_void_p),
        ("dynamic_shared", c.c_uint32),
        ("wait_site", c.c_uint32),
        ("thread", c.c_uint32),
        ("reserved", c.c_uint32),
    )


class Report(c.Structure):
    """The first thing that went wrong.  Lives in memory that outlives the worker process.

    ``block`` and ``thread`` are linear; ``published`` is set last.  For a signal, ``slot`` says which operating
    system thread it hit, ``code`` is x86's page fault code.  A panic has two numbers in ``a`` and ``b``, or ``count``
    words; the bytes at those that are addresses lie in ``text`` one after the other, as far as there is room.
    """

    _fields_ = (
        ("kind", c.c_uint32),
        ("site", c.c_uint32),
        ("a", c.c_uint64),
        ("b", c.c_uint64),
        ("block", c.c_uint64),
        ("thread", c.c_uint32),
        ("other_thread", c.c_uint32),
        ("other_site", c.c_uint32),
        ("signal", c.c_uint32),
        ("address", c.c_uint64),
        ("ip", c.c_uint64),
        ("stack", c.c_uint64),
        ("published", c.c_uint32),
        ("slot", c.c_uint32),
        ("code", c.c_uint64),
        ("count", c.c_uint32),
        ("text_size", c.c_uint32),
        ("words", c.c_uint64 * MAX_WORDS),
        ("text", c.c_uint8 * MAX_TEXT),
    )


class Status(c.Structure):
    """Where one operating system thread is, for a parent that finds its worker dead or stuck."""

    _fields_ = (
        ("self", c.c_uint64),
        ("block", c.c_uint64),
        ("thread", c.c_uint32),
        ("active", c.c_uint32),
        ("stack", c.c_uint64),
    )


class Region(c.Structure):
    """Where an array of the launch, or a block's shared memory, lies in the worker: to explain a fault's address."""

    _fields_ = (("start", c.c_uint64), ("end", c.c_uint64))


class StatusPage(c.Structure):
    """``arrays`` are the launch's pointers in order; ``shared`` is per slot.  ``end`` is 0 where there is none."""

    _fields_ = (
        ("report", Report),
        ("slots", Status * MAX_SLOTS),
        ("arrays", Region * MAX_ARRAYS),
        ("shared", Region * MAX_SLOTS),
    )


class Launch(c.Structure):
    """One launch.  Block ``i`` in the order of execution is number ``(i * mul + add) % blocks``."""

    _fields_ = (
        ("entry", c.c_void_p),
        ("args", c.c_void_p),
        ("blocks", c.c_uint64),
        ("next", c.c_uint64),
        ("mul", c.c_uint64),
        ("add", c.c_uint64),
        ("seed", c.c_uint64),
        ("ntid", c.c_uint32 * 3),
        ("nctaid", c.c_uint32 * 3),
        ("threads", c.c_uint32),
        ("schedule", c.c_uint32),
        ("stop", c.c_uint32),
        ("coroutine", c.c_uint32),
        ("report", c.c_void_p),
    )


class Slot(c.Structure):
    """State of one operating system thread that runs blocks."""

    _fields_ = (
        ("launch", c.c_void_p),
        ("contexts", c.c_void_p),
        ("handles", c.c_void_p),
        ("order", c.c_void_p),
        ("shared", c.c_void_p),
        ("shared_size", c.c_uint64),
        ("arena", c.c_void_p),
        ("arena_size", c.c_uint64),
        ("arena_used", c.c_uint64),
        ("status", c.c_void_p),
        ("random", c.c_uint64),
        ("block", c.c_uint64),
        ("dynamic_shared", c.c_uint32),
        ("reserved", c.c_uint32),
        ("jump", c.c_uint8 * JUMP_BUFFER),
    )
