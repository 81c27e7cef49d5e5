"""An array is divided by all threads alike, or the kernel is refused: on MIR as rustc prints it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from mirgen.analysis.uniformity import check_uniform_facts
from mirgen.cargo.build import cargo_build
from mirgen.cargo.options import CargoOptions
from mirgen.cargo.program import ClosedProgram, close_built
from mirgen.cargo.template import new_crate
from mirgen.errors import UnsupportedError
from mirgen.pipeline import is_intrinsic

SOURCE = """
#![no_std]
use mirgen_device::launch;
use mirgen_device::prelude::*;

#[derive(Clone, Copy)]
pub struct Shape { pub rows: u16, pub columns: u16 }

#[kernel]
pub fn ok_first(width: u32, y: Disjoint<[u32]>) {
    let mut y = y.as_matrix(width as usize);
    if let Some(y) = y.get_mut(thread::index_2d()) { *y = 1; }
}

#[kernel]
pub fn ok_computed(shape: Shape, y: Disjoint<[u32]>) {
    launch::block_is::<16, 16, 1>();
    let mut y = y.as_matrix(shape.columns as usize * 2 + grid::size_x() as usize);
    if let Some(y) = y.get_mut(thread::index_2d()) { *y = 1; }
}

#[kernel]
pub fn ok_after_a_branch_on_a_parameter(width: u32, wide: bool, y: Disjoint<[u32]>) {
    let width = if wide { width * 2 } else { width };
    let mut y = y.as_matrix(width as usize);
    if let Some(y) = y.get_mut(thread::index_2d()) { *y = 1; }
}

#[kernel]
pub fn ok_chunks(x: &[u32], y: Disjoint<[u8]>) {
    let mut y = y.by_chunks::<4>();
    let i = thread::index_1d();
    if let Some(y) = y.get_mut(i) { *y = x[i.get()].to_le_bytes(); }
}

#[inline(never)]
fn helper(width: usize, y: Disjoint<[u32]>) {
    let mut y = y.as_matrix(width);
    if let Some(y) = y.get_mut(thread::index_2d()) { *y = 1; }
}

#[kernel]
pub fn ok_in_a_function(width: u32, y: Disjoint<[u32]>) {
    helper(width as usize, y);
}

#[kernel]
pub fn bad_on_one_side(y: Disjoint<[u32]>) {
    let i = thread::index_1d();
    if i.get() == 0 {
        let mut y = y.by_chunks::<4>();
        if let Some(y) = y.get_mut(i) { *y = [1; 4]; }
    } else {
        let mut y = y;
        if let Some(y) = y.get_mut(i) { *y = 1; }
    }
}

#[kernel]
pub fn bad_after_an_early_return(x: &[u32], y: Disjoint<[u32]>) {
    if x[thread::x() as usize] == 7 { return; }
    let mut y = y.by_chunks::<4>();
    if let Some(y) = y.get_mut(thread::index_1d()) { *y = [1; 4]; }
}

#[kernel]
pub fn bad_width_of_a_thread(y: Disjoint<[u32]>) {
    let mut y = y.as_matrix(thread::x() as usize + 8);
    if let Some(y) = y.get_mut(thread::index_2d()) { *y = 1; }
}

#[kernel]
pub fn bad_width_from_memory(x: &[u32], y: Disjoint<[u32]>) {
    let mut y = y.as_matrix(x[0] as usize);
    if let Some(y) = y.get_mut(thread::index_2d()) { *y = 1; }
}

#[kernel]
pub fn bad_width_from_a_cell(width: u32, y: Disjoint<[u32]>) {
    let cell = core::cell::Cell::new(width);
    let set: fn(&core::cell::Cell<u32>) = |cell| cell.set(thread::x());
    set(&cell);
    let mut y = y.as_matrix(cell.into_inner() as usize);
    if let Some(y) = y.get_mut(thread::index_2d()) { *y = 1; }
}

#[kernel]
pub fn bad_width_chosen_by_a_thread(width: u32, y: Disjoint<[u32]>) {
    let width = if thread::y() == 3 { width } else { 8 };
    let mut y = y.as_matrix(width as usize);
    if let Some(y) = y.get_mut(thread::index_2d()) { *y = 1; }
}

#[kernel]
pub fn bad_other_array(y: Disjoint<[u32]>, z: Disjoint<[u32]>) {
    let mut both = [Some(y), Some(z)];
    let at = thread::x() as usize & 1;
    if let Some(one) = both[at].take() {
        let mut one = one.by_chunks::<4>();
        if let Some(one) = one.get_mut(thread::index_1d()) { *one = [1; 4]; }
    }
}

#[inline(never)]
fn twice(width: usize, y: Disjoint<[u32]>) {
    let mut y = y.as_matrix(width);
    if let Some(y) = y.get_mut(thread::index_2d()) { *y = 1; }
}

#[kernel]
pub fn bad_in_a_function_of_two_calls(width: u32, y: Disjoint<[u32]>, z: Disjoint<[u32]>) {
    twice(width as usize, y);
    if thread::x() == 0 { twice(8, z); }
}
"""

REASONS = {
    "bad_on_one_side": "where some threads might not come",
    "bad_after_an_early_return": "where some threads might not come",
    "bad_width_of_a_thread": "by a width that might differ between threads",
    "bad_width_from_memory": "by a width that might differ between threads",
    "bad_width_from_a_cell": "by a width that might differ between threads",
    "bad_width_chosen_by_a_thread": "where some threads might not come",
    "bad_other_array": "where some threads might not come",
    "bad_in_a_function_of_two_calls": "in a function that some threads might call and others not",
}


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> ClosedProgram:
    manifest = new_crate(tmp_path_factory.mktemp("crate") / "divisions", args=["--vcs", "none", "--quiet"])
    (manifest.parent / "src" / "lib.rs").write_text(SOURCE)
    options = CargoOptions(manifest_path=manifest, quiet=True)
    _, closed = close_built(cargo_build(options), partial(cargo_build, options), is_intrinsic())
    return closed


@pytest.mark.slow
def test_every_division_is_proved_or_refused(closed: ClosedProgram) -> None:
    seen: set[str] = set()
    for kernel in closed.program.kernels:
        seen.add(kernel.name)
        if kernel.name.startswith("ok_"):
            check_uniform_facts(closed.program, kernel, closed.reached_bodies(kernel.name))
            continue
        with pytest.raises(UnsupportedError) as error:
            check_uniform_facts(closed.program, kernel, closed.reached_bodies(kernel.name))
        (diagnostic,) = error.value.diagnostics
        assert diagnostic.message == f"kernel `{kernel.name}` divides an array {REASONS[kernel.name]}"
        assert diagnostic.location is not None and Path(diagnostic.location.file).name == "lib.rs"
        line = SOURCE.splitlines()[diagnostic.location.line - 1]
        assert "as_matrix" in line or "by_chunks" in line
    assert seen >= set(REASONS) and sum(name.startswith("ok_") for name in seen) == 5
