use mirgen_device::prelude::*;

#[kernel]
pub struct S {
    x: f32,
}

fn main() {}
