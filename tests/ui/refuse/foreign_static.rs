//@ error: MG0363
use mirgen_device::prelude::*;

extern "C" {
    static OF_C: u32;
}

#[mirgen::test(block = 1)]
fn main() {
    assert_eq!(unsafe { OF_C }, 1);
}
