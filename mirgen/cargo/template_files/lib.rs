//! GPU kernels in safe Rust.
//!
//! ```text
//! cargo mirgen build                       # PTX and machine code, below target/mirgen
//! cargo mirgen run saxpy --grid 1 --block 4 --arg a=2.0 --arg x='[1, 2, 3, 4]' --arg y='[10, 10, 10, 10]'
//! cargo mirgen test                        # the tests below, on the simulator
//! cargo mirgen asm saxpy --sass --rust     # what the GPU will execute
//! cargo check                              # as for any crate
//! ```
#![no_std]

use mirgen_device::prelude::*;

/// `y[i] += a * x[i]`, one element a thread: launch at least as many threads as `y` has elements.
#[kernel]
pub fn saxpy(a: f32, x: &[f32], mut y: Disjoint<[f32]>) {
    let i = thread::index_1d();
    if let Some(y) = y.get_mut(i) {
        *y += a * x[i.get()];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every thread of the block runs it.
    #[mirgen::test(block = 4)]
    fn saxpy_of_four() {
        let x = [1.0, 2.0, 3.0, 4.0];
        let mut y = [10.0; 4];
        saxpy(2.0, &x, Disjoint::new(&mut y));
        let i = thread::index_1d().get();
        assert_eq!(y[i], 10.0 + 2.0 * x[i]);
    }
}
