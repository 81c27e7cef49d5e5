//@ run
//@ ll: sum, wrapped
//! What is checked, and what wraps because it says so.
use mirgen_device::prelude::*;

#[inline(never)]
fn sum(a: i32, b: i32) -> i32 {
    a + b
}

#[inline(never)]
fn wrapped(a: i32, b: i32) -> i32 {
    a.wrapping_add(b)
}

#[mirgen::test]
fn main() {
    assert_eq!(sum(2, -3), -1);
    assert_eq!(wrapped(i32::MAX, 1), i32::MIN);
    assert_eq!(i32::MAX.checked_add(1), None);
    assert_eq!(200_u8.saturating_add(100), 255);
    assert_eq!(200_u8.overflowing_add(100), (44, true));
}
