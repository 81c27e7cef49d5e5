//@ panic: index out of bounds: the len is 4 but the index is 4
use mirgen_device::prelude::*;

#[mirgen::test(block = 8)]
fn main() {
    let squares = [0, 1, 4, 9];
    let i = thread::index_1d().get();
    assert!(squares[i] == i * i);
}
