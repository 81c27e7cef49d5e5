//@ error: MG0201
use mirgen_device::prelude::*;

extern "C" {
    fn of_c(x: u32) -> u32;
}

#[mirgen::test(block = 1)]
fn main() {
    let f: unsafe extern "C" fn(u32) -> u32 = of_c;
    core::hint::black_box(f);
}
