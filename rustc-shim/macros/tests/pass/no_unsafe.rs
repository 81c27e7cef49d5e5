//! A safe kernel needs no `unsafe` anywhere.
#![deny(warnings)]
#![forbid(unsafe_code)]
#![no_std]

use mirgen_device::prelude::*;

/// Writes through all kinds of views.
#[kernel]
pub fn views(
    width: u32,
    a: Disjoint<[f32]>,
    b: Disjoint<[f32]>,
    mut c: Disjoint<[f32], Blocks>,
    s: Shared<[f32; 64]>,
) {
    let (mut a, mut b) = (a.as_matrix(width as usize), b.by_chunks::<2>());
    if let Some(a) = a.get_mut(thread::index_2d()) {
        *a = 1.0;
    }
    if let Some(b) = b.get_mut(thread::index_linear()) {
        *b = [2.0, 3.0];
    }
    let s = block::sync(s);
    if let (Some(c), Some(s)) = (
        block::leader().and_then(|leader| c.get_mut(leader)),
        s.last(),
    ) {
        *c = *s;
    }
}
