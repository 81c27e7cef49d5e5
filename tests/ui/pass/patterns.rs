//@ run
//@ edition: 2024
//! Slice patterns, `let else`, bindings, ranges, and chains of `let`.
use mirgen_device::prelude::*;

#[inline(never)]
fn ends(x: &[u8]) -> (u8, u8, usize) {
    match x {
        [] => (0, 0, 0),
        [one] => (*one, *one, 1),
        [first, middle @ .., last] => (*first, *last, middle.len()),
    }
}

#[inline(never)]
fn class(x: Option<u32>) -> u32 {
    let Some(x) = x else { return 99 };
    match x {
        0 => 0,
        small @ 1..=9 => small * 10,
        large if large % 2 == 0 => 2,
        _ => 1,
    }
}

#[inline(never)]
fn chain(x: Option<u32>, y: Option<u32>) -> bool {
    if let Some(x) = x && let Some(y) = y && x < y { true } else { false }
}

#[mirgen::test]
fn main() {
    assert_eq!(ends(&[]), (0, 0, 0));
    assert_eq!(ends(&[7]), (7, 7, 1));
    assert_eq!(ends(&[1, 2, 3, 4]), (1, 4, 2));
    assert_eq!([None, Some(0), Some(5), Some(12), Some(13)].map(class), [99, 0, 50, 2, 1]);
    assert!(chain(Some(1), Some(2)) && !chain(Some(2), Some(1)) && !chain(None, Some(1)));
}
