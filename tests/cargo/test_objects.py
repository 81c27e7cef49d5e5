"""Trait objects of a program: names of their methods, who becomes what, tables, and rustc's answers about them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mirgen.analysis.objects import Signature
from mirgen.analysis.references import CalleeUse, references
from mirgen.cargo.dump import AllocNumbers
from mirgen.cargo.methods import DROP, DynCall, Methods, dyn_call, principal, respelled
from mirgen.cargo.objects import NotUnderstoodError, Objects, make_tables
from mirgen.cargo.overlay import Overlay
from mirgen.cargo.queries import Query
from mirgen.cargo.source import Names, UnnameableError
from mirgen.cargo.substitute import Spelling
from mirgen.cargo.tables import read_tables, refused_tables, table_source
from mirgen.errors import UnsupportedError
from mirgen.layout.builder import LayoutMaker
from mirgen.mir.body import Alloc, Body, FnAlloc, FnKey, MemoryAlloc, OtherAlloc
from mirgen.mir.builder import BodyBuilder, TypeMaker, cast
from mirgen.mir.statement import SourceInfo
from mirgen.mir.ty import FnDefTy, Ty, UnsupportedTy
from mirgen.mir.verify import find_problems

_UNSIZE = "PointerCoercion(Unsize, Implicit)"
NOWHERE = SourceInfo(None, None)


@pytest.mark.parametrize(
    ("path", "call"),
    [
        ("<(dyn a::Tr + '{erased}) as a::Tr>::f", DynCall("(dyn a::Tr + '_)", "a::Tr", "f")),
        ("<(dyn a::Tr<u8, Out = u16> + core::marker::Send + '{erased}) as a::Super<u8>>::f::<'{erased}>",
         DynCall("(dyn a::Tr<u8, Out = u16> + core::marker::Send + '_)", "a::Super<u8>", "f")),
        ("<&'{erased} (dyn a::Tr + '{erased}) as a::Tr>::f", None),
        ("<a::S<(dyn a::Tr + '{erased})> as a::Tr>::f", None),
        ("<(dyn a::Tr + 'static)>::f", None),
        ("a::f::<(dyn a::Tr + '{erased})>", None),
    ],
)  # fmt: skip
def test_methods_on_trait_objects(path: str, call: DynCall | None) -> None:
    ty = TypeMaker().fn_def(path, [], TypeMaker().unit)
    assert isinstance(ty, FnDefTy)
    assert dyn_call(ty) == call


@pytest.mark.parametrize(
    ("of", "first", "own", "other"),
    [
        ("(dyn a::Tr + '{erased})", "a::Tr", "a::Tr", "b::Tr"),
        ("(dyn a::Tr<u8, Out = (u8, u16)> + core::marker::Send + '{erased})", "a::Tr<u8, Out = (u8, u16)>", "a::Tr<u8>",
         "a::Tr<u16>"),
        ("(dyn for<Region(BrAnon)> core::ops::Fn<(&'^0 u8,), Output = fn(u8) -> u8> + '{erased})",
         "core::ops::Fn<(&'_ u8,), Output = fn(u8) -> u8>", "core::ops::Fn<(&'_ u8,)>", "core::ops::FnMut<(&'_ u8,)>"),
        ("(dyn a::Tr<Out = u8>)", "a::Tr<Out = u8>", "a::Tr", "a"),
    ],
)  # fmt: skip
def test_the_objects_own_trait(of: str, first: str, own: str, other: str) -> None:
    assert principal(of) == first
    assert DynCall(of, own, "f").is_own
    assert not DynCall(of, other, "f").is_own


def test_a_type_in_the_words_of_another_crate() -> None:
    ty = TypeMaker("dep")
    local = ty.adt("m::A", ty.u8)
    sig = ty.fn_ptr([ty.ref(local), ty.tuple(ty.adt("core::cell::Cell", local))], ty.slice(local))
    found = respelled(sig, Spelling("dep", frozenset({"core"})), "k")
    assert found.text == (
        "fn(&'{erased} dep::m::A<u8>, (core::cell::Cell<dep::m::A<u8>>,)) -> [dep::m::A<u8>]"
    )  # fmt: skip
    stack: list[Ty] = [found]
    while stack:
        part = stack.pop()
        assert part.crate == "k" and "m::A" not in part.text.replace("dep::m::A", "")
        from mirgen.mir.ty import parts

        stack += parts(part)


# ---- who becomes what ----------------------------------------------------------------------------------------


def _no_bodies(_: object) -> dict[str, Body]:
    return {}


class _Bodies:
    """Bodies of one crate: each casts values and calls methods."""

    def __init__(self, crate: str, objects: Objects, documents: list[Any] | None = None) -> None:
        self.ty = LayoutMaker(crate)
        self.objects = objects
        self._dump = SimpleNamespace(crate=crate, documents=documents or [], index=(), bodies=_no_bodies)

    def reached(self, body: Body) -> Any:
        return SimpleNamespace(body=body, dump=self._dump)

    def cast(self, from_: Ty, to: Ty) -> None:
        b = BodyBuilder("f", args=[from_], ret=self.ty.unit)
        b.let(to, cast(_UNSIZE, b.arg(0), to))
        body = b.return_().build()
        self.objects.note_casts(self.reached(body), references(body).casts, {})

    def call(self, path: str, inputs: list[Ty], output: Ty, defined: str = "") -> Body:
        """``defined`` is where the method is, as ``dep::Shape::area``."""
        item = self.ty.fn_def(path, inputs, output)
        assert isinstance(item, FnDefTy)
        if defined:
            crate, _, rest = defined.partition("::")
            binder = f"for<Region(BrNamed(DefId(0:1 ~ {crate}[a0b1]::{rest}::'_)))> "
            item = replace(item, text=binder + item.text)
        b = BodyBuilder("g", args=inputs, ret=output)
        b.call(b.ret, item, *(b.arg(i) for i in range(len(inputs)))).return_()
        call = dyn_call(item)
        assert call is not None
        return self.objects.method(item, call, self.reached(b.build()), NOWHERE).body

    def wanted(self) -> list[str]:
        made = list(self.objects.wanted())
        assert not [x for each in made for x in find_problems(each.body)]
        return [each.key[1] for each in made]


def objects() -> Objects:
    return Objects(Methods(frozenset({"core", "dep", "k"})))


def test_types_get_the_methods_that_are_called_on_what_they_become() -> None:
    k = _Bodies("k", objects())
    ty, shape, sub, other = k.ty, k.ty.dyn("Shape"), k.ty.dyn("Sub + core::marker::Send"), k.ty.dyn("Other")
    k.cast(ty.ref(ty.adt("A")), ty.ref(shape))
    k.cast(ty.ref(ty.adt("B")), ty.ref(sub))
    k.cast(ty.ref(ty.adt("C")), ty.ref(other))
    assert k.wanted() == []
    body = k.call("<(dyn Shape + '{erased}) as Shape>::area", [ty.ref(shape)], ty.u32)
    assert not find_problems(body)
    assert k.wanted() == ["<A as Shape>::area - shim(vtable, k)"]
    k.cast(ty.ref(sub), ty.ref(shape))
    assert k.wanted() == ["<B as Shape>::area - shim(vtable, k)"], "through the supertrait"
    k.cast(ty.ref(ty.adt("D")), ty.ref(shape))
    assert k.wanted() == ["<D as Shape>::area - shim(vtable, k)"]
    assert k.wanted() == []
    assert k.objects.targets == {
        ("k", "<(dyn Shape + '{erased}) as Shape>::area"): {
            ("k", f"<{name} as Shape>::area - shim(vtable, k)") for name in "ABD"
        }
    }


def test_associated_types_tell_objects_apart() -> None:
    """Of ``Fn(u8) -> u8`` and ``Fn(u8) -> u32`` each has methods that the other's callers cannot call."""
    k = _Bodies("k", objects())
    ty = k.ty
    for name, output in (("A", ty.u8), ("B", ty.u32), ("C", ty.u32)):
        of = ty.dyn(f"Get<u8, Output = {output.text}>")
        k.cast(ty.ref(ty.adt(name)), ty.ref(of))
        k.call(f"<{of.text} as Get<u8>>::get", [ty.ref(of), ty.u8], output)
    k.wanted()
    found = {key[1]: sorted(name for _, name in names) for key, names in k.objects.targets.items()}
    assert found == {
        f"<{ty.dyn('Get<u8, Output = u8>').text} as Get<u8>>::get": ["<A as Get<u8>>::get - shim(vtable, k)"],
        f"<{ty.dyn('Get<u8, Output = u32>').text} as Get<u8>>::get": [
            f"<{name} as Get<u8>>::get - shim(vtable, k)" for name in "BC"
        ],
    }
    outputs = {slot.signature.output for _, slot in k.objects.methods.items()}
    assert outputs == {ty.u8, ty.u32}


def test_types_of_two_crates_are_compared_by_their_last_segments() -> None:
    """A crate spells its own items without its name."""
    both = objects()
    k, dep = _Bodies("k", both), _Bodies("dep", both)
    k.cast(k.ty.ref(k.ty.adt("A")), k.ty.ref(k.ty.dyn("dep::Shape<dep::m::X>")))
    k.cast(k.ty.ref(k.ty.adt("B")), k.ty.ref(k.ty.dyn("Shape")))
    shape = dep.ty.dyn("inner::Shape<m::X>")
    dep.call(f"<{shape.text} as inner::Shape<m::X>>::area", [dep.ty.ref(shape), dep.ty.adt("m::X")], dep.ty.unit)
    (made,) = both.wanted()
    assert made.key == ("k", "<A as dep::Shape<dep::m::X>>::area - shim(vtable, k)"), "in that crate's own words"
    assert [local.ty.key for local in made.body.locals] == [("k", "()"), ("k", "&'{erased} A"), ("k", "dep::m::X")]


def renamed(*, calls: bool, defined: str = "dep::inner::Shape::area") -> Objects:
    """``k`` makes an object of what it knows as ``dep::Form``; ``dep`` calls a method of ``inner::Shape``."""
    both = objects()
    k, dep = _Bodies("k", both), _Bodies("dep", both)
    form, shape = k.ty.dyn("dep::Form<u8>"), dep.ty.dyn("inner::Shape<u8>")
    k.cast(k.ty.ref(k.ty.struct("A", [k.ty.u8])), k.ty.ref(form))
    if calls:
        k.call(f"<{form.text} as dep::Form<u8>>::more", [k.ty.ref(form)], k.ty.unit, "dep::inner::Shape::more")
    dep.call(f"<{shape.text} as inner::Shape<u8>>::area", [dep.ty.ref(shape)], dep.ty.unit, defined)
    return both


def test_a_trait_that_is_exported_by_another_name() -> None:
    both = renamed(calls=True)
    assert sorted(each.key[1] for each in both.wanted()) == [
        f"<A as dep::Form<u8>>::{name} - shim(vtable, k)" for name in ("area", "more")
    ]
    both.check()
    assert [each.key[1] for each in renamed(calls=True, defined="dep::other::Shape::area").wanted()] == [
        "<A as dep::Form<u8>>::more - shim(vtable, k)"
    ], "another trait"


def test_what_may_be_one_trait_by_two_names_is_refused() -> None:
    both = renamed(calls=False)
    assert list(both.wanted()) == []
    with pytest.raises(UnsupportedError, match=r"MG0310: whether .*`dyn dep::Form<u8>`.* `dyn inner::Shape<u8>`"):
        both.check()
    dep = _Bodies("dep", both)
    dep.cast(dep.ty.ref(dep.ty.adt("B")), dep.ty.ref(dep.ty.dyn("inner::Shape<u8>")))
    with pytest.raises(UnsupportedError, match="MG0310"):
        both.check()
    k = _Bodies("k", both)
    k.cast(k.ty.ref(k.ty.adt("C")), k.ty.ref(k.ty.dyn("dep::Shape<u8>")))
    both.check()


def test_two_traits_of_one_name_are_told_apart_by_their_definitions() -> None:
    both = objects()
    k, dep = _Bodies("k", both), _Bodies("dep", both)
    one, two = k.ty.dyn("Shape"), dep.ty.dyn("inner::Shape")
    k.cast(k.ty.ref(k.ty.adt("A")), k.ty.ref(one))
    k.call(f"<{one.text} as Shape>::area", [k.ty.ref(one)], k.ty.unit, "k::Shape::area")
    dep.call(f"<{two.text} as inner::Shape>::area", [dep.ty.ref(two)], dep.ty.unit, "dep::inner::Shape::area")
    assert [each.key[1] for each in both.wanted()] == ["<A as Shape>::area - shim(vtable, k)"]


def test_a_crate_does_not_say_its_own_name() -> None:
    """An object of ``dep``, on which another crate calls a method of a trait of ``dep``."""
    both = objects()
    k, dep = _Bodies("k", both), _Bodies("dep", both)
    dep.cast(dep.ty.ref(dep.ty.adt("A")), dep.ty.ref(dep.ty.dyn("m::Shape")))
    shape = k.ty.dyn("dep::m::Shape")
    k.call(f"<{shape.text} as dep::m::Shape>::area", [k.ty.ref(shape), k.ty.ref(k.ty.adt("dep::X"))], k.ty.unit)
    (made,) = both.wanted()
    assert made.key == ("dep", "<A as m::Shape>::area - shim(vtable, dep)")
    assert made.body.locals[2].ty.key == ("dep", "&'{erased} X")


def test_what_a_signature_leaves_open_is_as_the_call_has_it() -> None:
    k = _Bodies("k", objects())
    ty, shape = k.ty, k.ty.dyn("Shape")
    path = f"<{shape.text} as Shape>::area"
    open_ = UnsupportedTy(f"<{shape.text} as Shape>::Out", "k", "alias")
    item = ty.fn_def(path, [ty.ref(shape)], open_)
    assert isinstance(item, FnDefTy)
    call = dyn_call(item)
    assert call is not None
    b = BodyBuilder("g", args=[ty.ref(shape)], ret=ty.u16)
    b.call(b.ret, item, b.arg(0)).return_()
    made = k.objects.method(item, call, k.reached(b.build()), NOWHERE)
    assert made.body.locals[0].ty.text == "u16"
    takes = BodyBuilder("h", ret=ty.unit).return_().build()
    with pytest.raises(NotUnderstoodError, match="left open"):
        objects().method(item, call, k.reached(takes), NOWHERE)
    by_value = ty.fn_def(path, [shape], ty.u8)
    assert isinstance(by_value, FnDefTy)
    with pytest.raises(NotUnderstoodError, match="receiver"):
        k.objects.method(by_value, call, k.reached(takes), NOWHERE)


def test_methods_of_other_traits_are_asked_about() -> None:
    methods = Methods(frozenset())
    ty = TypeMaker("k")
    item = ty.fn_def("<(dyn Sub + '{erased}) as a::Base>::f", [], ty.unit)
    assert isinstance(item, FnDefTy)
    call = dyn_call(item)
    assert call is not None
    assert methods.is_virtual(item, call) is None
    methods.tables["k", call.of] = frozenset({("Base", "f")})
    assert methods.is_virtual(item, call) is True
    methods.tables["k", call.of] = frozenset({("Base", "g"), ("Sub", "f")})
    assert methods.is_virtual(item, call) is False


def test_tables_in_constants() -> None:
    closure = "{c::{closure#0} closure_kind_ty=i8}"
    ty = TypeMaker("k")
    known = ty.adt("m::A")
    k = _Bodies("k", objects(), [(Path("d"), SimpleNamespace(types=(known,)))])
    reached = k.reached(BodyBuilder("f", ret=ty.unit).return_().build())

    def note(number: int, text: str) -> bool:
        return k.objects.note_table(number, OtherAlloc("vtable", f"vtable: impl {text}"), reached)

    assert note(1, "Shape + core::marker::Sync for m::A")
    assert note(2, "for<'a> core::ops::Fn<(&'a u8,), Output = ()> for B<(dyn Shape + '{erased})>")
    assert not note(3, f"Shape for {closure}"), "its body is found by its type, which nothing tells"
    assert not note(4, "Shape")
    assert k.objects.allocs == {1: ("k", "m::A"), 2: ("k", "B<(dyn Shape + '{erased})>")}
    assert k.objects.types["k", "m::A"].ty is known


# ---- tables --------------------------------------------------------------------------------------------------


def tables_of(k: _Bodies, *more: Objects, waiting: frozenset[FnKey] = frozenset()) -> tuple[Any, dict[int, Alloc]]:
    allocs: dict[int, Alloc] = {}
    kernels = [k.objects, *more]
    return make_tables(kernels, k.objects.methods, k.ty.layouts, allocs, AllocNumbers(), waiting), allocs


def words_of(alloc: Alloc) -> list[int]:
    assert isinstance(alloc, MemoryAlloc)
    return [int.from_bytes(alloc.data[at : at + 8], "little") for at in range(0, len(alloc.data), 8)]


def test_a_table_holds_size_alignment_and_methods() -> None:
    k = _Bodies("k", objects())
    ty, shape, other = k.ty, k.ty.dyn("Shape"), k.ty.dyn("Other")
    one, two, three = ty.struct("A", [ty.u16, ty.u32]), ty.struct("B", [ty.u8]), ty.struct("C", [ty.u64])
    k.cast(ty.ref(one), ty.ref(shape))
    k.cast(ty.ref(two), ty.ref(other))
    k.cast(ty.ref(three), ty.ref(shape))
    made, allocs = tables_of(k)
    unread = [words_of(allocs[made.allocs["k", name]]) for name in "ABC"]
    assert unread == [[8, 4], [1, 1], [8, 8]], "nothing looks into them, but their addresses differ"
    for path, of in (("Shape>::area", shape), ("Other>::go", other)):
        k.call(f"<{of.text} as {path}", [ty.ref(of)], ty.u32)
    k.wanted()
    made, allocs = tables_of(k)
    tables = {name: allocs[made.allocs["k", name]] for name in "ABC"}
    assert {name: words_of(table) for name, table in tables.items()} == {
        "A": [8, 4, 0, 1], "B": [1, 1, 2, 0], "C": [8, 8, 1, 1],
    }, "the number behind the last is that of no shim"  # fmt: skip
    assert all(isinstance(table, MemoryAlloc) and table.static is None for table in tables.values())
    dispatchers = [f"<{shape.text} as Shape>::area", f"<{other.text} as Other>::go"]
    assert set(made.functions) == {("k", name) for name in dispatchers}
    assert not [x for body in made.functions.values() for x in find_problems(body)]
    assert made.targets == {}, "the dispatchers' bodies name what they call"


@pytest.mark.parametrize(("types", "numbered"), [("ABCD", True), ("ABCDE", False)])
def test_many_methods_are_called_by_their_addresses(types: str, numbered: bool) -> None:
    k = _Bodies("k", objects())
    ty, shape, other = k.ty, k.ty.dyn("Shape"), k.ty.dyn("Other")
    for name in types:
        k.cast(ty.ref(ty.struct(name, [ty.u8])), ty.ref(shape))
    k.cast(ty.ref(ty.struct("X", [ty.u8])), ty.ref(other))
    dispatcher = f"<{shape.text} as Shape>::area"
    k.call(dispatcher, [ty.ref(shape)], ty.u32)
    k.call(f"<{other.text} as Other>::go", [ty.ref(other)], ty.u32)
    k.wanted()
    shims = {name: f"<{name} as Shape>::area - shim(vtable, k)" for name in types}
    for waiting in (frozenset[FnKey](), frozenset({("k", shims["A"])})):
        made, allocs = tables_of(k, waiting=waiting)
        by_number = numbered or bool(waiting)
        assert (("k", dispatcher) in made.functions) == by_number
        tables = {name: allocs[made.allocs["k", name]] for name in (*types, "X")}
        assert all(isinstance(table, MemoryAlloc) for table in tables.values())
        found = {
            name: [allocs[relocation.alloc] for relocation in table.relocations if relocation.at == 16]
            for name, table in tables.items() if isinstance(table, MemoryAlloc)
        }  # fmt: skip
        if by_number:
            assert not any(found.values()), "an address would keep a function that cannot stay"
            assert [words_of(tables[name])[2] for name in types] == [*range(len(types))]
            assert made.targets == {}
        else:
            absent = "Shape::area - shim(absent, k)"
            assert found == {**{name: [FnAlloc(shims[name])] for name in types}, "X": [FnAlloc(absent)]}
            assert not find_problems(made.functions["k", absent])
            assert made.targets == {("k", dispatcher): {("k", shim) for shim in shims.values()}}


def test_words_of_methods_that_no_kernel_calls_are_empty() -> None:
    """An attempt that was given up has left a method behind."""
    methods = Methods(frozenset())
    ty = TypeMaker("k")
    methods.slot(("k", "Gone", "f", ""), Signature(ty.ref(ty.dyn("Gone")), (ty.adt("Unknown"),), ty.unit))
    k = _Bodies("k", Objects(methods))
    shape, one = k.ty.dyn("Shape"), k.ty.struct("A", [k.ty.u8])
    k.cast(k.ty.ref(one), k.ty.ref(shape))
    k.call(f"<{shape.text} as Shape>::area", [k.ty.ref(shape)], k.ty.u32)
    k.wanted()
    made, allocs = tables_of(k)
    table = allocs[made.allocs["k", "A"]]
    assert words_of(table) == [1, 1, 0, 0]
    assert set(made.functions) == {("k", f"<{shape.text} as Shape>::area")}


def test_sizes_alone_need_a_table_too() -> None:
    k = _Bodies("k", objects())
    one, two = k.ty.struct("A", [k.ty.u16]), k.ty.adt("B")
    k.cast(k.ty.ref(one), k.ty.ref(k.ty.dyn("Shape")))
    path = "core::intrinsics::size_of_val::<(dyn Shape + '{erased})>"
    item = k.ty.fn_def(path, [], k.ty.usize)
    assert isinstance(item, FnDefTy)
    k.objects.note_reading(CalleeUse(item, NOWHERE, True, False))
    made, allocs = tables_of(k)
    assert isinstance(allocs[made.allocs["k", "A"]], MemoryAlloc)
    k.cast(k.ty.ref(two), k.ty.ref(k.ty.dyn("Shape")))
    with pytest.raises(UnsupportedError, match="the layout of `B`, which becomes a trait object, is not known"):
        tables_of(k)


def test_kernels_share_tables() -> None:
    methods = Methods(frozenset())
    one, two = _Bodies("k", Objects(methods)), _Bodies("k", Objects(methods))
    for k, name in ((one, "area"), (two, "grow")):
        shape = k.ty.dyn("Shape")
        k.cast(k.ty.ref(k.ty.struct("A", [k.ty.u16])), k.ty.ref(shape))
        k.call(f"<{shape.text} as Shape>::{name}", [k.ty.ref(shape)], k.ty.u32)
        k.wanted()
    made, allocs = tables_of(one, two.objects)
    assert words_of(allocs[made.allocs["k", "A"]]) == [2, 2, 0, 0]
    names = {("k", f"<(dyn Shape + '{{erased}}) as Shape>::{name}") for name in ("area", "grow")}
    assert set(made.functions) == names, "both are there"


def test_drops_go_through_the_table() -> None:
    k = _Bodies("k", objects())
    shape = k.ty.dyn("Shape")
    k.cast(k.ty.ref(k.ty.adt("A")), k.ty.ref(shape))
    pointer = k.ty.ptr(shape, mut=True)
    glue = k.ty.fn_def(f"core::ptr::drop_in_place::<{shape.text}>", [pointer], k.ty.unit, unsafe=True)
    assert isinstance(glue, FnDefTy)
    reached = k.reached(BodyBuilder("f", ret=k.ty.unit).return_().build())
    made = k.objects.drop_glue(glue, reached, NOWHERE)
    assert made is not None and not find_problems(made.body)
    assert k.wanted() == ["core::ptr::drop_in_place::<A> - shim(vtable, k)"]
    assert DROP in k.objects.called
    thin = k.ty.fn_def("core::ptr::drop_in_place::<A>", [k.ty.ptr(k.ty.adt("A"), mut=True)], k.ty.unit)
    assert isinstance(thin, FnDefTy)
    assert k.objects.drop_glue(thin, reached, NOWHERE) is None


# ---- rustc's answers -----------------------------------------------------------------------------------------


def query(name: str) -> Query:
    return Query(name, ("k", name), Path("/p/src/lib.rs"), "")


def test_the_question_about_a_table() -> None:
    names = Names("k", "k", frozenset({"k", "core"}))
    call = DynCall("(dyn m::Tr<u8, Out = A> + core::marker::Send + '_)", "m::Super", "f")
    assert table_source("T1", call, names) == (
        "#[rustc_dump_vtable] pub type T1 = "
        "(dyn crate::m::Tr<u8, Out = crate::A> + ::core::marker::Send + 'static);"
    )  # fmt: skip
    with pytest.raises(UnnameableError):
        table_source("T1", DynCall("(dyn m::Tr<{f::{closure#0}}> + '_)", "m::Super", "f"), names)


def test_reading_tables(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    file = copy / "src" / "lib.rs"
    file.parent.mkdir(parents=True)
    file.write_text("\n".join(["", *(f"#[rustc_dump_vtable] pub type T{i} = X;" for i in (1, 2, 3))]))
    overlay = Overlay(file, copy, Path("/p"), (file,))
    output = """\
error: vtable entries: [
           MetadataDropInPlace,
           MetadataSize,
           MetadataAlign,
           Method(<(dyn m::Sub + '{erased}) as m::Base>::base - shim(reify)),
           Method(<(dyn m::Sub + '{erased}) as m::Other<u32>>::late::<'{erased}> - shim(reify)),
           TraitVPtr(<(dyn m::Sub + '{erased}) as m::Other<u32>>),
           Vacant,
       ]
  --> src/lib.rs:2:1
   |

error: vtable entries: [
           MetadataDropInPlace,
           Method(<(dyn core::ops::Fn<(u32,), Output = u8> + '{erased}) as core::ops::FnMut<(u32,)>>::call_mut),
       ]
  --> /p/src/lib.rs:3:1
   |

error[E0412]: cannot find type `X` in this scope
 --> src/lib.rs:4:38
"""
    asked = [query("T1"), query("T2"), query("T3")]
    assert read_tables(output, overlay, asked) == {
        "T1": {("Base", "base"), ("Other<u32>", "late")},
        "T2": {("FnMut<(u32,)>", "call_mut")},
    }
    assert refused_tables(output.rpartition("\n\n")[2], overlay, asked) == {"T3"}
    assert read_tables("error: something else", overlay, asked) == {}
