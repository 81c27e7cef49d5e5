//@ error: MG0361
//! A constant that rustc moved out of a function, computed and not written down.
use mirgen_device::prelude::*;

#[inline(never)]
fn same(a: &u32, b: &u32) -> bool {
    a == b
}

#[mirgen::test]
fn main() {
    assert!(same(&115, &('s' as u32 + 0)));
}
