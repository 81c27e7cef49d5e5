use mirgen_device::prelude::*;

#[kernel]
pub fn generic<T: Copy, const N: usize>(x: &[T], y: Disjoint<[T]>) {}

#[kernel]
pub fn hidden(x: impl Fn(f32) -> f32, y: &impl Copy) {}

#[kernel]
pub fn lifetimes_are_fine<'a>(x: &'a [f32], y: &'a f32) {}

fn main() {}
