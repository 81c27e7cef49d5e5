//@ error: MG0360
use mirgen_device::prelude::*;

#[mirgen::test(block = 4)]
fn main(number: Shared<u32>) {
    core::hint::black_box(&number);
}
