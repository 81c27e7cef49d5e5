"""core and alloc for nvptx64, built from the toolchain's own sources."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mirgen.cargo import sysroot
from mirgen.cargo.overlay import TRAIT_MARK, Private
from mirgen.cargo.shim import run_shim
from mirgen.cargo.sysroot import build_sysroot, expose_standard, inlinable, readable, sysroot_path
from mirgen.cargo.toolchain import Toolchain, find_shim, probe
from mirgen.errors import ToolError
from mirgen.ingest import load_layouts


@pytest.mark.nvptx64
@pytest.mark.slow
@pytest.mark.parametrize(
    ("crate", "sizes"),
    [
        (
            "core",
            {
                "cmp::Ordering": 1,
                "option::Option<(cmp::Ordering, u32)>": 8,
                "num::ParseFloatError": 1,
                "num::imp::dec2flt::common::BiasedFp": 16,  # private
            },
        ),
        ("alloc", {"core::cmp::Ordering": 1, "boxed::Box<u32>": 8, "vec::Vec<core::cmp::Ordering>": 24}),
    ],
)
def test_their_own_types_have_layouts(rustc_196: Path, tmp_path: Path, crate: str, sizes: dict[str, int]) -> None:
    """core compiles without a sysroot, a crate that asks about core's types doesn't."""
    sysroot = build_sysroot(probe(rustc_196))
    unit = tmp_path / f"{crate}.json"
    shutil.copy(sysroot / "units" / f"{crate}.json", unit)
    types, out = tmp_path / "types.json", tmp_path / "out.json"
    types.write_text(json.dumps({"types": [{"text": text} for text in sizes], "roots": [*range(len(sizes))]}))
    run_shim(find_shim(), ["layouts", "--unit", str(unit), "--types", str(types), "--out", str(out), "--quick"])
    answers = load_layouts(out, crate)
    assert answers.failures == {}
    assert {text: answers.layouts[crate, text].size for text in sizes} == sizes


MARKED = """
impl<T> X<T> {
    /// #[inline(never)]
    #[cfg(not(no_global_oom_handling))]
    #[inline(never)]
    fn grow(&mut self) {}
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn slow<F>(f: F) -> usize
    where
        F: Fn() -> u8,
    { 0 }
    #[inline(never)]
    #[cold]
    fn fails(at: usize) -> ! { loop {} }
    #[cfg_attr(not(panic = "immediate-abort"), inline(never), cold)]
    const fn overflow() -> ! { loop {} }
}
"""


def test_a_toolchain_in_another_place_has_a_sysroot_of_its_own() -> None:
    """What is built names the compiler and the sources by their paths."""
    here = Toolchain(Path("/a/rustc"), "1.96.0", "0123456789abcdef", "h", Path("/a"), Path("/a/library"))
    others = [
        replace(here, rustc=Path("/b/rustc")), replace(here, library=Path("/b/library")), replace(here, library=None)
    ]  # fmt: skip
    paths = {sysroot_path(each, target) for each in (here, *others) for target in ("t", "u")}
    assert len(paths) == 8 and sysroot_path(replace(here)) == sysroot_path(here)


def test_what_keeps_a_function_from_being_inlined_is_taken_away() -> None:
    """Everything else stays where it is, and so do the marks of what never returns."""
    before, after = MARKED.split("\n"), inlinable(MARKED).split("\n")
    assert len(before) == len(after)
    gone = [number for number, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    assert [before[number].strip() for number in gone] == ["#[inline(never)]", "#[cold]", "#[inline(never)]"]
    assert all(after[number].strip() == "" and len(after[number]) == len(before[number]) for number in gone)
    assert after[14:16] == before[14:16], "a panic keeps its marks"


def test_core_says_which_trait_a_macro_implements_and_nothing_moves() -> None:
    text = """\
macro_rules! radix {
    ($Trait:ident for $Int:ident) => {
        impl fmt::$Trait for $Int {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad("")
            }
        }
        impl fmt::Debug for $Int {
            fn fmt(&self) {}
        }
    };
}
impl<A> Compare for A {
    #[rustc_no_mir_inline]
    default fn compare(&self) {}
}
#[rustc_no_mir_inline]
fn swap() {}
"""
    other = "impl fmt::Debug for u8 { fn fmt(&self) {} }\n"
    assert readable(other) == other
    before, after = text.splitlines(), readable(text).splitlines()
    changed = {i: new for i, (old, new) in enumerate(zip(before, after, strict=True), 1) if old != new}
    mark = f" #[allow(dead_code)] const {TRAIT_MARK}: [Option<&dyn fmt::$Trait>; 1] = [None];"
    assert changed == {4: before[3] + mark, 14: " " * len(before[13])}


def test_what_rustc_finds_fault_with_is_left_closed_and_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One item that cannot be opened does not keep others closed that are wanted with it."""
    library = tmp_path / "library"
    for crate in ("core", "alloc"):
        (library / crate / "src").mkdir(parents=True)
    file = library / "core" / "src" / "lib.rs"
    file.write_text("fn good() {}\nfn bad() {}\nfn other() {}\n")
    toolchain = Toolchain(tmp_path / "rustc", "1.96.0", "abc", "host", tmp_path, library)
    tried: list[list[int]] = []

    def build(
        toolchain: Toolchain, library: Path, target: str, final: Path, progress: object, items: Sequence[Private] = ()
    ) -> None:
        tried.append([item.line for item in items])
        if 2 in tried[-1]:
            raise ToolError("rustc", "core does not compile", output=f"error: no\n --> {file}:2:1\n")
        final.mkdir(parents=True)
        (final / "complete").touch()

    monkeypatch.setattr(sysroot, "_build_once", build)

    def nothing(source: Path) -> frozenset[Private]:
        return frozenset()

    def built(toolchain: Toolchain, target: str) -> Path:
        return tmp_path

    monkeypatch.setattr(sysroot, "openable", nothing)
    monkeypatch.setattr(sysroot, "built_sysroot", built)
    monkeypatch.setenv("MIRGEN_CACHE_DIR", str(tmp_path / "cache"))
    good, bad, other = (Private(file, line, 1) for line in (1, 2, 3))
    first = expose_standard(toolchain, [good, bad])
    assert first is not None and tried == [[1, 2], [1]]
    assert expose_standard(toolchain, [bad, good]) == first
    assert tried == [[1, 2], [1]], "nothing new is to be had"
    assert expose_standard(toolchain, [bad, other]) not in (None, first)
    assert tried[2:] == [[1, 3]]
