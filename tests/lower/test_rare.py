"""What optimised MIR seldom holds: storage marks, binders, subtypes, unwinding, thread locals, half precision."""

from __future__ import annotations

import struct

import pytest

from mirgen.errors import InternalError, UnsupportedError
from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir import ty as t
from mirgen.mir.builder import BodyBuilder, binary, cast, const, deref, unary, zst

from .conftest import Host

_NOWHERE = s.SourceInfo(None, None)


def test_storage_marks_are_nothing(host: Host) -> None:
    """A local that is dead keeps nothing that is read later."""
    ty = host.ty
    b = BodyBuilder("k", args=[ty.u32, ty.ref(ty.u32, mut=True)], ret=ty.unit)
    held = b.local(ty.u32)
    b.storage_live(held)
    b.assign(held, binary("Add", b.arg(0), const(ty.u32, 1)))
    b.assign(deref(b.arg(1)), held)
    b.storage_dead(held)
    b.storage_live(held).assign(held, const(ty.u32, 9)).storage_dead(held).return_()
    out = bytearray(4)
    assert host.run(b.build(), args=[41, out]) is None
    assert int.from_bytes(out, "little") == 42


def test_copies_to_dereference(host: Host) -> None:
    ty = host.ty
    inner = ty.ref(ty.u32)
    b = BodyBuilder("k", args=[inner, ty.ref(ty.u32, mut=True)], ret=ty.unit)
    outer = b.let(ty.ref(inner), r.Ref("shared", b.arg(0)))
    through = b.let(inner, r.CopyForDeref(deref(outer)))
    b.assign(deref(b.arg(1)), deref(through)).return_()
    out = bytearray(4)
    assert host.run(b.build(), args=[bytearray(struct.pack("<I", 77)), out]) is None
    assert int.from_bytes(out, "little") == 77


@pytest.mark.parametrize("in_memory", [False, True])
def test_types_of_one_representation(host: Host, in_memory: bool) -> None:
    """Subtypes, opaque casts and binders change the type and no bit."""
    ty = host.ty
    b = BodyBuilder("k", args=[ty.i16, *([ty.ref(ty.i16, mut=True)] * 3)], ret=ty.unit)
    held = b.let(ty.i16, b.arg(0))
    if in_memory:
        b.let(ty.ref(ty.i16), r.Ref("shared", held))
    seen = p.Place(held.local, (p.OpaqueCast("opaque_cast", ty.i16),))
    unwrapped = p.Place(held.local, (p.OpaqueCast("unwrap_binder", ty.i16),))
    b.assign(deref(b.arg(1)), binary("Add", seen, const(ty.i16, 1)))
    b.assign(deref(b.arg(2)), r.WrapBinder(p.Copy(unwrapped), ty.i16))
    b.assign(deref(b.arg(3)), cast("Subtype", held, ty.i16)).return_()
    outs = [bytearray(2) for _ in range(3)]
    assert host.run(b.build(), args=[-5, *outs]) is None
    assert [int.from_bytes(out, "little", signed=True) for out in outs] == [-4, -5, -5]


def test_pointers_that_are_never_called(host: Host) -> None:
    """A function pointer of a diverging kind that only stands in a table is null."""
    ty = host.ty
    item = ty.fn_def("gone", [], ty.never)
    held = ty.fn_ptr([], ty.never)
    b = BodyBuilder("k", args=[ty.ref(ty.usize, mut=True)], ret=ty.unit)
    pointer = b.let(held, cast("PointerCoercion(NeverCalled, Implicit)", zst(item), held))
    b.assign(deref(b.arg(0)), cast("Transmute", pointer, ty.usize)).return_()
    out = bytearray(b"\xff" * 8)
    assert host.run(b.build(), args=[out]) is None
    assert out == bytes(8)


def test_unwinding_is_left_out(host: Host) -> None:
    """A cleanup block is no code; in a block that runs, its end is a fault of whoever put it there."""
    ty = host.ty
    b = BodyBuilder("k", args=[ty.ref(ty.u32, mut=True)], ret=ty.unit)
    cleanup = b.block()
    b.assign(deref(b.arg(0)), const(ty.u32, 3)).return_()
    b.at(cleanup).terminate(s.Resume(_NOWHERE, "resume"))
    out = bytearray(4)
    assert host.run(b.build(), args=[out]) is None
    assert out[0] == 3
    c = BodyBuilder("k", ret=ty.unit)
    c.terminate(s.Resume(_NOWHERE, "resume"))
    with pytest.raises(InternalError, match="`resume` in a block that runs"):
        host.lower(c.build())


def test_unchecked_multiplication(host: Host) -> None:
    ty = host.ty
    b = BodyBuilder("k", args=[ty.i16, ty.i16, ty.ref(ty.i16, mut=True)], ret=ty.unit)
    b.assign(deref(b.arg(2)), binary("MulUnchecked", b.arg(0), b.arg(1))).return_()
    out = bytearray(2)
    assert host.run(b.build(), args=[-100, 300, out]) is None
    assert int.from_bytes(out, "little", signed=True) == -30_000


def test_thread_locals_are_refused(host: Host) -> None:
    ty = host.ty
    b = BodyBuilder("k", ret=ty.unit)
    b.let(ty.ptr(ty.u32), r.ThreadLocalRef("my::COUNTER"))
    b.return_()
    with pytest.raises(UnsupportedError, match="my::COUNTER") as caught:
        host.lower(b.build())
    assert [found.code for found in caught.value.diagnostics] == ["MG0331"]


def test_half_precision(host: Host) -> None:
    """Held and stored as it is; what this machine computes with halves is up to its compiler's library."""
    ty = host.ty
    b = BodyBuilder("k", args=[ty.f16, *([ty.ref(ty.f16, mut=True)] * 2)], ret=ty.unit)
    b.assign(deref(b.arg(1)), b.arg(0))
    b.assign(deref(b.arg(2)), unary("Neg", b.arg(0))).return_()
    same, negated = bytearray(2), bytearray(2)
    assert host.run(b.build(), args=[struct.pack("<e", 1.5), same, negated]) is None
    assert struct.unpack("<e", same) + struct.unpack("<e", negated) == (1.5, -1.5)


def test_types_without_a_layout_are_refused(host: Host) -> None:
    ty = host.ty
    b = BodyBuilder("k", args=[ty.u32], ret=ty.unit)
    held = b.local(t.UnsupportedTy("impl Future", "t", "alias"))
    b.statement(s.Assign(_NOWHERE, held, r.Use(p.Copy(b.arg(0))))).return_()
    with pytest.raises(UnsupportedError, match="the layout of `impl Future`") as caught:
        host.lower(b.build())
    assert {found.code for found in caught.value.diagnostics} == {"MG0301"}
