//! The grid: how many blocks and threads there are.

use crate::{block, intrinsics};

/// Blocks of the grid, x. PTX `%nctaid.x`.
#[inline(always)]
#[must_use]
pub fn size_x() -> u32 {
    intrinsics::__mirgen_nctaid_x()
}

/// Blocks of the grid, y. PTX `%nctaid.y`.
#[inline(always)]
#[must_use]
pub fn size_y() -> u32 {
    intrinsics::__mirgen_nctaid_y()
}

/// Blocks of the grid, z. PTX `%nctaid.z`.
#[inline(always)]
#[must_use]
pub fn size_z() -> u32 {
    intrinsics::__mirgen_nctaid_z()
}

/// Blocks of the grid in all dimensions.
#[inline(always)]
#[must_use]
pub fn size() -> u64 {
    // Below 2^63: a grid has at most 2^31 - 1 by 65,535 by 65,535 blocks.
    (size_x() as u64)
        .wrapping_mul(size_y() as u64)
        .wrapping_mul(size_z() as u64)
}

/// Threads of the whole grid in all dimensions.
///
/// The largest launch that the hardware could name, 2^31 by 2^16 by 2^16 blocks of 1024 threads, would wrap round; no device would
/// ever finish it.
#[inline(always)]
#[must_use]
pub fn threads() -> u64 {
    size().wrapping_mul(block::size() as u64)
}
