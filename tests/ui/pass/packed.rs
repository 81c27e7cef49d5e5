//@ run
//@ ll: second
//! Fields of a packed struct lie where no alignment would put them.
use mirgen_device::prelude::*;

#[repr(C, packed)]
pub struct Packed {
    first: u8,
    second: u32,
}

#[inline(never)]
fn second(x: &Packed) -> u32 {
    x.second
}

#[mirgen::test]
fn main() {
    let x = Packed { first: 1, second: 0x1234_5678 };
    assert_eq!(second(&x), 0x1234_5678);
    assert_eq!(size_of::<Packed>(), 5);
    assert_eq!(x.first, 1);
}
