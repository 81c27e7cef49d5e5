"""Generic arguments put into generic bodies: what is bound, how texts are spelled, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mirgen.cargo.substitute import Bindings, Json, NotSubstitutedError, Spelling, Substitution
from mirgen.ingest.types import resolve_types
from mirgen.ingest.wire import MirDocument
from mirgen.mir.builder import TypeMaker
from mirgen.mir.ty import AdtTy, ArrayTy, ClosureTy, FnSig, PointerTy, Ty, UnsupportedTy

EXTERNS = frozenset({"core", "k", "dep"})
T = UnsupportedTy("T", "dep", "param")
CLOSURE = (
    '{k::{closure#0} closure_kind_ty=i16 closure_sig_as_fn_ptr_ty=for<Region(BrAnon)> extern "rust-call" '
    "fn((&'^0 u8,)) -> bool upvar_tys=()}"
)


def usize(value: int) -> str:
    return f"ValTree(Leaf(0x{value:016x}): usize)"


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("&'{erased} mut [T]", "&'{erased} mut [u32]"),
        ("vec::Holder<T, N/#1>", f"dep::vec::Holder<u32, {usize(3)}>"),
        ("Root<T>", "dep::Root<u32>"),
        ("core::option::Option<T>", "core::option::Option<u32>"),
        ("[T; N/#1]", f"[u32; {usize(3)}]"),
        ("<T as ops::Add<Root>>::Output", "<u32 as dep::ops::Add<dep::Root>>::Output"),
        ("slice::<impl [T]>::first", "dep::slice::<impl [u32]>::first"),
        ("for<Region(BrNamed(DefId(0:1 ~ dep[1e]::T::f::'T)))> fn(&'^0.Named(DefId(0:1 ~ dep[1e]::T::'T)) T)",
         "for<Region(BrNamed(DefId(0:1 ~ dep[1e]::T::f::'T)))> fn(&'^0.Named(DefId(0:1 ~ dep[1e]::T::'T)) u32)"),
        ("dyn core::ops::Fn<(T,), Output = T>", "dyn core::ops::Fn<(u32,), Output = u32>"),
        ("m::T", "dep::m::T"),
        ("T::new", "dep::T::new"),
        (CLOSURE.replace("{k::{", "{m::f<T, F>::{").replace("u8", "T"),
         CLOSURE.replace("{k::{", "{dep::m::f<u32, bool>::{").replace("u8", "u32")),
    ],
)  # fmt: skip
def test_texts_are_spelled_as_the_other_crate_sees_them(text: str, spelled: str) -> None:
    spell = Spelling("dep", EXTERNS - {"dep"}, {"T": "u32", "F": "bool"}, {"N": usize(3)})
    assert spell(text) == spelled


def test_one_crate_s_own_texts_keep_their_paths() -> None:
    spell = Spelling("", EXTERNS, {"T": "u32", "impl FnMut(u8) -> u8": CLOSURE})
    assert spell("m::f::<T, impl FnMut(u8) -> u8>(Root)") == f"m::f::<u32, {CLOSURE}>(Root)"


def test_arguments_are_read_off_types_of_one_shape() -> None:
    ty = TypeMaker("k")
    generic = PointerTy("&'a mut [T]", "dep", ty.slice(T), True, True)
    concrete = ty.ref(ty.slice(ty.u32), mut=True)
    bound = Bindings()
    assert bound.bind(generic, concrete)
    assert bound.types == {"T": ty.u32}
    assert not bound.bind(T, ty.u64), "a parameter has one argument"
    assert not Bindings().bind(generic, ty.ref(ty.slice(ty.u32))), "mutability differs"
    assert not Bindings().bind(generic, ty.u32)


def test_arguments_that_rustc_leaves_out_are_told_elsewhere_or_not_at_all() -> None:
    """``ControlFlow<u8>`` is ``ControlFlow<u8, ()>``."""
    ty = TypeMaker("k")
    c = UnsupportedTy("C", "dep", "param")
    bindings = Bindings()
    assert bindings.bind(ty.adt("ops::Flow", T, c), ty.adt("core::ops::Flow", ty.u8))
    assert list(bindings.types) == ["T"]
    assert not Bindings().bind(ty.adt("ops::Flow", T), ty.adt("core::ops::Flow", ty.u8, ty.u8))


def test_projections_bind_nothing_on_either_side() -> None:
    ty = TypeMaker("k")
    projection = UnsupportedTy("<m::I<u8> as m::Iter>::Item", "k", "alias")
    bindings = Bindings()
    assert bindings.bind(ty.adt("m::S", ty.u8), ty.adt("m::S", projection)) and not bindings.types


ITEM = "<I as core::iter::Iterator>::Item"


def test_projections_are_what_a_signature_says() -> None:
    """A method of ``Splice<I>`` has ``&[<I as Iterator>::Item; 0]`` where its instance has ``&[u8; 0]``."""
    ty = TypeMaker("k")
    hidden = "Opaque(DefId(0:1 ~ dep[1e]::f::{opaque#0}))"
    item, opaque = (UnsupportedTy(text, "dep", "alias") for text in (ITEM, hidden))
    bound = Bindings()
    assert bound.bind(ty.tuple(item, opaque), ty.tuple(ty.u8, ty.u8))
    assert bound.aliases == {ITEM: ty.u8} and not bound.types
    assert bound.bind(item, ty.u8) and not bound.bind(item, ty.bool)
    held = UnsupportedTy("<m::I<u8> as m::Iter>::Item", "k", "alias")
    assert Bindings().bind(item, held) and not bound.bind(ty.slice(item), ty.slice(ty.u32))


def test_projections_that_are_told_are_spelled_so() -> None:
    spell = Spelling("dep", EXTERNS - {"dep"}, {"I": "k::I", ITEM: "u8"})
    assert spell(f"&[{ITEM}; 0]") == "&[u8; 0]"
    assert spell(f"<{ITEM} as m::Tr<I>>::f") == "<u8 as dep::m::Tr<k::I>>::f"
    assert spell(f"({ITEM}s, {ITEM}::<u8>)") == (
        "(<k::I as core::iter::Iterator>::Items, <k::I as core::iter::Iterator>::Item::<u8>)"
    )


def test_lengths_and_const_arguments_are_bound_by_name() -> None:
    ty = TypeMaker("k")
    bound = Bindings()
    assert bound.bind(ArrayTy("[T; N/#1]", "dep", T, None), ty.array(ty.u8, 5))
    assert bound.consts == {"N": usize(5)}
    assert not bound.bind(AdtTy("S<N/#1>", "dep", "S", (), ("N/#1",)), AdtTy("S<..>", "k", "dep::S", (), (usize(6),)))
    assert bound.bind(AdtTy("S<N/#1>", "dep", "S", (), ("N/#1",)), AdtTy("S<..>", "k", "dep::S", (), (usize(5),)))


def test_a_bare_word_is_a_parameter_unless_the_argument_is_that_item() -> None:
    ty = TypeMaker("k")
    word = AdtTy("W", "dep", "W", (), ())
    bound = Bindings()
    assert bound.bind(word, ty.f32)
    assert bound.types == {"W": ty.f32}
    item = Bindings()
    assert item.bind(word, AdtTy("dep::W", "k", "dep::W", (), ()))
    assert item.count == 0


def closure_type(ty: TypeMaker) -> ClosureTy:
    sig = FnSig((ty.tuple(ty.ref(ty.u8)),), ty.bool, "rust-call", False, False)
    return ClosureTy(CLOSURE, "k", "k::{closure#0}", "FnMut", sig, ())


#: ``fn f<T, F>(a: T, f: F) -> <F as FnOnce<(T,)>>::Output`` in the crate `dep`.
GENERIC: list[Json] = [
    {"kind": "param", "text": "T"},
    {"kind": "adt", "text": "F", "path": "F", "args": []},
    {"kind": "alias", "text": "<F as core::ops::FnOnce<(T,)>>::Output"},
    {"kind": "array", "text": "[T; N/#2]", "elem": 0, "len": None},
    {"kind": "adt", "text": "Other", "path": "Other", "args": []},
    {"kind": "alias", "text": "<T as m::Tr>::Of"},
    {"kind": "array", "text": "[<T as m::Tr>::Of; 2]", "elem": 5, "len": "2"},
]
ARGUMENTS: list[Json] = [
    {"kind": "int", "text": "u8", "name": "u8"},
    {"kind": "bool", "text": "bool"},
    {"kind": "ref", "text": "&'^0 u8", "mutable": False, "pointee": 0},
    {"kind": "tuple", "text": "(&'^0 u8,)", "elems": [2]},
    {"kind": "closure", "text": CLOSURE, "path": "k::{closure#0}", "closure_kind": "FnMut", "upvars": [],
     "sig": {"inputs": [3], "output": 1, "abi": "rust-call", "unsafe": False, "variadic": False}},
]  # fmt: skip


def generic_body(*tys: int) -> Json:
    local = {"mutable": False, "name": None, "span": None}
    return {
        "kind": "fn", "header": "f", "instance": None, "ctfe": False, "promoted": None, "arg_count": 0, "span": None,
        "locals": [{"ty": ty, **local} for ty in tys], "scopes": [],
        "blocks": [{"cleanup": False, "statements": [], "terminator": {"kind": "return", "span": None, "scope": None}}],
    }  # fmt: skip


def substituted(body: Json, bindings: Bindings, *, all_bound: bool = True) -> tuple[dict[str, Any], tuple[Ty, ...]]:
    document: dict[str, Any] = {
        "schema": "mirgen-mir", "version": 1, "crate_name": "dep",
        "compiler": {"release": "1.95.0", "commit_hash": None, "commit_date": None, "host": None, "llvm_version": None,
                     "grammar": "1.95"},
        "target": "t", "flags": [], "notes": [], "files": [], "spans": [], "types": GENERIC, "index": [],
        "bodies": [body], "trivial_consts": [], "allocs": [],
    }  # fmt: skip
    substitution = Substitution(
        document, bindings, ARGUMENTS, Spelling("dep", EXTERNS - {"dep"}), Spelling("", EXTERNS - {"k"})
    )
    made = substitution.document(body, "dep::f::<..>", "k", all_bound=all_bound)
    types = resolve_types(MirDocument.model_validate_json(json.dumps(made)).types, "k")
    return made, types


def test_a_body_becomes_a_document_of_the_caller_s_crate() -> None:
    ty = TypeMaker("k")
    made, types = substituted(generic_body(2, 0, 1, 3), Bindings({"T": ty.u8, "F": closure_type(ty)}, {"N": usize(7)}))
    assert (made["crate_name"], made["bodies"][0]["header"]) == ("k", "dep::f::<..>")
    locals_: list[Ty] = [types[local["ty"]] for local in made["bodies"][0]["locals"]]
    assert [each.text for each in locals_] == ["bool", "u8", CLOSURE, f"[u8; {usize(7)}]"]
    assert isinstance(locals_[3], ArrayTy)
    assert locals_[3].length == 7
    assert isinstance(locals_[2], ClosureTy)
    assert locals_[2].sig is not None
    assert locals_[2].sig.inputs[0].text == "(&'^0 u8,)"


def test_a_projection_becomes_the_type_that_a_signature_tells() -> None:
    ty = TypeMaker("k")
    _, types = substituted(generic_body(6), Bindings({"T": ty.u8}, aliases={"<T as m::Tr>::Of": ty.bool}))
    assert isinstance(types[6], ArrayTy)
    assert (types[6].text, types[6].elem.text) == ("[bool; 2]", "bool")


def test_const_parameters_in_operands_become_numbers() -> None:
    ty = TypeMaker("k")
    body = generic_body(0)
    operand = {"kind": "const", "const": {"kind": "ty_const", "text": "N/#2", "ty": None}}
    body["blocks"][0]["statements"] = [
        {"kind": "assign", "place": {"local": 0, "proj": []}, "rvalue": {"kind": "use", "operand": operand},
         "span": None, "scope": None}
    ]  # fmt: skip
    made, types = substituted(body, Bindings({"T": ty.u8}, {"N": usize(9)}))
    const = made["bodies"][0]["blocks"][0]["statements"][0]["rvalue"]["operand"]["const"]
    assert (const["kind"], int(const["bits"], 16), const["size"], const["ty"]) == ("scalar", 9, 8, len(types) - 1)
    assert types[-1].text == "usize"


@pytest.mark.parametrize(
    ("body", "bindings", "all_bound", "what"),
    [
        (generic_body(0), Bindings(), True, "`T`"),
        (generic_body(0), Bindings({"T": TypeMaker("k").adt("m::Elsewhere")}), True, "m::Elsewhere.*document"),
        (generic_body(3), Bindings({"T": TypeMaker("k").u8}), True, "length"),
        (generic_body(4), Bindings(), False, "`Other`"),
    ],
)
def test_what_is_not_known_is_refused(body: Json, bindings: Bindings, all_bound: bool, what: str) -> None:
    with pytest.raises(NotSubstitutedError, match=what):
        substituted(body, bindings, all_bound=all_bound)


def test_an_item_of_the_root_stays_one_where_no_parameter_lacks_an_argument() -> None:
    _, types = substituted(generic_body(4), Bindings())
    assert types[4].text == "dep::Other"
