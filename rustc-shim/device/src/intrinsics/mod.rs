//! The reserved functions that mirgen replaces by machine operations.
//!
//! They are plain extern functions with names that start with `__mirgen_`. On the device they become PTX special registers, barriers or calls of
//! libdevice; on the simulator they are part of the generated code; a host program that runs kernels natively has to define those it reaches.
//! Nothing but this crate should call them: the safe functions of [`thread`](crate::thread), [`block`](crate::block), [`grid`](crate::grid) and
//! [`math`](crate::math) say the same.

pub mod math;

// SAFETY: mirgen defines every one of these functions with exactly this signature; none has a precondition, except where marked `unsafe`.
unsafe extern "C" {
    /// Index of the thread in its block, x. PTX `%tid.x`.
    pub safe fn __mirgen_tid_x() -> u32;
    /// Index of the thread in its block, y. PTX `%tid.y`.
    pub safe fn __mirgen_tid_y() -> u32;
    /// Index of the thread in its block, z. PTX `%tid.z`.
    pub safe fn __mirgen_tid_z() -> u32;
    /// Threads of a block, x. PTX `%ntid.x`.
    pub safe fn __mirgen_ntid_x() -> u32;
    /// Threads of a block, y. PTX `%ntid.y`.
    pub safe fn __mirgen_ntid_y() -> u32;
    /// Threads of a block, z. PTX `%ntid.z`.
    pub safe fn __mirgen_ntid_z() -> u32;
    /// Index of the block in the grid, x. PTX `%ctaid.x`.
    pub safe fn __mirgen_ctaid_x() -> u32;
    /// Index of the block in the grid, y. PTX `%ctaid.y`.
    pub safe fn __mirgen_ctaid_y() -> u32;
    /// Index of the block in the grid, z. PTX `%ctaid.z`.
    pub safe fn __mirgen_ctaid_z() -> u32;
    /// Blocks of the grid, x. PTX `%nctaid.x`.
    pub safe fn __mirgen_nctaid_x() -> u32;
    /// Blocks of the grid, y. PTX `%nctaid.y`.
    pub safe fn __mirgen_nctaid_y() -> u32;
    /// Blocks of the grid, z. PTX `%nctaid.z`.
    pub safe fn __mirgen_nctaid_z() -> u32;
    /// Waits for all threads of the block and makes their writes visible to each other. PTX `bar.sync 0`.
    pub safe fn __mirgen_barrier();
    /// Stops the grid. PTX `trap`.
    pub safe fn __mirgen_trap() -> !;
}

// SAFETY: as above. A fact is read and removed by mirgen; it does nothing when it runs.
#[cfg(mirgen)]
unsafe extern "C" {
    /// Fact: only the first `count` dimensions of the grid and of the block may be larger than 1. The argument is a constant.
    pub safe fn __mirgen_fact_dimensions(count: u32);
    /// Fact: the block has exactly `x` times `y` times `z` threads. The arguments are constants.
    pub safe fn __mirgen_fact_block_size(x: u32, y: u32, z: u32);
    /// Fact: every thread of the grid reaches this call with the same arguments, or none does. `array` is divided anew, in pieces of `width` elements.
    pub safe fn __mirgen_fact_grid_uniform(array: *const u8, width: usize);
    /// Fact: every thread of the block reaches this call with the same argument, or none does. `memory` enters its next phase.
    pub safe fn __mirgen_fact_block_uniform(memory: *const u8);
}
