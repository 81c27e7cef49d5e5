//@ run
//@ ll: word
//! Constants with pointers inside, and a static that threads count in.
use core::sync::atomic::{AtomicU32, Ordering};
use mirgen_device::prelude::*;

static WORDS: [&str; 3] = ["one", "three", ""];
static COUNT: AtomicU32 = AtomicU32::new(0);

#[inline(never)]
fn word(i: usize) -> &'static str {
    WORDS[i]
}

#[mirgen::test(grid = 2, block = 16)]
fn main() {
    assert_eq!(word(1), "three");
    assert!(word(2).is_empty());
    let before = COUNT.fetch_add(1, Ordering::Relaxed);
    assert!(before < 32);
}
