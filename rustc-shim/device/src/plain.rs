//! Types of which every bit pattern is a value.

use core::mem::MaybeUninit;

/// A type of which every bit pattern is a value, so that it can live in memory that nobody has written yet.
///
/// Numbers and arrays, tuples and structs of them are; `bool`, `char`, references, most enums and `NonZero` are not.
///
/// # Safety
/// Every sequence of bytes of the type's size must be a value of it, padding excepted.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has bit patterns that are no values, or isn't `Copy`",
    label = "cannot live in shared memory",
    note = "shared memory starts with any content: use numbers, arrays or structs of them; for a struct of your own, `unsafe impl Plain`"
)]
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($ty:ty)*) => { $(
        // SAFETY: without niches.
        unsafe impl Plain for $ty {}
    )* };
}

plain! { () u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 }

// SAFETY: any bytes are a value, initialised or not.
unsafe impl<T: Copy + Send + Sync + 'static> Plain for MaybeUninit<T> {}

// SAFETY: an array consists of its elements.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

macro_rules! plain_tuple {
    ($($ty:ident)*) => {
        // SAFETY: a tuple consists of its fields and padding.
        unsafe impl<$($ty: Plain),*> Plain for ($($ty,)*) {}
    };
}

plain_tuple! { A }
plain_tuple! { A B }
plain_tuple! { A B C }
plain_tuple! { A B C D }
