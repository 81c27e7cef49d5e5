//@ panic: else
use core::hint::black_box;
use mirgen_device::prelude::*;

#[mirgen::test]
fn main() {
    panic!("{}", black_box("else"));
}
