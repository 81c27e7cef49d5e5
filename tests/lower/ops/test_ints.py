"""Integer operations at every width against Python's integers, and accepted by every consumer."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
from llvmlite import ir

from mirgen.lower.ops import bits, compare, divide, overflow, shift
from mirgen.testing.opmodule import Emit, OpModule

WIDTHS = (8, 16, 32, 64, 128)
Reference = Callable[[int, int], tuple[int, ...] | None]


def signed_of(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def edges(width: int) -> list[int]:
    """Unsigned patterns: the ends, powers of two and their neighbours, and random ones of every length."""
    generator = random.Random(width)
    mask = (1 << width) - 1
    found = {0, 1, 2, 3, 7, 10, mask, mask - 1, mask >> 1, (mask >> 1) + 1, (mask >> 1) + 2, 0x5A & mask}
    for k in range(0, width, max(1, width // 16)):
        found |= {1 << k, ((1 << k) - 1) & mask, ((1 << k) + 1) & mask, (-(1 << k)) & mask}
    found |= {generator.getrandbits(generator.randint(1, width)) for _ in range(24)}
    return sorted(found)


def wrap(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def in_range(value: int, width: int, signed: bool) -> bool:
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    return low <= value <= high


def clamp(value: int, width: int, signed: bool) -> int:
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    return max(low, min(high, value))


def truncated_division(x: int, y: int) -> tuple[int, int]:
    quotient = abs(x) // abs(y)
    quotient = -quotient if (x < 0) != (y < 0) else quotient
    return quotient, x - quotient * y


def binary_operations(width: int, signed: bool) -> dict[str, tuple[Emit, Reference]]:
    """Name to emission and reference; the reference gives ``None`` where the operation is undefined."""

    def value(x: int) -> int:
        return signed_of(x, width) if signed else x

    def checked(op: Callable[[int, int], int]) -> Reference:
        def reference(x: int, y: int) -> tuple[int, ...]:
            exact = op(value(x), value(y))
            return wrap(exact, width), int(not in_range(exact, width, signed))

        return reference

    def saturating(op: Callable[[int, int], int]) -> Reference:
        return lambda x, y: (wrap(clamp(op(value(x), value(y)), width, signed), width),)

    def dividing(part: int) -> Reference:
        def reference(x: int, y: int) -> tuple[int, ...] | None:
            if y == 0 or not in_range(truncated_division(value(x), value(y))[0], width, signed):
                return None
            return (wrap(truncated_division(value(x), value(y))[part], width),)

        return reference

    def comparing(op: Callable[[int, int], bool]) -> Reference:
        return lambda x, y: (int(op(value(x), value(y))),)

    table: dict[str, tuple[Emit, Reference]] = {
        "add_overflow": (lambda b, a: overflow.add(b, *a, signed=signed), checked(lambda x, y: x + y)),
        "sub_overflow": (lambda b, a: overflow.sub(b, *a, signed=signed), checked(lambda x, y: x - y)),
        "mul_overflow": (lambda b, a: overflow.mul(b, *a, signed=signed), checked(lambda x, y: x * y)),
        "saturating_add": (lambda b, a: overflow.saturating_add(b, *a, signed=signed), saturating(lambda x, y: x + y)),
        "saturating_sub": (lambda b, a: overflow.saturating_sub(b, *a, signed=signed), saturating(lambda x, y: x - y)),
        "div": (lambda b, a: divide.div(b, *a, signed=signed), dividing(0)),
        "rem": (lambda b, a: divide.rem(b, *a, signed=signed), dividing(1)),
        "cmp": (
            lambda b, a: compare.three_way(b, *a, signed=signed),
            lambda x, y: (wrap((value(x) > value(y)) - (value(x) < value(y)), 8),),
        ),
    }
    comparisons: dict[str, Callable[[int, int], bool]] = {
        "Eq": lambda x, y: x == y, "Ne": lambda x, y: x != y, "Lt": lambda x, y: x < y,
        "Le": lambda x, y: x <= y, "Gt": lambda x, y: x > y, "Ge": lambda x, y: x >= y,
    }  # fmt: skip
    for op, reference in comparisons.items():
        table[op] = (lambda b, a, op=op: compare.integers(b, op, *a, signed=signed), comparing(reference))
    return table


@pytest.fixture(scope="module")
def ops() -> OpModule:
    """Every binary, unary and shift operation at every width, in one module."""
    module = OpModule()
    for width in WIDTHS:
        ty = ir.IntType(width)
        for signed in (False, True):
            for name, (emit, _) in binary_operations(width, signed).items():
                module.add(f"{name}_{'s' if signed else 'u'}{width}", [ty, ty], emit)
        for name, (emit, _) in unary_operations(width).items():
            module.add(f"{name}_{width}", [ty], emit)
        for by in WIDTHS:
            for name, (emit, _) in shift_operations(width, by).items():
                module.add(f"{name}_{width}_{by}", [ty, ir.IntType(by)], emit)
    return module


def unary_operations(width: int) -> dict[str, tuple[Emit, Callable[[int], int]]]:
    def reverse(x: int, step: int) -> int:
        mask = (1 << step) - 1
        return sum(((x >> (step * n)) & mask) << (width - step * (n + 1)) for n in range(width // step))

    return {
        "ctpop": (lambda b, a: bits.ctpop(b, a[0]), lambda x: x.bit_count()),
        "ctlz": (lambda b, a: bits.ctlz(b, a[0]), lambda x: width - x.bit_length()),
        "cttz": (lambda b, a: bits.cttz(b, a[0]), lambda x: width if x == 0 else (x & -x).bit_length() - 1),
        "bswap": (lambda b, a: bits.bswap(b, a[0]), lambda x: reverse(x, 8)),
        "bitreverse": (lambda b, a: bits.bitreverse(b, a[0]), lambda x: reverse(x, 1)),
    }


def shift_operations(width: int, by: int) -> dict[str, tuple[Emit, Reference]]:
    def amount(y: int) -> int:
        return signed_of(y, by) % width  # Rust masks, so negative amounts count from the top

    table: dict[str, tuple[Emit, Reference]] = {
        "shl": (lambda b, a: shift.shl(b, *a), lambda x, y: (wrap(x << amount(y), width),)),
        "lshr": (lambda b, a: shift.shr(b, *a, signed=False), lambda x, y: (x >> amount(y),)),
        "ashr": (
            lambda b, a: shift.shr(b, *a, signed=True),
            lambda x, y: (wrap(signed_of(x, width) >> amount(y), width),),
        ),
    }
    if by == 32:

        def rotated(x: int, n: int) -> tuple[int, ...]:
            return (wrap(x << n, width) | (x >> (width - n)) if n else x,)

        table["rotl"] = (lambda b, a: bits.rotate_left(b, *a), lambda x, y: rotated(x, y % width))
        table["rotr"] = (lambda b, a: bits.rotate_right(b, *a), lambda x, y: rotated(x, -y % width))
    return table


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])
def test_binary(ops: OpModule, width: int, signed: bool) -> None:
    for name, (_, reference) in binary_operations(width, signed).items():
        cases = [(x, y) for x, y in itertools.product(edges(width), repeat=2) if reference(x, y) is not None]
        found = ops.run(f"{name}_{'s' if signed else 'u'}{width}", cases)
        wrong = [(c, got, reference(*c)) for c, got in zip(cases, found, strict=True) if got != reference(*c)]
        assert not wrong, f"{name}: {len(wrong)} of {len(cases)} wrong, first {wrong[0]}"


@pytest.mark.parametrize("width", WIDTHS)
def test_unary(ops: OpModule, width: int) -> None:
    for name, (_, reference) in unary_operations(width).items():
        cases = [(x,) for x in edges(width)]
        assert ops.run(f"{name}_{width}", cases) == [(reference(x),) for (x,) in cases], name


@pytest.mark.parametrize("by", WIDTHS)
@pytest.mark.parametrize("width", WIDTHS)
def test_shift(ops: OpModule, width: int, by: int) -> None:
    for name, (_, reference) in shift_operations(width, by).items():
        cases = list(itertools.product(edges(width)[::3], edges(by)))
        assert ops.run(f"{name}_{width}_{by}", cases) == [reference(*case) for case in cases], name


@pytest.mark.cuda
@pytest.mark.slow
def test_every_device_consumer_accepts_them(ops: OpModule) -> None:
    assert all(".entry" in ptx for ptx in ops.device_ptx().values())


def test_wide_pointers_compare_in_lexicographic_order() -> None:
    module = OpModule()
    ty = ir.IntType(64)
    for op in compare.PREDICATES:
        module.add(op, [ty] * 4, lambda b, a, op=op: compare.wide(b, op, (a[0], a[1]), (a[2], a[3])))
    words = (0, 1, 5, (1 << 64) - 1)
    cases = list(itertools.product(words, repeat=4))
    python = {"Eq": "__eq__", "Ne": "__ne__", "Lt": "__lt__", "Le": "__le__", "Gt": "__gt__", "Ge": "__ge__"}
    for op, method in python.items():
        expected = [(int(getattr(case[:2], method)(case[2:])),) for case in cases]
        assert module.run(op, cases) == expected, op
