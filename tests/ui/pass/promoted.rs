//@ run
//! Constants that rustc moved out of a function and left to be computed.
use mirgen_device::prelude::*;

#[repr(u8)]
#[derive(Clone, Copy)]
enum Step {
    One = 1,
    Ten = 5 + 5,
}

#[inline(never)]
fn same<T: PartialEq>(a: &T, b: &T) -> bool {
    a == b
}

#[inline(never)]
fn twice(f: fn(u32) -> u32, x: u32) -> u32 {
    f(f(x))
}

const CALLS: [fn(u32) -> u32; 2] = [|x| x * x, u32::swap_bytes];

#[mirgen::test]
fn main() {
    assert!(same(&115, &('s' as u32 + 0)));
    assert!(same(&2178, &(18 * 115 + 108)));
    assert!(same(&-3i8, &(5i8 - 8)));
    assert!(same(&0.75f32, &(1.5 / 2.0)));
    assert!(same(&11u8, &(Step::Ten as u8 + Step::One as u8)));
    assert_eq!(twice(|x| x + 1, 7), 9);
    assert_eq!(twice(CALLS[0], 3), 81);
    assert_eq!(twice(CALLS[1], 0x1234), 0x1234);
}
