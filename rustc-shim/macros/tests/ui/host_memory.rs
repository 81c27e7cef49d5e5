use mirgen_device::prelude::*;

#[kernel]
pub fn boxed(x: Box<[f32]>, v: Vec<u8>, s: String) {}

#[kernel]
pub fn objects(f: &dyn Fn(f32) -> f32, g: fn(u32) -> u32) {}

#[kernel]
pub fn forever(x: &'static [f32]) {}

#[kernel]
pub fn unsized_slice(x: [f32]) {}

fn main() {}
