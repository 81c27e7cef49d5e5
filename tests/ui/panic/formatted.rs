//@ panic: x = 0x00ff, y = -1.50, "zwölf"
use core::hint::black_box;
use mirgen_device::prelude::*;

#[inline(never)]
fn check(x: u32) {
    if x > 3 {
        panic!("x = {x:#06x}, y = {:.2}, {:?}", black_box(-1.5), black_box("zwölf"));
    }
}

#[mirgen::test]
fn main() {
    check(3);
    check(255);
}
