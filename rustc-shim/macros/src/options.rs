//! The arguments of `#[kernel(..)]`.

use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Path, Token};

/// What stands between the parentheses.
pub(crate) struct Options {
    /// Where the device library is.
    pub(crate) device: Path,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            return Ok(Options {
                device: syn::parse_quote!(::mirgen_device),
            });
        }
        if !input.peek(Token![crate]) {
            let found = input
                .fork()
                .parse::<proc_macro2::TokenTree>()?
                .into_token_stream();
            return Err(input.error(format!(
                "`#[kernel]` has no option `{found}`; there is only `crate = path`"
            )));
        }
        input.parse::<Token![crate]>()?;
        input.parse::<Token![=]>()?;
        let device = input.call(Path::parse_mod_style)?;
        if !input.is_empty() {
            return Err(input.error("nothing may follow `crate = path`"));
        }
        Ok(Options { device })
    }
}
