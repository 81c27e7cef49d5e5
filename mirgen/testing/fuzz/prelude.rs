//! What all programs share.

use core::cell::Cell;

/// Takes a value into the hash.
#[inline]
pub const fn mix(h: &mut u64, value: u64) {
    *h = (*h ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ (value >> 32);
}

/// The bits of a float; all NaNs are one.
#[inline]
pub const fn bits_f32(value: f32) -> u64 {
    if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() as u64 }
}

/// The bits of a float; all NaNs are one.
#[inline]
pub const fn bits_f64(value: f64) -> u64 {
    if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() }
}

pub fn select<T>(first: bool, a: T, b: T) -> T {
    if first { a } else { b }
}

pub fn second<A, B>(_: A, b: B) -> B {
    b
}

pub fn swapped<A, B>((a, b): (A, B)) -> (B, A) {
    (b, a)
}

/// Calls twice, the second time with what the first gave.
pub fn twice<T, F: FnMut(T, &mut u64) -> T>(value: T, h: &mut u64, mut f: F) -> T {
    let once = f(value, h);
    f(once, h)
}

/// Calls through an object.
pub fn call_object<A, R>(f: &mut dyn FnMut(A, &mut u64) -> R, a: A, h: &mut u64) -> R {
    f(a, h)
}

/// Writes into its log when it is made and when it is dropped.
pub struct Noted<'a> {
    log: &'a Cell<u64>,
    pub number: u32,
}

impl<'a> Noted<'a> {
    pub fn new(log: &'a Cell<u64>, number: u32) -> Self {
        log.set(log.get().wrapping_mul(31).wrapping_add(number as u64));
        Noted { log, number }
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        let mut log = self.log.get();
        mix(&mut log, self.number as u64);
        self.log.set(log);
    }
}
