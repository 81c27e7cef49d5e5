use mirgen_device::prelude::*;

#[kernel]
pub fn returns(x: &[f32]) -> f32 {
    x[0]
}

#[kernel]
pub fn unit_is_fine(x: &[f32]) -> () {}

#[kernel]
pub async fn asynchronous() {}

#[kernel]
pub const fn constant() {}

#[kernel]
pub extern "C" fn foreign() {}

#[kernel]
pub fn patterns((a, b): (u32, u32), _: f32, ref c: f32, mut d: f32) {}

#[kernel]
#[inline(never)]
#[no_mangle]
pub fn attributes() {}

#[kernel]
#[kernel]
pub fn twice() {}

fn main() {}
