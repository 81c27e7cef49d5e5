//! A missing barrier is a type error.
use mirgen_device::prelude::*;
use std::sync::atomic::AtomicU32;

fn read_while_owned(s: Shared<[f32; 4]>) -> f32 {
    s[1]
}

fn write_while_published(s: Shared<[f32; 4]>) {
    let mut s = block::sync(s);
    s[1] = 2.0;
}

fn own_while_published(s: Shared<[f32; 4]>) {
    let mut s = block::sync(s);
    s.get_mut(block::thread());
}

fn reference_across_a_barrier(mut s: Shared<[f32; 4]>) -> f32 {
    let mine = s.get_mut(block::thread());
    let s = block::sync(s);
    mine.map_or(s[0], |mine| *mine)
}

fn bool_memory(s: Shared<[bool; 4]>) {
    block::sync(s);
}

fn atomics_have_no_phases(s: Shared<[AtomicU32; 4]>) {
    block::sync(s);
}

fn main() {}
