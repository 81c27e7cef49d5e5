"""The simulator's heap, as LLVM IR text: Rust's allocation functions over libc's, which know what they gave out.

Memory that is given back stays where it is for a while, filled with ones: whoever frees it again is found out, and
whoever still reads it reads no data of others.  Freeing what was never allocated, or as of another size or alignment
than it was allocated with, is reported too.
"""

from __future__ import annotations

import ctypes as c
from typing import Final

from mirgen.runtime.sim import layout as n
from mirgen.runtime.sim.irtext import field, load, store
from mirgen.runtime.sim.reports import stop_ir
from mirgen.targets.host_abi import HEAP

#: Bytes before each piece; its end is the :class:`Block`.
_HEADER: Final = 64
#: ``Block.state``.
_LIVE, _FREED = 0x6D69_7267_656E_4C69, 0x6D69_7267_656E_4672
#: Bytes that wait at most until libc has them back.
_KEPT: Final = 64 << 20


def heap_ir() -> str:
    """All of it."""
    return "\n".join((_globals(), _alloc(), _alloc_zeroed(), _checked(), _dealloc(), _retire(), _realloc()))


def _globals() -> str:
    return """
@mirgen_heap_lock = internal global i32 0
@mirgen_heap_first = internal global ptr null
@mirgen_heap_last = internal global ptr null
@mirgen_heap_kept = internal global i64 0
"""


def _block(pointer: str) -> str:
    return f"  %block = getelementptr i8, ptr {pointer}, i64 {-c.sizeof(n.Block)}"


def _alloc() -> str:
    known = {"size": "i64 %size", "align": "i64 %align", "start": "ptr %start", "total": "i64 %total"}
    return f"""
define ptr @{HEAP["alloc"]}(ptr %ctx, i64 %size, i64 %align) {{
  %small = icmp ult i64 %align, 16
  %up = select i1 %small, i64 16, i64 %align
  %room = add i64 %up, {_HEADER}
  %total = add i64 %size, %room
  %start = call ptr @malloc(i64 %total)
  %none = icmp eq ptr %start, null
  br i1 %none, label %out, label %found
found:
  %from = ptrtoint ptr %start to i64
  %past = add i64 %from, %room
  %mask = sub i64 0, %up
  %at = and i64 %past, %mask
  %ptr = inttoptr i64 %at to ptr
{_block("%ptr")}
{store(n.Block, "%block", "%b.", state=f"i64 {_LIVE}", **known)}
  call void @llvm.memset.p0.i64(ptr %ptr, i8 -1, i64 %size, i1 false)
  ret ptr %ptr
out:
  ret ptr null
}}
"""


def _alloc_zeroed() -> str:
    return f"""
define ptr @{HEAP["alloc_zeroed"]}(ptr %ctx, i64 %size, i64 %align) {{
  %ptr = call ptr @{HEAP["alloc"]}(ptr %ctx, i64 %size, i64 %align)
  %none = icmp eq ptr %ptr, null
  br i1 %none, label %out, label %found
found:
  call void @llvm.memset.p0.i64(ptr %ptr, i8 0, i64 %size, i1 false)
  br label %out
out:
  ret ptr %ptr
}}
"""


def _checked() -> str:
    """Reports what is no piece of the heap, or not the one that the caller takes it for."""

    def report(label: str, code: int, a: str, b: str) -> str:
        return f"{label}:\n  call void @mirgen_heap_misuse(ptr %ctx, i32 {code}, i64 {a}, i64 {b})\n  unreachable\n"

    return f"""
define internal void @mirgen_heap_misuse(ptr %ctx, i32 %site, i64 %a, i64 %b) noreturn {{
{stop_ir(n.HEAP)}
}}

define internal void @mirgen_heap_check(ptr %ctx, ptr %ptr, i64 %size, i64 %align) {{
  %address = ptrtoint ptr %ptr to i64
  %odd = and i64 %address, 15
  %even = icmp eq i64 %odd, 0
  %small = icmp ult i64 %address, 4096
  %bad = xor i1 %even, true
  %no = or i1 %bad, %small
  br i1 %no, label %foreign, label %look
look:
{_block("%ptr")}
{load(n.Block, "state", "%block", "%state", "i64")}
  %freed = icmp eq i64 %state, {_FREED}
  br i1 %freed, label %twice, label %not.freed
not.freed:
  %live = icmp eq i64 %state, {_LIVE}
  br i1 %live, label %known, label %foreign
known:
{load(n.Block, "size", "%block", "%known.size", "i64")}
{load(n.Block, "align", "%block", "%known.align", "i64")}
  %same.size = icmp eq i64 %size, %known.size
  br i1 %same.size, label %compare.align, label %other.size
compare.align:
  %same.align = icmp eq i64 %align, %known.align
  br i1 %same.align, label %out, label %other.align
out:
  ret void
{report("foreign", n.HEAP_FOREIGN, "%address", "0")}
{report("twice", n.HEAP_TWICE, "%address", "%size")}
{report("other.size", n.HEAP_OTHER_SIZE, "%known.size", "%size")}
{report("other.align", n.HEAP_OTHER_ALIGN, "%known.align", "%align")}
}}
"""


def _dealloc() -> str:
    return f"""
define void @{HEAP["dealloc"]}(ptr %ctx, ptr %ptr, i64 %size, i64 %align) {{
  call void @mirgen_heap_check(ptr %ctx, ptr %ptr, i64 %size, i64 %align)
{_block("%ptr")}
{field(n.Block, "state", "%block", "%state.p")}
  %was = cmpxchg ptr %state.p, i64 {_LIVE}, i64 {_FREED} acq_rel monotonic
  %mine = extractvalue {{ i64, i1 }} %was, 1
  br i1 %mine, label %retire, label %raced
raced:
  %address = ptrtoint ptr %ptr to i64
  call void @mirgen_heap_misuse(ptr %ctx, i32 {n.HEAP_TWICE}, i64 %address, i64 %size)
  unreachable
retire:
  call void @llvm.memset.p0.i64(ptr %ptr, i8 -1, i64 %size, i1 false)
  call void @mirgen_heap_retire(ptr %block)
  ret void
}}
"""


def _retire() -> str:
    return f"""
; Puts a block at the end of those that wait; the oldest go back to libc when they are too much.
define internal void @mirgen_heap_retire(ptr %block) {{
entry:
  br label %lock
lock:
  %held = atomicrmw xchg ptr @mirgen_heap_lock, i32 1 acquire
  %free = icmp eq i32 %held, 0
  br i1 %free, label %locked, label %lock
locked:
{field(n.Block, "next", "%block", "%next.p")}
  store ptr null, ptr %next.p
{load(n.Block, "total", "%block", "%total", "i64")}
  %last = load ptr, ptr @mirgen_heap_last
  %empty = icmp eq ptr %last, null
  br i1 %empty, label %only, label %behind
only:
  store ptr %block, ptr @mirgen_heap_first
  br label %kept
behind:
{field(n.Block, "next", "%last", "%last.next")}
  store ptr %block, ptr %last.next
  br label %kept
kept:
  store ptr %block, ptr @mirgen_heap_last
  %before = load i64, ptr @mirgen_heap_kept
  %now = add i64 %before, %total
  br label %head
head:
  %bytes = phi i64 [ %now, %kept ], [ %fewer, %release ]
  %much = icmp ugt i64 %bytes, {_KEPT}
  br i1 %much, label %release, label %unlock
release:
  %old = load ptr, ptr @mirgen_heap_first
{load(n.Block, "next", "%old", "%old.next", "ptr")}
{load(n.Block, "total", "%old", "%old.total", "i64")}
{load(n.Block, "start", "%old", "%old.start", "ptr")}
  store ptr %old.next, ptr @mirgen_heap_first
  %gone = icmp eq ptr %old.next, null
  %kept.last = load ptr, ptr @mirgen_heap_last
  %new.last = select i1 %gone, ptr null, ptr %kept.last
  store ptr %new.last, ptr @mirgen_heap_last
  call void @free(ptr %old.start)
  %fewer = sub i64 %bytes, %old.total
  br label %head
unlock:
  store i64 %bytes, ptr @mirgen_heap_kept
  store atomic i32 0, ptr @mirgen_heap_lock release, align 4
  ret void
}}
"""


def _realloc() -> str:
    return f"""
define ptr @{HEAP["realloc"]}(ptr %ctx, ptr %ptr, i64 %size, i64 %align, i64 %new) {{
  call void @mirgen_heap_check(ptr %ctx, ptr %ptr, i64 %size, i64 %align)
  %fresh = call ptr @{HEAP["alloc"]}(ptr %ctx, i64 %new, i64 %align)
  %none = icmp eq ptr %fresh, null
  br i1 %none, label %out, label %move
move:
  %less = icmp ult i64 %size, %new
  %kept = select i1 %less, i64 %size, i64 %new
  call void @llvm.memcpy.p0.p0.i64(ptr %fresh, ptr %ptr, i64 %kept, i1 false)
  call void @{HEAP["dealloc"]}(ptr %ctx, ptr %ptr, i64 %size, i64 %align)
  br label %out
out:
  ret ptr %fresh
}}
"""
