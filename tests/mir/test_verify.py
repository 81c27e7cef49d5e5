"""The verifier accepts what rustc printed and catches planted faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mirgen.errors import InternalError
from mirgen.ingest import MirUnit
from mirgen.layout.builder import LayoutMaker
from mirgen.mir import body as m
from mirgen.mir import builder as b
from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir.builder import BodyBuilder, TypeMaker
from mirgen.mir.verify import find_problems, verify_body, verify_program


def test_accepts_what_rustc_printed(unit: MirUnit) -> None:
    assert [str(x) for body in unit.bodies for x in find_problems(body)] == []


def test_notices_most_swapped_types(unit: MirUnit) -> None:
    """The verifier is not vacuous: giving a local of a dump another type is nearly always caught."""
    caught = planted = 0
    for body in unit.bodies:
        if "/#" in str(body.locals) or not body.blocks:
            continue
        used = _assigned(body)
        for i in sorted(used):
            other = next((x.ty for x in body.locals if x.ty.text != body.locals[i].ty.text), None)
            if other is None or i == 0:
                continue
            locals_ = list(body.locals)
            locals_[i] = replace(locals_[i], ty=other)
            planted += 1
            caught += bool(find_problems(replace(body, locals=tuple(locals_))))
    assert planted > 10
    assert caught / planted > 0.9, f"{caught} of {planted}"


def _assigned(body: m.Body) -> set[int]:
    return {
        x.place.local
        for block in body.blocks
        for x in block.statements
        if isinstance(x, s.Assign) and not x.place.proj and not isinstance(x.rvalue, r.AdtAggregate)
    }


Plant = Callable[[BodyBuilder, LayoutMaker], object]


def _assign(ty: str, value: Callable[[BodyBuilder, LayoutMaker], object]) -> Plant:
    def plant(body: BodyBuilder, t: LayoutMaker) -> None:
        types = {"arr": t.array(t.u32, 4), "pair": t.tuple(t.u32, t.bool), "ref": t.ref(t.u32), "opt": t.adt("Opt")}
        dest = body.local(types.get(ty) or getattr(t, ty))
        made = value(body, t)
        assert isinstance(made, p.Copy | p.Move | p.Constant | p.Place) or hasattr(made, "__dataclass_fields__")
        body.assign(dest, made)  # pyright: ignore[reportArgumentType]

    return plant


def _x(body: BodyBuilder) -> p.Place:
    return body.arg(0)


def _s(body: BodyBuilder) -> p.Place:
    return body.arg(1)


#: The function under test is ``fn f(u32, &[u32], (u32, bool), i32, *mut u32) -> u32``.
PLANTS: dict[str, tuple[Plant, str]] = {
    "use": (_assign("f32", lambda k, t: _x(k)), "the sides are `f32` and `u32`"),
    "no local": (_assign("u32", lambda k, t: p.Place(99)), "no local _99"),
    "operands": (_assign("u32", lambda k, t: b.binary("Add", _x(k), k.arg(3))), "operands of Add are `u32` and `i32`"),
    "result": (_assign("u64", lambda k, t: b.binary("Add", _x(k), _x(k))), "result are `u64` and `u32`"),
    "overflow": (_assign("u32", lambda k, t: b.binary("AddWithOverflow", _x(k), _x(k))), "pair with a bool"),
    "compare": (_assign("u32", lambda k, t: b.binary("Lt", _x(k), _x(k))), "needs a bool, not `u32`"),
    "shift": (_assign("u32", lambda k, t: b.binary("Shl", _x(k), b.const(t.bool, True))), "right of Shl cannot be"),
    "bits": (_assign("f32", lambda k, t: b.binary("BitAnd", b.const(t.f32, 0), b.const(t.f32, 0))), "BitAnd cannot be"),
    "cmp": (_assign("i8", lambda k, t: b.binary("Cmp", _x(k), _x(k))), "Cmp makes an Ordering"),
    "offset": (
        _assign("u32", lambda k, t: b.binary("Offset", _x(k), b.const(t.usize, 1))),
        "left of Offset must be a pointer",
    ),
    "unknown op": (_assign("u32", lambda k, t: b.binary("Pow", _x(k), _x(k))), "unknown operator `Pow`"),
    "neg": (_assign("u32", lambda k, t: b.unary("Neg", _x(k))), "Neg of the unsigned"),
    "not": (_assign("f32", lambda k, t: b.unary("Not", b.const(t.f32, 0))), "operand of Not"),
    "metadata": (_assign("usize", lambda k, t: b.unary("PtrMetadata", _x(k))), "operand of PtrMetadata"),
    "metadata as a pointer": (
        lambda k, t: k.let(t.ptr(t.u8), b.unary("PtrMetadata", _s(k))),
        "metadata is no `*const u8`",
    ),
    "borrow": (_assign("ref", lambda k, t: b.ref(_x(k), mut=True)), "the borrow does not make a"),
    "borrowed": (
        _assign("ref", lambda k, t: b.ref(b.field(k.arg(2), 1, t.bool))),
        "the pointer's target and the place",
    ),
    "raw": (_assign("ref", lambda k, t: b.raw_ptr(_x(k))), "the borrow does not make a"),
    "tuple": (_assign("pair", lambda k, t: b.tuple_of(_x(k))), "1 values for a tuple of 2"),
    "tuple part": (_assign("pair", lambda k, t: b.tuple_of(_x(k), _x(k))), "tuple's part and its value are `bool`"),
    "array": (_assign("arr", lambda k, t: b.array_of_values(_x(k))), "1 values for an array of 4"),
    "array value": (_assign("arr", lambda k, t: b.array_of_values(*[b.const(t.u8, 1)] * 4)), "`u32` and `u8`"),
    "repeat": (_assign("arr", lambda k, t: b.repeat(_x(k), 3)), "3 repetitions in an array of 4"),
    "adt": (_assign("u32", lambda k, t: b.adt_of("Opt", _x(k), variant="Some")), "struct, enum or union assigned to"),
    "closure": (_assign("u32", lambda k, t: b.closure_of("t.rs:1:1: 1:2", _x(k))), "a closure assigned to"),
    "discriminant": (_assign("f32", lambda k, t: b.discriminant(_x(k))), "discriminant's destination"),
    "cast": (_assign("u64", lambda k, t: b.cast("FloatToInt", _x(k), t.u64)), "operand of FloatToInt cannot be `u32`"),
    "cast to": (_assign("f32", lambda k, t: b.cast("IntToInt", _x(k), t.f32)), "result of IntToInt cannot be `f32`"),
    "cast dest": (_assign("u64", lambda k, t: b.cast("IntToInt", _x(k), t.u8)), "the cast are `u64` and `u8`"),
    "coercion": (
        _assign("usize", lambda k, t: b.cast("PointerCoercion(Unsize, Implicit)", _x(k), t.usize)),
        "operand of PointerCoercion(Unsize, Implicit) cannot be `u32`",
    ),
    "unknown cast": (_assign("u64", lambda k, t: b.cast("Magic", _x(k), t.u64)), "unknown cast `Magic`"),
    "fat": (
        _assign("u32", lambda k, t: b.fat_ptr(t.ptr(t.slice(t.u32)), k.arg(4), _x(k))),
        "destination and the pointer are",
    ),
    "meta": (
        lambda k, t: k.let(t.ptr(t.slice(t.u32)), b.fat_ptr(t.ptr(t.slice(t.u32)), k.arg(4), _x(k))),
        "slice's metadata is a usize",
    ),
    "deref": (_assign("u32", lambda k, t: b.deref(_x(k))), "no such projection of `u32`"),
    "field": (_assign("u32", lambda k, t: b.field(_x(k), 0, t.u32)), "`u32` has no fields"),
    "field 2": (_assign("u32", lambda k, t: b.field(k.arg(2), 2, t.u32)), "has 2 fields"),
    "field type": (_assign("f32", lambda k, t: b.field(k.arg(2), 0, t.f32)), "is and is said to be `u32` and `f32`"),
    "index": (_assign("u32", lambda k, t: b.index(b.deref(_s(k)), _x(k))), "must be a usize, not `u32`"),
    "downcast": (_assign("u32", lambda k, t: b.downcast(_x(k), "Some")), "no such projection"),
    "size": (_assign("u32", lambda k, t: p.Constant(p.ScalarConst(t.u32, 1, 8))), "8 bytes for `u32`"),
    "zst": (_assign("u32", lambda k, t: b.zst(t.u32)), "`u32` is not zero-sized"),
    "slice const": (_assign("u32", lambda k, t: b.slice_const(t.u32, 0, 1)), "not a slice's reference"),
    "pointer const": (_assign("u32", lambda k, t: b.pointer(t.u32, 0)), "pointer as a constant of `u32`"),
    "assume": (lambda k, t: k.assume(_x(k)), "assume needs a bool"),
    "copy": (lambda k, t: k.copy_nonoverlapping(k.arg(4), k.arg(4), _x(k)), "count must be a usize"),
    "copy from": (
        lambda k, t: k.copy_nonoverlapping(k.arg(4), k.arg(3), b.const(t.usize, 1)),
        "src must be a pointer, not `i32`",
    ),
    "set discriminant": (lambda k, t: k.set_discriminant(_x(k), 0), "needs an enum"),
    "storage": (lambda k, t: k.storage_live(p.Place(50)), "no local _50"),
    "assert": (lambda k, t: k.assert_(_x(k), "m"), "assert needs a bool"),
    "call": (lambda k, t: k.call(k.ret, p.Copy(_x(k))), "a call of `u32`"),
    "arguments": (lambda k, t: k.call(k.ret, t.fn_def("g", [t.u32], t.u32)), "0 arguments for 1 parameters"),
    "argument": (lambda k, t: k.call(k.ret, t.fn_def("g", [t.f32], t.u32), _x(k)), "its argument are `f32` and `u32`"),
    "call result": (lambda k, t: k.call(k.ret, t.fn_def("g", [], t.f32)), "the result are `u32` and `f32`"),
    "switch": (lambda k, t: k.switch(b.const(t.f32, 0), {0: 0}, 0).at(k.block()), "switchInt of `f32`"),
    "switch value": (lambda k, t: k.switch(_x(k), {1 << 32: 0}, 0).at(k.block()), "4294967296 is not one of `u32`"),
    "target": (lambda k, t: k.goto(77).at(k.block()), "jumps to bb77"),
}


@pytest.mark.parametrize("name", PLANTS)
def test_catches(name: str) -> None:
    plant, message = PLANTS[name]
    t = LayoutMaker()
    args = [t.u32, t.ref(t.slice(t.u32)), t.tuple(t.u32, t.bool), t.i32, t.ptr(t.u32, mut=True)]

    def make(plants: bool) -> m.Body:
        body = BodyBuilder("f", args=args, ret=t.u32).line(3)
        if plants:
            plant(body, t)
        body.assign(body.ret, body.arg(0))
        body.return_()
        return body.build()

    verify_body(make(False))
    with pytest.raises(InternalError) as e:
        verify_body(make(True))
    assert message in str(e.value)
    assert "`f`" in str(e.value)


def test_message_lists_body_block_and_statement() -> None:
    t = LayoutMaker()
    body = BodyBuilder("f", args=[t.u32], ret=t.f32)
    body.goto(body.block()).at(1)
    body.storage_live(body.local(t.u8))
    body.assign(body.ret, body.arg(0))
    body.return_()
    with pytest.raises(InternalError) as e:
        verify_body(body.build())
    assert str(e.value) == ("the MIR is not sound:\n`f`, bb1[1] `_0 = copy _1`: the sides are `f32` and `u32`")


def test_cleanup_blocks_are_entered_by_unwinding_only() -> None:
    t = LayoutMaker()
    body = BodyBuilder("f", ret=t.unit)
    body.goto(1).block()
    body.at(1).return_()
    made = body.build()
    blocks = (made.blocks[0], replace(made.blocks[1], cleanup=True))
    assert "without unwinding" in str(find_problems(replace(made, blocks=blocks))[0])
    call = s.Call(s.SourceInfo(None, None), p.Place(0), b.zst(t.fn_def("g", [], t.unit)), (), 1, s.Unwind("cleanup", 1))
    blocks = (replace(made.blocks[0], terminator=call), made.blocks[1])
    assert "not a cleanup block" in str(find_problems(replace(made, blocks=blocks))[0])


def test_generic_code_is_not_accused() -> None:
    t = LayoutMaker()
    from mirgen.mir.ty import UnsupportedTy

    param = UnsupportedTy("T", "t", "param")
    body = BodyBuilder("f", args=[t.u32], ret=param)
    body.assign(body.ret, body.arg(0))
    body.return_()
    assert find_problems(body.build()) == []


def test_program() -> None:
    t = LayoutMaker()
    body = BodyBuilder("f", ret=t.ref(t.u32))
    body.assign(body.ret, b.pointer(t.ref(t.u32), 3))
    body.return_()
    made = body.build()
    memory = m.MemoryAlloc(None, 4, bytes(4), (), ())
    verify_program(b.program(made, allocs={3: memory}))
    with pytest.raises(InternalError, match=r"`f`, bb0\[0\] `alloc3`: no such allocation"):
        verify_program(b.program(made))
    dangling = m.MemoryAlloc(None, 8, bytes(8), (), (m.Relocation(0, 8, 4, 0),))
    with pytest.raises(InternalError, match="`alloc3`: points to alloc4: missing"):
        verify_program(b.program(made, allocs={3: dangling}))
    lost = replace(b.program(made, allocs={3: memory}), functions={})
    with pytest.raises(InternalError, match="the kernel's body `f` is missing"):
        verify_program(lost)


def test_a_trait_objects_metadata_is_a_pointer() -> None:
    t = TypeMaker()
    k = BodyBuilder("f", args=[t.ref(t.dyn("Tr"))], ret=t.unit)
    k.let(t.ptr(t.u8), b.unary("PtrMetadata", k.arg(0)))
    verify_body(k.return_().build())


def test_a_projection_inside_a_trait_object_is_open() -> None:
    t = TypeMaker()
    closed, open_ = (t.ref(t.dyn(f"Tr<Out = {out}>")) for out in ("u8", "<(dyn Tr<Out = u8>) as Tr>::Out"))
    for wanted, sound in ((open_, True), (t.ref(t.dyn("Tr<Out = u16>")), False)):
        k = BodyBuilder("f", args=[closed], ret=t.unit)
        k.assign(k.local(wanted), k.arg(0)).return_()
        assert (not find_problems(k.build())) == sound


def test_the_standard_library_s_crates_name_its_items_as_std_does() -> None:
    t = TypeMaker()
    for one, other, sound in (
        ("std::cmp::Ordering", "core::cmp::Ordering", True),
        ("alloc::alloc::Global", "std::alloc::Global", True),
        ("core::cmp::Ordering", "k::cmp::Ordering", False),
        ("std::cmp::Ordering", "core::fmt::Ordering", False),
    ):
        k = BodyBuilder("f", args=[t.adt(one)], ret=t.unit)
        k.assign(k.local(t.adt(other)), k.arg(0)).return_()
        assert (not find_problems(k.build())) == sound
