"""Aggregates, repeats, switches, copies, drops, unsizing, and what is refused."""

from __future__ import annotations

import dataclasses
import struct

import pytest

from mirgen.errors import InternalError, UnsupportedError
from mirgen.layout import data as d
from mirgen.layout.builder import int_scalar
from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir import ty as t
from mirgen.mir.builder import (
    BodyBuilder,
    adt_of,
    array_of_values,
    binary,
    cast,
    closure_of,
    const,
    constant_index,
    deref,
    fat_ptr,
    field,
    index,
    move,
    raw_ptr,
    ref,
    repeat,
    tuple_of,
    unary,
    use,
)

from .conftest import Host

_NOWHERE = s.SourceInfo(None, None)


# ---- switches --------------------------------------------------------------------------------------------------


_SWITCHED = ("u8", "i8", "u16", "u32", "i64", "u128", "i128", "char", "bool")


@pytest.mark.parametrize(
    ("name", "arms"), [(name, arms) for name in _SWITCHED for arms in (1, 2, 3) if (name, arms) != ("bool", 3)]
)
def test_switches_on_every_width(host: Host, name: str, arms: int) -> None:
    """Arms are unsigned 128-bit patterns: ``253`` for ``-3_i8``, sign extended or not."""
    ty = host.ty
    on = {"char": ty.char, "bool": ty.bool}.get(name) or ty.ints[name]
    size = host.ty.layout(on).size
    top = {"char": 0x10FFFF, "bool": 1}.get(name, (1 << 8 * size) - 3)
    values = [top, 0, 7][:arms]
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), on], ret=ty.unit)
    end, other = b.block(), b.block()
    targets = {value: b.block() for value in values}
    b.switch(b.arg(1), targets, other)
    for value, block in targets.items():
        b.at(block).assign(deref(b.arg(0)), const(ty.u32, 100 + values.index(value))).goto(end)
    b.at(other).assign(deref(b.arg(0)), const(ty.u32, 1)).goto(end)
    b.at(end).return_()
    body = b.build()
    for given in [top, 0, *([] if name == "bool" else [7, 8])]:
        out = bytearray(4)
        assert host.run(body, args=[out, given]) is None
        expected = 100 + values.index(given) if given in values else 1
        assert struct.unpack("<I", out)[0] == expected, given


def test_a_128_bit_switch_looks_at_all_bits(host: Host) -> None:
    ty = host.ty
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.u128], ret=ty.unit)
    yes, no, end = b.block(), b.block(), b.block()
    b.switch(b.arg(1), {1 << 64: yes, (1 << 64) + 1: no}, no)
    b.at(yes).assign(deref(b.arg(0)), const(ty.u32, 1)).goto(end)
    b.at(no).assign(deref(b.arg(0)), const(ty.u32, 2)).goto(end)
    b.at(end).return_()
    for given, expected in ((1 << 64, 1), (0, 2), (1, 2), ((1 << 64) + 1, 2)):
        out = bytearray(4)
        assert host.run(b.build(), args=[out, given]) is None
        assert out[0] == expected


# ---- aggregates ------------------------------------------------------------------------------------------------


def test_aggregates_read_everything_before_they_write(host: Host) -> None:
    """``*p = (p.1, p.0)`` swaps."""
    ty = host.ty
    pair = ty.tuple(ty.u32, ty.u32)
    b = BodyBuilder("k", args=[ty.ref(pair, mut=True)], ret=ty.unit)
    at = deref(b.arg(0))
    b.assign(at, tuple_of(field(at, 1, ty.u32), field(at, 0, ty.u32))).return_()
    out = bytearray(struct.pack("<2I", 1, 2))
    assert host.run(b.build(), args=[out]) is None
    assert struct.unpack("<2I", out) == (2, 1)


def test_nested_aggregates(host: Host) -> None:
    ty = host.ty
    inner = ty.struct("I", [ty.u32, ty.u64, ty.u32], order=[1, 0, 2])
    arr = ty.array(inner, 2)
    outer = ty.struct("O", [ty.u16, arr, ty.unit, ty.bool], order=[2, 0, 1, 3])
    b = BodyBuilder("k", args=[ty.ref(outer, mut=True), ty.u64], ret=ty.unit)
    one = b.let(inner, adt_of("I", const(ty.u32, 1), b.arg(1), const(ty.u32, 5)))
    two = b.let(inner, adt_of("I", const(ty.u32, 2), const(ty.u64, 3), const(ty.u32, 6)))
    both = b.let(arr, array_of_values(move(one), move(two)))
    unit = b.let(ty.unit, tuple_of())
    b.assign(deref(b.arg(0)), adt_of("O", const(ty.u16, 9), move(both), unit, const(ty.bool, True))).return_()
    layout = ty.layout(outer)
    out = bytearray(b"\xee" * layout.size)
    assert host.run(b.build(), args=[out, 77]) is None
    assert isinstance(layout.fields, d.FieldsArbitrary)
    at = layout.fields.offsets[1]
    assert struct.unpack_from("<H", out, layout.fields.offsets[0])[0] == 9
    assert struct.unpack_from("<QIIQII", out, at) == (77, 1, 5, 3, 2, 6)
    assert out[layout.fields.offsets[3]] == 1


@pytest.mark.parametrize("count", [0, 1, 8, 9, 100])
@pytest.mark.parametrize("elem", ["u8", "bool", "u32", "zero u32", "zero f64", "-0.0", "struct", "unit"])
def test_repeats(host: Host, elem: str, count: int) -> None:
    ty = host.ty
    inner = ty.struct("S", [ty.u8, ty.u16])
    table: dict[str, tuple[t.Ty, p.Operand, bytes]] = {
        "u8": (ty.u8, const(ty.u8, 0xAB), b"\xab"),
        "bool": (ty.bool, const(ty.bool, True), b"\x01"),
        "u32": (ty.u32, const(ty.u32, 0x01020304), b"\x04\x03\x02\x01"),
        "zero u32": (ty.u32, const(ty.u32, 0), bytes(4)),
        "zero f64": (ty.f64, const(ty.f64, 0), bytes(8)),
        "-0.0": (ty.f64, const(ty.f64, 1 << 63), bytes(7) + b"\x80"),
        "struct": (inner, const(ty.u8, 0), b"\x05\xee\x07\x00"),
        "unit": (ty.unit, p.Constant(p.ZstConst(ty.unit)), b""),
    }
    elem_ty, operand, content = table[elem]
    arr = ty.array(elem_ty, count)
    b = BodyBuilder("k", args=[ty.ref(arr, mut=True)], ret=ty.unit)
    if elem == "struct":
        made = b.let(inner, adt_of("S", const(ty.u8, 5), const(ty.u16, 7)))
        operand = move(made)
    b.assign(deref(b.arg(0)), repeat(operand, count)).return_()
    out = bytearray(b"\xee" * (len(content) * count))
    assert host.run(b.build(), args=[out]) is None
    if elem == "struct":  # the byte of padding may hold anything
        out[1::4] = b"\xee" * count
    assert out == content * count


def test_wide_pointers_from_parts(host: Host) -> None:
    ty = host.ty
    slice_ = ty.ptr(ty.slice(ty.u16))
    b = BodyBuilder("k", args=[ty.ref(ty.u16, mut=True), ty.ref(ty.u64, mut=True), ty.ptr(ty.u16)], ret=ty.unit)
    made = b.let(slice_, fat_ptr(slice_, b.arg(2), const(ty.usize, 2)))
    b.assign(deref(b.arg(0)), constant_index(deref(made), 1, 1, from_end=True))
    b.assign(deref(b.arg(1)), b.let(ty.usize, unary("PtrMetadata", made))).return_()
    out, length = bytearray(2), bytearray(8)
    assert host.run(b.build(), args=[out, length, bytearray(struct.pack("<3H", 5, 6, 7))]) is None
    assert struct.unpack("<H", out)[0] == 6 and length[0] == 2


def test_lost_closure_operands_are_refused(host: Host) -> None:
    ty = host.ty
    closure = ty.closure("main::{closure#0}", [ty.u32, ty.u32])
    b = BodyBuilder("k", args=[ty.u32], ret=ty.unit)
    b.assign(b.local(closure), r.ClosureAggregate("t.rs:3:5: 3:9", (p.Copy(b.arg(0)),), False)).return_()
    with pytest.raises(UnsupportedError, match=r"lost operands of the closure at t\.rs:3:5: 3:9"):
        host.lower(b.build())
    whole = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.u32], ret=ty.unit)
    made = whole.let(closure, closure_of("t.rs:3:5: 3:9", whole.arg(1), const(ty.u32, 4)))
    total = binary("Add", field(made, 0, ty.u32), field(made, 1, ty.u32))
    whole.assign(deref(whole.arg(0)), total).return_()
    out = bytearray(4)
    assert host.run(whole.build(), args=[out, 3]) is None
    assert out[0] == 7


# ---- statements ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 3])
def test_copy_nonoverlapping(host: Host, count: int) -> None:
    ty = host.ty
    elem = ty.array(ty.u8, 3)
    b = BodyBuilder("k", args=[ty.ptr(elem, mut=True), ty.ptr(elem), ty.usize], ret=ty.unit)
    b.copy_nonoverlapping(b.arg(0), b.arg(1), b.arg(2)).return_()
    out = bytearray(12)
    assert host.run(b.build(), args=[out, bytearray(range(1, 13)), count]) is None
    assert out == bytes(range(1, 1 + 3 * count)) + bytes(12 - 3 * count)


def test_assume(host: Host) -> None:
    ty = host.ty
    b = BodyBuilder("k", args=[ty.ref(ty.bool, mut=True), ty.u32], ret=ty.unit)
    b.assume(b.let(ty.bool, binary("Lt", b.arg(1), const(ty.u32, 8))))
    b.assign(deref(b.arg(0)), binary("Lt", b.arg(1), const(ty.u32, 9))).return_()
    out = bytearray(1)
    assert host.run(b.build(), args=[out, 5]) is None
    assert out == b"\x01"


def test_unknown_statements_are_refused_and_known_ones_ignored(host: Host) -> None:
    ty = host.ty
    for text in ("nop", "Retag(_1)", "Coverage::CounterIncrement(0)", "PlaceMention(_1)", "ConstEvalCounter"):
        b = BodyBuilder("k", args=[ty.u32], ret=ty.unit)
        b.statement(s.Ignored(_NOWHERE, text)).return_()
        host.lower(b.build())
    b = BodyBuilder("k", args=[ty.u32], ret=ty.unit)
    b.statement(s.Ignored(_NOWHERE, "Explode(_1)")).return_()
    with pytest.raises(UnsupportedError, match="Explode"):
        host.lower(b.build())


@pytest.mark.parametrize(
    ("terminator", "code"),
    [
        (s.InlineAsm(_NOWHERE, 'asm!("nop", options())'), "MG0334"),
        (s.UnsupportedTerminator(_NOWHERE, "yield", "_1 = yield(..)"), "MG0333"),
        (s.TailCall(_NOWHERE, p.Copy(p.Place(1)), ()), "MG0345"),
    ],
)
def test_refused_terminators(host: Host, terminator: s.Terminator, code: str) -> None:
    b = BodyBuilder("k", args=[host.ty.u32], ret=host.ty.unit)
    b.terminate(terminator)
    with pytest.raises(UnsupportedError) as caught:
        host.lower(b.build())
    assert caught.value.diagnostics[0].code == code


def test_overflow_checks_have_no_value_in_the_text(host: Host) -> None:
    ty = host.ty
    b = BodyBuilder("k", args=[ty.ref(ty.bool, mut=True)], ret=ty.unit)
    b.assign(deref(b.arg(0)), use(p.RuntimeChecks("UbChecks"))).return_()
    out = bytearray(b"\x01")
    assert host.run(b.build(), args=[out]) is None
    assert out == b"\x00"
    c = BodyBuilder("k", args=[ty.ref(ty.bool, mut=True)], ret=ty.unit)
    c.assign(deref(c.arg(0)), use(p.RuntimeChecks("OverflowChecks"))).return_()
    with pytest.raises(UnsupportedError, match="OverflowChecks"):
        host.lower(c.build())


# ---- drops -----------------------------------------------------------------------------------------------------


def _glue(host: Host, guard: t.Ty) -> m.Body:
    """Adds one to what the guard's only field points at, after doubling it."""
    ty = host.ty
    glue = BodyBuilder(f"core::ptr::drop_in_place::<{guard.text}>", args=[ty.ptr(guard, mut=True)], ret=ty.unit)
    counter = deref(field(deref(glue.arg(0)), 0, ty.ref(ty.u32, mut=True)))
    glue.assign(counter, binary("Mul", counter, const(ty.u32, 2)))
    glue.assign(counter, binary("Add", counter, const(ty.u32, 1))).return_()
    return glue.build()


def test_drop_calls_the_glue(host: Host) -> None:
    ty = host.ty
    guard = ty.struct("D", [ty.ref(ty.u32, mut=True)], needs_drop=True)
    glue = _glue(host, guard)
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True)], ret=ty.unit)
    made = b.let(guard, adt_of("D", b.arg(0)))
    b.drop(made)
    b.return_()
    out = bytearray(struct.pack("<I", 41))
    assert host.run(b.build(), glue, args=[out]) is None
    assert struct.unpack("<I", out)[0] == 83
    with pytest.raises(UnsupportedError, match="dropping a `D`"):
        host.lower(b.build())


def test_parts_are_dropped_in_order(host: Host) -> None:
    """Tuples and closures have no glue of their own; what needs no drop is passed over."""
    ty = host.ty
    counter = ty.ref(ty.u32, mut=True)
    guard = ty.struct("D", [counter], needs_drop=True)
    other = ty.struct("E", [counter], needs_drop=True)
    inner = ty.closure("k::{closure#0}", [ty.u64, guard])
    whole = ty.tuple(ty.u8, other, inner, guard)
    adds = BodyBuilder("core::ptr::drop_in_place::<E>", args=[ty.ptr(other, mut=True)], ret=ty.unit)
    at = deref(field(deref(adds.arg(0)), 0, counter))
    adds.assign(at, binary("Add", at, const(ty.u32, 10))).return_()
    b = BodyBuilder("k", args=[counter], ret=ty.unit)
    made = b.local(whole)
    b.assign(field(made, 1, other), adt_of("E", b.arg(0)))
    b.assign(field(field(made, 2, inner), 1, guard), adt_of("D", b.arg(0)))
    b.assign(field(made, 3, guard), adt_of("D", b.arg(0)))
    b.drop(made)
    b.return_()
    out = bytearray(struct.pack("<I", 1))
    assert host.run(b.build(), _glue(host, guard), adds.build(), args=[out]) is None
    assert struct.unpack("<I", out)[0] == ((1 + 10) * 2 + 1) * 2 + 1


def test_inert_types_need_no_glue(host: Host) -> None:
    ty = host.ty
    guard = ty.struct("D", [ty.u32], needs_drop=True)
    into_iter = ty.adt("core::array::IntoIter", ty.u32)
    bad = ty.adt("core::array::IntoIter", guard)
    foreign = ty.adt("mine::array::IntoIter", ty.u32)
    for made in (into_iter, bad, foreign):
        ty.layouts[made.key] = dataclasses.replace(ty.layouts[ty.u32.key], needs_drop=True)
    plain = ty.struct("Plain", [ty.u32])
    unknown = ty.adt("mine::Unknown")
    ty.layouts[unknown.key] = dataclasses.replace(ty.layouts[ty.u32.key], needs_drop=None)
    for inert in (ty.u32, ty.ref(guard), ty.tuple(ty.u32, ty.ref(guard)), ty.array(plain, 2), plain, into_iter):
        b = BodyBuilder("k", args=[inert], ret=ty.unit)
        b.drop(b.arg(0)).return_()
        host.lower(b.build())
    for refused in (guard, ty.tuple(ty.u32, guard), ty.array(guard, 2), bad, foreign):
        b = BodyBuilder("k", args=[refused], ret=ty.unit)
        b.drop(b.arg(0)).return_()
        with pytest.raises(UnsupportedError, match="dropping a"):
            host.lower(b.build())
    b = BodyBuilder("k", args=[unknown], ret=ty.unit)
    b.drop(b.arg(0)).return_()
    with pytest.raises(UnsupportedError, match="whether `mine::Unknown` needs to be dropped is not known"):
        host.lower(b.build())


# ---- unsizing --------------------------------------------------------------------------------------------------

_UNSIZE = "PointerCoercion(Unsize, Implicit)"


def _generic(host: Host, path: str, arg: t.Ty, layout: d.Layout) -> t.Ty:
    made = t.AdtTy(f"{path}<{arg.text}>", "t", path, (arg,), ())
    host.ty.layouts[made.key] = layout
    return made


def test_arrays_inside_structs_become_slices(host: Host) -> None:
    """``&Inner<[u32; 3]>`` to ``&Inner<[u32]>``: the tail's elements are reached with the length."""
    ty = host.ty
    arr, slice_ = ty.array(ty.u32, 3), ty.slice(ty.u32)
    sized = _generic(host, "Inner", arr, d.Layout(16, 4, d.ReprMemory(True), d.FieldsArbitrary((0, 4)),
                                                  d.VariantsSingle(0), False))  # fmt: skip
    unsized = _generic(host, "Inner", slice_, d.Layout(4, 4, d.ReprMemory(False), d.FieldsArbitrary((0, 4)),
                                                       d.VariantsSingle(0), False))  # fmt: skip
    wide = ty.ref(unsized)
    ty.layouts[wide.key] = ty.layouts[ty.ref(slice_).key]
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.ref(ty.u64, mut=True), ty.ref(sized), ty.usize],
                    ret=ty.unit)  # fmt: skip
    made = b.let(wide, cast(_UNSIZE, b.arg(2), wide))
    b.assign(deref(b.arg(0)), index(field(deref(made), 1, slice_), b.arg(3)))
    tail = b.let(ty.ref(slice_), ref(field(deref(made), 1, slice_)))
    b.assign(deref(b.arg(1)), b.let(ty.usize, unary("PtrMetadata", tail))).return_()
    out, length = bytearray(4), bytearray(8)
    assert host.run(b.build(), args=[out, length, bytearray(struct.pack("<4I", 9, 10, 11, 12)), 1]) is None
    assert struct.unpack("<I", out)[0] == 11 and length[0] == 3


def test_pointers_inside_structs(host: Host) -> None:
    """``NonNull<[u32; 3]>`` to ``NonNull<[u32]>``."""
    ty = host.ty
    arr, slice_ = ty.array(ty.u32, 3), ty.slice(ty.u32)
    thin = _generic(host, "NonNull", arr, ty.layout(ty.ref(arr)))
    wide = _generic(host, "NonNull", slice_, ty.layout(ty.ref(slice_)))
    b = BodyBuilder("k", args=[ty.ref(ty.u64, mut=True), thin], ret=ty.unit)
    made = b.let(wide, cast(_UNSIZE, b.arg(1), wide))
    raw = ty.ptr(slice_)
    b.assign(deref(b.arg(0)), b.let(ty.usize, unary("PtrMetadata", b.let(raw, cast("Transmute", made, raw)))))
    b.return_()
    out = bytearray(8)
    assert host.run(b.build(), args=[out, struct.pack("<Q", 64)]) is None
    assert out[0] == 3


def test_trait_objects_pass_through_where_nothing_looks_into_their_tables(host: Host) -> None:
    ty = host.ty
    dyn = ty.dyn("core::fmt::Debug")
    obj = ty.ref(dyn)
    passes = BodyBuilder("k", args=[ty.ref(ty.u32)], ret=ty.unit)
    made = passes.let(obj, cast(_UNSIZE, passes.arg(0), obj))
    passes.assign(passes.local(obj), ref(deref(made))).assign(passes.local(ty.ptr(dyn)), raw_ptr(deref(made)))
    passes.return_()
    host.lower(passes.build())
    uses = BodyBuilder("k", args=[ty.ref(ty.u32)], ret=ty.unit)
    made = uses.let(obj, cast(_UNSIZE, uses.arg(0), obj))
    uses.call(uses.local(ty.unit), ty.fn_def("<(dyn Debug) as Debug>::fmt", [obj], ty.unit), made).return_()
    with pytest.raises(UnsupportedError, match=r"<\(dyn Debug\) as Debug>::fmt"):
        host.lower(uses.build())
    reads = BodyBuilder("k", args=[obj], ret=ty.unit)
    reads.assign(reads.local(dyn), deref(reads.arg(0))).return_()
    with pytest.raises(UnsupportedError):
        host.lower(reads.build())


def test_unsizing_that_the_types_do_not_show(host: Host) -> None:
    ty = host.ty
    one, two = ty.struct("A", [ty.u32]), ty.adt("B")
    ty.layouts[two.key] = d.Layout(0, 4, d.ReprMemory(False), d.FieldsArbitrary((0,)), d.VariantsSingle(0), False)
    wide = ty.ref(two)
    ty.layouts[wide.key] = ty.layouts[ty.ref(ty.slice(ty.u8)).key]
    b = BodyBuilder("k", args=[ty.ref(one)], ret=ty.unit)
    b.assign(b.local(wide), cast(_UNSIZE, b.arg(0), wide)).return_()
    with pytest.raises(UnsupportedError, match="unsizing"):
        host.lower(b.build())


# ---- faults of mirgen itself -----------------------------------------------------------------------------------


def test_internal_errors_name_the_statement(host: Host) -> None:
    """MIR that contradicts its layouts is our fault, not the user's."""
    ty = host.ty
    broken = ty.struct("S", [ty.u32])
    ty.layouts[broken.key] = d.Layout(
        4, 4, d.ReprScalar(int_scalar(32)), d.FieldsArbitrary(()), d.VariantsSingle(0), False
    )  # fmt: skip
    b = BodyBuilder("k", args=[broken], ret=ty.unit)
    b.assign(b.local(ty.u32), field(b.arg(0), 0, ty.u32)).return_()
    with pytest.raises(InternalError) as caught:
        host.lower(b.build())
    assert "no field 0" in caught.value.message and "_2 = copy _1.0" in caught.value.statement


def test_faults_inside_are_internal_errors(host: Host) -> None:
    """Whatever a handler raises by mistake comes with the statement."""

    def broken(fx: object, call: object) -> None:
        raise TypeError("a mistake")

    host.intrinsics = lambda path: broken if path == "f" else None
    b = BodyBuilder("k", ret=host.ty.unit)
    b.call(b.local(host.ty.unit), host.ty.fn_def("f", [], host.ty.unit)).return_()
    with pytest.raises(InternalError) as caught:
        host.lower(b.build())
    assert "a mistake" in caught.value.message and "f()" in caught.value.statement


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ([], 10),
        ([("core::f", False)], 10),
        ([("core::unwrap", True)], 100),
        ([("core::outer", True), ("core::inner", True)], 100),
        ([("core::outer", False), ("core::inner", True)], 101),
        ([("core::outer", True), ("core::inner", False)], 10),
    ],
)
def test_panics_are_reported_where_track_caller_says(host: Host, chain: list[tuple[str, bool]], expected: int) -> None:
    """``chain``: inlined functions, outermost first; each is called at line 100 plus its depth."""
    ty = host.ty
    b = BodyBuilder("k", args=[ty.bool], ret=ty.unit)
    b.line(10)
    for depth, (name, _) in enumerate(chain):
        b.scope(inlined=name, call_line=100 + depth)
        b.scope()  # a scope of the inlined function's own
    b.assert_(b.arg(0), "attempt to divide `{}` by zero", const(ty.u32, 1)).return_()
    body = b.build()
    tracked = dict(chain)
    scopes = tuple(
        dataclasses.replace(scope, track_caller=scope.inlined is not None and tracked[scope.inlined])
        for scope in body.scopes
    )
    lowered = host.lower(dataclasses.replace(body, scopes=scopes))
    (site,) = lowered.panics
    assert site.message == "attempt to divide by zero"
    assert site.span is not None and site.span.line == expected


def test_annotations_show_the_mir(host: Host) -> None:
    ty = host.ty
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True)], ret=ty.unit)
    b.assign(deref(b.arg(0)), const(ty.u32, 5)).return_()
    text = host.lower(b.build(), annotate=True).text
    assert re_line(text, "; (*_1) = const 5_u32") < re_line(text, "store i32 5") < re_line(text, "; return")


def re_line(text: str, piece: str) -> int:
    return next(i for i, line in enumerate(text.splitlines()) if piece in line)


def test_two_keys_may_share_a_body(host: Host) -> None:
    ty = host.ty
    shared = BodyBuilder("f", args=[ty.u32], ret=ty.u32)
    shared.assign(shared.ret, binary("Add", shared.arg(0), const(ty.u32, 1))).return_()
    body = shared.build()
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True)], ret=ty.unit)
    x = b.local(ty.u32)
    b.call(x, ty.fn_def("f", [ty.u32], ty.u32), const(ty.u32, 1))
    b.call(deref(b.arg(0)), ty.fn_def("g", [ty.u32], ty.u32), x).return_()
    main = b.build()
    made = m.Program(
        (m.Kernel("k", ("t", "k"), (m.Param("out", main.locals[1].ty),), None),),
        {("t", "k"): main, ("t", "f"): body, ("t", "g"): body}, {}, {}, "", "1.96.0",
    )  # fmt: skip
    out = bytearray(4)
    assert host.run_program(made, args=[out]) is None
    assert out[0] == 3
