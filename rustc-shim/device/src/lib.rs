//! The device library of mirgen: what a GPU kernel in safe Rust needs.
//!
//! ```
//! use mirgen_device::prelude::*;
//!
//! #[kernel]
//! pub fn saxpy(a: f32, x: &[f32], mut y: Disjoint<[f32]>) {
//!     let i = thread::index_1d();
//!     if let Some(y) = y.get_mut(i) {
//!         *y += a * x[i.get()];
//!     }
//! }
//! ```
//!
//! * [`thread`], [`block`] and [`grid`] give indices and sizes, and the *witnesses* [`ThreadIndex`], [`BlockThread`] and [`BlockLeader`]: values that
//!   prove which part of the memory belongs to the thread that holds them.
//! * [`Disjoint`] is an output array of which every thread may touch the elements that its witness names.
//! * [`Shared`] is the memory of one block, in alternating phases that [`block::sync`] separates.
//! * [`math`] is CUDA's libdevice; `core::sync::atomic` works on `&[AtomicU32]` and the like.
//!
//! Without `unsafe`, two threads cannot reach one element while one of them writes it. Part of that is said by the types of this crate, part
//! is a fact about the launch or the control flow that `cargo mirgen` reads from the kernel's MIR (see [`launch`]); outside mirgen the crate
//! is an ordinary library which compiles, for checking and for rust-analyzer, on any target.
#![no_std]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("mirgen's GPU targets have 64-bit pointers, and so has the host that checks or simulates a kernel");

pub mod block;
pub mod disjoint;
mod fact;
pub mod grid;
pub mod intrinsics;
pub mod launch;
pub mod math;
pub mod param;
pub mod plain;
pub mod shared;
pub mod thread;

pub use block::{BlockLeader, BlockThread};
pub use disjoint::Disjoint;
pub use mirgen_macros::{kernel, test};
pub use param::KernelParam;
pub use plain::Plain;
pub use shared::Shared;
pub use thread::ThreadIndex;

/// What nearly every kernel uses: `use mirgen_device::prelude::*;`.
pub mod prelude {
    pub use crate::disjoint::{Blocks, Chunks, Disjoint, Linear, Matrix};
    pub use crate::math::Real as _;
    pub use crate::shared::{Owned, Published, Shared};
    pub use crate::{
        block, grid, kernel, math, thread, trap, BlockLeader, BlockThread, Plain, ThreadIndex,
    };

    /// For `#[mirgen::test]`: by itself `test` is Rust's own.
    pub mod mirgen {
        pub use crate::{kernel, test};
    }
}

/// Stops the whole grid at once, as a panic does, but without a message. PTX `trap`.
#[inline(always)]
pub fn trap() -> ! {
    intrinsics::__mirgen_trap()
}

/// Gives out its input only in a compile by `cargo mirgen`. For the expansion of [`kernel`]; not a public interface.
#[cfg(mirgen)]
#[doc(hidden)]
#[macro_export]
macro_rules! __mirgen_only {
    ($($item:item)*) => { $($item)* };
}

/// Gives out its input only in a compile by `cargo mirgen`. For the expansion of [`kernel`]; not a public interface.
#[cfg(not(mirgen))]
#[doc(hidden)]
#[macro_export]
macro_rules! __mirgen_only {
    ($($item:item)*) => {};
}

/// The opposite of `__mirgen_only!`. For the expansion of [`test`](macro@test); not a public interface.
#[cfg(mirgen)]
#[doc(hidden)]
#[macro_export]
macro_rules! __mirgen_never {
    ($($item:item)*) => {};
}

/// The opposite of `__mirgen_only!`. For the expansion of [`test`](macro@test); not a public interface.
#[cfg(not(mirgen))]
#[doc(hidden)]
#[macro_export]
macro_rules! __mirgen_never {
    ($($item:item)*) => { $($item)* };
}
