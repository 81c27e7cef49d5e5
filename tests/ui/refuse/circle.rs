//@ error: MG0365
use mirgen_device::prelude::*;

struct Ring(u32, &'static Ring);

static FIRST: Ring = Ring(1, &SECOND);
static SECOND: Ring = Ring(2, &FIRST);

#[inline(never)]
fn second(ring: &'static Ring) -> u32 {
    ring.1.0
}

#[mirgen::test]
fn main() {
    assert_eq!(second(&FIRST), 2);
}
