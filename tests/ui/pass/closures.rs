//@ run
//! Closures that borrow, change and own what they capture; a function as a pointer.
use mirgen_device::prelude::*;

#[inline(never)]
fn twice(mut f: impl FnMut(u32)) {
    f(1);
    f(2);
}

#[inline(never)]
fn apply(f: fn(u32) -> u32, x: u32) -> u32 {
    f(x)
}

fn square(x: u32) -> u32 {
    x * x
}

#[mirgen::test]
fn main() {
    let factor = 10;
    let mut total = 0;
    twice(|x| total += factor * x);
    assert_eq!(total, 30);
    let array = [1, 2, 3];
    let owned = move |i: usize| array[i] + 1;
    assert_eq!(owned(2), 4);
    assert_eq!(apply(square, 7), 49);
}
