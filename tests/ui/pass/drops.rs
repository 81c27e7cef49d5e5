//@ run
//! Values are dropped in reverse order, once, and not where they were moved away.
use core::cell::Cell;
use mirgen_device::prelude::*;

struct Noted<'a>(&'a Cell<u32>, u32);

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() * 10 + self.1);
    }
}

#[inline(never)]
fn some(log: &Cell<u32>, keep: bool) {
    let first = Noted(log, 1);
    let _second = Noted(log, 2);
    if keep {
        core::mem::forget(first);
    }
}

#[mirgen::test]
fn main() {
    let log = Cell::new(0);
    some(&log, false);
    assert_eq!(log.get(), 21);
    some(&log, true);
    assert_eq!(log.get(), 212);
}
