use mirgen_device::prelude::*;

pub struct S;

impl S {
    #[kernel]
    pub fn method(&self, x: &[f32]) {}
}

fn main() {}
