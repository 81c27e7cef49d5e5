"""Barriers that some threads might not reach, and the usual forms that all do: on MIR as rustc prints it."""

from __future__ import annotations

from functools import partial

import pytest

from mirgen.analysis.convergence import barrier_warnings
from mirgen.cargo.build import cargo_build
from mirgen.cargo.options import CargoOptions
from mirgen.cargo.program import ClosedProgram, close_built
from mirgen.cargo.template import new_crate
from mirgen.errors import Diagnostic
from mirgen.pipeline import is_intrinsic

#: Of kernels `bad_..` the line with `HERE` has the barrier, the line with `PART` the branch.
SOURCE = """
#![no_std]
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};
use mirgen_device::prelude::*;

#[kernel]
pub fn ok_guard_after(n: u32) {
    block::barrier();
    if thread::x() < n { let _ = block::leader(); }
    block::barrier();
}

#[kernel]
pub fn ok_guard_before(x: &[u32], mut y: Disjoint<[u32]>) {
    let i = thread::index_1d();
    if let Some(y) = y.get_mut(i) { *y = x[i.get()]; }
    block::barrier();
}

#[kernel]
pub fn ok_loops_over_parameters(n: u32, x: &[u32]) {
    for _ in 0..n { block::barrier(); }
    let mut k = 0;
    while k < x.len() { block::barrier(); k += 32; }
    for k in (0..n).step_by(4) { if k % 8 == 0 { block::barrier(); } }
}

#[kernel]
pub fn ok_tree(mut s: Shared<[u32; 64]>, mut y: Disjoint<[u32], Blocks>) {
    let t = block::thread();
    if let Some(s) = s.get_mut(t) { *s = thread::x(); }
    let mut half = 32;
    while half > 0 {
        let all = block::sync(s);
        let other = if t.get() < half { all.get(t.get() + half).copied() } else { None };
        s = block::sync(all);
        if let (Some(s), Some(other)) = (s.get_mut(t), other) { *s += other; }
        half /= 2;
    }
    if let Some(leader) = block::leader() {
        if let (Some(y), Some(sum)) = (y.get_mut(leader), s.get(t)) { *y = *sum; }
    }
}

#[kernel]
pub fn ok_by_block(n: u32) {
    if block::x() < n { block::barrier(); }
    if n > 3 { return; }
    block::barrier();
}

#[kernel]
pub fn ok_behind_a_panic(x: &[u32]) {
    assert!(x[thread::x() as usize] != 7);
    block::barrier();
}

#[kernel]
pub fn ok_behind_a_loop_of_each_threads_own(x: &[u32]) {
    let mut k = thread::x() as usize;
    while k < x.len() { k += 64; }
    block::barrier();
}

#[inline(never)]
fn wait(n: u32) -> u32 { if n > 3 { block::barrier(); } n * 2 }

#[kernel]
pub fn ok_in_a_function(n: u32) {
    let m = wait(n);
    if m > 10 { wait(m); }
}

#[kernel]
pub fn ok_for_ever(n: u32) {
    loop { if n > 3 { block::barrier(); } block::barrier(); }
}

#[kernel]
pub fn bad_for_ever() {
    loop {
        if thread::x() > 3 { // PART
            block::barrier(); // HERE
        }
    }
}

#[kernel]
pub fn bad_on_one_side() {
    if thread::x() < 32 { // PART
        block::barrier(); // HERE
    }
}

#[kernel]
pub fn bad_after_an_early_return(x: &[u32]) {
    let i = thread::x() as usize;
    if i >= x.len() { return; } // PART
    block::barrier(); // HERE
}

#[kernel]
pub fn bad_loop_of_each_threads_own() {
    let mut k = thread::x();
    while k < 64 { // PART
        block::barrier(); // HERE
        k += 32;
    }
}

#[kernel]
pub fn bad_by_data(x: &[u32]) {
    if x[0] > 3 { // PART
        block::barrier(); // HERE
    }
}

#[kernel]
pub fn bad_by_an_atomic(x: &AtomicU32) {
    let ticket = x.fetch_add(1, Ordering::Relaxed);
    if ticket == 0 { // PART
        block::barrier(); // HERE
    }
}

#[kernel]
pub fn bad_by_how_often_a_loop_ran() {
    let (mut k, mut rounds) = (thread::x(), 0);
    while k > 0 { k /= 2; rounds += 1; }
    if rounds > 2 { // PART
        block::barrier(); // HERE
    }
}

#[kernel]
pub fn bad_by_a_cell(n: u32) {
    let cell = Cell::new(n);
    let set: fn(&Cell<u32>) = |cell| cell.set(thread::x());
    set(&cell);
    if cell.into_inner() > 2 { // PART
        block::barrier(); // HERE
    }
}

#[kernel]
pub fn bad_break(x: &[u32], n: u32) {
    let mut seen = 0;
    for k in 0..n {
        block::barrier(); // HERE
        seen += x[(k + thread::x()) as usize];
        if seen > 100 { break; } // PART
    }
}

#[kernel]
pub fn bad_phase(mut s: Shared<[u32; 64]>) {
    let t = block::thread();
    if let Some(s) = s.get_mut(t) { *s = 1; }
    if t.get() > 5 { // PART
        let _ = block::sync(s); // HERE
    }
}

#[inline(never)]
fn wait_far() { // called on one side below
    block::barrier(); // HERE bad_in_a_function
}

#[kernel]
pub fn bad_in_a_function() {
    if thread::x() == 3 { // PART
        wait_far();
    }
}

#[inline(never)]
fn wait_if(go: bool) {
    if go { // PART bad_by_an_argument
        block::barrier(); // HERE bad_by_an_argument
    }
}

#[kernel]
pub fn bad_by_an_argument() {
    wait_if(thread::x() == 3);
    wait_if(true);
}

#[inline(never)]
fn pick(n: u32) -> u32 { thread::x() + n }

#[kernel]
pub fn bad_by_a_result(n: u32) {
    if pick(n) > 7 { // PART
        block::barrier(); // HERE
    }
}
"""

KERNELS = [line.partition("(")[0].removeprefix("pub fn ") for line in SOURCE.splitlines() if line.startswith("pub fn ")]


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> ClosedProgram:
    path = tmp_path_factory.mktemp("convergence") / "convergence"
    manifest = new_crate(path, args=["--vcs", "none", "--quiet"])
    (manifest.parent / "src" / "lib.rs").write_text(SOURCE)
    options = CargoOptions(manifest_path=manifest, target="host", quiet=True)
    return close_built(cargo_build(options), partial(cargo_build, options), is_intrinsic())[1]


def warnings(closed: ClosedProgram, name: str) -> list[Diagnostic]:
    (kernel,) = [kernel for kernel in closed.program.kernels if kernel.name == name]
    return barrier_warnings(closed.program, kernel, closed.reached_bodies(name))


def marked(name: str, mark: str) -> int:
    """The line with the mark for a kernel: one that names it, else the next in its own body."""
    lines = SOURCE.splitlines()
    for number, line in enumerate(lines, 1):
        if line.endswith(f"// {mark} {name}"):
            return number
    start = next(n for n, line in enumerate(lines) if line.startswith(f"pub fn {name}("))
    return next(n for n in range(start, len(lines)) if lines[n].endswith(f"// {mark}")) + 1


@pytest.mark.parametrize("name", [name for name in KERNELS if name.startswith("ok_")])
def test_barriers_that_all_threads_reach(closed: ClosedProgram, name: str) -> None:
    assert warnings(closed, name) == []


@pytest.mark.parametrize("name", [name for name in KERNELS if name.startswith("bad_")])
def test_barriers_that_some_threads_might_miss(closed: ClosedProgram, name: str) -> None:
    (warning,) = warnings(closed, name)
    assert warning.code == "MG0105" and f"`{name}`" in warning.message
    assert warning.location is not None and warning.location.line == marked(name, "HERE")
    ((where, _),) = warning.labels
    assert where.line == marked(name, "PART")


def test_every_kernel_of_the_source_was_looked_at(closed: ClosedProgram) -> None:
    assert sorted(kernel.name for kernel in closed.program.kernels) == sorted(KERNELS)
