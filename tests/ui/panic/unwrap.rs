//@ panic: called `Result::unwrap()` on an `Err` value: 7
//! What the error is, and where the call stands: not inside `unwrap`.
use core::hint::black_box;
use mirgen_device::prelude::*;

#[mirgen::test]
fn main() {
    let result: Result<u32, u32> = black_box(Err(7));
    result.unwrap();
}
