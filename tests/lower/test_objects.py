"""Trait objects as machine code: calls, sizes, drops and fields through tables, and what tables say to the analyses."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from mirgen.analysis.objects import Signature, absent, dispatcher, drop_shim, shim
from mirgen.errors import UnsupportedError
from mirgen.intrinsics import lookup
from mirgen.layout import data as d
from mirgen.lower.program import lower_program
from mirgen.mir.body import Body, FnAlloc, MemoryAlloc, Program, Relocation
from mirgen.mir.builder import BodyBuilder, binary, cast, const, deref, field, program, ref
from mirgen.mir.ty import FnDefTy, FnSig, PointerTy, Ty
from mirgen.targets.host import HostTarget

from .conftest import Host

_UNSIZE = "PointerCoercion(Unsize, Implicit)"


@pytest.fixture
def host() -> Host:
    return Host(intrinsics=lookup)


def table(size: int, align: int, *functions: int) -> MemoryAlloc:
    data = struct.pack("<2Q", size, align) + bytes(8 * len(functions))
    return MemoryAlloc(None, 8, data, (), tuple(Relocation(16 + 8 * i, 8, at, 0) for i, at in enumerate(functions)))


def with_tables(host: Host, bodies: list[Body], tables: dict[Ty, MemoryAlloc], functions: dict[int, str]) -> Program:
    allocs = {100 + i: made for i, made in enumerate(tables.values())}
    made = program(*bodies, kernels=("k",), allocs={**allocs, **{n: FnAlloc(name) for n, name in functions.items()}})
    return replace(made, tables={ty.key: 100 + i for i, ty in enumerate(tables)})


def test_calls_through_tables(host: Host) -> None:
    """``area(&self, by: u32) -> u32`` of a ``u32`` and of a ``u64``; the third method is there for one of them only."""
    ty = host.ty
    obj = ty.ref(ty.dyn("Shape"))
    signature = Signature(obj, (ty.u32,), ty.u32)
    area = dispatcher("area", "t", signature, 1)
    bodies: list[Body] = [area, absent("gone", signature)]
    for name, of in (("a", ty.u32), ("b", ty.u64)):
        b = BodyBuilder(f"area_{name}", args=[ty.ref(of), ty.u32], ret=ty.u32)
        low = b.let(ty.u32, cast("IntToInt", deref(b.arg(0)), ty.u32))
        b.assign(b.ret, binary("Add" if name == "a" else "Mul", low, b.arg(1))).return_()
        sig = FnSig((ty.ref(of), ty.u32), ty.u32, "Rust", False, False)
        item = FnDefTy(f"fn {{area_{name}}}", "t", f"area_{name}", sig)
        bodies += [b.build(), shim(f"shim_{name}", item, None)]
    k = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.ref(ty.u32), ty.ref(ty.u64), ty.bool, ty.u32], ret=ty.unit)
    made = k.local(obj)
    one, two, after = k.block(), k.block(), k.block()
    k.switch(k.arg(3), {0: one}, two)
    k.at(one).assign(made, cast(_UNSIZE, k.arg(1), obj)).goto(after)
    k.at(two).assign(made, cast(_UNSIZE, k.arg(2), obj)).goto(after)
    k.at(after).call(deref(k.arg(0)), ty.fn_def("area", [obj, ty.u32], ty.u32), made, k.arg(4)).return_()
    tables = {ty.u32: table(4, 4, 3, 1), ty.u64: table(8, 8, 3, 2)}
    built = with_tables(host, [k.build(), *bodies], tables, {1: "shim_a", 2: "shim_b", 3: "gone"})
    for which, expected in ((0, 7 + 5), (1, 9 * 5)):
        out = bytearray(4)
        args = [out, bytearray(struct.pack("<I", 7)), bytearray(struct.pack("<Q", 9)), which, 5]
        assert host.run_program(built, args) is None
        assert struct.unpack("<I", out)[0] == expected


def test_sizes_and_alignments(host: Host) -> None:
    ty = host.ty
    obj = ty.ref(ty.dyn("Shape"))
    raw = ty.ptr(ty.dyn("Shape"))
    k = BodyBuilder("k", args=[ty.ref(ty.usize, mut=True), ty.ref(ty.usize, mut=True), ty.ref(ty.u16)], ret=ty.unit)
    made = k.let(obj, cast(_UNSIZE, k.arg(2), obj))
    pointer = k.let(raw, cast("PtrToPtr", made, raw))
    for i, name in enumerate(("size_of_val", "align_of_val")):
        path = f"core::intrinsics::{name}::<(dyn Shape + '{{erased}})>"
        k.call(deref(k.arg(i)), ty.fn_def(path, [raw], ty.usize), pointer)
    k.return_()
    size, align = bytearray(8), bytearray(8)
    built = with_tables(host, [k.build()], {ty.u16: table(48, 16)}, {})
    assert host.run_program(built, [size, align, bytearray(2)]) is None
    assert (size[0], align[0]) == (48, 16)


@pytest.mark.parametrize(("align", "at", "expected"), [(1, 5, 5), (4, 8, 8), (16, 16, 16)])
def test_a_field_stands_where_the_table_aligns_it(host: Host, align: int, at: int, expected: int) -> None:
    """``&Tail<T>`` to ``&Tail<dyn Shape>``: five bytes stand before the last field."""
    ty = host.ty
    inner, shape = ty.adt("T"), ty.dyn("Shape")
    ty.layouts[inner.key] = d.Layout(
        align, align, d.ReprMemory(True), d.FieldsArbitrary(()), d.VariantsSingle(0), False
    )
    sized, unsized = ty.adt("Tail", inner), ty.adt("Tail", shape)
    for of, offset, is_sized in ((sized, at, True), (unsized, 5, False)):
        fields = d.FieldsArbitrary((0, offset))
        layout = d.Layout(32, 1, d.ReprMemory(is_sized), fields, d.VariantsSingle(0), False)
        ty.layouts[of.key] = layout
    wide = ty.ref(unsized)
    ty.layouts[wide.key] = ty.layout(ty.ref(shape))
    k = BodyBuilder("k", args=[ty.ref(ty.usize, mut=True), ty.ref(sized)], ret=ty.unit)
    made = k.let(wide, cast(_UNSIZE, k.arg(1), wide))
    tail = k.let(ty.ref(shape), ref(field(deref(made), 1, shape)))
    whole = k.let(
        ty.usize,
        cast("PointerExposeProvenance", k.let(ty.ptr(ty.unit), cast("PtrToPtr", made, ty.ptr(ty.unit))), ty.usize),
    )
    part = k.let(
        ty.usize,
        cast("PointerExposeProvenance", k.let(ty.ptr(ty.unit), cast("PtrToPtr", tail, ty.ptr(ty.unit))), ty.usize),
    )
    k.assign(deref(k.arg(0)), binary("Sub", part, whole)).return_()
    out = bytearray(8)
    built = with_tables(host, [k.build()], {inner: table(align, align)}, {})
    assert host.run_program(built, [out, bytearray(32)]) is None
    assert out[0] == expected


def test_a_packed_structs_last_field_is_refused(host: Host) -> None:
    ty = host.ty
    sized, unsized = ty.adt("Tail", ty.u32), ty.adt("Tail", ty.dyn("Shape"))
    for of, is_sized in ((sized, True), (unsized, False)):
        fields = d.FieldsArbitrary((0, 1))
        ty.layouts[of.key] = d.Layout(5, 1, d.ReprMemory(is_sized), fields, d.VariantsSingle(0), False)
    wide = ty.ref(unsized)
    ty.layouts[wide.key] = ty.layout(ty.ref(ty.dyn("Shape")))
    k = BodyBuilder("k", args=[ty.ref(sized)], ret=ty.unit)
    k.let(wide, cast(_UNSIZE, k.arg(0), wide))
    with pytest.raises(UnsupportedError, match=r"MG0310.*last field of `Tail<u32>`"):
        host.lower(k.return_().build())


def test_drops_through_tables(host: Host) -> None:
    ty = host.ty
    guard = ty.struct("D", [ty.ref(ty.u32, mut=True)], needs_drop=True)
    shape = ty.dyn("Shape")
    raw = ty.ptr(shape, mut=True)
    assert isinstance(raw, PointerTy)
    glue_path = f"core::ptr::drop_in_place::<{guard.text}>"
    glue = BodyBuilder(glue_path, args=[ty.ptr(guard, mut=True)], ret=ty.unit)
    counter = deref(field(deref(glue.arg(0)), 0, ty.ref(ty.u32, mut=True)))
    glue.assign(counter, binary("Add", counter, const(ty.u32, 3))).return_()
    objects = dispatcher(f"core::ptr::drop_in_place::<{shape.text}>", "t", Signature(raw, (), ty.unit), 0)
    k = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True)], ret=ty.unit)
    held = k.local(guard)
    k.assign(field(held, 0, ty.ref(ty.u32, mut=True)), k.arg(0))
    wide = ty.ref(shape, mut=True)
    made = k.let(wide, cast(_UNSIZE, k.let(ty.ref(guard, mut=True), ref(held, mut=True)), wide))
    k.drop(deref(made)).return_()
    bodies = [k.build(), glue.build(), objects, drop_shim("shim", guard, None)]
    built = with_tables(host, bodies, {guard: table(8, 8, 1)}, {1: "shim"})
    out = bytearray(struct.pack("<I", 4))
    assert host.run_program(built, [out]) is None
    assert struct.unpack("<I", out)[0] == 7


def test_what_a_table_may_call_is_reached(host: Host) -> None:
    """A barrier behind a trait object: everything on the way there has to be inlined by the simulator."""
    ty = host.ty
    obj = ty.ref(ty.dyn("Shape"))
    go = dispatcher("go", "t", Signature(obj, (), ty.unit), 0)
    waits = BodyBuilder("waits", args=[ty.ref(ty.u8)], ret=ty.unit)
    waits.call(waits.ret, ty.fn_def("__mirgen_barrier", [], ty.unit)).return_()
    sig = FnSig((ty.ref(ty.u8),), ty.unit, "Rust", False, False)
    behind = shim("behind", FnDefTy("fn {waits}", "t", "waits", sig), None)
    k = BodyBuilder("k", args=[ty.ref(ty.u8)], ret=ty.unit)
    made = k.let(obj, cast(_UNSIZE, k.arg(0), obj))
    k.call(k.ret, ty.fn_def("go", [obj], ty.unit), made).return_()
    built = with_tables(host, [k.build(), go, waits.build(), behind], {ty.u8: table(1, 1, 1)}, {1: "behind"})
    built = replace(built, targets={("t", "go"): frozenset({("t", "behind")})})
    text = lower_program(built, ty.layouts, HostTarget("x86_64"), intrinsics=lookup).text
    inlined = [line for line in text.splitlines() if line.startswith("define") and "alwaysinline" in line]
    assert sorted(line.split("@")[1].split("(")[0].rpartition("_")[2].strip('"') for line in inlined) == [
        "behind", "go", "k", "waits",
    ]  # fmt: skip
