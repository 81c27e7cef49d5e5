//! This thread: its indices, and the witnesses that prove what belongs to it.

use core::fmt;
use core::marker::PhantomData;

use crate::{block, fact, grid, intrinsics};

mod sealed {
    pub trait Sealed {}
}

/// How many dimensions a [`ThreadIndex`] has: [`D1`] or [`D2`].
pub trait Dimension: sealed::Sealed {
    /// The coordinates.
    #[doc(hidden)]
    type At: Copy + fmt::Debug;
}

/// One dimension.
#[derive(Debug)]
pub enum D1 {}

/// Two dimensions.
#[derive(Debug)]
pub enum D2 {}

impl sealed::Sealed for D1 {}
impl sealed::Sealed for D2 {}

impl Dimension for D1 {
    type At = usize;
}

impl Dimension for D2 {
    type At = [usize; 2];
}

/// A witness: an index that belongs to this thread of the grid and to no other.
///
/// It comes from [`index_1d`], [`index_2d`], [`index_linear`] or [`grid_stride`], and from nowhere else: its fields are private, and since it is neither
/// [`Send`] nor [`Sync`], it cannot be kept in a static or be handed to another thread through memory. Within its thread it may be copied freely.
///
/// ```compile_fail
/// use mirgen_device::{thread::D1, ThreadIndex};
/// static KEPT: Option<ThreadIndex<D1>> = None; // not `Sync`
/// ```
#[must_use = "a witness does nothing by itself"]
pub struct ThreadIndex<D: Dimension = D1> {
    at: D::At,
    /// Neither `Send` nor `Sync`; invariant in `D`.
    brand: PhantomData<*mut D>,
}

impl<D: Dimension> Clone for ThreadIndex<D> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Dimension> Copy for ThreadIndex<D> {}

impl<D: Dimension> fmt::Debug for ThreadIndex<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ThreadIndex").field(&self.at).finish()
    }
}

impl ThreadIndex<D1> {
    /// The number.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> usize {
        self.at
    }
}

/// A witness. To be unique in the grid and to agree with the other sources, `at` must be congruent to this thread's linear index modulo the number of threads.
#[inline(always)]
fn witness(at: usize) -> ThreadIndex<D1> {
    ThreadIndex {
        at,
        brand: PhantomData,
    }
}

impl ThreadIndex<D2> {
    /// The column, which counts along x.
    #[inline(always)]
    #[must_use]
    pub fn x(self) -> usize {
        self.at[0]
    }

    /// The row, which counts along y.
    #[inline(always)]
    #[must_use]
    pub fn y(self) -> usize {
        self.at[1]
    }
}

/// Index of this thread in its block, x. PTX `%tid.x`.
#[inline(always)]
#[must_use]
pub fn x() -> u32 {
    intrinsics::__mirgen_tid_x()
}

/// Index of this thread in its block, y. PTX `%tid.y`.
#[inline(always)]
#[must_use]
pub fn y() -> u32 {
    intrinsics::__mirgen_tid_y()
}

/// Index of this thread in its block, z. PTX `%tid.z`.
#[inline(always)]
#[must_use]
pub fn z() -> u32 {
    intrinsics::__mirgen_tid_z()
}

/// Index of this thread in its block over all dimensions: first along x, then y, then z.
#[inline(always)]
#[must_use]
pub fn linear() -> u32 {
    z().wrapping_mul(block::size_y())
        .wrapping_add(y())
        .wrapping_mul(block::size_x())
        .wrapping_add(x())
}

/// `block * threads of a block + thread`, in 64 bits. A launch of one dimension has less than 2^42 threads, and one of three never as many as 2^64.
#[inline(always)]
fn along(block: usize, size: u32, thread: u32) -> usize {
    block
        .wrapping_mul(size as usize)
        .wrapping_add(thread as usize)
}

/// This thread's index in a launch of one dimension. Fact: the launch has one dimension.
#[inline(always)]
pub fn index_1d() -> ThreadIndex<D1> {
    fact::dimensions::<1>();
    witness(along(block::x() as usize, block::size_x(), x()))
}

/// This thread's column and row in a launch of at most two dimensions. Fact: the launch has at most two dimensions.
#[inline(always)]
pub fn index_2d() -> ThreadIndex<D2> {
    fact::dimensions::<2>();
    let at = [
        along(block::x() as usize, block::size_x(), x()),
        along(block::y() as usize, block::size_y(), y()),
    ];
    ThreadIndex {
        at,
        brand: PhantomData,
    }
}

/// This thread's linear index in a launch of any shape: blocks counted first along x, then y, then z, and so the threads in them.
///
/// In a launch of one dimension it is the same number as [`index_1d`], which costs less.
#[inline(always)]
pub fn index_linear() -> ThreadIndex<D1> {
    witness(along(block::linear(), block::size(), linear()))
}

/// The indices below `end` that fall to this thread when the grid strides over them. Fact: the launch has one dimension.
///
/// ```
/// # use mirgen_device::prelude::*;
/// #[kernel]
/// pub fn double(mut y: Disjoint<[f32]>) {
///     for i in thread::grid_stride(y.len()) {
///         if let Some(y) = y.get_mut(i) {
///             *y *= 2.0;
///         }
///     }
/// }
/// ```
#[inline(always)]
pub fn grid_stride(end: usize) -> GridStride {
    let stride = (grid::size_x() as usize).wrapping_mul(block::size_x() as usize);
    // So that `next + stride` cannot wrap. No array reaches so far, and the stride is below 2^42.
    let end = if end > isize::MAX as usize {
        isize::MAX as usize
    } else {
        end
    };
    GridStride {
        next: index_1d().at,
        end,
        stride,
        brand: PhantomData,
    }
}

/// Iterator over this thread's indices; see [`grid_stride`].
#[derive(Debug)]
pub struct GridStride {
    next: usize,
    end: usize,
    stride: usize,
    brand: PhantomData<*mut ()>,
}

impl Iterator for GridStride {
    type Item = ThreadIndex<D1>;

    #[inline(always)]
    fn next(&mut self) -> Option<ThreadIndex<D1>> {
        let at = self.next;
        if at < self.end {
            self.next = at.wrapping_add(self.stride);
            Some(witness(at))
        } else {
            None
        }
    }
}
