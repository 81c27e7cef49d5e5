//! What a kernel may take.

use crate::disjoint::{Disjoint, ParamSpace};
use crate::shared::{Owned, Shared};

/// A type that a kernel may take as a parameter: `Copy` values that other threads may see, `&T` and `&[T]` among them, [`Disjoint`] and
/// [`Shared`]. [`kernel`](crate::kernel) asks for it.
///
/// # Safety
/// Every thread of the grid gets a bitwise copy of the value; the type must allow that.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a kernel",
    label = "every thread of the grid would get it",
    note = "a kernel takes `Copy + Send` values, `&T` and `&[T]` with `T: Sync`, `Disjoint<[T]>` to write to, and `Shared<[T; N]>`"
)]
pub unsafe trait KernelParam {}

// SAFETY: `Copy` allows copies, and `Send` allows them to be in other threads.
unsafe impl<T: Copy + Send> KernelParam for T {}

// SAFETY: a view gives its thread its own elements only, which it takes from `Send` types.
unsafe impl<T: Send + 'static, S: ParamSpace> KernelParam for Disjoint<'_, [T], S> {}

// SAFETY: a view gives its thread its own elements only, in phases.
unsafe impl<A: Send + Sync + 'static> KernelParam for Shared<'_, A, Owned> {}
