"""Whose inherent impl a header's span is, as the source says."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.cargo.impl_heads import inherent_type
from mirgen.cargo.join import find_body, group_by_name, names_inherent
from mirgen.ingest import Header
from mirgen.mir.ty import AdtTy, FnDefTy, FnSig, PointerTy, TupleTy


def segment(file: Path, text: str) -> str:
    """The header's segment of an impl whose head is ``text``, on the second line of a file."""
    file.write_text(f"// first\n    {text} {{\n    fn f() {{}}\n}}\n")
    return f"<impl at {file}:2:5: 2:{5 + len(text)}>"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("impl Global", "Global"),
        ("impl<T, A: Allocator> RawVec<T, A>", "RawVec"),
        ("impl<T> crate::m::Cell<T> where T: Fn() -> u8", "Cell"),
        ("unsafe impl<const N: usize> a::B<{ N }>", "B"),
        ("impl<F: Fn(u8) -> u8> Holder<F>", "Holder"),
        ("impl /* of old */ X", "X"),
        ("impl Clone for Global", None),
        ("impl<T> From<T> for RawVec<T>", None),
        ("impl [u8]", None),
        ("impl dyn Any", None),
        ("impl<T> *const T", None),
        ("make_impls!(u8)", None),
    ],
)
def test_only_the_head_of_an_inherent_impl_names_its_type(tmp_path: Path, head: str, name: str | None) -> None:
    assert inherent_type(segment(tmp_path / "lib.rs", head)) == name


def test_a_span_that_the_file_does_not_have_names_nothing(tmp_path: Path) -> None:
    assert inherent_type(f"<impl at {tmp_path}/gone.rs:1:1: 1:5>") is None
    file = tmp_path / "short.rs"
    file.write_text("impl X {}\n")
    assert inherent_type(f"<impl at {file}:7:1: 7:7>") is None
    assert inherent_type("X") is None


def test_in_a_blind_crate_the_source_decides_between_methods_of_one_name(tmp_path: Path) -> None:
    unit = TupleTy("()", "dep", ())
    own, other = segment(tmp_path / "a.rs", "impl Global"), segment(tmp_path / "b.rs", "impl Local")
    headers = [
        Header(f"alloc::{impl}::grow", None, "fn", line, (), "()") for line, impl in enumerate((own, other), start=1)
    ]
    for crate, path in (("dep", "alloc::Global::grow"), ("user", "dep::alloc::Global::grow")):
        callee = FnDefTy(f"fn() {{{path}}}", crate, path, FnSig((), unit, "Rust", False, False))
        assert find_body(callee, "dep", group_by_name(headers), blind=True) is headers[0]
        assert find_body(callee, "dep", group_by_name(headers)) is None, "elsewhere the side channel says it"
    elsewhere = FnDefTy("", "dep", "other::Global::grow", FnSig((), unit, "Rust", False, False))
    assert find_body(elsewhere, "dep", group_by_name(headers), blind=True) is None


@pytest.mark.parametrize(
    ("heads", "wanted"),
    [
        (["impl Drop for Counter<'_>"], 0),
        (["impl Other for Counter<'_>", "impl m::Drop for Counter<'_>"], 1),
        (["impl Drop for Counter<'_>", "impl m::Drop for Counter<'_>"], None),  # which of two traits of one name
        (["impl Drop for Counter<'_>", "make_impls!(u8)"], None),  # a macro may have written the one that is meant
        (["impl Counter<'_>"], None),
    ],
)
def test_in_a_blind_crate_a_type_of_its_own_has_one_impl_of_a_trait(
    tmp_path: Path, heads: list[str], wanted: int | None
) -> None:
    unit = TupleTy("()", "k", ())
    counter = AdtTy("m::Counter<'{erased}>", "k", "m::Counter", (), ())
    taken = PointerTy("&'{erased} mut m::Counter<'{erased}>", "k", counter, True, True)
    headers = [
        Header(f"m::{segment(tmp_path / f'{i}.rs', head)}::drop", None, "fn", i, (taken.text,), "()")
        for i, head in enumerate(heads)
    ]
    path = "<m::Counter<'{erased}> as std::ops::Drop>::drop"
    callee = FnDefTy("", "k", path, FnSig((taken,), unit, "Rust", False, False))
    found = find_body(callee, "k", group_by_name(headers), blind=True)
    assert found is (None if wanted is None else headers[wanted])
    assert find_body(callee, "k", group_by_name(headers), blind=True, is_settled=lambda _: False) is None
    elsewhere = FnDefTy("", "other", path, FnSig((taken,), unit, "Rust", False, False))
    assert find_body(elsewhere, "k", group_by_name(headers), blind=True) is None


@pytest.mark.parametrize(("head", "is_macros"), [("impl $name", True), ("impl<T> $name", True), ("impl X", False)])
def test_a_macro_tells_the_type_of_an_inherent_impl(tmp_path: Path, head: str, is_macros: bool) -> None:
    """Only its other names and its signature can tell such a method."""
    header = Header(f"m::{segment(tmp_path / 'lib.rs', head)}::f", None, "fn", 1, ("u8",), "()")
    assert names_inherent(("m", "Made", "f"), header, of_macros=True) is is_macros
    assert not names_inherent(("m", "Made", "f"), header)
    assert not names_inherent(("m", "Made", "g"), header, of_macros=True)
