//! What `#[kernel]` makes of a function: itself, the proof that its parameters may be given to a grid, and the marks for mirgen.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, ItemFn, Pat, PatType};

use crate::options::Options;

/// How many functions the tower has: each gives what rustc's inliner left over another try.
const LEVELS: u32 = 8;
/// Levels 9 to this one exist under `--cfg mirgen_deep` only: they cost rustc time and few kernels need them.
const DEEP_LEVELS: u32 = 64;

/// The expansion of a function that passed the checks.
pub(crate) fn kernel(options: &Options, mut function: ItemFn) -> TokenStream {
    let cfgs: Vec<Attribute> = function
        .attrs
        .iter()
        .filter(|attr| is_cfg(attr))
        .cloned()
        .collect();
    let check = parameters_are_allowed(options, &function, &cfgs);
    let tower = tower(&function, &cfgs, Mark::Kernel);
    function.attrs.push(syn::parse_quote!(#[inline]));
    function.attrs.push(syn::parse_quote!(#[allow(dead_code)]));
    let device = &options.device;
    quote! {
        #function
        #check
        #device::__mirgen_only! { #tower }
    }
}

/// Whether an attribute decides if the function exists: what belongs to it must exist with it.
pub(crate) fn is_cfg(attr: &Attribute) -> bool {
    attr.path().is_ident("cfg")
}

/// What the tower's names say of the function.
#[derive(Clone, Copy)]
pub(crate) enum Mark {
    Kernel,
    Test,
}

/// The parameters that are typed, which after the checks are all.
fn parameters(function: &ItemFn) -> impl Iterator<Item = &PatType> {
    function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(param) => Some(param),
        FnArg::Receiver(_) => None,
    })
}

/// Asks for `KernelParam` of every parameter; of an unsafe kernel the caller of the launch knows better.
fn parameters_are_allowed(options: &Options, function: &ItemFn, cfgs: &[Attribute]) -> TokenStream {
    if function.sig.unsafety.is_some() {
        return TokenStream::new();
    }
    let device = &options.device;
    let generics = &function.sig.generics;
    let where_clause = &generics.where_clause;
    let asks = parameters(function).map(|param| {
        let ty = &param.ty;
        quote_spanned! { ty.span() => is_parameter::<#ty>(); }
    });
    quote! {
        #(#cfgs)*
        #[doc(hidden)]
        #[allow(dead_code, elided_lifetimes_in_paths, clippy::extra_unused_lifetimes, single_use_lifetimes)]
        const _: () = {
            fn is_parameter<T: #device::KernelParam>() {}
            fn check #generics () #where_clause { #(#asks)* }
        };
    }
}

/// `__mirgen_kernel_<name>_L1` calls the kernel, `_L2` calls `_L1`, and so on; of a test it is `__mirgen_test_<name>_L1`.
pub(crate) fn tower(function: &ItemFn, cfgs: &[Attribute], mark: Mark) -> TokenStream {
    let (kind, only) = match mark {
        Mark::Kernel => ("kernel", None),
        Mark::Test => ("test", Some(quote! { #[cfg(test)] })),
    };
    let name = &function.sig.ident;
    let generics = &function.sig.generics;
    let where_clause = &generics.where_clause;
    let unsafety = &function.sig.unsafety;
    let (params, args): (Vec<_>, Vec<_>) = parameters(function)
        .map(|param| {
            let ty = &param.ty;
            let name = parameter_name(param);
            (quote! { #name: #ty }, name)
        })
        .unzip();
    // rustc says of a function where its return type stands and where it is called: both are the kernel's name.
    let at = Span::call_site().located_at(name.span());
    let mut levels = TokenStream::new();
    let mut callee = name.clone();
    for level in 1..=DEEP_LEVELS {
        let deep = (level > LEVELS).then(|| quote! { #[cfg(mirgen_deep)] });
        let caller = format_ident!("__mirgen_{}_{}_L{}", kind, name.unraw(), level, span = at);
        let call = quote_spanned! { at=> #callee(#(#args),*) };
        let body = if unsafety.is_some() {
            quote! { unsafe { #call } }
        } else {
            call
        };
        let result = quote_spanned! { at=> -> () };
        levels.extend(quote! {
            #(#cfgs)*
            #only
            #deep
            #[doc(hidden)]
            #[inline]
            #[allow(non_snake_case, dead_code, private_interfaces, elided_lifetimes_in_paths, unreachable_pub, clippy::all, clippy::pedantic)]
            pub #unsafety fn #caller #generics (#(#params),*) #result #where_clause { #body }
        });
        callee = caller;
    }
    levels
}

/// A parameter's name, without `mut`. It has the macro's hygiene, so that a kernel may have a parameter of its own name.
fn parameter_name(param: &PatType) -> Ident {
    let mut name = match &*param.pat {
        Pat::Ident(name) => name.ident.clone(),
        _ => format_ident!("_unnamed"),
    };
    name.set_span(Span::mixed_site().located_at(name.span()));
    name
}
