"""Kernels that reach the standard library's functions: those that rustc does not inline, and the allocator's."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.cargo.toolchain import find_program, probe
from tests.cli.support import PRELUDE, Mirgen, make_crate

KERNEL = """
#[kernel]
pub fn step(mut y: Disjoint<[u32]>, mut z: Disjoint<[u32]>, bytes: &[u8]) {
    if let Some(y) = y.get_mut(thread::index_1d()) {
        *y = core::str::from_utf8(bytes).map_or(0, |text| text.len() as u32);
    }
    if let Some(z) = z.get_mut(thread::index_1d()) {
        let mut few = [*z; 40];
        few[0] = 1;
        few.sort_unstable();
        *z = few[3];
    }
}
"""


def test_without_sources_it_is_the_toolchain_that_lacks_them(mirgen: Mirgen, tmp_path: Path) -> None:
    """Generic or not: a user cannot mark core's functions `#[inline]`."""
    if probe(find_program("rustc", "RUSTC")).library is not None:
        pytest.skip("this rustc has the library's sources")
    crate = make_crate(tmp_path / "crate", PRELUDE + KERNEL, name="needs_core")
    done = mirgen.build(cwd=crate)
    assert done.code == 103
    assert "error[MG0201]: kernel `step` calls `core::str::from_utf8`, which has no body to compile\n" in done.err
    assert "error[MG0201]: kernel `step` calls `core::slice::sort::unstable::ipnsort::<u32" in done.err
    assert done.err.count("= help: needs rust-src: `rustup component add rust-src`") == done.err.count("error[MG")


def test_a_crate_with_std_keeps_the_toolchains_core(rustc_196: Path, tmp_path: Path) -> None:
    mirgen = Mirgen(tmp_path / "target")
    source = "use mirgen_device::prelude::*;\npub fn with_std() -> String { String::new() }\n" + KERNEL
    crate = make_crate(tmp_path / "crate", source, name="with_std")
    done = mirgen.build(cwd=crate, RUSTC=str(rustc_196))
    assert done.code == 103
    assert "can't find crate" not in done.err and "Building core" not in done.err
    assert "error[MG0201]: kernel `step` calls `std::str::from_utf8`, which has no body to compile\n" in done.err
    assert done.err.count("= help: make them `#![no_std]`") == done.err.count("error[MG")


ALLOCATOR = """
extern crate alloc;
use core::alloc::{GlobalAlloc, Layout};
pub struct Nothing;
unsafe impl GlobalAlloc for Nothing {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 { core::ptr::null_mut() }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
#[global_allocator]
static NOTHING: Nothing = Nothing;

#[kernel]
pub fn quiet(mut y: Disjoint<[u32]>) {
    if let Some(y) = y.get_mut(thread::index_1d()) { *y = 1; }
}
#[kernel]
pub fn step(mut y: Disjoint<[u32]>) {
    if let Some(y) = y.get_mut(thread::index_1d()) {
        *y = u32::from(unsafe { alloc::alloc::alloc(Layout::new::<u64>()) }.is_null());
    }
}
"""


def test_an_allocator_of_the_crates_own_is_not_ignored(mirgen: Mirgen, tmp_path: Path) -> None:
    crate = make_crate(tmp_path / "crate", PRELUDE + ALLOCATOR, name="own_allocator")
    done = mirgen.build("quiet", cwd=crate)
    assert done.code == 0, done.err
    done = mirgen.build(cwd=crate)
    assert done.code == 103
    message = "error[MG0203]: kernel `step` uses the heap, and crate `own_allocator` brings its own allocator\n"
    assert message in done.err
    assert "reached from kernel step" in done.err
