"""What a body refers to."""

from __future__ import annotations

from mirgen.analysis.references import references
from mirgen.mir.builder import BodyBuilder, TypeMaker, cast

TY = TypeMaker()


def test_types_in_the_signature_of_a_called_pointer() -> None:
    """Their layouts say how it is called, and no local need be of them."""
    regional = TY.adt("Shared<'^0>")
    pointer = TY.fn_ptr([regional], TY.tuple(TY.u8, TY.u16))
    b = BodyBuilder("f", args=[pointer, TY.adt("Shared<'{erased}>")], ret=TY.unit)
    b.call(b.local(TY.tuple(TY.u8, TY.u16)), b.arg(0), b.arg(1)).return_()
    assert regional in references(b.build()).types


def test_casts_that_may_make_trait_objects() -> None:
    obj = TY.ref(TY.dyn("Tr"))
    b = BodyBuilder("f", args=[TY.ref(TY.u8), TY.u32], ret=TY.unit)
    b.line(7).let(obj, cast("PointerCoercion(Unsize, Implicit)", b.arg(0), obj))
    b.let(TY.u64, cast("IntToInt", b.arg(1), TY.u64))
    ((_, to, source),) = references(b.return_().build()).casts
    assert to == obj and source.span is not None and source.span.line == 7
