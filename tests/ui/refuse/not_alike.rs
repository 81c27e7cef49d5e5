//@ error: MG0104
use mirgen_device::prelude::*;

#[mirgen::test(block = (4, 2))]
fn main() {
    let mut array = [0; 16];
    let width = thread::index_2d().x();
    let view = Disjoint::new(&mut array).as_matrix(width);
    drop(view);
}
