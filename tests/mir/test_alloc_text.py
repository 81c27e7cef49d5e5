"""Allocations as rustc draws them: sizes, pointers over line ends, names too long for their place."""

from __future__ import annotations

from typing import Any

from mirgen.mir import body as m
from mirgen.mir.alloc_text import format_alloc

from .conftest import Parse


def test_golden() -> None:
    alloc = m.MemoryAlloc("t::S", 4, bytes(range(0x3C, 0x50)) + bytes(8), ((26, 28),), (m.Relocation(12, 8, 7, 4),))
    assert format_alloc(3, alloc) == (
        "alloc3 (static: t::S, size: 28, align: 4) {\n"
        "    0x00 │ 3c 3d 3e 3f 40 41 42 43 44 45 46 47 ╾alloc7+0x4 │ <=>?@ABCDEFG╾───\n"
        "    0x10 │ ──────────╼ 00 00 00 00 00 00 __ __             │ ───╼......░░\n"
        "}"
    )
    assert format_alloc(0, m.MemoryAlloc(None, 1, b"", (), ())) == "alloc0 (size: 0, align: 1) {}"


def test_reads_back_wherever_the_pointer_stands(parse: Parse) -> None:
    spots = [(at, offset) for at in range(23) for offset in (0, 4, 0x1234567890, (1 << 64) - 8)]
    far = 123456
    bodies: list[str] = []
    wanted: list[tuple[str, dict[str, int]]] = []
    for i, (at, offset) in enumerate(spots):
        data = bytearray(range(1, 31))
        data[at : at + 8] = bytes(8)
        to = far if i % 2 else 999
        alloc = m.MemoryAlloc(None, 1, bytes(data), (), (m.Relocation(at, 8, to, offset),))
        bodies.append(
            f"const t::C{i}: &'{{erased}} u8 = {{\n    let mut _0: &'{{erased}} u8;\n\n    bb0: {{\n"
            f"        _0 = const ConstValue(Scalar(alloc{i}): &'{{erased}} u8);\n        return;\n    }}\n}}\n\n"
            f"{format_alloc(i, alloc)}\n\n{format_alloc(to, m.MemoryAlloc('t::S', 2, b'ab', (), ()))}\n"
        )
        wanted.append((bytes(data).hex(), {"at": at, "size": 8, "alloc": to, "offset": offset}))
    allocs: list[dict[str, Any]] = parse("\n".join(bodies))["allocs"]
    assert [(a["bytes"], *a["relocations"]) for a in allocs[:-2]] == wanted
