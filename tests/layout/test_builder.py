"""The test builder's layouts against those that rustc gave."""

from __future__ import annotations

import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from mirgen.ingest import load_layouts
from mirgen.layout import data as d
from mirgen.layout.builder import LayoutMaker
from mirgen.mir.ty import Ty

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures/mir/1.96.0"


@pytest.fixture(scope="module")
def rustc() -> dict[str, d.Layout]:
    out: dict[str, d.Layout] = {}
    for name in ("language", "layouts"):
        unit = load_layouts(lzma.decompress((FIXTURES / f"{name}.layout.json.xz").read_bytes()), "t")
        out |= {text: layout for (_, text), layout in unit.layouts.items()}
    return out


def _types(ty: LayoutMaker) -> list[Ty]:
    return [
        ty.u8, ty.u16, ty.u32, ty.u64, ty.u128, ty.usize, ty.i8, ty.i16, ty.i32, ty.i64, ty.isize, ty.f32, ty.f64,
        ty.bool, ty.char, ty.unit, ty.tuple(ty.char), ty.tuple(ty.usize, ty.bool), ty.tuple(ty.usize, ty.usize),
        ty.tuple(ty.i32, ty.bool), ty.array(ty.u32, 4), ty.array(ty.f64, 2), ty.ref(ty.u64), ty.ref(ty.u32, mut=True),
        ty.ptr(ty.u8), ty.ptr(ty.u8, mut=True), ty.ref(ty.str), ty.ref(ty.slice(ty.u8)),
        ty.ptr(ty.slice(ty.u32), mut=True),
        ty.ref(ty.dyn("Shape")), ty.fn_ptr([ty.f32], ty.f32), ty.array(ty.ref(ty.str), 2), ty.never,
        ty.enum("E", {"A": [], "B": [], "Cc": []}, discriminants=[3, 200, 7], explicit_repr=True),
        ty.enum("Neg", {"M": [], "Z": [], "P": []}, discriminants=[-5, 0, 300], tag_bits=16, signed=True),
        ty.enum("Multi", {"A": [ty.u32], "B": [ty.f32], "C": []}, tag_bits=32, explicit_repr=True),
        _renamed(ty, ty.enum("O", {"None": [], "Some": [ty.u32]}, tag_bits=32), ty.adt("core::option::Option", ty.u32)),
        ty.option_of(ty.ref(ty.u8)), ty.option_of(ty.ref(ty.str)), ty.option_of(ty.char),
    ]  # fmt: skip


def _renamed(ty: LayoutMaker, made: Ty, name: Ty) -> Ty:
    ty.layouts[name.key] = ty.layout(made)
    return name


def test_agrees_with_rustc(rustc: dict[str, d.Layout]) -> None:
    ty = LayoutMaker()
    compared = 0
    for made in _types(ty):
        if made.text not in rustc:
            continue
        compared += 1
        assert _essence(ty.layout(made)) == _essence(rustc[made.text]), made.text
    assert compared >= 30


def _essence(layout: d.Layout) -> d.Layout:
    """Without the shapes of fields of pointers and scalars, and without the alignment of variants that hold nothing."""
    variants = layout.variants
    if isinstance(variants, d.VariantsMultiple):
        plain = tuple(replace(v, align=1) if v.fields == d.FieldsArbitrary(()) else v for v in variants.variants)
        variants = replace(variants, variants=plain)
    fields = d.FieldsPrimitive() if isinstance(layout.repr, d.ReprPair | d.ReprScalar) else layout.fields
    return replace(layout, variants=variants, fields=fields)
