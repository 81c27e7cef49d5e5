//@ run
//@ ll: to_u8, widen
//! `as` keeps, cuts, extends or saturates.
use core::hint::black_box;
use mirgen_device::prelude::*;

#[inline(never)]
fn to_u8(x: f32) -> u8 {
    x as u8
}

#[inline(never)]
fn widen(x: i16) -> u64 {
    x as u64
}

#[mirgen::test]
fn main() {
    assert_eq!(to_u8(3.9), 3);
    assert_eq!((to_u8(-1.0), to_u8(300.0), to_u8(f32::NAN)), (0, 255, 0));
    assert_eq!(widen(-1), u64::MAX);
    assert_eq!(black_box(0x1234_u16) as i8, 0x34);
    assert_eq!(black_box('é') as u32, 0xe9);
}
