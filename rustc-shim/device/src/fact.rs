//! Facts for mirgen: calls that it reads from the MIR and removes. Outside mirgen they are nothing.

/// Only the first `COUNT` dimensions of the launch may be larger than 1.
#[inline(always)]
pub(crate) fn dimensions<const COUNT: u32>() {
    #[cfg(mirgen)]
    crate::intrinsics::__mirgen_fact_dimensions(COUNT);
}

/// A block has exactly this shape.
#[inline(always)]
pub(crate) fn block_size<const X: u32, const Y: u32, const Z: u32>() {
    #[cfg(mirgen)]
    crate::intrinsics::__mirgen_fact_block_size(X, Y, Z);
}

/// All threads of the grid come here with the same array and width, or none.
#[inline(always)]
pub(crate) fn grid_uniform(_array: *const u8, _width: usize) {
    #[cfg(mirgen)]
    crate::intrinsics::__mirgen_fact_grid_uniform(_array, _width);
}

/// All threads of the block come here with the same memory, or none.
#[inline(always)]
pub(crate) fn block_uniform(_memory: *const u8) {
    #[cfg(mirgen)]
    crate::intrinsics::__mirgen_fact_block_uniform(_memory);
}
