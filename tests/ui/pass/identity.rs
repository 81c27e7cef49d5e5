//@ run
//! A type's identity at run time, and objects that are asked for their type.
use core::any::{Any, TypeId};

use mirgen_device::prelude::*;

struct Wide(u64);

#[inline(never)]
fn number(of: &dyn Any) -> u64 {
    if let Some(Wide(inner)) = of.downcast_ref() {
        *inner
    } else if let Some(small) = of.downcast_ref::<u8>() {
        u64::from(*small)
    } else {
        0
    }
}

fn identity<T: 'static>() -> TypeId {
    TypeId::of::<T>()
}

#[mirgen::test]
fn main() {
    assert!(identity::<u8>() != identity::<i8>());
    assert!(identity::<Wide>() == TypeId::of::<Wide>());
    assert_eq!(number(&Wide(1 << 40)), 1 << 40);
    assert_eq!(number(&7u8), 7);
    assert_eq!(number(&7i8), 0);
}
