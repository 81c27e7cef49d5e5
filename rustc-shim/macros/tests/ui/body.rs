//! Errors in a kernel's body are rustc's own, once and in their place.
use mirgen_device::prelude::*;

#[kernel]
pub fn types(x: &[f32], mut y: Disjoint<[f32]>) {
    let i = thread::index_1d();
    if let Some(y) = y.get_mut(i) {
        *y = x[i];
    }
}

#[kernel]
pub fn borrows(mut y: Disjoint<[f32]>) {
    let i = thread::index_1d();
    let a = y.get_mut(i);
    let b = y.get_mut(i);
    drop((a, b));
}

fn main() {}
