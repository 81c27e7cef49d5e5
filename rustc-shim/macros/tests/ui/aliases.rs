//! What the macro cannot see, the trait does.
use mirgen_device::prelude::*;
use std::cell::Cell;
use std::rc::Rc;

type Mutable<'a> = &'a mut [f32];

#[kernel]
pub fn alias(x: &[f32], y: Mutable) {}

#[kernel]
pub fn cells(x: &[Cell<u32>]) {}

pub struct NotCopy(u32);

#[kernel]
pub fn not_copy(x: NotCopy) {}

#[kernel]
pub fn not_sync(x: &Rc<u32>) {}

#[kernel]
pub fn of_witnesses(y: Disjoint<[ThreadIndex]>) {}

#[kernel]
pub fn published(s: Shared<[f32; 4], Published>) {}

fn main() {}
