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

/// All threads of the grid come here, or none.
#[inline(always)]
pub(crate) fn grid_uniform() {
    #[cfg(mirgen)]
    crate::intrinsics::__mirgen_fact_grid_uniform();
}

/// All threads of the grid come here with the same value, or none.
#[inline(always)]
pub(crate) fn grid_uniform_usize(_value: usize) {
    #[cfg(mirgen)]
    crate::intrinsics::__mirgen_fact_grid_uniform_usize(_value);
}
