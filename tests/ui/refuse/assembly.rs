//@ error: MG0334
use mirgen_device::prelude::*;

#[mirgen::test]
fn main() {
    unsafe { core::arch::asm!("nop") };
}
