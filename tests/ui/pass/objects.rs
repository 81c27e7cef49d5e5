//@ run
//! Trait objects: a method of the trait's own, one that a type replaces, a supertrait's.
use mirgen_device::prelude::*;

trait Named {
    fn letter(&self) -> char;
}

trait Shape: Named {
    fn area(&self) -> u32;
    fn twice(&self) -> u32 {
        2 * self.area()
    }
}

struct Square(u32);
struct Line;

impl Named for Square {
    fn letter(&self) -> char {
        's'
    }
}

impl Named for Line {
    fn letter(&self) -> char {
        'l'
    }
}

impl Shape for Square {
    fn area(&self) -> u32 {
        self.0 * self.0
    }
}

impl Shape for Line {
    fn area(&self) -> u32 {
        0
    }
    fn twice(&self) -> u32 {
        1
    }
}

#[mirgen::test]
fn main() {
    let shapes: [&dyn Shape; 2] = [&Square(3), &Line];
    let mut sum = 0;
    for shape in shapes {
        sum += shape.twice() * shape.letter() as u32;
    }
    assert_eq!(sum, 2178);
}
