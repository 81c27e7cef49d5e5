//! A witness cannot be made, kept, passed on, or used for another space than its own.
use mirgen_device::prelude::*;
use mirgen_device::thread::D1;

static KEPT: Option<ThreadIndex> = None;

fn made(mut y: Disjoint<[f32]>) {
    let i = ThreadIndex::<D1> { at: 3 };
    y.get_mut(i);
    y.get_mut(3);
}

fn passed_on(i: ThreadIndex) {
    std::thread::spawn(move || i.get());
}

fn other_space(y: Disjoint<[f32]>, mut s: Shared<[f32; 4]>) {
    s.get_mut(thread::index_1d());
    let mut chunks = y.by_chunks::<4>();
    chunks.get_mut(block::thread());
    chunks.get_mut(thread::index_2d());
    y.len();
}

fn main() {}
