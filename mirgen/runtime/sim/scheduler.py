"""The native scheduler, as LLVM IR text: runs blocks and switches between their threads.

``mirgen_run(slot)`` takes blocks from the launch until none is left (0) or something is reported (1).  Within a block,
every thread runs to its next barrier, in the order of the schedule; when all wait at one site, all go on.  Anything
else is a divergent barrier.  Nothing here calls back into Python.
"""

from __future__ import annotations

import ctypes as c

from mirgen.runtime.sim import layout as n
from mirgen.runtime.sim.heap import heap_ir
from mirgen.runtime.sim.irtext import field, load
from mirgen.runtime.sim.reports import reports_ir
from mirgen.runtime.sim.rounding import rounding_ir
from mirgen.targets.host_abi import FRAME

RUN = "mirgen_run"


def scheduler_ir() -> str:
    """The scheduler's module, for this machine."""
    return "\n".join(
        (
            _DECLARATIONS,
            _run(),
            _contexts(),
            _shuffle(),
            _frame(),
            rounding_ir(),
            reports_ir(),
            heap_ir(),
        )
    )


_DECLARATIONS = """
declare i32 @_setjmp(ptr) returns_twice
declare i64 @pthread_self()
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.coro.resume(ptr)
declare i1 @llvm.coro.done(ptr)
"""


def _run() -> str:
    return f"""
define i32 @{RUN}(ptr %slot) {{
entry:
{load(n.Slot, "launch", "%slot", "%launch", "ptr")}
{load(n.Slot, "contexts", "%slot", "%contexts", "ptr")}
{load(n.Slot, "handles", "%slot", "%handles", "ptr")}
{load(n.Slot, "order", "%slot", "%order", "ptr")}
{load(n.Slot, "shared", "%slot", "%shared", "ptr")}
{load(n.Slot, "shared_size", "%slot", "%shared_size", "i64")}
{load(n.Slot, "status", "%slot", "%status", "ptr")}
{load(n.Launch, "entry", "%launch", "%kernel", "ptr")}
{load(n.Launch, "args", "%launch", "%args", "ptr")}
{load(n.Launch, "blocks", "%launch", "%blocks", "i64")}
{load(n.Launch, "mul", "%launch", "%mul", "i64")}
{load(n.Launch, "add", "%launch", "%add", "i64")}
{load(n.Launch, "threads", "%launch", "%threads", "i32")}
{load(n.Launch, "schedule", "%launch", "%schedule", "i32")}
{load(n.Launch, "coroutine", "%launch", "%coroutine.i", "i32")}
{load(n.Launch, "nctaid", "%launch", "%grid.x.i", "i32")}
  %grid.x = zext i32 %grid.x.i to i64
  %grid.y.p = getelementptr i8, ptr %grid.x.i.p, i64 4
  %grid.y.i = load i32, ptr %grid.y.p
  %grid.y = zext i32 %grid.y.i to i64
  %coroutine = icmp ne i32 %coroutine.i, 0
  %reverse = icmp eq i32 %schedule, {n.REVERSE}
  %random = icmp eq i32 %schedule, {n.RANDOM}
  %last = sub i32 %threads, 1
{field(n.Launch, "stop", "%launch", "%stop.p")}
{field(n.Launch, "next", "%launch", "%next.p")}
{field(n.Slot, "block", "%slot", "%slot.block.p")}
{field(n.Slot, "arena_used", "%slot", "%used.p")}
{field(n.Status, "thread", "%status", "%status.thread")}
{field(n.Status, "block", "%status", "%status.block")}
{field(n.Status, "active", "%status", "%status.active")}
{field(n.Status, "stack", "%status", "%status.stack")}
  %mark = alloca i8
  %mark.i = ptrtoint ptr %mark to i64
  store volatile i64 %mark.i, ptr %status.stack
  %self = call i64 @pthread_self()
{field(n.Status, "self", "%status", "%status.self")}
  store volatile i64 %self, ptr %status.self
  store volatile i32 1, ptr %status.active
{field(n.Slot, "jump", "%slot", "%jump")}
  call void @mirgen_contexts(ptr %slot)
  %again = call i32 @_setjmp(ptr %jump) returns_twice
  %jumped = icmp ne i32 %again, 0
  br i1 %jumped, label %stopped, label %next

next:
  %stop = load atomic i32, ptr %stop.p acquire, align 4
  %stopping = icmp ne i32 %stop, 0
  br i1 %stopping, label %stopped, label %take

take:
  %number = atomicrmw add ptr %next.p, i64 1 monotonic
  %left = icmp ult i64 %number, %blocks
  br i1 %left, label %begin, label %finished

begin:
  %scaled = mul i64 %number, %mul
  %moved = add i64 %scaled, %add
  %block = urem i64 %moved, %blocks
  store i64 %block, ptr %slot.block.p
  store volatile i64 %block, ptr %status.block
  store i64 0, ptr %used.p
  %cta.x = urem i64 %block, %grid.x
  %cta.yz = udiv i64 %block, %grid.x
  %cta.y = urem i64 %cta.yz, %grid.y
  %cta.z = udiv i64 %cta.yz, %grid.y
  %cta.x.i = trunc i64 %cta.x to i32
  %cta.y.i = trunc i64 %cta.y to i32
  %cta.z.i = trunc i64 %cta.z to i32
  call void @llvm.memset.p0.i64(ptr %shared, i8 -1, i64 %shared_size, i1 false)
  br i1 %random, label %seed, label %start

seed:
  call void @mirgen_seed(ptr %slot, i64 %block)
  call void @mirgen_shuffle(ptr %slot, i32 %threads)
  br label %start

start:
  %s.k = phi i32 [ 0, %begin ], [ 0, %seed ], [ %s.next, %started ]
  %s.other = phi i32 [ -1, %begin ], [ -1, %seed ], [ %s.other2, %started ]
  %s.first = phi i32 [ 0, %begin ], [ 0, %seed ], [ %s.first2, %started ]
  %s.t = call i32 @mirgen_thread(i32 %s.k, i32 %last, i1 %reverse, i1 %random, ptr %order)
  %s.t64 = zext i32 %s.t to i64
  %s.off = mul i64 %s.t64, {c.sizeof(n.Context)}
  %s.ctx = getelementptr i8, ptr %contexts, i64 %s.off
{field(n.Context, "ctaid", "%s.ctx", "%s.cta.x")}
  %s.cta.y = getelementptr i8, ptr %s.cta.x, i64 4
  %s.cta.z = getelementptr i8, ptr %s.cta.x, i64 8
  store i32 %cta.x.i, ptr %s.cta.x
  store i32 %cta.y.i, ptr %s.cta.y
  store i32 %cta.z.i, ptr %s.cta.z
  store volatile i32 %s.t, ptr %status.thread
  br i1 %coroutine, label %ramp, label %plain

plain:
  call void %kernel(ptr %s.ctx, ptr %args)
  br label %started

ramp:
  %s.h = call ptr %kernel(ptr %s.ctx, ptr %args)
  %s.hp = getelementptr ptr, ptr %handles, i64 %s.t64
  store ptr %s.h, ptr %s.hp
  %s.done = call i1 @llvm.coro.done(ptr %s.h)
  %s.state = call i32 @mirgen_state(ptr %s.ctx, i1 %s.done)
  %s.isfirst = icmp eq i32 %s.k, 0
  %s.first1 = select i1 %s.isfirst, i32 %s.state, i32 %s.first
  %s.same = icmp eq i32 %s.state, %s.first1
  %s.known = icmp ne i32 %s.other, -1
  %s.keep = or i1 %s.same, %s.known
  %s.other1 = select i1 %s.keep, i32 %s.other, i32 %s.t
  br label %started

started:
  %s.other2 = phi i32 [ -1, %plain ], [ %s.other1, %ramp ]
  %s.first2 = phi i32 [ {n.EXITED - (1 << 32)}, %plain ], [ %s.first1, %ramp ]
  %s.next = add i32 %s.k, 1
  %s.more = icmp ult i32 %s.next, %threads
  br i1 %s.more, label %start, label %passed

passed:
  %other = phi i32 [ %s.other2, %started ], [ %r.other1, %resume ]
  %site = phi i32 [ %s.first2, %started ], [ %r.first1, %resume ]
  %agree = icmp eq i32 %other, -1
  br i1 %agree, label %together, label %diverged

together:
  %exited = icmp eq i32 %site, {n.EXITED - (1 << 32)}
  br i1 %exited, label %next, label %again.check

again.check:
  %stop2 = load atomic i32, ptr %stop.p acquire, align 4
  %stopping2 = icmp ne i32 %stop2, 0
  br i1 %stopping2, label %stopped, label %again.order

again.order:
  br i1 %random, label %reorder, label %resume

reorder:
  call void @mirgen_shuffle(ptr %slot, i32 %threads)
  br label %resume

resume:
  %r.k = phi i32 [ 0, %again.order ], [ 0, %reorder ], [ %r.next, %resume ]
  %r.other = phi i32 [ -1, %again.order ], [ -1, %reorder ], [ %r.other1, %resume ]
  %r.first = phi i32 [ 0, %again.order ], [ 0, %reorder ], [ %r.first1, %resume ]
  %r.t = call i32 @mirgen_thread(i32 %r.k, i32 %last, i1 %reverse, i1 %random, ptr %order)
  %r.t64 = zext i32 %r.t to i64
  %r.off = mul i64 %r.t64, {c.sizeof(n.Context)}
  %r.ctx = getelementptr i8, ptr %contexts, i64 %r.off
  store volatile i32 %r.t, ptr %status.thread
  %r.hp = getelementptr ptr, ptr %handles, i64 %r.t64
  %r.h = load ptr, ptr %r.hp
  call void @llvm.coro.resume(ptr %r.h)
  %r.done = call i1 @llvm.coro.done(ptr %r.h)
  %r.state = call i32 @mirgen_state(ptr %r.ctx, i1 %r.done)
  %r.isfirst = icmp eq i32 %r.k, 0
  %r.first1 = select i1 %r.isfirst, i32 %r.state, i32 %r.first
  %r.same = icmp eq i32 %r.state, %r.first1
  %r.known = icmp ne i32 %r.other, -1
  %r.keep = or i1 %r.same, %r.known
  %r.other1 = select i1 %r.keep, i32 %r.other, i32 %r.t
  %r.next = add i32 %r.k, 1
  %r.more = icmp ult i32 %r.next, %threads
  br i1 %r.more, label %resume, label %passed

diverged:
  %d.first = call i32 @mirgen_thread(i32 0, i32 %last, i1 %reverse, i1 %random, ptr %order)
  call void @mirgen_diverged(ptr %slot, i32 %d.first, i32 %other)
  br label %stopped

stopped:
  store volatile i32 0, ptr %status.active
  ret i32 1

finished:
  store volatile i32 0, ptr %status.active
  ret i32 0
}}

; The thread that comes k-th.
define internal i32 @mirgen_thread(i32 %k, i32 %last, i1 %reverse, i1 %random, ptr %order) alwaysinline {{
  br i1 %random, label %shuffled, label %straight
shuffled:
  %index = zext i32 %k to i64
  %p = getelementptr i32, ptr %order, i64 %index
  %t = load i32, ptr %p
  ret i32 %t
straight:
  %back = sub i32 %last, %k
  %chosen = select i1 %reverse, i32 %back, i32 %k
  ret i32 %chosen
}}

; The site at which a thread waits, kept for reports.
define internal i32 @mirgen_state(ptr %ctx, i1 %done) alwaysinline {{
{load(n.Context, "wait_site", "%ctx", "%site", "i32")}
  %state = select i1 %done, i32 {n.EXITED - (1 << 32)}, i32 %site
  store i32 %state, ptr %site.p
  ret i32 %state
}}
"""


def _contexts() -> str:
    """Fills what stays the same for a launch in every context."""

    def store(field: str, index: int, ty: str, value: str) -> str:
        offset = getattr(n.Context, field).offset + 4 * index
        name = f"%c.{field}.{index}"
        return f"  {name} = getelementptr i8, ptr %ctx, i64 {offset}\n  store {ty} {value}, ptr {name}"

    def fetch(field: str, index: int) -> str:
        offset = getattr(n.Launch, field).offset + 4 * index
        name = f"%l.{field}.{index}"
        return f"  {name}.p = getelementptr i8, ptr %launch, i64 {offset}\n  {name} = load i32, ptr {name}.p"

    extents = [(field, index) for field in ("ntid", "nctaid") for index in range(3)]
    fetches = "\n".join(fetch(field, index) for field, index in extents)
    stores = "\n".join(
        [
            *(store("tid", index, "i32", value) for index, value in enumerate(("%x", "%y", "%z"))),
            *(store(field, index, "i32", f"%l.{field}.{index}") for field, index in extents),
            store("shared", 0, "ptr", "%shared"),
            store("runtime", 0, "ptr", "%slot"),
            store("dynamic_shared", 0, "i32", "%dynamic"),
            store("thread", 0, "i32", "%t"),
        ]
    )
    return f"""
define internal void @mirgen_contexts(ptr %slot) {{
entry:
{load(n.Slot, "launch", "%slot", "%launch", "ptr")}
{load(n.Slot, "contexts", "%slot", "%contexts", "ptr")}
{load(n.Slot, "shared", "%slot", "%shared", "ptr")}
{load(n.Slot, "dynamic_shared", "%slot", "%dynamic", "i32")}
{load(n.Launch, "threads", "%launch", "%threads", "i32")}
{fetches}
  br label %loop
loop:
  %t = phi i32 [ 0, %entry ], [ %t2, %loop ]
  %x = urem i32 %t, %l.ntid.0
  %yz = udiv i32 %t, %l.ntid.0
  %y = urem i32 %yz, %l.ntid.1
  %z = udiv i32 %yz, %l.ntid.1
  %t64 = zext i32 %t to i64
  %off = mul i64 %t64, {c.sizeof(n.Context)}
  %ctx = getelementptr i8, ptr %contexts, i64 %off
{stores}
  %t2 = add i32 %t, 1
  %more = icmp ult i32 %t2, %threads
  br i1 %more, label %loop, label %out
out:
  ret void
}}
"""


def _shuffle() -> str:
    return f"""
; splitmix64 over the launch's seed and the block's number: an order depends on nothing else.
define internal void @mirgen_seed(ptr %slot, i64 %block) {{
{load(n.Slot, "launch", "%slot", "%launch", "ptr")}
{load(n.Launch, "seed", "%launch", "%seed", "i64")}
{load(n.Launch, "threads", "%launch", "%threads", "i32")}
{load(n.Slot, "order", "%slot", "%order", "ptr")}
{field(n.Slot, "random", "%slot", "%random.p")}
  %a = mul i64 %block, -7046029254386353131
  %b = add i64 %a, %seed
  store i64 %b, ptr %random.p
  br label %loop
loop:
  %k = phi i32 [ 0, %0 ], [ %k2, %loop ]
  %k64 = zext i32 %k to i64
  %p = getelementptr i32, ptr %order, i64 %k64
  store i32 %k, ptr %p
  %k2 = add i32 %k, 1
  %more = icmp ult i32 %k2, %threads
  br i1 %more, label %loop, label %out
out:
  ret void
}}

define internal i64 @mirgen_random(ptr %slot) {{
{load(n.Slot, "random", "%slot", "%state", "i64")}
  %s = add i64 %state, -7046029254386353131
  store i64 %s, ptr %state.p
  %a = lshr i64 %s, 30
  %b = xor i64 %s, %a
  %c = mul i64 %b, -4658895280553007687
  %d = lshr i64 %c, 27
  %e = xor i64 %c, %d
  %f = mul i64 %e, -7723592293110705685
  %g = lshr i64 %f, 31
  %h = xor i64 %f, %g
  ret i64 %h
}}

; Fisher and Yates, from the end.
define internal void @mirgen_shuffle(ptr %slot, i32 %threads) {{
{load(n.Slot, "order", "%slot", "%order", "ptr")}
  br label %head
head:
  %n = phi i32 [ %threads, %0 ], [ %i, %swap ]
  %more = icmp ugt i32 %n, 1
  br i1 %more, label %swap, label %out
swap:
  %i = sub i32 %n, 1
  %r = call i64 @mirgen_random(ptr %slot)
  %r32 = lshr i64 %r, 32
  %n64 = zext i32 %n to i64
  %wide = mul i64 %r32, %n64
  %j = lshr i64 %wide, 32
  %i64v = zext i32 %i to i64
  %pi = getelementptr i32, ptr %order, i64 %i64v
  %pj = getelementptr i32, ptr %order, i64 %j
  %vi = load i32, ptr %pi
  %vj = load i32, ptr %pj
  store i32 %vj, ptr %pi
  store i32 %vi, ptr %pj
  br label %head
out:
  ret void
}}
"""


def _frame() -> str:
    return f"""
; All frames of a launch have one size: the first one sizes the arena for the whole block.
define ptr @{FRAME}(ptr %ctx, i64 %size, i64 %align) {{
entry:
{load(n.Context, "runtime", "%ctx", "%slot", "ptr")}
{load(n.Slot, "launch", "%slot", "%launch", "ptr")}
{load(n.Launch, "threads", "%launch", "%threads.i", "i32")}
{load(n.Slot, "arena", "%slot", "%arena", "ptr")}
{load(n.Slot, "arena_size", "%slot", "%capacity", "i64")}
{load(n.Slot, "arena_used", "%slot", "%used", "i64")}
  %threads = zext i32 %threads.i to i64
  %less = sub i64 %align, 1
  %mask = sub i64 0, %align
  %padded = add i64 %size, %less
  %stride = and i64 %padded, %mask
  %first = icmp eq i64 %used, 0
  br i1 %first, label %check, label %take
check:
  %total = mul i64 %stride, %threads
  %need = add i64 %total, %align
  %fits = icmp ule i64 %need, %capacity
  br i1 %fits, label %take, label %grow
grow:
  call void @free(ptr %arena)
  %fresh = call ptr @malloc(i64 %need)
  store ptr %fresh, ptr %arena.p
  store i64 %need, ptr %capacity.p
  %none = icmp eq ptr %fresh, null
  br i1 %none, label %fail, label %take
fail:
  call void @llvm.trap()
  unreachable
take:
  %base = phi ptr [ %arena, %entry ], [ %arena, %check ], [ %fresh, %grow ]
  %from = ptrtoint ptr %base to i64
  %up = add i64 %from, %less
  %aligned = and i64 %up, %mask
  %start = inttoptr i64 %aligned to ptr
  %frame = getelementptr i8, ptr %start, i64 %used
  %used2 = add i64 %used, %stride
  store i64 %used2, ptr %used.p
  ret ptr %frame
}}
declare void @llvm.trap() noreturn
"""
