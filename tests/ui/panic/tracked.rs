//@ panic: 9 is odd
//! A function with `#[track_caller]` panics where it is called.
use mirgen_device::prelude::*;

#[track_caller]
#[inline(never)]
fn half(x: u32) -> u32 {
    assert!(x % 2 == 0, "{x} is odd");
    x / 2
}

#[mirgen::test]
fn main() {
    assert_eq!(half(8), 4);
    half(
        9, // here
    );
}
