"""Calls joined to bodies: only on evidence, and never when two bodies fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.cargo.join import Ambiguous, find_body, group_by_name
from mirgen.cargo.overlay import TRAIT_MARK
from mirgen.ingest import Header
from mirgen.mir.ty import AdtTy, FloatTy, FnDefTy, FnSig, IntTy, PointerTy, TupleTy, Ty

F32 = FloatTy("f32", "k", 32)
U32 = IntTy("u32", "k", 32, False)
TUPLE = TupleTy("()", "k", ())


def adt(path: str) -> AdtTy:
    return AdtTy(path, "k", path, (), ())


def ref(ty: Ty) -> PointerTy:
    return PointerTy(f"&'{{erased}} {ty.text}", "k", ty, False, True)


def fn(path: str, inputs: tuple[Ty, ...], output: Ty, definition: str = "", crate: str = "k") -> FnDefTy:
    binder = f"for<Region(BrNamed(DefId(1:2 ~ {definition}::'_)))> " if definition else ""
    text = f"{binder}fn(..) -> {output.text} {{{path}}}"
    return FnDefTy(text, crate, path, FnSig(inputs, output, "Rust", False, False))


def header(name: str, args: tuple[str, ...], output: str, instance: str | None = None, line: int = 1) -> Header:
    return Header(name, instance, "fn", line, args, output)


def find(callee: FnDefTy, crate: str, *index: Header) -> Header | Ambiguous | None:
    return find_body(callee, crate, group_by_name(index))


def test_a_local_function_is_found_by_its_path() -> None:
    right = header("helper", ("f32",), "f32")
    assert find(fn("helper", (F32,), F32), "k", right, header("m::helper", ("f32",), "f32")) is right


def test_a_definition_path_chooses_among_impls_of_one_signature() -> None:
    mat4 = ref(adt("glam::Mat4"))
    right = header(
        "f32::scalar::mat4::<impl at a.rs:65:1: 65:10>::inverse", ("&'{erased} f32::scalar::mat4::Mat4",), "f32"
    )
    wrong = header("f64::mat4::<impl at b.rs:65:1: 65:10>::inverse", ("&'{erased} f64::mat4::Mat4",), "f32")
    callee = fn("glam::Mat4::inverse", (mat4,), F32, "glam[8184]::f32::scalar::mat4::{impl#0}::inverse")
    assert find(callee, "glam", wrong, right) is right
    assert find(callee, "other", right) is None, "the definition names its crate"


def test_a_re_exported_function_needs_name_and_signature() -> None:
    right = header("math::sinf::sinf", ("f32",), "f32")
    other = header("math::other::sinf", ("u32",), "f32")
    assert find(fn("libm::sinf", (F32,), F32), "libm", other, right) is right


def test_a_function_at_the_path_itself_is_no_re_exported_one() -> None:
    right, other = header("m::b::slow", ("f32",), "f32"), header("m::a::slow", ("f32",), "f32")
    assert find(fn("dep::m::b::slow", (F32,), F32), "dep", other, right) is right
    assert isinstance(find(fn("dep::slow", (F32,), F32), "dep", other, right), Ambiguous)


def test_two_fitting_bodies_are_refused() -> None:
    first = header("a::go", ("f32",), "f32")
    second = header("b::go", ("f32",), "f32", line=9)
    found = find(fn("dep::go", (F32,), F32), "dep", first, second)
    assert isinstance(found, Ambiguous)
    assert set(found.candidates) == {first, second}


def test_a_trait_method_needs_the_side_channel() -> None:
    callee = fn("<Sq as Shape>::area", (ref(adt("Sq")),), F32)
    blind = header("<impl at f.rs:4:1: 4:9>::area", ("&'{erased} Sq",), "f32")
    seen = header("<impl at f.rs:4:1: 4:9>::area", ("&'{erased} Sq",), "f32", "<Sq as Shape>::area")
    other = header("<impl at f.rs:9:1: 9:9>::area", ("&'{erased} Sq",), "f32", "<Sq as Solid>::area", 9)
    assert find(callee, "k", blind) is None
    assert find(callee, "k", other, seen) is seen


def test_generic_instances_have_no_body_of_their_own() -> None:
    assert find(fn("f::<u32>", (U32,), U32), "k", header("f", ("u32",), "u32")) is None


def test_the_only_implementation_in_a_crate_without_side_channel() -> None:
    """Where trait and type are of one crate, its one body of that name and signature is the implementation."""
    callee = fn("<dep::Sq as dep::Shape>::area", (ref(adt("dep::Sq")),), F32)
    only = header("<impl at f.rs:4:1: 4:9>::area", ("&'{erased} Sq",), "f32")
    second = header("<impl at f.rs:9:1: 9:9>::area", ("&'{erased} Sq",), "f32", line=9)
    assert find_body(callee, "dep", group_by_name([only])) is None, "the side channel was not refused"
    assert find_body(callee, "dep", group_by_name([only]), blind=True) is only
    assert isinstance(find_body(callee, "dep", group_by_name([only, second]), blind=True), Ambiguous)
    foreign = fn("<dep::Sq as other::Shape>::area", (ref(adt("dep::Sq")),), F32)
    assert find_body(foreign, "dep", group_by_name([only]), blind=True) is None, "the impl may be elsewhere"


def test_what_is_not_known_of_a_signature_may_be_anything() -> None:
    """The body of a method is told from the others by what is certain, and by nothing else."""
    parse = fn("<f32 as core::str::FromStr>::from_str", (U32,), adt("core::Result<f32, <f32 as core::FromStr>::Err>"))
    single, double, byte = (
        header("num::<impl at f.rs:4:1: 4:9>::from_str", ("u32",), f"result::Result<{of}, num::Error>", line=line)
        for line, of in enumerate(("f32", "f64", "u8"), 1)
    )

    def found(*index: Header) -> Header | Ambiguous | None:
        return find_body(parse, "core", group_by_name(index), blind=True)

    assert found(single, double, byte) is single
    assert found(double, byte) is None
    other = header("num::Parse::from_str", ("u32",), "Self", line=9)
    assert found(single, other) is single, "another trait's own"
    for output in (
        "T",
        "T/#0",
        "result::Result<T, num::Error>",
        "<Self as str::FromStr>::Output",
        "impl Sized",
        "Self",
    ):
        general = header("str::FromStr::from_str", ("u32",), output, line=9)
        assert isinstance(found(single, general), Ambiguous), output
    array = header("<impl at f.rs:4:1: 4:9>::area", ("&'{erased} [T; ValTree(Leaf(0x4): usize)]",), "f32")
    concrete = header("<impl at f.rs:9:1: 9:9>::area", ("&'{erased} [u32; ValTree(Leaf(0x4): usize)]",), "f32", line=9)
    area = fn("<[u32; 4] as core::Shape>::area", (ref(adt("[u32; ValTree(Leaf(0x4): usize)]")),), F32)
    shorter = fn("<[u32; 3] as core::Shape>::area", (ref(adt("[u32; ValTree(Leaf(0x3): usize)]")),), F32)
    assert find_body(area, "core", group_by_name([array]), blind=True) is None, "generic"
    assert find_body(area, "core", group_by_name([concrete]), blind=True) is concrete
    assert isinstance(find_body(area, "core", group_by_name([array, concrete]), blind=True), Ambiguous)
    assert find_body(shorter, "core", group_by_name([array, concrete]), blind=True) is None
    within = fn("<f32 as num::Lemire>::of", (U32,), F32, crate="core")
    own = header("num::<impl at f.rs:4:1: 4:9>::of", ("u32",), "f32")
    assert find_body(within, "core", group_by_name([own]), blind=True) is own, "core sees no other crate"
    elsewhere = fn("<f32 as num::Lemire>::of", (U32,), F32, crate="k")
    assert find_body(elsewhere, "k", group_by_name([own]), blind=True) is None


SOURCE = """\
macro_rules! shown { ($Trait:ident) => { impl fmt::$Trait for u32 { fn fmt(&self) {} } } }
impl fmt::Shown for u32 { fn fmt(&self) {} }
impl u32 { fn fmt(&self) {} }
trait Shown { fn fmt(&self) {} }
"""


def in_core(file: Path, line: int, head: str, *, at: int = 1, col: int = 1) -> Header:
    name = f"fmt::<impl at {file}:{line}:{col}: {line}:{col + len(head)}>::fmt"
    return header(name, ("&'{erased} u32",), "()", line=at)


def mark(of: Header, trait: str) -> Header:
    ty = f"[option::Option<&'{{erased}} (dyn fmt::{trait} + '{{erased}})>; 1]"
    return Header(f"{of.header}::{TRAIT_MARK}", None, "const", of.line + 1, (), ty)


@pytest.mark.parametrize(("wanted", "which"), [("Shown", 0), ("Hidden", 1), ("Other", None)])
def test_implementations_that_one_macro_wrote_are_told_by_their_marks(
    tmp_path: Path, wanted: str, which: int | None
) -> None:
    file = tmp_path / "fmt.rs"
    file.write_text(SOURCE)
    col, text = SOURCE.index("impl") + 1, "impl fmt::$Trait for u32"
    both = [in_core(file, 1, text, at=at, col=col) for at in (10, 20)]
    index = group_by_name([both[0], mark(both[0], "Shown"), both[1], mark(both[1], "Hidden")])
    callee = fn(f"<u32 as std::fmt::{wanted}>::fmt", (ref(U32),), TUPLE, crate="t")
    assert find_body(callee, "core", index, blind=True) is (None if which is None else both[which])


def test_a_type_s_own_method_is_no_trait_s_and_an_implementation_goes_before_the_trait_s_body(tmp_path: Path) -> None:
    file = tmp_path / "fmt.rs"
    file.write_text(SOURCE)
    of_trait = in_core(file, 2, "impl fmt::Shown for u32", at=5)
    inherent = in_core(file, 3, "impl u32", at=7)
    default = header("fmt::Shown::fmt", ("&'{erased} Self",), "()", line=9)
    index = group_by_name([default, of_trait, inherent])
    method = fn("<u32 as fmt::Shown>::fmt", (ref(U32),), TUPLE, crate="core")
    assert find_body(method, "core", index, blind=True) is of_trait
    own = fn("fmt::u32::fmt", (ref(U32),), TUPLE, crate="core")
    assert find_body(own, "core", index, blind=True) is inherent
