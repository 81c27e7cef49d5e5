"""Panics on the GPU: what is left behind for the host, what is printed, and the trap that ends the grid.

After a trap nothing of the GPU's memory can be read, so what is left lies in memory of the host, to which the host has
set the variable ``mirgen_panic``.  Site numbers are those of the manifest.

``code``: a thread that panics writes the site's number.  That is all that costs no register: ptxas hoists reads of
special registers, and gives a kernel that calls something unknown to it 24 registers at least.
``message``: the first thread that panics also leaves block, thread and the values of the message (the others wait for
it, because a trap ends them all); each prints them with CUDA's ``vprintf`` and fails as CUDA's ``assert`` does, which
any host prints.  Functions that are never inlined do it, one for each site.
``trap``: nothing but the trap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from llvmlite import ir
from llvmlite.ir.values import FormattedConstant

from mirgen.lower import types
from mirgen.lower.shown import Shown, flat
from mirgen.mir.names import readable
from mirgen.targets.device_abi import (
    BLOCK,
    CODE,
    COUNT,
    MAX_TEXT,
    MAX_WORDS,
    POINTER,
    RECORD_SIZE,
    SITE,
    STATE,
    TEXT,
    TEXT_SIZE,
    THREAD,
    WORDS,
    PanicMode,
)  # fmt: skip
from mirgen.targets.device_text import Conversion, printed
from mirgen.targets.host_abi import PLACE

if TYPE_CHECKING:
    from mirgen.lower.context import FunctionContext, ModuleContext, PanicSite

_UNREAD: Final = "__mirgen_panic_unread"
_CLAIM: Final = "__mirgen_panic_claim"
_FREE, _TAKEN, _DONE = range(3)

_GLOBAL_SPACE: Final = 1


def emit_panic(fx: FunctionContext, mode: PanicMode, site: PanicSite, values: Sequence[Shown]) -> None:
    """What reports ``site``, and the trap; leaves the block open."""
    if mode == "code":
        _leave_code(fx.cx, fx.b, site.index)
    elif mode == "message":
        fx.b.call(_teller(fx.cx, site, values), flat(values)[0])
    fx.b.call(fx.cx.declare("llvm.trap", types.VOID, ()), [])


def _leave_code(cx: ModuleContext, b: ir.IRBuilder, site: int) -> None:
    """In assembly, so that no part of it is moved into a loop's way."""
    pointer = _pointer(cx)
    ty = ir.FunctionType(types.VOID, [pointer.type, types.I32])
    text = f"{{ .reg .u64 h; ld.volatile.global.u64 h, [$0]; st.volatile.u32 [h+{CODE}], $1; membar.sys; }}"
    leave = ir.InlineAsm(ty, text, "l,r,~{memory}", side_effect=True)
    b.call(leave, [pointer, types.const_int(types.I32, site + 1)])


# ---- the record ----------------------------------------------------------------------------------------------


def _record(
    cx: ModuleContext, b: ir.IRBuilder, site: ir.Value, words: Sequence[ir.Value], texts: Sequence[int]
) -> None:  # fmt: skip
    """Writes the record, or waits until another thread has."""
    mine, wait, out = (b.append_basic_block(name) for name in ("mine", "wait", "out"))
    flag = _variable(cx, _CLAIM, types.I32)
    taken, free = types.const_int(types.I32, _TAKEN), types.const_int(types.I32, _FREE)
    old = b.extract_value(b.cmpxchg(flag, free, taken, "monotonic", "monotonic"), 0)
    b.cbranch(b.icmp_unsigned("==", old, free), mine, wait)

    b.position_at_end(wait)
    # llvmlite has no volatile load, and both dialects of libNVVM no atomic one.
    poll = ir.FunctionType(types.I32, [flag.type])
    now = b.call(ir.InlineAsm(poll, "ld.volatile.global.u32 $0, [$1];", "=r,l,~{memory}", side_effect=True), [flag])
    b.cbranch(b.icmp_unsigned("==", now, types.const_int(types.I32, _DONE)), out, wait)

    b.position_at_end(mine)
    base = b.inttoptr(b.load(_pointer(cx)), types.PTR)
    _store(b, base, SITE, site)
    for at, register in ((BLOCK, "ctaid"), (THREAD, "tid")):
        for axis, letter in enumerate("xyz"):
            read = cx.declare(f"llvm.nvvm.read.ptx.sreg.{register}.{letter}", types.I32, ())
            _store(b, base, at + 4 * axis, b.call(read, []))
    _store(b, base, COUNT, types.const_int(types.I32, len(words)))
    for n, word in enumerate(words):
        _store(b, base, WORDS + 8 * n, word)
    used: ir.Value = types.const_int(types.I32, 0)
    for text in texts:
        used = _copy_text(b, base, used, words[text], words[text + 1])
    _store(b, base, TEXT_SIZE, used)
    fence = cx.declare("llvm.nvvm.membar.sys", types.VOID, ())
    b.call(fence, [])
    _store(b, base, STATE, types.const_int(types.I32, 1))
    b.call(fence, [])
    b.store(types.const_int(types.I32, _DONE), flag)
    b.branch(out)
    b.position_at_end(out)


def _copy_text(b: ir.IRBuilder, base: ir.Value, used: ir.Value, address: ir.Value, size: ir.Value) -> ir.Value:
    """Copies bytes behind those already there, as far as there is room; how many there are then."""
    room = b.sub(types.const_int(types.I32, MAX_TEXT), used)
    fits = b.icmp_unsigned("<", size, b.zext(room, types.I64))
    length = b.select(fits, b.trunc(size, types.I32), room)
    source = b.inttoptr(address, types.PTR)
    before, loop, copy, after = b.block, *(b.append_basic_block(name) for name in ("loop", "copy", "after"))
    b.branch(loop)
    b.position_at_end(loop)
    n = b.phi(types.I32)
    n.add_incoming(types.const_int(types.I32, 0), before)
    b.cbranch(b.icmp_unsigned("<", n, length), copy, after)
    b.position_at_end(copy)
    byte = b.load(b.gep(source, [b.zext(n, types.I64)]))
    to = b.add(b.add(used, n), types.const_int(types.I32, TEXT))
    b.store(byte, b.gep(base, [b.zext(to, types.I64)]))
    n.add_incoming(b.add(n, types.const_int(types.I32, 1)), b.block)
    b.branch(loop)
    b.position_at_end(after)
    return b.add(used, length)


def _store(b: ir.IRBuilder, base: ir.Value, offset: int, value: ir.Value) -> None:
    at = b.bitcast(b.gep(base, [types.usize(offset)]), value.type.as_pointer())
    b.store(value, at)


# ---- what CUDA prints ----------------------------------------------------------------------------------------


def _teller(cx: ModuleContext, site: PanicSite, values: Sequence[Shown]) -> ir.Function:
    """``void (i64 ..)`` for one site: records, prints and fails as CUDA's ``assert`` does."""
    words, texts = flat(values)
    function = _cold(cx, f"__mirgen_panic_at_{site.index}", [types.I64] * len(words))
    b = ir.IRBuilder(function.append_basic_block("entry"))
    count = min(len(words), MAX_WORDS)
    kept = [text for text in texts if text + 1 < count]
    _record(cx, b, types.const_int(types.I32, site.index), function.args[:count], kept)
    kinds = list(site.args)
    file, line, shown = _place(cx, b, site, function.args)
    if site.args[:1] == (PLACE,):
        kinds, values, words = kinds[1:], values[1:], function.args[len(values[0].words) :]
    else:
        words = function.args
    if values:
        text = printed(site.message, kinds)
        taken = [_converted(cx, b, words[start], how) for start, how in _taken(values, text.values)]
        _print(cx, b, f"panicked at %s:%llu:%llu:\n{text.format}\n", [b.ptrtoint(file, types.I64), *shown, *taken])
    said = printed(site.message, ["?"] * len(kinds)).format.replace("%%", "%")
    fail = cx.declare("__assertfail", types.VOID, [types.PTR, types.PTR, types.I32, types.PTR, types.I64])
    b.call(fail, [_string(cx, b, said), file, line, _string(cx, b, readable(site.function)), types.usize(1)])
    _trap(cx, b)
    return function


def _place(
    cx: ModuleContext, b: ir.IRBuilder, site: PanicSite, words: Sequence[ir.Value]
) -> tuple[ir.Value, ir.Value, list[ir.Value]]:
    """A site's file (a C string) and line, and line and column as words: where it is, or what its caller says."""
    if site.args[:1] == (PLACE,):
        line = b.trunc(words[2], types.I32)
        shown = [b.zext(line, types.I64), b.lshr(words[2], types.usize(32))]
        return b.inttoptr(words[0], types.PTR), line, shown
    file, at, column = ("<unknown>", 0, 0) if site.span is None else (site.span.file, site.span.line, site.span.col)
    return _string(cx, b, file), types.const_int(types.I32, at), [types.usize(at), types.usize(column)]


def _taken(values: Sequence[Shown], chosen: Sequence[tuple[int, Conversion]]) -> list[tuple[int, Conversion]]:
    """The first word of each of the chosen values."""
    return [(sum(len(value.words) for value in values[:number]), how) for number, how in chosen]


def _converted(cx: ModuleContext, b: ir.IRBuilder, word: ir.Value, how: Conversion) -> ir.Value:
    """A value's word as ``printf`` takes it."""
    match how:
        case "word":
            return word
        case "bool":
            yes, no = (b.ptrtoint(_string(cx, b, name), types.I64) for name in ("true", "false"))
            return b.select(b.trunc(word, types.I1), yes, no)
        case "f32":
            wide = b.fpext(b.bitcast(b.trunc(word, types.I32), types.F32), types.F64)
            return b.bitcast(wide, types.I64)


def _print(cx: ModuleContext, b: ir.IRBuilder, text: str, words: Sequence[ir.Value]) -> None:
    """``vprintf``: each argument takes eight bytes."""
    buffer = b.alloca(ir.ArrayType(types.I64, len(words)))
    buffer.align = 8
    for n, word in enumerate(words):
        b.store(word, b.gep(buffer, [types.const_int(types.I32, 0), types.const_int(types.I32, n)], inbounds=True))
    vprintf = cx.declare("vprintf", types.I32, [types.PTR, types.PTR])
    b.call(vprintf, [_string(cx, b, text), b.bitcast(buffer, types.PTR)])


# ---- small parts ---------------------------------------------------------------------------------------------


def _cold(cx: ModuleContext, name: str, params: Sequence[ir.Type]) -> ir.Function:
    function = ir.Function(cx.module, ir.FunctionType(types.VOID, params), name)
    function.linkage = "internal"
    for attribute in ("cold", "noinline", "noreturn", "nounwind"):
        function.attributes.add(attribute)
    return function


def _trap(cx: ModuleContext, b: ir.IRBuilder) -> None:
    b.call(cx.declare("llvm.trap", types.VOID, ()), [])
    b.unreachable()


def _pointer(cx: ModuleContext) -> ir.GlobalVariable:
    """``mirgen_panic``; until the host sets it, memory that nobody reads."""
    known = cx.module.globals.get(POINTER)
    if isinstance(known, ir.GlobalVariable):
        return known
    unread = _variable(cx, _UNREAD, types.llvm_blob(RECORD_SIZE))
    unread.align = 8
    pointer = ir.GlobalVariable(cx.module, types.I64, POINTER, addrspace=_GLOBAL_SPACE)
    generic = f"{unread.value_type}* addrspacecast ({unread.type} {unread.get_reference()} to {unread.value_type}*)"
    pointer.initializer = FormattedConstant(types.I64, f"ptrtoint ({generic} to i64)")
    return pointer


def _variable(cx: ModuleContext, name: str, ty: ir.Type) -> ir.GlobalVariable:
    known = cx.module.globals.get(name)
    if isinstance(known, ir.GlobalVariable):
        return known
    variable = ir.GlobalVariable(cx.module, ty, name, addrspace=_GLOBAL_SPACE)
    variable.linkage = "internal"
    variable.initializer = ir.Constant(ty, None)
    return variable


def _string(cx: ModuleContext, b: ir.IRBuilder, text: str) -> ir.Value:
    """A C string, as a generic pointer."""
    data = bytearray(text.encode() + b"\0")
    ty = ir.ArrayType(types.I8, len(data))
    made = ir.GlobalVariable(cx.module, ty, cx.module.get_unique_name("__mirgen_text"), addrspace=_GLOBAL_SPACE)
    made.linkage = "internal"
    made.global_constant = True
    made.initializer = ir.Constant(ty, data)
    return b.addrspacecast(b.bitcast(made, types.I8.as_pointer(_GLOBAL_SPACE)), types.PTR)
