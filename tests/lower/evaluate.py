"""Evaluating right-hand sides: one kernel whose results are read back as bit patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mirgen.layout.builder import LayoutMaker
from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import ty as t
from mirgen.mir.builder import BodyBuilder, deref

from .conftest import Host, Panicked

#: What a result is: its type and how it is computed from the inputs, or a function that stores it itself.
Result = tuple[t.Ty, r.Rvalue]


def evaluate(
    host: Host, inputs: Sequence[tuple[t.Ty, int]], results: Callable[[BodyBuilder, list[p.Place]], Sequence[Result]]
) -> list[int]:
    """The results' bytes as unsigned numbers; ``results`` may emit statements first."""
    outcome = run(host, inputs, results)
    assert isinstance(outcome, list), outcome
    return outcome


def run(
    host: Host, inputs: Sequence[tuple[t.Ty, int]], results: Callable[[BodyBuilder, list[p.Place]], Sequence[Result]]
) -> list[int] | Panicked:
    """The same, or the panic that happened."""
    ty = host.ty
    tys = [ty_ for ty_, _ in inputs]
    probe = BodyBuilder("k", args=tys, ret=ty.unit)
    outputs = [out for out, _ in results(probe, [probe.arg(n) for n in range(len(tys))])]
    b = BodyBuilder("k", args=[*tys, *(ty.ref(out, mut=True) for out in outputs)], ret=ty.unit)
    b.line(7)
    for n, (_, value) in enumerate(results(b, [b.arg(n) for n in range(len(tys))])):
        b.assign(deref(b.arg(len(tys) + n)), value)
    b.return_()
    memory = [bytearray(size_of(ty, out)) for out in outputs]
    panicked = host.run(b.build(), args=[*(value for _, value in inputs), *memory])
    return panicked if panicked is not None else [int.from_bytes(out, "little") for out in memory]


def size_of(ty: LayoutMaker, of: t.Ty) -> int:
    """Bytes of a type."""
    return ty.layout(of).size
