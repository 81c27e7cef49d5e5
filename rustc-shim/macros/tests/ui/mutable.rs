use mirgen_device::prelude::*;

#[kernel]
pub fn slice(x: &[f32], y: &mut [f32]) {}

#[kernel]
pub fn one(count: &mut u32) {}

#[kernel]
pub fn raw(x: *const f32, y: *mut f32) {}

#[kernel]
pub unsafe fn raw_is_fine(x: *const f32, y: *mut f32) {}

fn main() {}
