//! Kernels that must compile without a warning, under strict lints.
#![deny(
    warnings,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    unreachable_pub,
    elided_lifetimes_in_paths
)]
#![no_std]

/// In a module, with types of its own.
pub mod inner {
    use mirgen_device::prelude::*;

    #[derive(Clone, Copy)]
    struct Private(f32);

    /// The parameter has the kernel's own name.
    #[kernel]
    pub fn x(x: f32, mut out: Disjoint<'_, [f32]>) {
        if let Some(out) = out.get_mut(thread::index_1d()) {
            *out = x;
        }
    }

    /// Raw identifiers.
    #[kernel]
    pub fn r#match(r#type: u32, mut r#in: Disjoint<'_, [u32]>) {
        if let Some(out) = r#in.get_mut(thread::index_1d()) {
            *out = r#type;
        }
    }

    /// Not public, with a private type.
    #[kernel]
    fn private(p: Private, mut out: Disjoint<'_, [f32]>) {
        if let Some(out) = out.get_mut(thread::index_1d()) {
            *out = p.0;
        }
    }

    /// Lifetimes with names, one of them bounded.
    #[kernel]
    pub fn lifetimes<'a, 'b: 'a>(a: &'a [f32], b: &'b [f32], mut out: Disjoint<'_, [f32]>) {
        if let Some(out) = out.get_mut(thread::index_1d()) {
            *out = core::cmp::max(a.len(), b.len()) as f32;
        }
    }
}

/// Elsewhere, with the same name as one in the module, and the library under another name.
pub mod renamed {
    use mirgen_device as gpu;

    /// Raw pointers.
    ///
    /// # Safety
    /// The pointer must be valid.
    #[gpu::kernel(crate = gpu)]
    pub unsafe fn x(y: *mut u32) {
        // SAFETY: the caller says so.
        unsafe { *y = 1 };
    }
}

/// Only in one configuration.
#[cfg(target_os = "none")]
#[mirgen_device::kernel]
pub fn configured() {}

/// Below the attribute.
#[mirgen_device::kernel]
#[cfg(target_os = "none")]
pub fn configured_below() {}

/// All parameters at once, and a space in a type.
#[mirgen_device::kernel]
pub fn many(
    a: (u8, [u16; 3]),
    b: Option<f64>,
    text: &str,
    atomics: &[core::sync::atomic::AtomicU32],
    mut chunks: mirgen_device::Disjoint<'_, [u8], mirgen_device::disjoint::Chunks<8>>,
    memory: mirgen_device::Shared<'_, [u64; 32]>,
    _unused: &[[f32; 4]; 4],
) -> () {
    let _memory = mirgen_device::block::sync(memory);
    if let Some(chunk) = chunks.get_mut(mirgen_device::thread::index_linear()) {
        chunk[0] = a.0;
        chunk[1] = u8::from(b.is_some());
        chunk[2] = text.len() as u8;
        chunk[3] = atomics.len() as u8;
    }
}

/// A macro makes kernels.
macro_rules! kernels {
    ($($name:ident: $ty:ty;)*) => { $(
        /// One of several.
        #[mirgen_device::kernel]
        pub fn $name(x: &[$ty], mut y: mirgen_device::Disjoint<'_, [$ty]>) {
            let i = mirgen_device::thread::index_1d();
            if let Some(y) = y.get_mut(i) {
                *y = x[i.get()];
            }
        }
    )* };
}

kernels! { copy_f32: f32; copy_pair: (u8, u64); copy_array: [i16; 5]; }
