"""Several documents in one numbering of allocations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirgen.errors import InvalidInputError
from mirgen.ingest import Compiler, Header, MirUnit
from mirgen.ingest.merge import merge, reachable_allocs
from mirgen.mir import body as m
from mirgen.mir import builder as b
from mirgen.mir import place as p
from mirgen.mir.builder import BodyBuilder, TypeMaker
from mirgen.mir.walk import constants_of

COMPILER = Compiler("1.96.0", None, None, None, None, "1.96")


def memory(data: bytes, *relocations: tuple[int, int], static: str | None = None) -> m.MemoryAlloc:
    links = tuple(m.Relocation(at, 8, to, 0) for at, to in relocations)
    return m.MemoryAlloc(static, 8, data, (), links)


def unit(crate: str, allocs: dict[int, m.Alloc], *, uses: int = 0, statics: tuple[str, ...] = ()) -> MirUnit:
    ty = TypeMaker(crate)
    body = BodyBuilder(f"{crate}_f", ret=ty.ref(ty.u64))
    body.assign(body.ret, b.pointer(ty.ref(ty.u64), uses))
    body.return_()
    index = tuple(Header(s, None, "static", 1, (), "u64") for s in statics)
    const = m.TrivialConst(ty.ref(ty.u64), b.pointer(ty.ref(ty.u64), uses))
    return MirUnit(
        crate, COMPILER, "x", (), (), (), index, (body.build(),), {"C": const}, frozenset(), allocs
    )  # fmt: skip


def used(u: MirUnit) -> int:
    (const,) = [c for x in u.bodies[0].blocks[0].statements for c in constants_of(x)]
    assert isinstance(const, p.PointerConst)
    value = u.trivial_consts["C"].value
    assert isinstance(value, p.Constant) and isinstance(value.const, p.PointerConst)
    assert value.const.alloc == const.alloc
    return const.alloc


def test_numbers_are_apart_and_everything_follows() -> None:
    first = unit("a", {0: memory(b"\1" * 8), 1: memory(bytes(8), (0, 0))}, uses=1)
    second = unit("b", {0: memory(bytes(8), (0, 1)), 1: memory(b"\2" * 8)})
    merged = merge([first, second])
    assert list(merged.allocs) == [0, 1, 2, 3]
    assert [used(u) for u in merged.units] == [1, 2]
    home = merged.allocs[2]
    assert isinstance(home, m.MemoryAlloc)
    assert merged.allocs[home.relocations[0].alloc] == memory(b"\2" * 8)
    assert merged.units[1].allocs == {2: merged.allocs[2], 3: merged.allocs[3]}


def test_a_static_is_one_however_it_is_spelled() -> None:
    own = unit("a", {0: memory(b"\7" * 8, static="T")}, statics=("T",))
    other = unit("b", {0: memory(bytes(8)), 1: memory(b"\7" * 8, static="a::T")}, uses=1)
    third = unit("c", {0: m.OtherAlloc("static_unprinted", "a::T")})
    merged = merge([third, own, other])
    assert {used(u) for u in merged.units} == {0}
    assert merged.allocs[0] == memory(b"\7" * 8, static="T")
    assert len(merged.allocs) == 2


def test_a_module_named_like_a_crate_is_no_crate() -> None:
    own = unit("a", {0: memory(b"\1" * 8, static="T")}, statics=("T",))
    odd = unit("b", {0: memory(b"\2" * 8, static="a::T")}, statics=("a::T",))
    assert len({used(u) for u in merge([own, odd]).units}) == 2


def test_statics_of_two_crates_stay_two() -> None:
    one = unit("a", {0: memory(b"\1" * 8, static="T")})
    two = unit("b", {0: memory(b"\2" * 8, static="T")})
    assert len(merge([one, two]).allocs) == 2


def test_other_contents_are_refused_and_equal_ones_behind_pointers_are_not() -> None:
    def make(tail: bytes) -> MirUnit:
        return unit("a", {0: memory(bytes(8), (0, 1), static="T"), 1: memory(tail)}, statics=("T",))

    same = merge([make(b"\1" * 8), make(b"\1" * 8)])
    assert len({used(u) for u in same.units}) == 1
    with pytest.raises(InvalidInputError, match="static `T` has other contents"):
        merge([make(b"\1" * 8), make(b"\2" * 8)])


def test_a_static_that_points_to_itself() -> None:
    loop = unit("a", {0: memory(bytes(8), (0, 0), static="T")}, statics=("T",))
    merged = merge([loop, replace(loop)])
    assert merged.allocs == {0: memory(bytes(8), (0, 0), static="T")}


def test_functions_are_one_per_crate() -> None:
    a = unit("a", {0: m.FnAlloc("f")})
    merged = merge([a, a, unit("b", {0: m.FnAlloc("f")})])
    assert [used(u) for u in merged.units] == [0, 0, 1]


def test_reachable() -> None:
    allocs: dict[int, m.Alloc] = {0: memory(bytes(8), (0, 2)), 1: memory(b"x"), 2: memory(bytes(8), (0, 0))}
    assert list(reachable_allocs(allocs, [0])) == [0, 2]
