"""Calls: every form of argument and result, function pointers, closures, diverging calls, missing bodies."""

from __future__ import annotations

import re
import struct

import pytest

from mirgen.errors import UnsupportedError
from mirgen.layout import data as d
from mirgen.mir import body as m
from mirgen.mir import ty as t
from mirgen.mir.builder import (
    BodyBuilder,
    binary,
    cast,
    closure_of,
    const,
    constant_index,
    deref,
    field,
    index,
    move,
    ref,
    tuple_of,
    use,
    zst,
)  # fmt: skip

from .conftest import Host


def _forms(host: Host) -> dict[str, tuple[t.Ty, bytes]]:
    """One type of every form, with a value."""
    ty = host.ty
    return {
        "bool": (ty.bool, b"\x01"),
        "u8": (ty.u8, b"\xc8"),
        "u128": (ty.u128, bytes(range(16))),
        "f64": (ty.f64, struct.pack("<d", 2.5)),
        "pair": (ty.tuple(ty.u32, ty.bool), b"\x07\0\0\0\x01\0\0\0"),
        "pair of floats": (ty.tuple(ty.f32, ty.f32), struct.pack("<2f", 1.0, -2.0)),
        "array": (ty.array(ty.u16, 5), struct.pack("<5H", 1, 2, 3, 4, 5)),
        "one-element array": (ty.array(ty.u64, 1), struct.pack("<Q", 99)),
        "struct": (ty.struct("S", [ty.u8, ty.u64, ty.u32], order=[1, 2, 0]), bytes(range(13)) + bytes(3)),
        "over-aligned": (ty.struct("A", [ty.u8], align=32), bytes([5]) + bytes(31)),
        "unit": (ty.unit, b""),
    }


@pytest.mark.parametrize("form", list(_forms(Host())))
def test_identity_of_every_form(host: Host, form: str) -> None:
    """``#[inline(never)] fn id(before: u8, x: T, after: u16) -> T``, called directly and through a pointer."""
    ty = host.ty
    a, value = _forms(host)[form]
    callee = BodyBuilder("id", args=[ty.u8, a, ty.u16], ret=a)
    callee.assign(callee.ret, callee.arg(1)).return_()
    item = ty.fn_def("id", [ty.u8, a, ty.u16], a)
    fn = ty.fn_ptr([ty.u8, a, ty.u16], a)
    b = BodyBuilder("k", args=[ty.ref(a, mut=True), ty.ref(a, mut=True), a], ret=ty.unit)
    b.call(deref(b.arg(0)), item, const(ty.u8, 1), b.arg(2), const(ty.u16, 2))
    pointer = b.let(fn, cast("PointerCoercion(ReifyFnPointer(Safe), Implicit)", zst(item), fn))
    result = b.local(a)
    b.call(result, pointer, const(ty.u8, 1), move(b.arg(2)), const(ty.u16, 2))
    b.assign(deref(b.arg(1)), move(result))
    b.return_()
    direct, indirect = bytearray(len(value)), bytearray(len(value))
    assert host.run(b.build(), callee.build(), args=[direct, indirect, value]) is None
    n = len(value.rstrip(b"\0")) or len(value)
    assert direct[:n] == value[:n] and indirect[:n] == value[:n]


@pytest.mark.parametrize("of", ["f128", "newtype", "pair"])
@pytest.mark.parametrize("where", ["kernel", "argument", "result", "local"])
def test_f128_is_refused_wherever_it_stands(host: Host, of: str, where: str) -> None:
    """No target has such a type: its code, the place in the source and the way there, not an internal error."""
    ty = host.ty
    bad = {
        "f128": ty.f128, "newtype": ty.struct("Wide", [ty.f128]), "pair": ty.tuple(ty.f128, ty.u64),
    }[of]  # fmt: skip
    callee = BodyBuilder("f", args=[bad] if where == "argument" else [ty.u8], ret=bad if where == "result" else ty.u8)
    callee.line(7)
    if where == "local":
        one, two = callee.local(bad), callee.local(bad)
        callee.assign(one, use(two))
    callee.return_()
    b = BodyBuilder("k", args=[bad] if where == "kernel" else [], ret=ty.unit)
    b.line(3)
    if where != "kernel":
        item = ty.fn_def("f", [ty.u8], ty.u8)
        b.call(b.local(ty.u8), item, const(ty.u8, 1))
    b.return_()
    with pytest.raises(UnsupportedError) as caught:
        host.lower(b.build(), callee.build())
    first = next(d for d in caught.value.diagnostics if d.code == "MG0354")
    assert first.message == "`f128` is not supported on the GPU" and first.helps == ("use `f64`",)
    assert first.location is not None and first.location.line == (3 if where == "kernel" else 7)
    assert any("kernel k" in note for note in first.notes)
    assert {d.code for d in caught.value.diagnostics} <= {"MG0354", "MG0342"}


def test_the_callee_may_change_its_argument_without_the_caller_seeing_it(host: Host) -> None:
    """A copied aggregate is the callee's own; so is a moved one, whose memory is handed over."""
    ty = host.ty
    arr = ty.array(ty.u32, 3)
    callee = BodyBuilder("bump", args=[arr], ret=ty.u32)
    callee.assign(constant_index(callee.arg(0), 1, 3), const(ty.u32, 100))
    callee.assign(callee.ret, constant_index(callee.arg(0), 1, 3)).return_()
    item = ty.fn_def("bump", [arr], ty.u32)
    b = BodyBuilder("k", args=[ty.ref(arr, mut=True), ty.ref(ty.u32, mut=True), arr], ret=ty.unit)
    local = b.let(arr, b.arg(2))
    got = b.local(ty.u32)
    b.call(got, item, local)
    b.assign(deref(b.arg(0)), local)
    b.call(deref(b.arg(1)), item, move(local))
    b.return_()
    out, last = bytearray(12), bytearray(4)
    assert host.run(b.build(), callee.build(), args=[out, last, struct.pack("<3I", 1, 2, 3)]) is None
    assert struct.unpack("<3I", out) == (1, 2, 3) and struct.unpack("<I", last) == (100,)


@pytest.mark.parametrize("through", ["pointer", "local"])
def test_result_into_an_under_aligned_place(host: Host, through: str) -> None:
    """A callee that writes 8-byte words must not be handed a packed field."""
    ty = host.ty
    arr = ty.array(ty.u64, 2)
    packed = ty.adt("Pk")
    ty.layouts[packed.key] = d.Layout(
        17, 1, d.ReprMemory(True), d.FieldsArbitrary((0, 1)), d.VariantsSingle(0), False
    )  # fmt: skip
    callee = BodyBuilder("make", ret=arr)
    callee.assign(constant_index(callee.ret, 0, 2), const(ty.u64, 1))
    callee.assign(constant_index(callee.ret, 1, 2), const(ty.u64, 2)).return_()
    b = BodyBuilder("k", args=[ty.ref(packed, mut=True)], ret=ty.unit)
    whole = b.let(packed, deref(b.arg(0))) if through == "local" else deref(b.arg(0))
    b.call(field(whole, 1, arr), ty.fn_def("make", [], arr))
    if through == "local":
        b.assign(deref(b.arg(0)), whole)
    b.return_()
    out = bytearray(b"\xee" * 17)
    bodies = b.build(), callee.build()
    assert host.run(*bodies, args=[out]) is None
    # this machine would not mind
    assert re.search(r"call void @\"llvm.memcpy.*align 1 .* align 8 ", host.lower(*bodies).text)
    assert out == b"\xee" + struct.pack("<2Q", 1, 2)


def test_recursion(host: Host) -> None:
    ty = host.ty
    fact = BodyBuilder("fact", args=[ty.u64], ret=ty.u64)
    item = ty.fn_def("fact", [ty.u64], ty.u64)
    base, step = fact.block(), fact.block()
    fact.switch(fact.arg(0), {0: base}, step)
    fact.at(base).assign(fact.ret, const(ty.u64, 1)).return_()
    fact.at(step)
    less = fact.let(ty.u64, binary("Sub", fact.arg(0), const(ty.u64, 1)))
    rest = fact.local(ty.u64)
    fact.call(rest, item, less)
    fact.assign(fact.ret, binary("Mul", fact.arg(0), rest)).return_()
    b = BodyBuilder("k", args=[ty.ref(ty.u64, mut=True), ty.u64], ret=ty.unit)
    b.call(deref(b.arg(0)), item, b.arg(1)).return_()
    out = bytearray(8)
    assert host.run(b.build(), fact.build(), args=[out, 10]) is None
    assert struct.unpack("<Q", out)[0] == 3628800


def _closure_body(host: Host, self_ty: t.Ty, closure: t.Ty, by_ref: bool) -> m.Body:
    """``|x: u32, y: (u32, u32)| x + y.1 + captured``."""
    ty = host.ty
    tup = ty.tuple(ty.u32, ty.u32)
    c = BodyBuilder("main::{closure#0}", args=[self_ty, ty.u32, tup], ret=ty.u32)
    captured = field(deref(c.arg(0)) if by_ref else c.arg(0), 0, ty.u32)
    s = c.let(ty.u32, binary("Add", c.arg(1), field(c.arg(2), 1, ty.u32)))
    c.assign(c.ret, binary("Add", s, captured)).return_()
    del closure
    return c.build()


_METHODS = [("call", True), ("call_mut", True), ("call_once", True), ("call_once", False)]


@pytest.mark.parametrize(("method", "by_ref"), _METHODS)
def test_closures_through_the_fn_traits(host: Host, method: str, by_ref: bool) -> None:
    """The tuple of arguments is taken apart; ``call_once`` of a closure that takes itself by reference lends it."""
    ty = host.ty
    tup = ty.tuple(ty.u32, ty.u32)
    closure = ty.closure("main::{closure#0}", [ty.u32], inputs=[ty.u32, tup], output=ty.u32)
    self_ty = ty.ref(closure, mut=method == "call_mut") if by_ref else closure
    body = _closure_body(host, self_ty, closure, by_ref)
    args = ty.tuple(ty.u32, tup)
    trait = {"call": "Fn", "call_mut": "FnMut", "call_once": "FnOnce"}[method]
    path = f"<{closure.text} as core::ops::{trait}<(u32, (u32, u32))>>::{method}"
    passed = closure if method == "call_once" else self_ty
    item = ty.fn_def(path, [passed, args], ty.u32, abi="rust-call")
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.u32], ret=ty.unit)
    made = b.let(closure, closure_of("t.rs:1:1: 1:2", b.arg(1)))
    pair = b.let(tup, tuple_of(const(ty.u32, 1), const(ty.u32, 20)))
    packed = b.let(args, tuple_of(const(ty.u32, 300), pair))
    receiver = made if method == "call_once" else b.let(self_ty, ref(made, mut=method == "call_mut"))
    b.call(deref(b.arg(0)), item, move(receiver), move(packed)).return_()
    main = b.build()
    made_program = m.Program(
        (m.Kernel("k", ("t", "k"), (m.Param("out", main.locals[1].ty), m.Param("x", ty.u32)), None),),
        {("t", "k"): main, ("t", path): body}, {}, {}, "", "1.96.0",
    )  # fmt: skip
    out = bytearray(4)
    assert host.run_program(made_program, args=[out, 4000]) is None
    assert struct.unpack("<I", out)[0] == 4320


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("method", ["call", "call_mut", "call_once"])
def test_closures_behind_references_change_themselves(host: Host, method: str, depth: int) -> None:
    """``<&mut F as FnMut<(u32,)>>::call_mut(&mut f, (x,))`` runs ``F`` itself, and no copy of it."""
    ty = host.ty
    closure = ty.closure("main::{closure#0}", [ty.u32], inputs=[ty.u32], output=ty.u32)
    c = BodyBuilder("main::{closure#0}", args=[ty.ref(closure, mut=True), ty.u32], ret=ty.u32)
    counted = field(deref(c.arg(0)), 0, ty.u32)
    c.assign(counted, binary("Add", counted, c.arg(1))).assign(c.ret, counted).return_()
    passed: t.Ty = closure
    for _ in range(depth):
        passed = ty.ref(passed, mut=True)
    args = ty.tuple(ty.u32)
    trait = {"call": "Fn", "call_mut": "FnMut", "call_once": "FnOnce"}[method]
    item = ty.fn_def(
        f"<&mut F as core::ops::{trait}<(u32,)>>::{method}", [passed, args], ty.u32, abi="rust-call"
    )  # fmt: skip
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.u32], ret=ty.unit)
    receiver = made = b.let(closure, closure_of("t.rs:1:1: 1:2", b.arg(1)))
    held: t.Ty = closure
    for _ in range(depth):
        held = ty.ref(held, mut=True)
        receiver = b.let(held, ref(receiver, mut=True))
    for _ in range(2):
        packed = b.let(args, tuple_of(const(ty.u32, 20)))
        b.call(deref(b.arg(0)), item, receiver, move(packed))
    b.assign(deref(b.arg(0)), binary("Add", deref(b.arg(0)), field(made, 0, ty.u32))).return_()
    main = b.build()
    program = m.Program(
        (m.Kernel("k", ("t", "k"), (m.Param("out", main.locals[1].ty), m.Param("x", ty.u32)), None),),
        {("t", "k"): main, ("t", "main::{closure#0}"): c.build()}, {}, {}, "", "1.96.0",
    )  # fmt: skip
    out = bytearray(4)
    assert host.run_program(program, args=[out, 4000]) is None
    assert struct.unpack("<I", out)[0] == 2 * 4040


@pytest.mark.parametrize("kind", ["item", "pointer"])
def test_function_items_and_pointers_through_fn_once(host: Host, kind: str) -> None:
    """``<fn item as FnOnce<(u32,)>>::call_once(f, (x,))`` has no body of its own."""
    ty = host.ty
    twice = BodyBuilder("twice", args=[ty.u32], ret=ty.u32)
    twice.assign(twice.ret, binary("Add", twice.arg(0), twice.arg(0))).return_()
    item = ty.fn_def("twice", [ty.u32], ty.u32)
    fn = ty.fn_ptr([ty.u32], ty.u32)
    receiver = item if kind == "item" else fn
    args = ty.tuple(ty.u32)
    once = ty.fn_def(f"<{receiver.text} as core::ops::FnOnce<(u32,)>>::call_once", [receiver, args], ty.u32,
                     abi="rust-call")  # fmt: skip
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True)], ret=ty.unit)
    packed = b.let(args, tuple_of(const(ty.u32, 21)))
    f = zst(item)
    if kind == "pointer":
        f = move(b.let(fn, cast("PointerCoercion(ReifyFnPointer(Safe), Implicit)", zst(item), fn)))
    b.call(deref(b.arg(0)), once, f, move(packed)).return_()
    out = bytearray(4)
    assert host.run(b.build(), twice.build(), args=[out]) is None
    assert struct.unpack("<I", out)[0] == 42


def test_closure_as_function_pointer(host: Host) -> None:
    """Two arguments of one type: their order counts."""
    ty = host.ty
    inputs = [ty.u32, ty.u32]
    closure = ty.closure("main::{closure#1}", [], inputs=inputs, output=ty.u32)
    c = BodyBuilder("main::{closure#1}", args=[ty.ref(closure), *inputs], ret=ty.u32)
    c.assign(c.ret, binary("Sub", c.arg(1), c.arg(2))).return_()
    fn = ty.fn_ptr(inputs, ty.u32)
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True)], ret=ty.unit)
    made = b.let(closure, closure_of("t.rs:1:1: 1:2"))
    pointer = b.let(fn, cast("PointerCoercion(ClosureFnPointer(Safe), Implicit)", move(made), fn))
    b.call(deref(b.arg(0)), pointer, const(ty.u32, 20), const(ty.u32, 5)).return_()
    out = bytearray(4)
    assert host.run(b.build(), c.build(), args=[out]) is None
    assert struct.unpack("<I", out)[0] == 15


def test_pointers_chosen_at_run_time(host: Host) -> None:
    ty = host.ty
    bodies: list[m.Body] = []
    for name, op in (("inc", "Add"), ("mul", "Mul")):
        f = BodyBuilder(name, args=[ty.u32], ret=ty.u32)
        f.assign(f.ret, binary(op, f.arg(0), const(ty.u32, 10))).return_()
        bodies.append(f.build())
    fn = ty.fn_ptr([ty.u32], ty.u32)
    table = ty.array(fn, 2)
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True), ty.usize], ret=ty.unit)
    local = b.local(table)
    for i, name in enumerate(("inc", "mul")):
        item = ty.fn_def(name, [ty.u32], ty.u32)
        b.assign(
            constant_index(local, i, 2), cast("PointerCoercion(ReifyFnPointer(Safe), Implicit)", zst(item), fn)
        )  # fmt: skip
    chosen = b.let(fn, index(local, b.arg(1)))
    b.call(deref(b.arg(0)), chosen, const(ty.u32, 7)).return_()
    for which, expected in ((0, 17), (1, 70)):
        out = bytearray(4)
        assert host.run(b.build(), *bodies, args=[out, which]) is None
        assert struct.unpack("<I", out)[0] == expected


def test_missing_bodies_are_refused_with_the_chain(host: Host) -> None:
    ty = host.ty
    inner = BodyBuilder("helper", args=[ty.u32], ret=ty.u32)
    inner.line(7).call(inner.ret, ty.fn_def("foreign::<u32>", [ty.u32], ty.u32), inner.arg(0)).return_()
    other = BodyBuilder("other", ret=ty.unit)
    other.line(9).call(other.ret, ty.fn_def("foreign2", [], ty.unit)).return_()
    b = BodyBuilder("k", ret=ty.unit)
    b.call(b.local(ty.u32), ty.fn_def("helper", [ty.u32], ty.u32), const(ty.u32, 1))
    b.call(b.local(ty.unit), ty.fn_def("other", [], ty.unit)).return_()
    with pytest.raises(UnsupportedError) as caught:
        host.lower(b.build(), inner.build(), other.build())
    first, second = caught.value.diagnostics
    assert first.code == "MG0341" and "foreign::<u32>" in first.message
    assert first.location is not None and first.location.line == 7
    assert first.notes == ("reached from kernel k: helper",)
    assert second.location is not None and second.location.line == 9, "the other function was tried too"


def test_missing_layouts_are_refused_with_a_span(host: Host) -> None:
    ty = host.ty
    unknown = t.AdtTy("Unknown", "t", "Unknown", (), ())
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True)], ret=ty.unit)
    local = b.local(unknown)
    b.line(4).assign(local, b.local(unknown)).return_()
    with pytest.raises(UnsupportedError) as caught:
        host.lower(b.build())
    (only,) = caught.value.diagnostics
    assert only.code == "MG0301" and "`Unknown`" in only.message
