"""Floating-point operations and conversions, bit by bit, against exact rational arithmetic and numpy."""

from __future__ import annotations

import itertools
import math
import random
import struct
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from llvmlite import ir

from mirgen.lower.ops import convert, floats, fmod
from mirgen.testing.opmodule import Emit, OpModule

FLOATS = (16, 32, 64)
INTS = (8, 16, 32, 64, 128)
FORMATS = {16: ("e", "H"), 32: ("f", "I"), 64: ("d", "Q")}
MANTISSA = {16: 10, 32: 23, 64: 52}
EXPONENT = {16: 5, 32: 8, 64: 11}


def number(pattern: int, bits: int) -> float:
    """The value of a bit pattern; a ``float`` holds all three formats."""
    code, raw = FORMATS[bits]
    return struct.unpack(code, struct.pack(raw, pattern))[0]


def infinity(bits: int) -> int:
    return ((1 << EXPONENT[bits]) - 1) << MANTISSA[bits]


def is_nan(pattern: int, bits: int) -> bool:
    return pattern & ~(1 << (bits - 1)) > infinity(bits)


def rounded(value: Fraction, bits: int, *, negative_zero: bool = False) -> int:
    """The pattern nearest to ``value``, ties to even; the definition of IEEE 754, in integers."""
    sign = (1 << (bits - 1)) if value < 0 or negative_zero else 0
    value = abs(value)
    if value == 0:
        return sign
    mantissa, bias = MANTISSA[bits], (1 << (EXPONENT[bits] - 1)) - 1
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    while Fraction(2) ** exponent > value:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= value:
        exponent += 1
    exponent = max(exponent, 1 - bias)
    scaled = value / Fraction(2) ** (exponent - mantissa)
    whole, rest = divmod(scaled.numerator, scaled.denominator)
    twice = 2 * rest
    whole += twice > scaled.denominator or (twice == scaled.denominator and whole % 2 == 1)
    pattern = ((exponent + bias - 1) << mantissa) + whole
    return sign | min(pattern, infinity(bits))


def patterns(bits: int, count: int = 40) -> list[int]:
    """Zeros, subnormals, ones, halves, limits of the integers, the largest, infinities, NaNs, and random patterns."""
    generator = random.Random(bits)
    one = ((1 << (EXPONENT[bits] - 1)) - 1) << MANTISSA[bits]
    found = {0, 1, 2, (1 << MANTISSA[bits]) - 1, 1 << MANTISSA[bits], one, one + 1, one - 1, infinity(bits) - 1}
    found |= {infinity(bits), infinity(bits) | 1, infinity(bits) | (1 << (MANTISSA[bits] - 1))}
    for value in (0.25, 0.5, 0.75, 1.5, 2.5, 3.5, 0.1, 7.0, 1e-3, 12345.0, 65504.0, *(2.0**k for k in (7, 8, 15))):
        found.add(rounded(Fraction(value), bits))
    for k in (7, 8, 15, 16, 31, 32, 63, 64, 127, 128):
        at = rounded(Fraction(2) ** k, bits)
        found |= {at, at - 1, min(at + 1, infinity(bits))}
    for k in (MANTISSA[bits] - 1, MANTISSA[bits], MANTISSA[bits] + 1):
        at = rounded(Fraction(2) ** k, bits)
        found |= {at, at - 1, at + 1}
    found |= {generator.getrandbits(bits - 1) for _ in range(count)}
    if bits == 16:
        found |= set(range(0, 1 << 15, 11))
    span = 12 if bits == 16 else 40
    for _ in range(count):
        exponent = generator.randrange(span) << MANTISSA[bits]
        found.add(one + (generator.getrandbits(MANTISSA[bits]) | exponent))
    return sorted({p | s for p in found if p < 1 << (bits - 1) for s in (0, 1 << (bits - 1))})


def some_patterns(bits: int) -> list[int]:
    """Some 120 of them, for products."""
    found = patterns(bits)
    return found[:: max(1, len(found) // 120)] + [0, 1 << (bits - 1), infinity(bits), infinity(bits) | 1]


def same(got: int, expected: int, bits: int) -> bool:
    """Equal bits; all NaNs are one (Rust leaves the payload open)."""
    return got == expected or (is_nan(got, bits) and is_nan(expected, bits))


def assert_same(
    module: OpModule, name: str, cases: list[tuple[int, ...]], reference: Callable[..., int], bits: int
) -> None:
    found = module.run(name, cases)
    wrong = [
        (tuple(map(hex, case)), hex(got), hex(reference(*case)))
        for case, (got,) in zip(cases, found, strict=True)
        if not same(got, reference(*case), bits)
    ]
    assert not wrong, f"{name}: {len(wrong)} of {len(cases)} wrong: {wrong[:3]}"


def exact_fma(x: int, y: int, z: int, bits: int) -> int:
    """``x * y + z`` of finite patterns, rounded once."""
    one, two, three = (Fraction(number(v, bits)) for v in (x, y, z))
    return rounded(one * two + three, bits)


def unary_operations(bits: int) -> dict[str, tuple[Emit, Callable[[int], int]]]:
    top = 1 << (bits - 1)
    whole: dict[str, Callable[[Fraction], int]] = {
        "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round_even": round,
        "round": lambda x: math.floor(abs(x) + Fraction(1, 2)) * (1 if x > 0 else -1),
    }  # fmt: skip

    def to_whole(op: Callable[[Fraction], int]) -> Callable[[int], int]:
        def reference(x: int) -> int:
            value = number(x, bits)
            if not math.isfinite(value):
                return x
            return rounded(Fraction(op(Fraction(value))), bits, negative_zero=bool(x & top))

        return reference

    def root(x: int) -> int:
        value = number(x, bits)
        if x in (0, top) or x == infinity(bits):
            return x
        if math.isnan(value) or value < 0:
            return infinity(bits) | 1
        scale = 4 ** {16: 40, 32: 180, 64: 1130}[bits]
        scaled = Fraction(value) * scale
        low = math.isqrt(scaled.numerator // scaled.denominator)
        sticky = low * low != scaled  # halfway cases do not occur for square roots
        return rounded(Fraction(2 * low + sticky, 2 * math.isqrt(scale)), bits)

    table: dict[str, tuple[Emit, Callable[[int], int]]] = {
        "neg": (lambda b, a: floats.neg(b, a[0]), lambda x: x ^ top),
        "fabs": (lambda b, a: floats.fabs(b, a[0]), lambda x: x & ~top),
        "floor": (lambda b, a: floats.rounding(b, "floor", a[0]), to_whole(whole["floor"])),
        "ceil": (lambda b, a: floats.rounding(b, "ceil", a[0]), to_whole(whole["ceil"])),
        "trunc": (lambda b, a: floats.rounding(b, "trunc", a[0]), to_whole(whole["trunc"])),
        "round": (lambda b, a: floats.round_half_away(b, a[0]), to_whole(whole["round"])),
        "round_even": (lambda b, a: floats.round_half_even(b, a[0]), to_whole(whole["round_even"])),
        "sqrt": (lambda b, a: floats.sqrt(b, a[0]), root),
    }
    return table


def binary_operations(bits: int) -> dict[str, tuple[Emit, Callable[[int, int], int]]]:
    top = 1 << (bits - 1)
    quiet = infinity(bits) | (1 << (MANTISSA[bits] - 1))

    def key(x: int) -> float:
        return number(x, bits)

    def of_numbers(maximum: bool) -> Callable[[int, int], int]:
        def reference(x: int, y: int) -> int:
            if is_nan(x, bits):
                return y
            if is_nan(y, bits):
                return x
            return y if (key(y) >= key(x) if maximum else key(y) <= key(x)) else x

        return reference

    def propagating(maximum: bool) -> Callable[[int, int], int]:
        def reference(x: int, y: int) -> int:
            if is_nan(x, bits) or is_nan(y, bits):
                return quiet
            order = sorted((x, y), key=lambda v: (key(v), not v & top))
            return order[1] if maximum else order[0]

        return reference

    def remainder(x: int, y: int) -> int:
        a, c = number(x, bits), number(y, bits)
        if not math.isfinite(a) or math.isnan(c) or c == 0:
            return quiet
        if math.isinf(c):
            return x
        left = Fraction(a) - math.trunc(Fraction(a) / Fraction(c)) * Fraction(c)
        return rounded(left, bits, negative_zero=bool(x & top))

    return {
        "copysign": (lambda b, a: floats.copysign(b, *a), lambda x, y: (x & ~top) | (y & top)),
        "min": (lambda b, a: floats.number(b, *a, maximum=False), of_numbers(False)),
        "max": (lambda b, a: floats.number(b, *a, maximum=True), of_numbers(True)),
        "minimum": (lambda b, a: floats.propagating(b, *a, maximum=False), propagating(False)),
        "maximum": (lambda b, a: floats.propagating(b, *a, maximum=True), propagating(True)),
        "frem": (lambda b, a: fmod.frem(b, *a), remainder),
    }


@pytest.fixture(scope="module")
def ops() -> OpModule:
    module = OpModule()
    for bits in FLOATS:
        ty = floats.float_type(bits)
        for name, (emit, _) in unary_operations(bits).items():
            module.add(f"{name}_f{bits}", [ty], emit)
        for name, (emit, _) in binary_operations(bits).items():
            module.add(f"{name}_f{bits}", [ty, ty], emit)
        module.add(f"fma_f{bits}", [ty] * 3, lambda b, a: floats.fma(b, *a))
        module.add(f"powi_f{bits}", [ty, ir.IntType(32)], lambda b, a: floats.powi(b, *a))
        for width in INTS:
            for signed in (False, True):
                name = f"{'s' if signed else 'u'}{width}"
                module.add(
                    f"f{bits}_{name}", [ty],
                    lambda b, a, width=width, signed=signed: convert.float_to_int(b, a[0], width, signed=signed),
                )  # fmt: skip
                module.add(
                    f"{name}_f{bits}", [ir.IntType(width)],
                    lambda b, a, ty=ty, signed=signed: convert.int_to_float(b, a[0], ty, signed=signed),
                )  # fmt: skip
        for other in FLOATS:
            if other < bits:
                to = floats.float_type(other)
                module.add(f"f{bits}_f{other}", [ty], lambda b, a, to=to: floats.narrow(b, a[0], to))
            elif other > bits:
                to = floats.float_type(other)
                module.add(f"f{bits}_f{other}", [ty], lambda b, a, to=to: floats.widen(b, a[0], to))
    return module


@pytest.mark.parametrize("bits", FLOATS)
def test_unary(ops: OpModule, bits: int) -> None:
    cases: list[tuple[int, ...]] = [(x,) for x in patterns(bits, 400)]
    for name, (_, reference) in unary_operations(bits).items():
        assert_same(ops, f"{name}_f{bits}", cases, reference, bits)


@pytest.mark.parametrize("bits", FLOATS)
def test_binary(ops: OpModule, bits: int) -> None:
    cases: list[tuple[int, ...]] = list(itertools.product(some_patterns(bits)[::2], some_patterns(bits)[1::2]))
    for name, (_, reference) in binary_operations(bits).items():
        assert_same(ops, f"{name}_f{bits}", cases, reference, bits)


@pytest.mark.parametrize("bits", FLOATS)
def test_fused_multiply_add_rounds_once(ops: OpModule, bits: int) -> None:
    generator = random.Random(7)
    some = [p for p in patterns(bits) if math.isfinite(number(p, bits))]
    cases: list[tuple[int, ...]] = [tuple(generator.choice(some) for _ in range(3)) for _ in range(6000)]
    # sums that cancel, and products far below an addend, where a second rounding would show
    one = rounded(Fraction(1), bits)
    tiny = rounded(Fraction(2) ** -(MANTISSA[bits] + 1), bits)
    cases += [(one + k, one + j, (rounded(-Fraction(1), bits)) ^ s) for k in range(9) for j in range(9) for s in (0, 1)]
    cases += [(tiny + k, one + j, one + i) for k in range(4) for j in range(4) for i in range(6)]

    def reference(x: int, y: int, z: int) -> int:
        return exact_fma(x, y, z, bits)

    cases = [(x, y, z) for x, y, z in cases if reference(x, y, z) not in (0, 1 << (bits - 1))]  # a zero sum's sign
    assert_same(ops, f"fma_f{bits}", cases, reference, bits)


@pytest.mark.parametrize("bits", FLOATS)
@pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])
def test_float_to_int_saturates(ops: OpModule, bits: int, signed: bool) -> None:
    cases = [(x,) for x in patterns(bits, 400)]
    for width in INTS:
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)

        def reference(x: int, low: int = low, high: int = high, width: int = width) -> int:
            value = number(x, bits)
            if math.isnan(value):
                return 0
            whole = math.trunc(value) if math.isfinite(value) else (high if value > 0 else low)
            return max(low, min(high, whole)) & ((1 << width) - 1)

        name = f"f{bits}_{'s' if signed else 'u'}{width}"
        found = ops.run(name, cases)
        wrong = [(hex(x), hex(got)) for (x,), (got,) in zip(cases, found, strict=True) if got != reference(x)]
        assert not wrong, f"{name}: {len(wrong)} wrong: {wrong[:3]}"


@pytest.mark.parametrize("bits", FLOATS)
@pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])
def test_int_to_float_rounds_to_nearest(ops: OpModule, bits: int, signed: bool) -> None:
    for width in INTS:
        generator = random.Random(width)
        top = 1 << (width - 1)
        values = set(range(1 << width)) if width <= 16 else {0, 1, 2, 2 * top - 1, top, top - 1}
        for k in range(width):
            # halfway between two floats, and one on either side
            for step in (0, 1, 2, 3):
                middle = (1 << k) + (step << max(0, k - MANTISSA[bits] - 1))
                values |= {v & ((1 << width) - 1) for v in (middle - 1, middle, middle + 1, -middle)}
        values |= {generator.getrandbits(generator.randint(1, width)) for _ in range(600)}
        cases: list[tuple[int, ...]] = [(v,) for v in sorted(values)]

        def reference(v: int, width: int = width) -> int:
            return rounded(Fraction(v - (1 << width) if signed and v >> (width - 1) else v), bits)

        assert_same(ops, f"{'s' if signed else 'u'}{width}_f{bits}", cases, reference, bits)


@pytest.mark.parametrize(("bits", "other"), [(a, c) for a in FLOATS for c in FLOATS if a != c])
def test_float_to_float(ops: OpModule, bits: int, other: int) -> None:
    values = set(range(1 << 16)) if bits == 16 else set(patterns(bits, 3000))
    if bits > other:
        # around every midpoint of the smaller format: the double rounding that a detour would make shows here
        for small in range(0, infinity(16), 7) if other == 16 else patterns(32):
            at, after = number(small, other), number(small + 1, other)
            if math.isfinite(at) and math.isfinite(after):
                middle = rounded((Fraction(at) + Fraction(after)) / 2, bits)
                values |= {middle, middle + 1, middle - 1}
    cases: list[tuple[int, ...]] = [(v,) for v in sorted(values)]

    def reference(x: int) -> int:
        value = number(x, bits)
        if math.isnan(value):
            return infinity(other) | 1
        if math.isinf(value):
            return infinity(other) | ((1 << (other - 1)) if value < 0 else 0)
        return rounded(Fraction(value), other, negative_zero=bool(x >> (bits - 1)))

    assert_same(ops, f"f{bits}_f{other}", cases, reference, other)


@pytest.mark.parametrize("bits", [32, 64])
def test_powi_multiplies_in_the_order_of_compiler_rt(ops: OpModule, bits: int) -> None:
    ty = np.float32 if bits == 32 else np.float64

    def reference(x: int, n: int) -> int:
        exponent = n - (1 << 32) if n >> 31 else n
        with np.errstate(all="ignore"):
            square, product, left = ty(number(x, bits)), ty(1), abs(exponent)
            while True:
                if left & 1:
                    product = product * square
                left >>= 1
                if left == 0:
                    break
                square = square * square
            result = ty(1) / product if exponent < 0 else product
        return int(result.view(np.uint32 if bits == 32 else np.uint64))

    negative = [-k & 0xFFFFFFFF for k in (1, 2, 3, 7, 126)]
    exponents = [0, 1, 2, 3, 5, 10, 31, 32, 127, 1 << 31, (1 << 31) - 1, *negative]
    cases: list[tuple[int, ...]] = list(itertools.product(patterns(bits)[::3], exponents))
    assert_same(ops, f"powi_f{bits}", cases, reference, bits)


@pytest.mark.cuda
@pytest.mark.slow
def test_every_device_consumer_accepts_them(ops: OpModule) -> None:
    assert all(".entry" in ptx for ptx in ops.device_ptx().values())
