"""Reading a layout document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from mirgen.errors import InvalidInputError
from mirgen.ingest import wire
from mirgen.ingest.decode import decode, parse_decimal, read_source
from mirgen.ingest.load import compiler_of
from mirgen.ingest.unit import Compiler
from mirgen.layout import data as d

_MAX_ALIGN = 1 << 29
_POINTER_BITS = 64


@dataclass(frozen=True, slots=True)
class LayoutUnit:
    """``layouts`` and ``failures`` (why rustc gave none) are keyed like ``Ty.key``: (crate, type text)."""

    compiler: Compiler
    target: str
    layouts: dict[tuple[str, str], d.Layout]
    failures: dict[tuple[str, str], str]


def load_layouts(source: Path | str | bytes, crate: str) -> LayoutUnit:
    """Reads one ``mirgen-layout`` document whose type texts were printed while compiling ``crate``.

    Raises :class:`InvalidInputError` for anything that is not a whole, consistent document of this version.
    """
    data, name = read_source(source)
    document = decode(wire.LayoutDocument, data, name)
    layouts: dict[tuple[str, str], d.Layout] = {}
    for i, w in enumerate(document.layouts):
        try:
            layout = _type_layout(w)
            if layouts.setdefault((crate, w.ty), layout) != layout:
                _fail(f"`{w.ty}` is given twice, differently")
        except InvalidInputError as e:
            raise InvalidInputError(e.message, f"{name}: layouts[{i}]") from None
    failures = {(crate, f.ty): f.reason for f in document.failures if (crate, f.ty) not in layouts}
    return LayoutUnit(compiler_of(document.compiler), document.target, layouts, failures)


def _fail(message: str) -> NoReturn:
    raise InvalidInputError(message)


def _type_layout(w: wire.TypeLayout) -> d.Layout:
    names = None
    if w.variant_names is not None:
        names = tuple(d.VariantName(n.name, parse_decimal(n.discriminant, "discriminant")) for n in w.variant_names)
    layout = replace(_layout(w.layout, names), needs_drop=w.needs_drop)
    if names is not None and isinstance(v := layout.variants, d.VariantsMultiple) and len(names) != len(v.variants):
        _fail(f"{len(names)} variant names for {len(v.variants)} variants")
    return layout


def _layout(w: wire.LayoutData, names: tuple[d.VariantName, ...] | None) -> d.Layout:
    if w.size < 0:
        _fail(f"size {w.size} is negative")
    if not 0 < w.align <= _MAX_ALIGN or w.align & (w.align - 1):
        _fail(f"alignment {w.align} is no power of two")
    fields = _fields(w.fields, w.size)
    repr_ = _repr(w.backend_repr, w.size, w.align)
    return d.Layout(w.size, w.align, repr_, fields, _variants(w, fields), w.uninhabited, names)


def scalar_align(scalar: d.Scalar) -> int:
    """ABI alignment of a scalar: its size, on every target mirgen has (``i128`` and ``f128`` included)."""
    return scalar.size


def pair_second_offset(first: d.Scalar, second: d.Scalar) -> int:
    """Where rustc puts the second scalar of a pair: ``first``'s size rounded up to ``second``'s alignment."""
    align = scalar_align(second)
    return (first.size + align - 1) // align * align


def _scalar(w: wire.ScalarLayout) -> d.Scalar:
    bits = _POINTER_BITS if w.primitive == "pointer" else int(w.primitive[1:])
    start, end = int(w.valid_start, 16), int(w.valid_end, 16)
    if start >> bits or end >> bits:
        _fail(f"valid range {w.valid_start[:40]}..={w.valid_end[:40]} does not fit in `{w.primitive}`")
    return d.Scalar(w.primitive, w.signed, w.initialized, start, end)


def _repr(w: wire.BackendRepr, size: int, align: int) -> d.BackendRepr:
    match w:
        case wire.ReprScalar():
            value = _scalar(w.value)
            if value.size != size:
                _fail(f"a scalar of {value.size} bytes in a type of {size}")
            return d.ReprScalar(value)
        case wire.ReprPair():
            first, second = _scalar(w.first), _scalar(w.second)
            offset = pair_second_offset(first, second)
            end = offset + second.size
            if (end + align - 1) // align * align != size:
                _fail(f"a scalar pair of {end} bytes, aligned to {align}, in a type of {size}")
            return d.ReprPair(first, second, offset)
        case wire.ReprVector():
            if w.count <= 0:
                _fail(f"vector of {w.count} elements")
            return d.ReprVector(_scalar(w.element), w.count)
        case wire.ReprMemory():
            return d.ReprMemory(w.sized)


def _fields(w: wire.FieldsShape, size: int) -> d.Fields:
    match w:
        case wire.FieldsPrimitive():
            return d.FieldsPrimitive()
        case wire.FieldsUnion():
            if w.count < 0:
                _fail(f"union of {w.count} fields")
            return d.FieldsUnion(w.count)
        case wire.FieldsArray():
            if min(w.stride, w.count) < 0:
                _fail("array with a negative stride or count")
            return d.FieldsArray(w.stride, w.count)
        case wire.FieldsArbitrary():
            if any(not 0 <= o <= size for o in w.offsets):
                _fail(f"field offsets {list(w.offsets)} in a type of {size} bytes")
            return d.FieldsArbitrary(w.offsets)


def _variants(w: wire.LayoutData, fields: d.Fields) -> d.Variants:
    match w.variants:
        case wire.VariantsEmpty():
            return d.VariantsEmpty()
        case wire.VariantsSingle(index=index):
            if index < 0:
                _fail(f"variant {index} is negative")
            return d.VariantsSingle(index)
        case wire.VariantsMultiple() as v:
            pass
    tag = _scalar(v.tag)
    if not isinstance(fields, d.FieldsArbitrary) or not 0 <= v.tag_field < len(fields.offsets):
        _fail(f"tag field {v.tag_field} is not among the enum's own fields")
    offset = fields.offsets[v.tag_field]
    if offset + tag.size > w.size:
        _fail(f"a tag of {tag.size} bytes at offset {offset} in a type of {w.size} bytes")
    niche = None
    if isinstance(v.tag_encoding, wire.TagNiche):
        e = v.tag_encoding
        count = len(v.variants)
        if not (0 <= e.untagged_variant < count and 0 <= e.niche_first <= e.niche_last < count):
            _fail(f"niche encoding names variants past the last of {count}")
        start = int(e.niche_start, 16)
        if start >> (8 * tag.size):
            _fail(f"niche start {e.niche_start[:40]} does not fit in the tag")
        niche = d.TagNiche(e.untagged_variant, e.niche_first, e.niche_last, start)
    return d.VariantsMultiple(tag, offset, niche, tuple(_layout(x, None) for x in v.variants))
