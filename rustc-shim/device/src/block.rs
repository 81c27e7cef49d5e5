//! This block: its index and size, its barrier, and its threads' witnesses.

use core::fmt;
use core::marker::PhantomData;

use crate::shared::Phase;
use crate::{grid, intrinsics, thread};

/// A witness: an index that belongs to this thread of the block and to no other of the same block.
///
/// It comes from [`thread()`] or [`BlockThread::stride`], and from nowhere else: its fields are private, and since it is neither [`Send`] nor [`Sync`], it
/// cannot be handed to another thread.
///
/// ```compile_fail
/// use mirgen_device::{BlockThread, Shared};
/// fn pass_on(s: Shared<[BlockThread; 4]>) {
///     mirgen_device::block::sync(s); // not `Plain`
/// }
/// ```
#[must_use = "a witness does nothing by itself"]
#[derive(Clone, Copy)]
pub struct BlockThread {
    at: usize,
    brand: PhantomData<*mut ()>,
}

/// A witness: an index that belongs to one block of the grid, in the hands of that block's first thread.
///
/// It comes from [`leader`], and from nowhere else: its fields are private, and since it is neither [`Send`] nor [`Sync`], it cannot be handed to another
/// thread.
#[must_use = "a witness does nothing by itself"]
#[derive(Clone, Copy)]
pub struct BlockLeader {
    at: usize,
    brand: PhantomData<*mut ()>,
}

impl fmt::Debug for BlockLeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BlockLeader").field(&self.at).finish()
    }
}

impl BlockLeader {
    /// The number.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> usize {
        self.at
    }
}

impl fmt::Debug for BlockThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BlockThread").field(&self.at).finish()
    }
}

impl BlockThread {
    /// The number.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> usize {
        self.at
    }

    /// The indices below `end` that fall to this thread when the block strides over them, from this one on.
    ///
    /// ```
    /// # use mirgen_device::prelude::*;
    /// #[kernel]
    /// pub fn fill(mut s: Shared<[u32; 1000]>) {
    ///     for t in block::thread().stride(1000) {
    ///         if let Some(s) = s.get_mut(t) {
    ///             *s = 7;
    ///         }
    ///     }
    /// }
    /// ```
    #[inline(always)]
    pub fn stride(self, end: usize) -> BlockStride {
        // So that `next + stride` cannot wrap.
        let end = if end > isize::MAX as usize {
            isize::MAX as usize
        } else {
            end
        };
        BlockStride {
            next: self.at,
            end,
            stride: size() as usize,
            brand: PhantomData,
        }
    }
}

/// Iterator over this thread's indices; see [`BlockThread::stride`].
#[derive(Debug)]
pub struct BlockStride {
    next: usize,
    end: usize,
    stride: usize,
    brand: PhantomData<*mut ()>,
}

impl Iterator for BlockStride {
    type Item = BlockThread;

    #[inline(always)]
    fn next(&mut self) -> Option<BlockThread> {
        let at = self.next;
        if at < self.end {
            self.next = at.wrapping_add(self.stride);
            Some(BlockThread {
                at,
                brand: PhantomData,
            })
        } else {
            None
        }
    }
}

/// Index of this block in the grid, x. PTX `%ctaid.x`.
#[inline(always)]
#[must_use]
pub fn x() -> u32 {
    intrinsics::__mirgen_ctaid_x()
}

/// Index of this block in the grid, y. PTX `%ctaid.y`.
#[inline(always)]
#[must_use]
pub fn y() -> u32 {
    intrinsics::__mirgen_ctaid_y()
}

/// Index of this block in the grid, z. PTX `%ctaid.z`.
#[inline(always)]
#[must_use]
pub fn z() -> u32 {
    intrinsics::__mirgen_ctaid_z()
}

/// Threads of a block, x. PTX `%ntid.x`.
#[inline(always)]
#[must_use]
pub fn size_x() -> u32 {
    intrinsics::__mirgen_ntid_x()
}

/// Threads of a block, y. PTX `%ntid.y`.
#[inline(always)]
#[must_use]
pub fn size_y() -> u32 {
    intrinsics::__mirgen_ntid_y()
}

/// Threads of a block, z. PTX `%ntid.z`.
#[inline(always)]
#[must_use]
pub fn size_z() -> u32 {
    intrinsics::__mirgen_ntid_z()
}

/// Threads of a block in all dimensions; at most 1024.
#[inline(always)]
#[must_use]
pub fn size() -> u32 {
    size_x().wrapping_mul(size_y()).wrapping_mul(size_z())
}

/// Index of this block in the grid over all dimensions: first along x, then y, then z.
#[inline(always)]
#[must_use]
pub fn linear() -> usize {
    (z() as usize)
        .wrapping_mul(grid::size_y() as usize)
        .wrapping_add(y() as usize)
        .wrapping_mul(grid::size_x() as usize)
        .wrapping_add(x() as usize)
}

/// The witness of this thread in its block; its number is [`thread::linear`].
#[inline(always)]
pub fn thread() -> BlockThread {
    BlockThread {
        at: thread::linear() as usize,
        brand: PhantomData,
    }
}

/// The witness of this block's first thread, and none for the others; its number is [`linear`].
#[inline(always)]
#[must_use]
pub fn leader() -> Option<BlockLeader> {
    if thread::linear() == 0 {
        Some(BlockLeader {
            at: linear(),
            brand: PhantomData,
        })
    } else {
        None
    }
}

/// Waits for all threads of the block; what they wrote before, all of them see afterwards. PTX `bar.sync 0`.
///
/// Every thread of the block has to come here, or none: mirgen refuses a barrier that only some might reach.
#[inline(always)]
pub fn barrier() {
    intrinsics::__mirgen_barrier();
}

/// A barrier, and with it the next phase of shared memory: owned becomes published, and published becomes owned. Takes one view or a tuple of them.
///
/// Every thread of the block has to come here, or none, as at [`barrier`].
///
/// ```
/// # use mirgen_device::prelude::*;
/// #[kernel]
/// pub fn reverse(x: &[u32], mut out: Disjoint<[u32]>, mut s: Shared<[u32; 256]>) {
///     let (t, i) = (block::thread(), thread::index_1d());
///     if let (Some(s), Some(x)) = (s.get_mut(t), x.get(i.get())) {
///         *s = *x;
///     }
///     let s = block::sync(s);
///     if let (Some(out), Some(s)) = (out.get_mut(i), s.get(255 - t.get())) {
///         *out = *s;
///     }
/// }
/// ```
#[inline(always)]
#[must_use = "the memory can only be used in its next phase"]
pub fn sync<S: Phase>(shared: S) -> S::Next {
    barrier();
    shared.next(crate::shared::Passed::new())
}
