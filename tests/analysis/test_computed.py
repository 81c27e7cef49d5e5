"""Constants that the program computes itself."""

from __future__ import annotations

import pytest

from mirgen.analysis.computed import may_be_computed, with_call
from mirgen.analysis.references import references
from mirgen.mir.builder import BodyBuilder, TypeMaker, binary, const, use
from mirgen.mir.place import Constant, UnevaluatedConst
from mirgen.mir.statement import Call
from mirgen.mir.ty import FnDefTy, FnSig, Ty

TY = TypeMaker("k")
PATH = "f::<{closure}>::{constant#0}"
FN = FnDefTy(f"fn() -> u32 {{{PATH}}}", "k", PATH, FnSig((), TY.u32, "Rust", False, False))


def test_a_call_takes_the_constant_s_place_wherever_it_stands() -> None:
    constant = Constant(UnevaluatedConst(PATH, None, None))
    promoted = UnevaluatedConst(PATH, 0, None)
    b = BodyBuilder("f", ret=TY.u32)
    first, second = b.local(TY.u32), b.local(TY.u32)
    b.assign(first, use(const(TY.u32, 5)))
    b.assign(second, binary("Add", constant, constant))
    b.assign(second, use(Constant(promoted)))
    b.call(b.ret, TY.fn_def("g", [TY.u32], TY.u32), constant).return_()
    before = b.build()
    after = with_call(before, FN)
    assert [c.full_path for c, _ in references(after).unevaluated] == [promoted.full_path], "promoted ones are others"
    calls = [block.terminator for block in after.blocks if isinstance(block.terminator, Call)]
    assert sorted(use.fn.path for use in references(after).callees) == sorted([PATH, "g"]), "once for each block"
    assert len(after.blocks[0].statements) == 1, "what comes before is left before"
    assert all(call.target is not None for call in calls)
    assert after.locals[-1].ty == TY.u32


def test_a_body_without_the_constant_stays_as_it_is() -> None:
    b = BodyBuilder("f", ret=TY.u32)
    b.assign(b.ret, use(const(TY.u32, 5))).return_()
    before = b.build()
    assert with_call(before, FN).blocks == before.blocks


@pytest.mark.parametrize(
    ("ty", "may"),
    [
        (TY.u32, True),
        (TY.tuple(TY.bool, TY.array(TY.f32, 2)), True),
        (TY.ref(TY.u8), False),
        (TY.tuple(TY.u8, TY.ref(TY.str)), False),
        (TY.array(TY.ref(TY.u8), 1), False),
    ],
)
def test_constants_that_refer_to_memory_are_not_computed_anew(ty: Ty, may: bool) -> None:
    assert may_be_computed(ty) is may
