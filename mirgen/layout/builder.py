"""Types with hand-made layouts, for tests.

:class:`LayoutMaker` computes what rustc gives for plain cases: primitives, pointers, arrays, tuples and structs in
declaration order (pass ``order`` for another), unions, enums with a direct tag, and the ``Option<&T>`` kind of niche.
It imitates rustc for tests only; the compiler itself uses what rustc says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mirgen.layout import data as d
from mirgen.mir import ty as t
from mirgen.mir.builder import TypeMaker

_FULL = {n: (1 << n) - 1 for n in (8, 16, 32, 64, 128)}


def int_scalar(bits: int, signed: bool = False, start: int = 0, end: int | None = None) -> d.Scalar:
    return d.Scalar(f"i{bits}", signed, True, start, _FULL[bits] if end is None else end)


def pointer_scalar(*, nonnull: bool) -> d.Scalar:
    return d.Scalar("pointer", False, True, int(nonnull), _FULL[64])


def _leaf(scalar: d.Scalar) -> d.Layout:
    return d.Layout(scalar.size, scalar.size, d.ReprScalar(scalar), d.FieldsPrimitive(), d.VariantsSingle(0), False)


def _round_up(n: int, align: int) -> int:
    return (n + align - 1) // align * align


def record(fields: Sequence[d.Layout], *, align: int = 1, order: Sequence[int] | None = None) -> d.Layout:
    """A struct or tuple of ``fields``; ``order`` is their order in memory, ``align`` the least alignment."""
    offsets = [0] * len(fields)
    at = 0
    for i in order or range(len(fields)):
        align = max(align, fields[i].align)
        at = _round_up(at, fields[i].align)
        offsets[i] = at
        at += fields[i].size
    size = _round_up(at, align)
    repr_ = _record_repr(fields, offsets, size, align)
    uninhabited = any(f.uninhabited for f in fields)
    return d.Layout(size, align, repr_, d.FieldsArbitrary(tuple(offsets)), d.VariantsSingle(0), uninhabited)


def _record_repr(fields: Sequence[d.Layout], offsets: Sequence[int], size: int, align: int) -> d.BackendRepr:
    real = sorted(((offsets[i], f) for i, f in enumerate(fields) if f.size), key=lambda x: x[0])
    memory = d.ReprMemory(True)
    if len(real) == 1 and real[0][1].size == size and real[0][1].align == align:
        return real[0][1].repr
    if len(real) == 2:
        (at_a, a), (at_b, b) = real
        if isinstance(a.repr, d.ReprScalar) and isinstance(b.repr, d.ReprScalar):
            pair = d.ReprPair(a.repr.value, b.repr.value, _round_up(a.size, b.repr.value.size))
            if (at_a, at_b) == (0, pair.second_offset) and size == _round_up(at_b + b.size, max(a.align, b.align)):
                return pair
    return memory


class LayoutMaker(TypeMaker):
    """A :class:`TypeMaker` whose types have layouts: :attr:`layouts` is the table."""

    def __init__(self, crate: str = "t") -> None:
        self.layouts: dict[tuple[str, str], d.Layout] = {}
        super().__init__(crate)

    def layout(self, ty: t.Ty) -> d.Layout:
        return self.layouts[ty.key]

    def _made(self, ty: t.Ty) -> t.Ty:
        layout = self._layout_of(ty)
        if layout is not None:
            self.layouts.setdefault(ty.key, replace(layout, needs_drop=self._needs_drop(ty)))
        return ty

    def _needs_drop(self, ty: t.Ty) -> bool:
        match ty:
            case t.TupleTy(elems=inside) | t.ClosureTy(upvars=inside):
                return any(self.layout(each).needs_drop for each in inside)
            case t.ArrayTy(elem=elem) | t.SliceTy(elem=elem):
                return bool(self.layout(elem).needs_drop)
            case _:
                return isinstance(ty, t.DynTy)

    def _layout_of(self, ty: t.Ty) -> d.Layout | None:
        match ty:
            case t.IntTy(bits=bits, signed=signed):
                return _leaf(int_scalar(bits, signed))
            case t.FloatTy(bits=bits):
                return _leaf(d.Scalar(f"f{bits}", False, True, 0, _FULL[bits]))
            case t.BoolTy():
                return _leaf(int_scalar(8, end=1))
            case t.CharTy():
                return _leaf(int_scalar(32, end=0x10FFFF))
            case t.NeverTy():
                return d.Layout(0, 1, d.ReprMemory(True), d.FieldsPrimitive(), d.VariantsEmpty(), True)
            case t.StrTy():
                return d.Layout(0, 1, d.ReprMemory(False), d.FieldsArray(1, 0), d.VariantsSingle(0), False)
            case t.DynTy():
                return d.Layout(0, 1, d.ReprMemory(False), d.FieldsArbitrary(()), d.VariantsSingle(0), False)
            case t.SliceTy(elem=elem):
                e = self.layout(elem)
                return d.Layout(0, e.align, d.ReprMemory(False), d.FieldsArray(e.size, 0), d.VariantsSingle(0), False)
            case t.ArrayTy(elem=elem, length=length):
                e = self.layout(elem)
                n = length or 0
                fields = d.FieldsArray(e.size, n)
                return d.Layout(e.size * n, e.align, d.ReprMemory(True), fields, d.VariantsSingle(0), False)
            case t.PointerTy():
                return self._pointer(ty)
            case t.FnPtrTy():
                return _leaf(pointer_scalar(nonnull=True))
            case t.FnDefTy():
                return record([])
            case t.TupleTy(elems=elems):
                return record([self.layout(e) for e in elems])
            case t.ClosureTy(upvars=upvars):
                return record([self.layout(u) for u in upvars])
            case t.AdtTy() | t.CoroutineTy() | t.UnsupportedTy():
                return None

    def _pointer(self, ty: t.PointerTy) -> d.Layout:
        data = pointer_scalar(nonnull=ty.is_ref)
        match ty.pointee:
            case t.SliceTy() | t.StrTy():
                meta = int_scalar(64)
            case t.DynTy():
                meta = pointer_scalar(nonnull=True)
            case _:
                return _leaf(data)
        fields = d.FieldsArbitrary((0, 8))
        return d.Layout(16, 8, d.ReprPair(data, meta, 8), fields, d.VariantsSingle(0), False)

    # ---- types of the user's own

    def struct(
        self, path: str, fields: Sequence[t.Ty], *, align: int = 1, order: Sequence[int] | None = None,
        needs_drop: bool = False,
    ) -> t.Ty:  # fmt: skip
        """``needs_drop``: whether it implements ``Drop``; fields that need it are seen."""
        ty = self.adt(path)
        parts = [self.layout(f) for f in fields]
        needs_drop = needs_drop or any(part.needs_drop for part in parts)
        self.layouts[ty.key] = replace(record(parts, align=align, order=order), needs_drop=needs_drop)
        return ty

    def union(self, path: str, fields: Sequence[t.Ty]) -> t.Ty:
        ty = self.adt(path)
        parts = [self.layout(f) for f in fields]
        align = max(f.align for f in parts)
        size = _round_up(max(f.size for f in parts), align)
        shape = d.FieldsUnion(len(parts))
        self.layouts[ty.key] = d.Layout(
            size, align, d.ReprMemory(True), shape, d.VariantsSingle(0), False, needs_drop=False
        )  # fmt: skip
        return ty

    def enum(
        self,
        path: str,
        variants: Mapping[str, Sequence[t.Ty]],
        *,
        tag_bits: int = 8,
        discriminants: Sequence[int] | None = None,
        signed: bool = False,
        explicit_repr: bool = False,
    ) -> t.Ty:
        """An enum with a direct tag of ``tag_bits`` at offset 0; payloads follow in declaration order.

        ``explicit_repr`` is ``#[repr(u8)]`` and the like, which keeps rustc from holding it as a pair of scalars.
        """
        ty = self.adt(path)
        values = list(discriminants or range(len(variants)))
        full = _FULL[tag_bits]
        as_signed = [((v & full) ^ (1 << (tag_bits - 1))) - (1 << (tag_bits - 1)) for v in values]
        tag = int_scalar(tag_bits, signed, min(as_signed) & full, max(as_signed) & full)
        bodies = [self._variant(i, tag, fields) for i, fields in enumerate(variants.values())]
        align = max(b.align for b in bodies)
        size = _round_up(max(b.size for b in bodies), align)
        repr_: d.BackendRepr = d.ReprMemory(True)
        if all(not f for f in variants.values()):
            repr_ = d.ReprScalar(tag)
        elif not explicit_repr and (payload := self._common_payload(list(variants.values()))) is not None:
            repr_ = d.ReprPair(tag, payload, _round_up(tag.size, payload.size))
            bodies = [
                replace(b, size=size, align=align, repr=repr_) if b.fields != d.FieldsArbitrary(()) else b
                for b in bodies
            ]
        names = tuple(d.VariantName(n, v) for n, v in zip(variants, values, strict=True))
        multiple = d.VariantsMultiple(tag, 0, None, tuple(bodies))
        needs_drop = any(self.layout(field).needs_drop for fields in variants.values() for field in fields)
        self.layouts[ty.key] = d.Layout(size, align, repr_, d.FieldsArbitrary((0,)), multiple, False, names, needs_drop)
        return ty

    def _variant(self, index: int, tag: d.Scalar, fields: Sequence[t.Ty]) -> d.Layout:
        parts = [self.layout(f) for f in fields]
        whole = record([_leaf(tag), *parts])
        assert isinstance(whole.fields, d.FieldsArbitrary)
        shape = d.FieldsArbitrary(whole.fields.offsets[1:])
        return d.Layout(whole.size, whole.align, d.ReprMemory(True), shape, d.VariantsSingle(index), False)

    def _common_payload(self, variants: Sequence[Sequence[t.Ty]]) -> d.Scalar | None:
        """The scalar that every variant with data has as its only one, all of one kind."""
        found: list[d.Scalar] = []
        for fields in variants:
            real = [x for x in (self.layout(f) for f in fields) if x.size]
            if len(real) > 1 or (real and not isinstance(real[0].repr, d.ReprScalar)):
                return None
            found += [x.repr.value for x in real if isinstance(x.repr, d.ReprScalar)]
        if not found or len({s.primitive for s in found}) != 1:
            return None
        return replace(found[0], initialized=False, valid_start=0, valid_end=_FULL[8 * found[0].size])

    def option_of(self, payload: t.Ty) -> t.Ty:
        """``Option<payload>`` of a non-null pointer, ``bool`` or ``char``: a niche holds ``None``."""
        ty = self.adt("core::option::Option", payload)
        inner = self.layout(payload)
        scalar = inner.repr.first if isinstance(inner.repr, d.ReprPair) else None
        scalar = inner.repr.value if isinstance(inner.repr, d.ReprScalar) else scalar
        assert scalar is not None, "only scalars and pairs"
        full = _FULL[8 * scalar.size]
        start = (scalar.valid_end + 1) & full
        assert start != scalar.valid_start, f"`{payload.text}` has no niche"
        start_value, end_value = (scalar.valid_start, start)
        if scalar.primitive == "pointer":
            start_value, end_value = 0, full
        tag = d.Scalar(scalar.primitive, scalar.signed, True, start_value, end_value)
        none = d.Layout(0, 1, d.ReprMemory(True), d.FieldsArbitrary(()), d.VariantsSingle(0), False)
        some = d.Layout(inner.size, inner.align, inner.repr, d.FieldsArbitrary((0,)), d.VariantsSingle(1), False)
        multiple = d.VariantsMultiple(tag, 0, d.TagNiche(1, 0, 0, start), (none, some))
        repr_: d.BackendRepr = d.ReprScalar(tag)
        if isinstance(inner.repr, d.ReprPair):
            repr_ = d.ReprPair(tag, replace(inner.repr.second, initialized=False), inner.repr.second_offset)
        names = (d.VariantName("None", 0), d.VariantName("Some", 1))
        shape = d.FieldsArbitrary((0,))
        self.layouts[ty.key] = d.Layout(
            inner.size, inner.align, repr_, shape, multiple, False, names, inner.needs_drop
        )  # fmt: skip
        return ty
