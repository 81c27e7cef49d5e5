//@ error: MG0366
use mirgen_device::prelude::*;

#[inline(never)]
fn answer() -> char {
    unsafe { core::mem::transmute(0x7fff_ffff_u32) }
}

#[mirgen::test]
fn main() {
    assert_eq!(answer() as u32, 0);
}
