//@ run
//! Chains of iterators become loops.
use mirgen_device::prelude::*;

#[inline(never)]
fn weighted(x: &[i32], w: &[i32]) -> i32 {
    x.iter().zip(w).filter(|(x, _)| **x > 0).map(|(x, w)| x * w).sum()
}

#[mirgen::test]
fn main() {
    assert_eq!(weighted(&[1, -2, 3], &[10, 20, 30, 40]), 100);
    assert_eq!((1..=4).rev().fold(0, |all, x| all * 10 + x), 4321);
    assert_eq!([3, 1, 2].iter().max(), Some(&3));
    assert_eq!([1, 2, 3, 4, 5].chunks(2).map(|pair| pair.len()).last(), Some(1));
}
