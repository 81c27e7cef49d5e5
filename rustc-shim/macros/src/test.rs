//! `#[test]`: functions that `cargo mirgen test` runs on the simulator and on GPUs, and `cargo test` where it can.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Item, ItemFn, Lit, Meta, Path, Result, ReturnType,
    Signature, Token, Type,
};

use crate::check::Errors;
use crate::expand::{is_cfg, tower, Mark};

/// What stands between the parentheses: `grid = 2, block = (8, 8), crate = path`.
pub(crate) struct Options {
    device: Path,
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
}

impl Options {
    /// Whether the test is one of a grid, which nothing but mirgen can run.
    fn has_shape(&self) -> bool {
        self.grid.is_some() || self.block.is_some()
    }
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Options {
            device: syn::parse_quote!(::mirgen_device),
            grid: None,
            block: None,
        };
        while !input.is_empty() {
            let name = input.call(Ident::parse_any)?;
            let repeated = match name.to_string().as_str() {
                "crate" => false,
                "grid" => options.grid.is_some(),
                "block" => options.block.is_some(),
                _ => {
                    return Err(Error::new_spanned(
                        &name,
                        format!("a test has no option `{name}`; there are `grid = 2`, `block = (8, 8)` and `crate = path`"),
                    ))
                }
            };
            if repeated {
                return Err(Error::new_spanned(
                    &name,
                    format!("`{name}` is given twice"),
                ));
            }
            input.parse::<Token![=]>()?;
            match name.to_string().as_str() {
                "crate" => options.device = input.call(Path::parse_mod_style)?,
                "grid" => options.grid = Some(extent(&input.parse::<Expr>()?)?),
                _ => options.block = Some(extent(&input.parse::<Expr>()?)?),
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

/// `4` or `(4, 2, 1)`: up to three numbers from 1 on.
fn extent(expr: &Expr) -> Result<[u32; 3]> {
    let words: Vec<&Expr> = match expr {
        Expr::Tuple(tuple) => tuple.elems.iter().collect(),
        Expr::Paren(paren) => vec![&paren.expr],
        other => vec![other],
    };
    let wrong = || Error::new_spanned(expr, "up to three numbers from 1 on: `4` or `(4, 2)`");
    let mut sizes = [1; 3];
    if words.is_empty() || words.len() > sizes.len() {
        return Err(wrong());
    }
    for (size, word) in sizes.iter_mut().zip(words) {
        let Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) = word
        else {
            return Err(wrong());
        };
        *size = number
            .base10_parse::<u32>()
            .ok()
            .filter(|&n| n > 0)
            .ok_or_else(wrong)?;
    }
    Ok(sizes)
}

/// `#[should_panic]` and `#[ignore]`, with their texts.
#[derive(Default)]
struct Manner {
    should_panic: Option<Option<String>>,
    ignored: Option<Option<String>>,
}

/// The expansion of a test, or what is wrong with it.
pub(crate) fn test(options: &Options, item: Item) -> Result<TokenStream> {
    let Item::Fn(mut function) = item else {
        return Err(Error::new_spanned(
            item,
            "a test is a function: `#[mirgen::test] fn name() { .. }`",
        ));
    };
    let mut errors = Errors::default();
    signature(&function.sig, &mut errors);
    for input in &function.sig.inputs {
        parameter(input, options, &mut errors);
    }
    errors.finish()?;
    let manner = manner(&function.attrs)?;
    let ordinary = native(options, &function);
    function.attrs.retain(|attr| !is_manner(attr));
    let device = &options.device;
    let cfgs: Vec<Attribute> = function
        .attrs
        .iter()
        .filter(|attr| is_cfg(attr))
        .cloned()
        .collect();
    let says = says(options, &manner, &function, &cfgs);
    let tower = tower(&function, &cfgs, Mark::Test);
    Ok(quote! {
        #device::__mirgen_only! {
            #[cfg(test)]
            #[inline]
            #[allow(dead_code)]
            #function
            #says
            #tower
        }
        #device::__mirgen_never! { #ordinary }
    })
}

/// A test without a shape is one of `cargo test` too. One with a shape is compiled there and counted as ignored.
fn native(options: &Options, function: &ItemFn) -> TokenStream {
    if !options.has_shape() {
        return quote! { #[::core::prelude::v1::test] #function };
    }
    let attrs: Vec<&Attribute> = function
        .attrs
        .iter()
        .filter(|attr| !is_manner(attr))
        .collect();
    let (name, inputs, body) = (&function.sig.ident, &function.sig.inputs, &function.block);
    quote! {
        #[::core::prelude::v1::test]
        #[ignore = "needs a grid: `cargo mirgen test`"]
        #(#attrs)*
        fn #name() {
            #[allow(dead_code)]
            fn in_a_grid(#inputs) #body
        }
    }
}

/// A function that holds in a literal, as JSON, what mirgen has to know of the test.
fn says(options: &Options, manner: &Manner, function: &ItemFn, cfgs: &[Attribute]) -> TokenStream {
    let name = format_ident!("__mirgen_test_{}_is", function.sig.ident.unraw());
    let extent = |sizes: Option<[u32; 3]>| {
        let [x, y, z] = sizes.unwrap_or([1; 3]);
        format!("[{x},{y},{z}]")
    };
    let text = |text: &Option<Option<String>>| match text {
        None => "null".to_owned(),
        Some(text) => json(text.as_deref().unwrap_or("")),
    };
    let words = format!(
        "{{\"shaped\":{},\"grid\":{},\"block\":{},\"should_panic\":{},\"ignored\":{}}}",
        options.has_shape(),
        extent(options.grid),
        extent(options.block),
        text(&manner.should_panic),
        text(&manner.ignored),
    );
    quote! {
        #(#cfgs)*
        #[cfg(test)]
        #[doc(hidden)]
        #[allow(non_snake_case, dead_code, unreachable_pub)]
        pub fn #name() -> &'static str { #words }
    }
}

/// A JSON string, in ASCII: rustc's own text of a literal has its escapes, and these are no matter of taste.
fn json(text: &str) -> String {
    let mut out = String::from("\"");
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(c) if (c.is_ascii_graphic() && c != b'"' && c != b'\\') || c == b' ' => {
                out.push(c as char)
            }
            _ => out.push_str(&format!("\\u{unit:04x}")),
        }
    }
    out.push('"');
    out
}

fn is_manner(attr: &Attribute) -> bool {
    attr.path().is_ident("should_panic") || attr.path().is_ident("ignore")
}

/// Reads `#[should_panic]`, `#[should_panic = ".."]`, `#[should_panic(expected = "..")]`, `#[ignore]`, `#[ignore = ".."]`.
fn manner(attrs: &[Attribute]) -> Result<Manner> {
    let mut found = Manner::default();
    for attr in attrs {
        if attr.path().is_ident("ignore") {
            found.ignored = Some(reason(&attr.meta)?);
        } else if attr.path().is_ident("should_panic") {
            found.should_panic = Some(match &attr.meta {
                Meta::List(list) => {
                    let inner =
                        list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
                    match inner.first() {
                        Some(meta @ Meta::NameValue(_))
                            if inner.len() == 1 && meta.path().is_ident("expected") =>
                        {
                            reason(meta)?
                        }
                        _ => {
                            return Err(Error::new_spanned(
                                list,
                                "expected `#[should_panic(expected = \"..\")]`",
                            ))
                        }
                    }
                }
                other => reason(other)?,
            });
        }
    }
    Ok(found)
}

/// The string in `name = ".."`; none in `name`.
fn reason(meta: &Meta) -> Result<Option<String>> {
    match meta {
        Meta::Path(_) => Ok(None),
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Ok(Some(text.value())),
            other => Err(Error::new_spanned(other, "expected a string literal")),
        },
        Meta::List(list) => Err(Error::new_spanned(list, "expected `name = \"..\"`")),
    }
}

/// A test is called by its name alone, for what it does and not for what it returns.
fn signature(sig: &Signature, errors: &mut Errors) {
    if let Some(constness) = &sig.constness {
        errors.add(constness, "a test cannot be `const`");
    }
    if let Some(asyncness) = &sig.asyncness {
        errors.add(asyncness, "a test cannot be `async`");
    }
    if let Some(unsafety) = &sig.unsafety {
        errors.add(
            unsafety,
            "a test cannot be `unsafe`\nhelp: `unsafe { .. }` in its body",
        );
    }
    if let Some(abi) = &sig.abi {
        errors.add(
            abi,
            "a test is an ordinary Rust function\nhelp: remove the ABI",
        );
    }
    if sig.generics.lt_token.is_some() || sig.generics.where_clause.is_some() {
        errors.add(&sig.generics, "a test cannot be generic");
    }
    if let ReturnType::Type(_, ty) = &sig.output {
        errors.add(ty, "a test returns nothing\nhelp: `assert!`, or `unwrap()`");
    }
}

/// Nobody gives a test arguments, but for the memory of its block.
fn parameter(input: &FnArg, options: &Options, errors: &mut Errors) {
    let shared = match input {
        FnArg::Typed(param) => match &*param.ty {
            Type::Path(path) => path
                .path
                .segments
                .last()
                .is_some_and(|last| last.ident == "Shared"),
            _ => false,
        },
        FnArg::Receiver(_) => false,
    };
    if !shared {
        errors.add(
            input,
            "a test takes no argument, except `Shared<[T; N]>`\n\
             help: make the values in the body; a kernel that writes takes `Disjoint::new(&mut array)`",
        );
    } else if !options.has_shape() {
        errors.add(
            input,
            "only a test of a grid has shared memory\nhelp: `#[mirgen::test(block = 64)]`",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expansion(args: TokenStream, item: TokenStream) -> Result<String> {
        test(&syn::parse2(args)?, syn::parse2(item)?).map(|tokens| tokens.to_string())
    }

    #[test]
    fn what_mirgen_has_to_know_is_json() {
        let text = expansion(
            quote!(grid = 2, block = (8, 4)),
            quote!(
                #[should_panic(expected = "\"ö\"")]
                #[ignore]
                fn name() {}
            ),
        );
        let wanted = r#""{\"shaped\":true,\"grid\":[2,1,1],\"block\":[8,4,1],\"should_panic\":\"\\u0022\\u00f6\\u0022\",\"ignored\":\"\"}""#;
        assert!(text.is_ok_and(|text| text.contains(wanted)));
    }

    #[test]
    fn wrong_tests_are_refused() {
        let refused = |args: TokenStream, item: TokenStream| {
            expansion(args, item).err().map(|e| e.to_string())
        };
        let empty = TokenStream::new;
        for (args, item, words) in [
            (
                quote!(grid = 0),
                quote!(
                    fn a() {}
                ),
                "from 1 on",
            ),
            (
                quote!(grid = (1, 1, 1, 1)),
                quote!(
                    fn a() {}
                ),
                "up to three numbers",
            ),
            (
                quote!(size = 1),
                quote!(
                    fn a() {}
                ),
                "no option `size`",
            ),
            (
                quote!(grid = 1, grid = 1),
                quote!(
                    fn a() {}
                ),
                "given twice",
            ),
            (
                empty(),
                quote!(
                    struct A;
                ),
                "a test is a function",
            ),
            (
                empty(),
                quote!(
                    fn a(x: u32) {}
                ),
                "takes no argument",
            ),
            (
                empty(),
                quote!(
                    fn a(x: Shared<[u32; 4]>) {}
                ),
                "only a test of a grid",
            ),
            (
                empty(),
                quote!(
                    fn a() -> u32 {
                        1
                    }
                ),
                "a test returns nothing",
            ),
            (
                empty(),
                quote!(
                    fn a<T>() {}
                ),
                "cannot be generic",
            ),
            (
                empty(),
                quote!(
                    async fn a() {}
                ),
                "cannot be `async`",
            ),
            (
                empty(),
                quote!(
                    #[should_panic(because = "x")]
                    fn a() {}
                ),
                "expected = ",
            ),
            (
                empty(),
                quote!(
                    #[ignore(x)]
                    fn a() {}
                ),
                "expected `name",
            ),
        ] {
            let said = refused(args, item);
            assert!(
                said.as_ref().is_some_and(|said| said.contains(words)),
                "{words}: {said:?}"
            );
        }
        let shared = expansion(
            quote!(block = 4),
            quote!(
                fn a(x: Shared<[u32; 4]>) {}
            ),
        );
        assert!(shared.is_ok());
    }

    #[test]
    fn numbers_may_have_any_base_and_suffix() {
        let number: syn::LitInt = syn::parse_quote!(0x10u32);
        let expr: Expr = syn::parse_quote!((#number, 2));
        assert_eq!(extent(&expr).ok(), Some([16, 2, 1]));
    }
}
