"""Calls of intrinsics in hand-made kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from mirgen.intrinsics import lookup
from mirgen.layout.builder import LayoutMaker
from mirgen.lower.program import lower_program
from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir import ty as t
from mirgen.mir.builder import BodyBuilder, deref, program
from mirgen.targets.nvptx import NvptxTarget

from ..lower.conftest import Host, Panicked

#: An argument: its type, and a number for a scalar or the memory behind a pointer.
Arg = tuple[t.Ty, int | bytearray]


def signed(value: int, bits: int) -> int:
    """A pattern as a signed number."""
    return value - (1 << bits) if value >> (bits - 1) else value


@dataclass(slots=True)
class Calls:
    """Runs single calls on the host, and remembers their bodies for the device."""

    host: Host = field(default_factory=lambda: Host(intrinsics=lookup))
    bodies: list[m.Body] = field(default_factory=list[m.Body])
    expected: list[tuple[str, Sequence[tuple[t.Ty, int]], t.Ty, int]] = field(
        default_factory=list[tuple[str, Sequence[tuple[t.Ty, int]], t.Ty, int]]
    )

    @property
    def ty(self) -> LayoutMaker:
        """Types with their layouts."""
        return self.host.ty

    def body(self, path: str, args: Sequence[t.Ty], result: t.Ty, name: str = "k") -> m.Body:
        """A kernel that passes its arguments on and stores the result behind its last one."""
        ty = self.ty
        b = BodyBuilder(name, args=[*args, ty.ref(result, mut=True)], ret=ty.unit)
        b.line(3)
        b.call(deref(b.arg(len(args))), ty.fn_def(path, args, result), *(b.arg(n) for n in range(len(args))))
        b.return_()
        return b.build()

    def __call__(self, path: str, args: Sequence[Arg], result: t.Ty) -> int:
        """The result's bytes as an unsigned number; memory behind pointers is updated in place."""
        outcome = self.run(path, args, result)
        assert isinstance(outcome, int), outcome
        return outcome

    def run(self, path: str, args: Sequence[Arg], result: t.Ty) -> int | Panicked:
        """The same, or the panic that happened."""
        name = path if path.startswith(("core::", "mirgen_device::")) else f"core::intrinsics::{path}"
        tys = [ty for ty, _ in args]
        self.bodies.append(self.body(name, tys, result, f"k{len(self.bodies)}"))
        out = bytearray(self.ty.layout(result).size)
        panicked = self.host.run(self.body(name, tys, result), args=[*(value for _, value in args), out])
        return int.from_bytes(out, "little") if panicked is None else panicked

    def expect(self, path: str, args: Sequence[tuple[t.Ty, int]], result: t.Ty, expected: int) -> None:
        """Notes a call on constants for :meth:`check`."""
        self.expected.append((path, args, result, expected))

    def check(self) -> None:
        """Runs the noted calls in one kernel, not optimised and optimised, and compares."""
        results = [result for _, _, result, _ in self.expected]
        b = BodyBuilder("k", args=[self.ty.ref(result, mut=True) for result in results], ret=self.ty.unit)
        for n, (path, args, result, _) in enumerate(self.expected):
            item = self.ty.fn_def(f"core::intrinsics::{path}", [ty for ty, _ in args], result)
            b.call(deref(b.arg(n)), item, *(self.scalar(ty, value) for ty, value in args))
        b.return_()
        outputs = [bytearray(self.ty.layout(result).size) for result in results]
        assert self.host.run(b.build(), args=outputs) is None
        wrong = [
            (path, [hex(value) for _, value in args], f"got {int.from_bytes(out, 'little'):#x}", f"not {want:#x}")
            for (path, args, _, want), out in zip(self.expected, outputs, strict=True)
            if int.from_bytes(out, "little") != want
        ]
        assert not wrong, f"{len(wrong)} of {len(outputs)} wrong: {wrong[:4]}"
        self.expected.clear()

    def device_text(self) -> tuple[str, list[str]]:
        """LLVM text of every call so far for the GPU, and the kernels' names."""
        names = [f"k{n}" for n in range(len(self.bodies))]
        made = program(*self.bodies, kernels=names)
        return lower_program(made, self.ty.layouts, NvptxTarget(), intrinsics=lookup).text, names

    def scalar(self, ty: t.Ty, value: int) -> p.Operand:
        """A constant operand."""
        return p.Constant(p.ScalarConst(ty, value, self.ty.layout(ty).size))


@pytest.fixture
def call() -> Calls:
    return Calls()
