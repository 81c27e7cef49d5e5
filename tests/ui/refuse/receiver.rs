//@ error: MG0310
//! A method on a trait object whose receiver mirgen does not understand.
use core::pin::Pin;
use mirgen_device::prelude::*;

trait Op: Unpin {
    fn run(self: Pin<Pin<&Self>>, a: u32) -> u32;
}

struct Double;
struct Square;

impl Op for Double {
    fn run(self: Pin<Pin<&Self>>, a: u32) -> u32 {
        a + a
    }
}

impl Op for Square {
    fn run(self: Pin<Pin<&Self>>, a: u32) -> u32 {
        a * a
    }
}

#[mirgen::test]
fn main() {
    let x = core::hint::black_box(4);
    let op: &dyn Op = if x > 3 { &Double } else { &Square };
    assert_eq!(Pin::new(Pin::new(op)).run(x), 8);
}
