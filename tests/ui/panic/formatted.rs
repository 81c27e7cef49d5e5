//@ panic: x = 0x00ff, y = -1.50, "zwölf"
//! In a function whose name others have too.
use core::hint::black_box;
use mirgen_device::prelude::*;

#[mirgen::test]
fn main() {
    panic!("x = {:#06x}, y = {:.2}, {:?}", black_box(255), black_box(-1.5), black_box("zwölf"));
}
