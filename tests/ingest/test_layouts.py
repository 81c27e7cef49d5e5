"""Layout documents."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from mirgen.errors import InvalidInputError
from mirgen.ingest import LayoutUnit, load_layouts
from mirgen.layout import data as d


def load(document: dict[str, Any]) -> LayoutUnit:
    return load_layouts(json.dumps(document).encode(), "t")


def test_scalars_and_pairs(some_layouts: dict[str, Any]) -> None:
    unit = load(some_layouts)
    boolean = unit.layouts["t", "bool"]
    assert isinstance(boolean.repr, d.ReprScalar) and boolean.repr.value.is_bool
    u32 = unit.layouts["t", "u32"]
    assert isinstance(u32.repr, d.ReprScalar) and u32.repr.value.valid_end == 0xFFFF_FFFF
    offsets = {
        text: layout.repr.second_offset
        for (_, text), layout in unit.layouts.items()
        if isinstance(layout.repr, d.ReprPair)
    }
    assert offsets == {"(u8, i128)": 16, "(f128, u8)": 16, "&'{erased} [u32]": 8}
    slice_ = unit.layouts["t", "[u32]"]
    assert slice_.repr == d.ReprMemory(False) and slice_.fields == d.FieldsArray(4, 0)
    assert unit.layouts["t", "t::Un"].fields == d.FieldsUnion(2)
    assert isinstance(unit.layouts["t", "t::V"].repr, d.ReprVector)
    assert unit.failures == {("t", "T"): "still generic"}
    assert {text for (_, text), layout in unit.layouts.items() if layout.needs_drop} == {"t::E"}


def test_enums(some_layouts: dict[str, Any]) -> None:
    unit = load(some_layouts)
    void = unit.layouts["t", "t::Void"]
    assert void.variants == d.VariantsEmpty() and void.uninhabited and void.names == ()
    option = unit.layouts["t", "core::option::Option<&'{erased} u8>"]
    assert isinstance(option.variants, d.VariantsMultiple)
    assert option.variants.niche == d.TagNiche(1, 0, 0, 0) and option.variants.tag_offset == 0
    signed = unit.layouts["t", "t::E"]
    assert isinstance(signed.variants, d.VariantsMultiple) and signed.variants.niche is None
    assert (signed.variants.tag.valid_start, signed.variants.tag.valid_end) == (0xFFFB, 300)
    assert signed.names == (d.VariantName("M", -5), d.VariantName("P", 300))
    assert signed.variants.variants[1].fields == d.FieldsArbitrary((4, 2))


def _set(document: Any, path: str, value: Any) -> None:
    *way, last = [int(x) if x.isdigit() else x for x in path.split(".")]
    for step in way:
        document = document[step]
    document[last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("version", 0, "version: version 0"),
        ("layouts.0.layout.size", -1, "layouts[0]: size -1 is negative"),
        ("layouts.0.layout.size", 8, "layouts[0]: a scalar of 4 bytes in a type of 8"),
        ("layouts.0.layout.align", 6, "layouts[0]: alignment 6"),
        ("layouts.0.layout.backend_repr.value.valid_end", "0x100000000", "layouts[0]: valid range"),
        ("layouts.0.layout.backend_repr.value.primitive", "i24", "layouts[0].layout.backend_repr.value.primitive: "),
        ("layouts.2.layout.size", 16, "layouts[2]: a scalar pair of 32 bytes, aligned to 16, in a type of 16"),
        ("layouts.4.layout.size", 24, "layouts[4]: a scalar pair of 16 bytes, aligned to 8, in a type of 24"),
        ("layouts.2.layout.fields.offsets.1", 33, "layouts[2]: field offsets [0, 33]"),
        ("layouts.9.layout.variants.tag_field", 1, "layouts[9]: tag field 1"),
        ("layouts.9.layout.variants.tag_encoding.niche_last", 2, "layouts[9]: niche encoding"),
        ("layouts.9.layout.variants.tag_encoding.niche_start", "0x10000000000000000", "layouts[9]: niche start"),
        ("layouts.9.variant_names", [], "layouts[9]: 0 variant names for 2 variants"),
        ("layouts.10.variant_names.0.discriminant", "five", "layouts[10]: discriminant: `five`"),
        ("layouts.0.ty", "bool", "layouts[1]: `bool` is given twice, differently"),
        ("layouts.0.layout.extra", 1, "layouts[0].layout.extra: unknown field"),
    ],
)
def test_faults_name_their_place(some_layouts: dict[str, Any], path: str, value: Any, message: str) -> None:
    _set(some_layouts, path, value)
    with pytest.raises(InvalidInputError) as e:
        load(some_layouts)
    assert message in str(e.value)


FIXTURES = Path(__file__).resolve().parents[2] / "fixtures/mir"


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*/*.layout.json.xz")), ids=lambda p: p.name)
def test_what_rustc_said(path: Path) -> None:
    unit = load_layouts(lzma.decompress(path.read_bytes()), "t")
    assert len(unit.layouts) > 40
    pairs = [x for x in unit.layouts.values() if isinstance(x.repr, d.ReprPair)]
    assert pairs
    for layout in pairs:
        if isinstance(layout.variants, d.VariantsSingle) and isinstance(layout.fields, d.FieldsArbitrary):
            scalars = [o for o in layout.fields.offsets if o < layout.size]
            assert isinstance(layout.repr, d.ReprPair)
            assert len(scalars) < 2 or layout.repr.second_offset in scalars or 0 not in scalars


def test_a_mir_document_is_no_layout_document(every_construct: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="schema 'mirgen-mir' where 'mirgen-layout' is expected"):
        load(every_construct)
