//@ error: MG0361
//! A constant that rustc moved out of a function, whose bits only rustc's evaluator decides.
use mirgen_device::prelude::*;

#[inline(never)]
fn same(a: &f32, b: &f32) -> bool {
    a == b
}

#[mirgen::test]
fn main() {
    assert!(!same(&115.0, &(0.0f32 / 0.0)));
}
