"""``powi`` as compiler-rt computes it."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from mirgen.lower.ops.emit import I32, const, helper, mangled


def powi_helper(b: ir.IRBuilder, x: ir.Value, exponent: ir.Value) -> ir.Value:
    """``x`` to the power of the ``i32`` ``exponent``; a negative one divides 1 by the positive power."""
    return helper(b, f"__mirgen_powi_{mangled(x.type)}", x.type, [x, exponent], _build)


def _build(b: ir.IRBuilder, args: Sequence[ir.Value]) -> None:
    x, exponent = args
    one = ir.Constant(x.type, 1.0)
    entry = b.block
    loop, again, done = (b.append_basic_block(name) for name in ("loop", "again", "done"))
    negative = b.icmp_signed("<", exponent, const(I32, 0))
    magnitude = b.select(negative, b.sub(const(I32, 0), exponent), exponent)
    b.branch(loop)

    b.position_at_end(loop)
    left, square, product = b.phi(I32), b.phi(x.type), b.phi(x.type)
    odd = b.trunc(left, ir.IntType(1))
    next_product = b.select(odd, b.fmul(product, square), product)
    next_left = b.lshr(left, const(I32, 1))
    b.cbranch(b.icmp_unsigned("==", next_left, const(I32, 0)), done, again)

    b.position_at_end(again)
    next_square = b.fmul(square, square)
    b.branch(loop)
    for phi, first, later in (
        (left, magnitude, next_left), (square, x, next_square), (product, one, next_product),
    ):  # fmt: skip
        phi.add_incoming(first, entry)
        phi.add_incoming(later, again)

    b.position_at_end(done)
    b.ret(b.select(negative, b.fdiv(one, next_product), next_product))
