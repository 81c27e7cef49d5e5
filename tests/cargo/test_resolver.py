"""What the resolver remembers of bodies."""

from __future__ import annotations

from mirgen.analysis.references import references
from mirgen.cargo.closure import Resolver
from mirgen.cargo.homonyms import Homonyms
from mirgen.mir.body import Body
from mirgen.mir.builder import BodyBuilder, TypeMaker


def _with_locals(count: int) -> Body:
    ty = TypeMaker()
    b = BodyBuilder("f", ret=ty.unit)
    for i in range(count):
        b.local(ty.array(ty.u8, i))
    return b.return_().build()


def test_a_body_in_the_place_of_one_that_is_gone_is_another() -> None:
    resolver = Resolver(lambda _: [], lambda _: False, Homonyms(()))
    for count in range(100):
        body = _with_locals(count)
        assert resolver.references(body) == references(body)
        del body
