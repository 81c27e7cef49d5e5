"""Line tables: positions, functions, inlined calls; the same code with and without."""

from __future__ import annotations

import re

import llvmlite.binding as llvm

from mirgen.lower import lower_program
from mirgen.mir import body as m
from mirgen.mir.builder import BodyBuilder, binary, const, deref, program
from mirgen.targets.plain import PlainHost

from .conftest import Host


def _body(host: Host) -> m.Body:
    """Line 10 in the kernel; 70 in a function that rustc inlined at line 11; 80 in one inlined into that at 71."""
    ty = host.ty
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.u32], ret=ty.unit, file="src/lib.rs")
    b.line(10)
    x = b.let(ty.u32, binary("Add", b.arg(1), const(ty.u32, 1)))
    b.scope(inlined="outer::<u32>", call_line=11)
    b.line(70)
    y = b.let(ty.u32, binary("Mul", x, const(ty.u32, 3)))
    b.scope(inlined="<S as Inner>::inner", call_line=71)
    b.scope()
    b.line(80)
    b.assign(deref(b.arg(0)), binary("BitXor", y, const(ty.u32, 9)))
    return b.in_scope(0).line(12).return_().build()


def _lines(text: str) -> list[str]:
    made = llvm.parse_assembly(text)
    made.verify()
    return text.splitlines()


def _location(lines: list[str], instruction: str) -> list[tuple[int, str]]:
    """Line and function name of an instruction, then of its call site, outwards."""
    nodes = {m[1]: m[2] for line in lines if (m := re.match(r"(!\d+) = (?:distinct )?(.*)", line))}
    found = next(line for line in lines if f" {instruction} " in line)
    at = re.search(r"!dbg (!\d+)", found)
    assert at, found
    node = nodes[at[1]]
    chain: list[tuple[int, str]] = []
    while True:
        line, scope = re.search(r"line: (\d+)", node), re.search(r"scope: (!\d+)", node)
        assert line and scope, node
        name = re.search(r'name: "([^"]*)"', re.sub(r'linkageName: "[^"]*"', "", nodes[scope[1]]))
        assert name
        chain.append((int(line[1]), name[1]))
        outer = re.search(r"inlinedAt: (!\d+)", node)
        if outer is None:
            return chain
        node = nodes[outer[1]]


def test_positions_through_inlining(host: Host) -> None:
    lowered = lower_program(program(_body(host)), host.ty.layouts, PlainHost(), debug=True, intrinsics=host.intrinsics)
    lines = _lines(lowered.text)
    assert _location(lines, "add") == [(10, "k")]
    assert _location(lines, "mul") == [(70, "outer::<u32>"), (11, "k")]
    assert _location(lines, "xor") == [(80, "<S as Inner>::inner"), (71, "outer::<u32>"), (11, "k")]


def test_code_is_the_same_with_and_without(host: Host) -> None:
    body = _body(host)
    with_lines = lower_program(
        program(body), host.ty.layouts, PlainHost(), debug=True, intrinsics=host.intrinsics
    ).text  # fmt: skip
    without = host.lower(body).text
    assert "!dbg" not in without
    stripped = re.sub(r",? ?!dbg !\d+", "", with_lines)
    code = [line.rstrip() for line in stripped.splitlines() if not line.startswith("!")]
    assert [line for line in code if line] == [line.rstrip() for line in without.splitlines() if line.rstrip()]


def test_bodies_without_positions(host: Host) -> None:
    """A body whose text has no spans is legal too."""
    ty = host.ty
    callee = BodyBuilder("f", ret=ty.u32)
    callee.assign(callee.ret, const(ty.u32, 1)).return_()
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True)], ret=ty.unit)
    b.call(deref(b.arg(0)), ty.fn_def("f", [], ty.u32)).return_()
    lowered = lower_program(
        program(b.build(), callee.build(), kernels=("k",)), host.ty.layouts, PlainHost(), debug=True,
        intrinsics=host.intrinsics,
    )  # fmt: skip
    _lines(lowered.text)
