"""Coroutines: made in their first state, with states that hold fields of their own beside what was captured."""

from __future__ import annotations

from mirgen.layout import data as d
from mirgen.layout.builder import int_scalar
from mirgen.mir import ty as t
from mirgen.mir.builder import BodyBuilder, binary, closure_of, const, deref, discriminant, downcast, field

from .conftest import Host

#: Bytes: the capture, a saved u32, a saved u8, the tag.
SIZE, SAVED, BYTE, TAG = 12, 4, 8, 9


def coroutine(host: Host) -> t.Ty:
    """One capture and one state in which it waits, whose fields do not lie in their order."""
    ty = host.ty.coroutine("f::{closure#0}", [host.ty.u32], movable=False)

    def state(index: int, *offsets: int) -> d.Layout:
        shape, single = d.FieldsArbitrary(offsets), d.VariantsSingle(index)
        return d.Layout(SIZE, 4, d.ReprMemory(True), shape, single, False)

    names = tuple(d.VariantName(name, i) for i, name in enumerate(("Unresumed", "Returned", "Panicked", "Suspend0")))
    states = d.VariantsMultiple(int_scalar(8, end=3), TAG, None, (state(0), state(1), state(2), state(3, BYTE, SAVED)))
    host.ty.layouts[ty.key] = d.Layout(
        SIZE, 4, d.ReprMemory(True), d.FieldsArbitrary((0, TAG)), states, False, names, needs_drop=True
    )
    return ty


def test_it_begins_in_its_first_state(host: Host) -> None:
    ty = host.ty
    b = BodyBuilder("k", args=[ty.ref(coroutine(host), mut=True), ty.u32], ret=ty.unit)
    b.assign(deref(b.arg(0)), closure_of("coroutine@a.rs:1:2: 3:4 (#0)", b.arg(1)))
    b.return_()
    out = bytearray(b"\xee" * SIZE)
    assert host.run(b.build(), args=[out, 0x01020304]) is None
    assert out[:4] == (0x01020304).to_bytes(4, "little") and out[TAG] == 0


def test_states_have_fields_of_their_own(host: Host) -> None:
    """What a body does when it suspends: saves beside what it captured, and says where it waits."""
    ty = host.ty
    made = coroutine(host)
    b = BodyBuilder("k", args=[ty.ref(made, mut=True), ty.ref(ty.isize, mut=True)], ret=ty.unit)
    whole = deref(b.arg(0))
    captured = field(whole, 0, ty.u32)
    b.assign(field(downcast(whole, None, 3), 1, ty.u32), binary("Add", captured, captured))
    b.assign(field(downcast(whole, None, 3), 0, ty.u8), const(ty.u8, 7))
    b.set_discriminant(whole, 3)
    b.assign(deref(b.arg(1)), discriminant(whole))
    b.return_()
    content, state = bytearray(SIZE), bytearray(8)
    content[0] = 21
    assert host.run(b.build(), args=[content, state]) is None
    assert (content[0], content[SAVED], content[BYTE], content[TAG], state[0]) == (21, 42, 7, 3, 3)
