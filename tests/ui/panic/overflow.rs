//@ panic: attempt to add with overflow
use core::hint::black_box;
use mirgen_device::prelude::*;

#[mirgen::test]
fn main() {
    let x = black_box(u8::MAX);
    black_box(x + 1);
}
