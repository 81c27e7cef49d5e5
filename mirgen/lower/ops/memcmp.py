"""``memcmp``: the device has no library to call."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from mirgen.lower.ops.emit import I32, I64, const, helper


def memcmp(b: ir.IRBuilder, left: ir.Value, right: ir.Value, count: ir.Value) -> ir.Value:
    """The difference of the first bytes that differ, as ``i32``; 0 where none of ``count`` (``i64``) does."""
    return helper(b, "__mirgen_memcmp", I32, [left, right, count], _build)


def _build(b: ir.IRBuilder, args: Sequence[ir.Value]) -> None:
    left, right, count = args
    entry = b.block
    head, body, step, equal, differ = (b.append_basic_block(n) for n in ("head", "body", "step", "equal", "differ"))
    b.branch(head)
    b.position_at_end(head)
    index = b.phi(I64)
    index.add_incoming(const(I64, 0), entry)
    b.cbranch(b.icmp_unsigned("<", index, count), body, equal)
    b.position_at_end(body)
    one, two = (b.load(b.gep(pointer, [index], inbounds=True), align=1) for pointer in (left, right))
    b.cbranch(b.icmp_unsigned("==", one, two), step, differ)
    b.position_at_end(step)
    index.add_incoming(b.add(index, const(I64, 1)), step)
    b.branch(head)
    b.position_at_end(differ)
    b.ret(b.sub(b.zext(one, I32), b.zext(two, I32)))
    b.position_at_end(equal)
    b.ret(const(I32, 0))
