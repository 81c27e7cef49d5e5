"""What a drop runs, from rustc's answers about the types inside."""

from __future__ import annotations

import pytest

from mirgen.analysis.drops import UnknownDropError, glue_of, glued, runs_code
from mirgen.mir.builder import TypeMaker
from mirgen.mir.ty import Ty


def test_plain_types_are_decided_without_a_question() -> None:
    ty = TypeMaker()

    def never(asked: Ty) -> bool | None:
        raise AssertionError(f"asked about {asked}")

    dropping = ty.adt("m::D")
    function = ty.fn_def("m::f", [dropping], dropping)
    for plain in (ty.u8, ty.ref(dropping), ty.ptr(dropping), function, ty.tuple(ty.u8, ty.str), ty.array(ty.char, 3)):
        assert not runs_code(plain, never)
        assert glued(plain, never) == ()


def test_parts_are_glued_in_order() -> None:
    ty = TypeMaker()
    d, e, plain = ty.adt("m::D"), ty.adt("m::E"), ty.adt("m::Plain")
    answers = {d: True, e: True, plain: False}.get
    closure = ty.closure("m::f::{closure#0}", [e, plain])
    assert glued(ty.tuple(d, ty.u8, closure, plain, d), answers) == (d, e, d)
    array = ty.array(d, 2)
    assert glued(array, answers) == (array,), "an array has glue, which loops"
    assert glued(ty.array(plain, 2), answers) == ()


def test_adapters_of_core_drop_what_they_own() -> None:
    """``array::IntoIter<u32, 4>`` implements ``Drop``, which then does nothing."""
    ty = TypeMaker()
    d = ty.adt("m::D")
    closure = ty.closure("m::f::{closure#0}", [ty.u32])
    items = ty.adt("core::array::IntoIter", ty.u32)
    answers = {d: True}.get
    assert not runs_code(ty.adt("core::iter::Map", items, closure), answers)
    assert runs_code(ty.adt("core::iter::Map", ty.adt("core::array::IntoIter", d), closure), answers)
    wrapped = ty.adt("core::ops::try_trait::Wrapped", d, d, closure)
    assert not runs_code(ty.adt("core::array::drain::Drain", ty.u32, wrapped), answers), "it borrows its function"
    assert not runs_code(wrapped, answers)


def test_what_is_not_known_is_to_be_asked() -> None:
    ty = TypeMaker()
    d, e = ty.adt("m::D"), ty.adt("m::E")
    nothing: dict[Ty, bool] = {}
    with pytest.raises(UnknownDropError) as error:
        glued(ty.tuple(d, ty.tuple(e), ty.adt("core::option::Option", d)), nothing.get)
    assert error.value.types == {d, e}
    assert runs_code(ty.tuple(d, e), {e: True}.get), "one part is enough to know"


def test_glue_is_named_after_the_type() -> None:
    ty = TypeMaker()
    glue = glue_of(ty.adt("m::D"))
    assert (glue.crate, glue.path) == ("t", "core::ptr::drop_in_place::<m::D>")
    assert [i.text for i in glue.sig.inputs] == ["*mut m::D"]
