//@ error: MG0201
use mirgen_device::prelude::*;

extern "C" {
    fn of_c(x: u32) -> u32;
}

#[inline(never)]
fn between(x: u32) -> u32 {
    unsafe { of_c(x) }
}

#[mirgen::test(block = 1)]
fn main() {
    assert_eq!(between(1), 1);
}
