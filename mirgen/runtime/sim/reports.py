"""How generated code reports: panics, traps, divergent barriers, and the signals of invalid accesses, as LLVM IR text.

The first report of a launch wins; it lies in memory that outlives the worker.  A panic or trap leaves the kernel by
``longjmp`` and stops the grid; after a signal the process dies.
"""

from __future__ import annotations

import ctypes as c
import platform

from mirgen.runtime.sim import layout as n
from mirgen.runtime.sim.irtext import field, load, store
from mirgen.targets.host_abi import PANIC, PANIC_WORDS, TRAP

ON_SIGNAL = "mirgen_on_signal"
STATUS_PAGE = "mirgen_status_page"

#: Byte offset of the program counter in Linux's ``ucontext_t``.
_PC = {"x86_64": 168, "aarch64": 440}
#: Byte offset of the page fault's code there; bit 1 is a write.
_FAULT_CODE = {"x86_64": 192}

_DECLARATIONS = f"""
@{STATUS_PAGE} = global ptr null
declare void @longjmp(ptr, i32) noreturn
declare ptr @signal(i32, ptr)
"""


def reports_ir() -> str:
    """Everything that reports."""
    return "\n".join((_DECLARATIONS, _stops(), _panic_words(), _on_signal()))


def stop_ir(kind: int) -> str:
    """Reports ``%site``, ``%a`` and ``%b`` for the thread of ``%ctx`` and leaves the kernel; ends the function."""
    return f"""
{load(n.Context, "runtime", "%ctx", "%slot", "ptr")}
{_claim(kind)}
{load(n.Context, "thread", "%ctx", "%thread", "i32")}
{store(n.Report, "%report", "%r.", thread="i32 %thread", site="i32 %site", a="i64 %a", b="i64 %b")}
{_publish()}
{field(n.Slot, "jump", "%slot", "%jump")}
  call void @longjmp(ptr %jump, i32 1)
  unreachable"""


def _claim(kind: int) -> str:
    """Claims the report for ``%slot`` or goes to ``%out``; leaves ``%report`` and ``%launch``."""
    return f"""
{load(n.Slot, "launch", "%slot", "%launch", "ptr")}
{load(n.Launch, "report", "%launch", "%report", "ptr")}
  %claim = cmpxchg ptr %report, i32 {n.NOTHING}, i32 {kind} seq_cst seq_cst
  %mine = extractvalue {{ i32, i1 }} %claim, 1
  br i1 %mine, label %fill, label %out
fill:
{load(n.Slot, "block", "%slot", "%block", "i64")}
{store(n.Report, "%report", "%r.", block="i64 %block")}"""


def _publish() -> str:
    return f"""
{field(n.Report, "published", "%report", "%r.published")}
  store atomic i32 1, ptr %r.published release, align 4
  br label %out
out:
{field(n.Launch, "stop", "%launch", "%stop.p")}
  store atomic i32 1, ptr %stop.p release, align 4"""


def _panic_words() -> str:
    return f"""
define void @{PANIC_WORDS}(ptr %ctx, i32 %site, ptr %words, i32 %count, i64 %texts) noreturn {{
{load(n.Context, "runtime", "%ctx", "%slot", "ptr")}
{_claim(n.PANIC)}
{load(n.Context, "thread", "%ctx", "%thread", "i32")}
{store(n.Report, "%report", "%r.", thread="i32 %thread", site="i32 %site", count="i32 %count")}
{field(n.Report, "words", "%report", "%r.words")}
{field(n.Report, "text", "%report", "%r.text")}
  br label %next
next:
  %k = phi i32 [ 0, %fill ], [ %k.next, %copied ]
  %used = phi i64 [ 0, %fill ], [ %used.next, %copied ]
  %more = icmp ult i32 %k, %count
  br i1 %more, label %word, label %done
word:
  %k64 = zext i32 %k to i64
  %from = getelementptr i64, ptr %words, i64 %k64
  %value = load i64, ptr %from
  %to = getelementptr i64, ptr %r.words, i64 %k64
  store i64 %value, ptr %to
  %bit = lshr i64 %texts, %k64
  %is.text = trunc i64 %bit to i1
  br i1 %is.text, label %text, label %copied
text:
  %length.p = getelementptr i64, ptr %from, i64 1
  %length = load i64, ptr %length.p
  %room = sub i64 {n.MAX_TEXT}, %used
  %fits = icmp ult i64 %length, %room
  %size = select i1 %fits, i64 %length, i64 %room
  %source = inttoptr i64 %value to ptr
  %target = getelementptr i8, ptr %r.text, i64 %used
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %size, i1 false)
  %used.text = add i64 %used, %size
  br label %copied
copied:
  %used.next = phi i64 [ %used, %word ], [ %used.text, %text ]
  %k.next = add i32 %k, 1
  br label %next
done:
  %used32 = trunc i64 %used to i32
{store(n.Report, "%report", "%r2.", text_size="i32 %used32")}
{_publish()}
{field(n.Slot, "jump", "%slot", "%jump")}
  call void @longjmp(ptr %jump, i32 1)
  unreachable
}}
"""


def _stops() -> str:
    return f"""
define void @{PANIC}(ptr %ctx, i32 %site, i64 %a, i64 %b) noreturn {{
{stop_ir(n.PANIC)}
}}

define void @{TRAP}(ptr %ctx) noreturn {{
  %site = add i32 0, 0
  %a = add i64 0, 0
  %b = add i64 0, 0
{stop_ir(n.TRAP)}
}}

define internal void @mirgen_diverged(ptr %slot, i32 %thread, i32 %other) {{
{load(n.Slot, "contexts", "%slot", "%contexts", "ptr")}
{_claim(n.DIVERGENT)}
  %t64 = zext i32 %thread to i64
  %toff = mul i64 %t64, {c.sizeof(n.Context)}
  %tctx = getelementptr i8, ptr %contexts, i64 %toff
{load(n.Context, "wait_site", "%tctx", "%tsite", "i32")}
  %o64 = zext i32 %other to i64
  %ooff = mul i64 %o64, {c.sizeof(n.Context)}
  %octx = getelementptr i8, ptr %contexts, i64 %ooff
{load(n.Context, "wait_site", "%octx", "%osite", "i32")}
{store(n.Report, "%report", "%r.", thread="i32 %thread", site="i32 %tsite")}
{store(n.Report, "%report", "%r.", other_thread="i32 %other", other_site="i32 %osite")}
{_publish()}
  ret void
}}
"""


def _on_signal() -> str:
    pc = _PC.get(platform.machine(), 0)
    code = _FAULT_CODE.get(platform.machine())
    fetch_code = f"""
  %code.p = getelementptr i8, ptr %machine, i64 {code}
  %code = load i64, ptr %code.p
{field(n.Report, "code", "%page", "%r.code")}
  store i64 %code, ptr %r.code"""
    return f"""
; Notes who faulted, then lets the process die of the signal.  Calls async-signal-safe functions only.
define void @{ON_SIGNAL}(i32 %sig, ptr %info, ptr %machine) {{
entry:
  %page = load ptr, ptr @{STATUS_PAGE}
  %self = call i64 @pthread_self()
{field(n.StatusPage, "slots", "%page", "%slots")}
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k2, %step ]
  %off = mul i64 %k, {c.sizeof(n.Status)}
  %status = getelementptr i8, ptr %slots, i64 %off
{load(n.Status, "self", "%status", "%who", "i64")}
{load(n.Status, "active", "%status", "%active", "i32")}
  %same = icmp eq i64 %who, %self
  %busy = icmp ne i32 %active, 0
  %found = and i1 %same, %busy
  br i1 %found, label %note, label %step
step:
  %k2 = add i64 %k, 1
  %more = icmp ult i64 %k2, {n.MAX_SLOTS}
  br i1 %more, label %loop, label %out
note:
  %claim = cmpxchg ptr %page, i32 {n.NOTHING}, i32 {n.SIGNAL} seq_cst seq_cst
  %mine = extractvalue {{ i32, i1 }} %claim, 1
  br i1 %mine, label %fill, label %out
fill:
{load(n.Status, "block", "%status", "%block", "i64")}
{load(n.Status, "thread", "%status", "%thread", "i32")}
{load(n.Status, "stack", "%status", "%stack", "i64")}
{field(n.Report, "block", "%page", "%r.block")}
  store i64 %block, ptr %r.block
{field(n.Report, "thread", "%page", "%r.thread")}
  store i32 %thread, ptr %r.thread
{field(n.Report, "stack", "%page", "%r.stack")}
  store i64 %stack, ptr %r.stack
{field(n.Report, "signal", "%page", "%r.signal")}
  store i32 %sig, ptr %r.signal
  %addr.p = getelementptr i8, ptr %info, i64 16
  %addr = load i64, ptr %addr.p
{field(n.Report, "address", "%page", "%r.address")}
  store i64 %addr, ptr %r.address
  %pc.p = getelementptr i8, ptr %machine, i64 {pc}
  %pc = load i64, ptr %pc.p
{field(n.Report, "ip", "%page", "%r.ip")}
  store i64 %pc, ptr %r.ip
  %k32 = trunc i64 %k to i32
{field(n.Report, "slot", "%page", "%r.slot")}
  store i32 %k32, ptr %r.slot
{fetch_code if code is not None else ""}
{field(n.Report, "published", "%page", "%r.published")}
  store atomic i32 1, ptr %r.published release, align 4
  br label %out
out:
  %old = call ptr @signal(i32 %sig, ptr null)
  ret void
}}
"""
