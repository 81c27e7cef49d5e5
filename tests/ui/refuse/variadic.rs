//@ error: MG0201
use mirgen_device::prelude::*;

extern "C" {
    fn printf(format: *const u8, ...) -> i32;
}

#[mirgen::test(block = 1)]
fn main() {
    unsafe { printf(b"%d\0".as_ptr(), 1) };
}
