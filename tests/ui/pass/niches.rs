//@ run
//@ ll: next, is_some
//! An `Option` whose `None` is a value that its content never has.
use core::num::NonZeroU8;
use mirgen_device::prelude::*;

#[inline(never)]
fn next(x: Option<NonZeroU8>) -> Option<NonZeroU8> {
    NonZeroU8::new(x?.get().wrapping_add(1))
}

#[inline(never)]
fn is_some(x: Option<&u8>) -> bool {
    matches!(x, Some(_))
}

#[mirgen::test]
fn main() {
    assert!(size_of::<Option<NonZeroU8>>() == 1);
    assert_eq!(next(NonZeroU8::new(4)), NonZeroU8::new(5));
    assert_eq!(next(NonZeroU8::new(255)), None);
    assert!(next(None).is_none());
    assert!(is_some(Some(&1)) && !is_some(None));
}
