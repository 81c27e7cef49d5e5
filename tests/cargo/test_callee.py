"""rustc's callee texts, split and compared."""

from __future__ import annotations

import pytest

from mirgen.cargo.callee import definition_path, parse_callee, same_callee, short, split_arguments


@pytest.mark.parametrize(
    ("text", "segments", "generic"),
    [
        ("libm::sinf", ("libm", "sinf"), False),
        ("glam::Mat4::inverse", ("glam", "Mat4", "inverse"), False),
        ("core::slice::<impl [f32]>::iter", ("core", "slice", "<impl [f32]>", "iter"), False),
        ("<X as core::clone::Clone>::clone", ("<X as core::clone::Clone>", "clone"), False),
        ("core::slice::Iter::<'{erased}, f32>::new", ("core", "slice", "Iter", "new"), True),
        ("a::f::<'{erased}>", ("a", "f"), False),
        ("a::f::<u32, ValTree(Leaf(0x03): usize)>", ("a", "f"), True),
        ("f32::scalar::mat4::<impl at src/mat4.rs:65:1: 65:10>::inverse",
         ("f32", "scalar", "mat4", "<impl at src/mat4.rs:65:1: 65:10>", "inverse"), False),
        ("nested::{closure#0}", ("nested", "{closure#0}"), False),
        ("<a::T<fn(u32) -> u32> as B<'{erased}>>::go", ("<a::T<fn(u32) -> u32> as B<'_>>", "go"), False),
    ],
)  # fmt: skip
def test_segments(text: str, segments: tuple[str, ...], generic: bool) -> None:
    parsed = parse_callee(text)
    assert parsed.segments == segments
    assert bool(parsed.generics) is generic


def test_trait_call_is_split_at_its_own_as() -> None:
    parsed = parse_callee("<a::W<<u8 as b::T>::Out> as c::Tr<<u8 as d::V>::O>>::m")
    assert parsed.trait == ("a::W<<u8 as b::T>::Out>", "c::Tr<<u8 as d::V>::O>")


def test_an_impl_apart_from_its_type_names_both() -> None:
    parsed = parse_callee("generic::<impl Vector<[u32; N]> for x4<u32x4>>::to_scalars")
    assert parsed.trait == ("x4<u32x4>", "Vector<[u32; N]>")
    assert parse_callee("core::slice::<impl [f32]>::iter").trait is None


def test_definition_is_read_from_a_late_bound_region() -> None:
    text = (
        "for<Region(BrNamed(DefId(15:2359 ~ glam[8184]::f32::scalar::mat4::{impl#0}::inverse::'_)))> "
        "fn(&'^0.Named(DefId(15:2359 ~ glam[8184]::f32::scalar::mat4::{impl#0}::inverse::'_)) glam::Mat4) "
        "-> glam::Mat4 {glam::Mat4::inverse}"
    )
    assert definition_path(text) == ("glam", ("f32", "scalar", "mat4", "{impl#0}", "inverse"))
    assert definition_path("fn(f32) -> f32 {libm::sinf}") is None


def test_short_keeps_shape_and_drops_paths_and_regions() -> None:
    assert short("&'{erased} mut core::option::Option<a::b::C>") == "&mut Option<C>"
    assert short("core::slice::Iter<'{erased}, u32>") == short("Iter<'{erased}, u32>")
    assert short("[a::T; ValTree(Leaf(0x03): usize)]") != short("[a::T; ValTree(Leaf(0x04): usize)]")


def test_arguments_are_split_at_the_top_level_only() -> None:
    assert [p.strip() for p in split_arguments("A<B, C>, (D, E), fn(F, G) -> H")] == [
        "A<B, C>", "(D, E)", "fn(F, G) -> H",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("<u32 as core::cmp::PartialOrd>::lt", "core::cmp::impls::<impl core::cmp::PartialOrd for u32>::lt", True),
        ("<u32 as cmp::PartialOrd>::lt", "core::cmp::impls::<impl core::cmp::PartialOrd for u32>::lt", True),
        ("<u32 as core::cmp::PartialOrd>::lt", "core::cmp::impls::<impl core::cmp::PartialOrd for u64>::lt", False),
        ("<u32 as core::cmp::PartialOrd>::lt", "<u32 as core::cmp::PartialOrd>::le", False),
        ("<S as k::T>::f::<u8>", "m::<impl k::T for S>::f::<u8>", True),
        ("<S as k::T>::f::<u8>", "m::<impl k::T for S>::f::<i8>", False),
        ("a::f", "b::c::f", True),
    ],
)
def test_two_spellings_of_one_function(one: str, other: str, same: bool) -> None:
    assert same_callee(one, other) is same


def test_an_argument_s_definition_is_not_the_function_s() -> None:
    argument = "for<Region(BrNamed(DefId(1:2 ~ core[1eb9]::cmp::PartialOrd::lt::'_)))> fn(&'^0 u8) {<u8 as T>::lt}"
    assert definition_path(f"fn(u8) {{m::f::<{argument}>}}") is None
    own = f"for<Region(BrNamed(DefId(1:9 ~ k[1e]::m::f::'a)))> fn(&'^0 u8) {{m::f::<{argument}>}}"
    assert definition_path(own) == ("k", ("m", "f"))
