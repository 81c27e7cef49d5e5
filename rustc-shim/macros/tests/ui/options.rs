use mirgen_device::prelude::*;

#[kernel(fast)]
pub fn fast() {}

#[kernel(crate = ::mirgen_device, more)]
pub fn more() {}

#[kernel(crate = ::mirgen_device)]
pub fn elsewhere_is_fine() {}

fn main() {}
