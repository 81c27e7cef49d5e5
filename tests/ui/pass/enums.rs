//@ run
//@ ll: area
use mirgen_device::prelude::*;

pub enum Shape {
    Square(u32),
    Rect { a: u32, b: u32 },
}

#[inline(never)]
fn area(shape: &Shape) -> u32 {
    match *shape {
        Shape::Square(a) => a * a,
        Shape::Rect { a, b } => a * b,
    }
}

#[mirgen::test]
fn main() {
    assert_eq!(area(&Shape::Square(3)), 9);
    assert_eq!(area(&Shape::Rect { a: 3, b: 4 }), 12);
}
