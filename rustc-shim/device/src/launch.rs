//! Facts about the launch: what a kernel relies on, checked before it starts.
//!
//! mirgen reads facts from the kernel's MIR, writes them to the manifest, and every launcher checks them: a launch of another shape is an error
//! of the launcher, not a race on the device. [`thread::index_1d`](crate::thread::index_1d), for one, is unique only in a launch of one dimension,
//! and says so by itself. A fact holds for the whole kernel wherever in it the call stands.

use crate::fact;

/// The kernel must be launched with blocks of exactly `X` times `Y` times `Z` threads.
///
/// ```
/// # use mirgen_device::prelude::*;
/// # use mirgen_device::launch;
/// #[kernel]
/// pub fn tile(mut s: Shared<[f32; 256]>) {
///     launch::block_is::<16, 16, 1>();
///     // ..
/// }
/// ```
#[inline(always)]
pub fn block_is<const X: u32, const Y: u32, const Z: u32>() {
    const {
        assert!(
            X as u64 * Y as u64 * Z as u64 >= 1,
            "a block has at least one thread"
        )
    };
    const {
        assert!(
            X as u64 * Y as u64 * Z as u64 <= 1024,
            "a block has at most 1024 threads"
        )
    };
    fact::block_size::<X, Y, Z>();
}
