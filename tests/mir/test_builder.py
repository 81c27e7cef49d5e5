"""The test builder and the text of what it builds."""

from __future__ import annotations

from mirgen.layout.builder import LayoutMaker
from mirgen.layout.data import ReprPair, ReprScalar, VariantsMultiple
from mirgen.mir.body import Body
from mirgen.mir.builder import BodyBuilder, binary, const, deref, field, index, program, ref, tuple_of, unary
from mirgen.mir.format import format_statement, format_terminator


def sum_to(ty: LayoutMaker) -> Body:
    b = BodyBuilder("sum", args=[ty.ref(ty.slice(ty.u32)), ty.usize], ret=ty.u32)
    n = b.let(ty.usize, unary("PtrMetadata", b.arg(0)))
    ok = b.let(ty.bool, binary("Lt", b.arg(1), n))
    b.assert_(ok, "index out of bounds: the length is {} but the index is {}", n, b.arg(1))
    pair = b.let(ty.tuple(ty.u32, ty.bool), tuple_of(index(deref(b.arg(0)), b.arg(1)), const(ty.bool, True)))
    b.assign(b.ret, field(pair, 0, ty.u32))
    b.return_()
    return b.build()


def test_statements_read_like_mir() -> None:
    body = sum_to(LayoutMaker())
    lines = [format_statement(x) for block in body.blocks for x in block.statements]
    assert lines == [
        "_3 = PtrMetadata(copy _1)",
        "_4 = Lt(copy _2, copy _3)",
        "_5 = (copy (*_1)[_2], const true)",
        "_0 = copy _5.0",
    ]
    assert format_statement(body.blocks[1].statements[0], verbose=True) == (
        "_5 = (copy (*_1)[_2], const ConstValue(Scalar(0x01): bool))"
    )
    assert format_terminator(body.blocks[0].terminator) == (
        'assert(copy _4, "index out of bounds: the length is {} but the index is {}", copy _3, copy _2)'
        " -> [success: bb1, unwind unreachable]"
    )


def test_layouts_of_plain_types() -> None:
    ty = LayoutMaker()
    assert (ty.layout(ty.u128).size, ty.layout(ty.u128).align) == (16, 16)
    pair = ty.layout(ty.tuple(ty.u8, ty.u32))
    assert (pair.size, pair.align) == (8, 4)
    assert isinstance(pair.repr, ReprPair) and pair.repr.second_offset == 4
    assert isinstance(ty.layout(ty.ref(ty.str)).repr, ReprPair)
    assert isinstance(ty.layout(ty.struct("S", [ty.unit, ty.f32])).repr, ReprScalar)
    option = ty.layout(ty.option_of(ty.ref(ty.u8)))
    assert isinstance(option.variants, VariantsMultiple) and option.variants.niche is not None
    assert (option.size, option.variants.niche.niche_start, option.variants.niche.untagged_variant) == (8, 0, 1)
    letters = ty.layout(ty.option_of(ty.char))
    assert isinstance(letters.variants, VariantsMultiple) and letters.variants.niche is not None
    assert letters.variants.niche.niche_start == 0x110000


def test_program_keys_bodies_by_crate_and_name() -> None:
    ty = LayoutMaker("demo")
    b = BodyBuilder("k", args=[ty.u32], ret=ty.unit)
    place = b.local(ty.ref(ty.u32), "r")
    b.assign(place, ref(b.arg(0)))
    b.return_()
    made = program(b.build())
    assert made.kernels[0].body == ("demo", "k")
    assert [p.ty.text for p in made.kernels[0].params] == ["u32"]
