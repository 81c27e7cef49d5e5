"""Spellings of types: for comparing, and for people."""

from __future__ import annotations

import pytest

from mirgen.mir.names import closure_of_shim, erase_regions, readable

ERASED = [
    ("u32", "u32"),
    ("&'{erased} mut T", "&'_ mut T"),
    ("&'^0.Named(DefId(1:62385 ~ core[9071]::ops::function::Fn::call::'_)) F", "&'_ F"),
    (
        "for<Region(BrNamed(DefId(0:27 ~ c[ab]::f::'a)))> fn(&'^0.Named(DefId(0:27 ~ c[ab]::f::'a)) u8) -> u8",
        "fn(&'_ u8) -> u8",
    ),
    ("for<Region(BrAnon)> extern \"rust-call\" fn((&'^0 u32,)) -> bool", "extern \"rust-call\" fn((&'_ u32,)) -> bool"),
    ("(dyn Fn<(&'^1_0 u8,)> + '{erased})", "(dyn Fn<(&'_ u8,)> + '_)"),
    ("&'?7 u8", "&'_ u8"),
    ("x::perform<'a/#0, u8>", "x::perform<'_, u8>"),
    ("x::wait_for<u8>", "x::wait_for<u8>"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "want"), ERASED)
def test_erase_regions(text: str, want: str) -> None:
    assert erase_regions(text) == want
    assert erase_regions(want) == want


READABLE = [
    ("[f32; ValTree(Leaf(0x0000000000000004): usize)]", "[f32; 4]"),
    ("W<ValTree(Leaf(0xfffffffb): i32), ValTree(Leaf(0x01): bool)>", "W<-5, true>"),
    ("W<ValTree(Leaf(0x00000061): char), ValTree(Leaf(0x0000000a): char)>", r"W<'a', '\n'>"),
    ("&'{erased} [&'{erased} str]", "&[&str]"),
    ("core::slice::Iter<'{erased}, u32>", "core::slice::Iter<u32>"),
    ("core::fmt::Arguments<'{erased}>", "core::fmt::Arguments"),
    ("a::f::<'{erased}>", "a::f"),
    ("Drain<'{erased}, '{erased}, i32>", "Drain<i32>"),
    ("(dyn t::Tr + '{erased})", "(dyn t::Tr)"),
    (
        "Map<Iter<'{erased}, u32>, {a::{closure#1} closure_kind_ty=i16 closure_sig_as_fn_ptr_ty=extern \"rust-call\" "
        "fn((&'{erased} u32,)) -> u32 upvar_tys=({a::{closure#0} closure_kind_ty=i8 closure_sig_as_fn_ptr_ty=fn() "
        "upvar_tys=()},)}>",
        "Map<Iter<u32>, {a::{closure#1}}>",
    ),
    (
        "Pin<&'{erased} mut {static a::f<u8>::{closure#0} upvar_tys=(u32,) resume_ty=() yield_ty=() return_ty=u32}>",
        "Pin<&mut {static a::f<u8>::{closure#0}}>",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "want"), READABLE)
def test_readable(text: str, want: str) -> None:
    assert readable(text) == want


@pytest.mark.parametrize("text", ["{", "{x closure_kind_ty=", "for<", "'", "&'^0.Named(", "ValTree(Leaf(0x", "<(["])
def test_unclosed_texts_do_no_harm(text: str) -> None:
    erase_regions(text)
    readable(text)


def test_closures_that_became_function_pointers() -> None:
    closure = (
        '{a::V::{closure#0} closure_kind_ty=i8 closure_sig_as_fn_ptr_ty=extern "rust-call" fn((u8,)) upvar_tys=()}'
    )
    shim = f"<{closure} as core::ops::FnOnce<(u8,)>>::call_once - shim"
    assert closure_of_shim(shim) == closure
    assert closure_of_shim(shim.removesuffix(" - shim")) is None
    assert closure_of_shim(shim.replace("core::ops::FnOnce", "a::FnOnce")) is None
    assert closure_of_shim("a::f") is None
