"""Float intrinsics by rustc's names; the operations behind them are tested bit by bit in ``lower/ops``."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import pytest

from mirgen.errors import UnsupportedError
from mirgen.mir import ty as t
from mirgen.testing.consumers import device_ptx

from .conftest import Calls


def pattern(x: float, bits: int) -> int:
    code, raw = {32: ("<f", "<I"), 64: ("<d", "<Q")}[bits]
    return struct.unpack(raw, struct.pack(code, x))[0]


@pytest.mark.parametrize("bits", [32, 64])
def test_exact(call: Calls, bits: int) -> None:
    ty: t.Ty = call.ty.f32 if bits == 32 else call.ty.f64
    nan = math.nan

    def p(x: float) -> int:
        return pattern(x, bits)

    cases: list[tuple[str, tuple[float, ...], float]] = [
        ("sqrt", (2.25,), 1.5), ("floor", (-1.5,), -2.0), ("ceil", (-1.5,), -1.0), ("trunc", (-1.5,), -1.0),
        ("round", (2.5,), 3.0), ("round", (-0.5,), -1.0), ("round_ties_even_", (2.5,), 2.0), ("rint", (3.5,), 4.0),
        ("nearbyint", (-0.25,), -0.0), ("fabs", (-0.0,), 0.0), ("copysign", (3.0, -0.0), -3.0),
        ("fma", (3.0, 4.0, -2.0), 10.0), ("fmuladd", (3.0, 4.0, -2.0), 10.0),
        ("minnum", (nan, 2.0), 2.0), ("maxnum", (2.0, nan), 2.0), ("minimum_number_nsz_", (1.0, 2.0), 1.0),
        ("maximum_number_nsz_", (nan, -1.0), -1.0), ("minimum", (-0.0, 0.0), -0.0), ("maximum", (-0.0, 0.0), 0.0),
    ]  # fmt: skip
    for stem, args, expected in cases:
        call.expect(f"{stem}f{bits}", [(ty, p(x)) for x in args], ty, p(expected))
    call.expect(f"fabs::<f{bits}>", [(ty, p(-2.0))], ty, p(2.0))
    call.expect(f"powif{bits}", [(ty, p(1.5)), (call.ty.i32, 0xFFFFFFFE)], ty, p(1 / 2.25))
    for op, expected in (("fadd", 9.5), ("fsub", 5.5), ("fmul", 15.0), ("fdiv", 3.75), ("frem", 1.5)):
        call.expect(f"{op}_algebraic::<f{bits}>", [(ty, p(7.5)), (ty, p(2.0))], ty, p(expected))
        call.expect(f"{op}_fast::<f{bits}>", [(ty, p(7.5)), (ty, p(2.0))], ty, p(expected))
    call.expect(f"float_to_int_unchecked::<f{bits}, u8>", [(ty, p(200.75))], call.ty.u8, 200)
    call.expect(f"float_to_int_unchecked::<f{bits}, i64>", [(ty, p(-3.5))], call.ty.i64, (1 << 64) - 3)
    call.check()


LIBRARY: dict[str, Callable[[float], float]] = {
    "sin": math.sin, "cos": math.cos, "exp": math.exp, "exp2": math.exp2, "log": math.log, "log2": math.log2,
    "log10": math.log10,
}  # fmt: skip


@pytest.mark.parametrize("bits", [32, 64])
def test_library(call: Calls, bits: int) -> None:
    ty: t.Ty = call.ty.f32 if bits == 32 else call.ty.f64
    code, raw = {32: ("<f", "<I"), 64: ("<d", "<Q")}[bits]

    def result(name: str, *args: float) -> float:
        got = call(f"{name}f{bits}", [(ty, pattern(x, bits)) for x in args], ty)
        return struct.unpack(code, struct.pack(raw, got))[0]

    for name, reference in LIBRARY.items():
        assert result(name, 0.75) == pytest.approx(reference(0.75), rel=1e-6 if bits == 32 else 1e-14), name
    assert result("pow", 2.5, 1.5) == pytest.approx(2.5**1.5, rel=1e-6 if bits == 32 else 1e-14)


def test_f128_is_refused(call: Calls) -> None:
    call.expect("fabs::<f128>", [(call.ty.f128, 0)], call.ty.u8, 0)
    with pytest.raises(UnsupportedError, match="f128"):
        call.check()


@pytest.mark.cuda
@pytest.mark.slow
def test_every_device_consumer_takes_them(call: Calls) -> None:
    ty = call.ty
    for bits, of in ((16, ty.f16), (32, ty.f32), (64, ty.f64)):
        for name, arity in (
            ("sqrt", 1), ("floor", 1), ("round", 1), ("round_ties_even_", 1), ("copysign", 2), ("fma", 3),
            ("minimum", 2), ("maximum_number_nsz_", 2), ("sin", 1), ("exp2", 1), ("pow", 2), ("log10", 1),
        ):  # fmt: skip
            call.bodies.append(call.body(f"core::intrinsics::{name}f{bits}", [of] * arity, of, f"k{len(call.bodies)}"))
        path = f"core::intrinsics::powif{bits}"
        call.bodies.append(call.body(path, [of, ty.i32], of, f"k{len(call.bodies)}"))
        path = f"core::intrinsics::frem_algebraic::<f{bits}>"
        call.bodies.append(call.body(path, [of, of], of, f"k{len(call.bodies)}"))
        for name, to in ty.ints.items():
            path = f"core::intrinsics::float_to_int_unchecked::<f{bits}, {name}>"
            call.bodies.append(call.body(path, [of], to, f"k{len(call.bodies)}"))
    text, names = call.device_text()
    for (codegen, arch), ptx in device_ptx(text, names).items():
        assert ptx.count(".entry") == len(names), (codegen, arch)
        assert "fma.rn.f32" not in ptx.split("k0", 1)[0], "nothing is contracted"
