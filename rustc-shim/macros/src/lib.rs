//! The attributes of `mirgen-device`, which exports them: depend on that crate.

use proc_macro::TokenStream;

mod check;
mod expand;
mod options;
mod test;

/// Makes a function a kernel: an entry point of the GPU.
///
/// ```ignore
/// use mirgen_device::prelude::*;
///
/// #[kernel]
/// pub fn saxpy(a: f32, x: &[f32], mut y: Disjoint<[f32]>) {
///     let i = thread::index_1d();
///     if let Some(y) = y.get_mut(i) {
///         *y += a * x[i.get()];
///     }
/// }
/// ```
///
/// A kernel returns nothing, isn't generic except in lifetimes, and takes `Copy` values that may be sent to other threads, `&T` and `&[T]` to read, `Disjoint<[T]>` to
/// write to, and `Shared<[T; N]>`. An `unsafe fn` may take raw pointers as well: its caller, the launch, then vouches for them.
///
/// The function stays an ordinary one that may be called, by other kernels too. In a compile by `cargo mirgen` there are also hidden functions
/// `__mirgen_kernel_<name>_L1` to `_L8` beside it, by which mirgen finds the kernel.
///
/// `#[kernel(crate = path)]` says where `mirgen_device` is, if not there.
#[proc_macro_attribute]
pub fn kernel(args: TokenStream, item: TokenStream) -> TokenStream {
    match kernel_or_error(args.into(), item.into()) {
        Ok(tokens) | Err(tokens) => tokens.into(),
    }
}

/// The expansion, or the item as it stands with the errors: the function's own errors and its uses are then still checked by rustc.
fn kernel_or_error(
    args: proc_macro2::TokenStream,
    item: proc_macro2::TokenStream,
) -> Result<proc_macro2::TokenStream, proc_macro2::TokenStream> {
    let with_item = |error: syn::Error| {
        let errors = error.into_compile_error();
        quote::quote! { #item #errors }
    };
    let options = syn::parse2::<options::Options>(args).map_err(with_item)?;
    let function = syn::parse2::<syn::Item>(item.clone())
        .map_err(with_item)
        .and_then(|item| check::function(item).map_err(with_item))?;
    check::kernel(&function).map_err(with_item)?;
    Ok(expand::kernel(&options, function))
}

/// Makes a function a test that `cargo mirgen test` runs: on the simulator, on a GPU, natively.
///
/// ```ignore
/// #[cfg(test)]
/// mod tests {
///     use super::*;
///
///     #[mirgen::test]
///     fn halves() {
///         assert_eq!(half(8), 4);
///     }
///
///     #[mirgen::test(grid = 2, block = 64)]
///     #[should_panic(expected = "out of bounds")]
///     fn every_thread_runs_it() {
///         let array = [1; 100];
///         assert_eq!(array[thread::index_1d().get()], 1);
///     }
/// }
/// ```
///
/// The options are `grid`, `block` (one thread, where they are left out) and `crate`, as for [`macro@kernel`]. `#[should_panic]` and `#[ignore]` mean
/// what they mean for Rust's own tests. A test takes no argument; one of a grid may take `Shared<[T; N]>`.
///
/// A test without `grid` and `block` is also an ordinary `#[test]`, for `cargo test`; it cannot use indices and barriers. One with them is compiled there
/// and counted as ignored.
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    let expand = || test::test(&syn::parse(args)?, syn::parse(item.clone())?);
    match expand() {
        Ok(tokens) => tokens.into(),
        Err(error) => {
            let mut tokens = TokenStream::from(error.into_compile_error());
            tokens.extend(item);
            tokens
        }
    }
}
