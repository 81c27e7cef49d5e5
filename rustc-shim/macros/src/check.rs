//! What a kernel must look like. Everything wrong with it is reported at once.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::{
    Attribute, Error, FnArg, GenericParam, Item, ItemFn, Pat, PatType, Result, ReturnType,
    Signature, Type,
};

/// Errors found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    pub(crate) fn add(&mut self, at: impl ToTokens, message: &str) {
        let error = Error::new_spanned(at, message);
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            none => *none = Some(error),
        }
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// The item, if it is a function.
pub(crate) fn function(item: Item) -> Result<ItemFn> {
    match item {
        Item::Fn(function) => Ok(function),
        _ => Err(Error::new(
            Span::call_site(),
            "`#[kernel]` goes on a function: `#[kernel] pub fn name(..) { .. }`",
        )),
    }
}

/// Checks all that can be seen in the function's text.
pub(crate) fn kernel(function: &ItemFn) -> Result<()> {
    let mut errors = Errors::default();
    attributes(&function.attrs, &mut errors);
    qualifiers(&function.sig, &mut errors);
    generics(&function.sig, &mut errors);
    let safe = function.sig.unsafety.is_none();
    for input in &function.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => errors.add(
                receiver,
                "a kernel is a free function: it cannot take `self`\n\
                 help: take the value as a parameter, `this: &Self` say",
            ),
            FnArg::Typed(param) => parameter(param, safe, &mut errors),
        }
    }
    if let Some(variadic) = &function.sig.variadic {
        errors.add(variadic, "a kernel has a fixed number of parameters");
    }
    returns(&function.sig.output, &mut errors);
    errors.finish()
}

/// Attributes that contradict what the macro makes of the function.
fn attributes(attrs: &[Attribute], errors: &mut Errors) {
    for attr in attrs {
        let path = attr.path();
        // `#[unsafe(no_mangle)]` has the name inside.
        let text = attr.meta.to_token_stream().to_string();
        if text.contains("no_mangle") || text.contains("export_name") {
            errors.add(
                attr,
                "a kernel's name is given by mirgen\nhelp: remove this attribute",
            );
        } else if path.is_ident("inline") {
            errors.add(
                attr,
                "`#[kernel]` decides about inlining\nhelp: remove this attribute",
            );
        } else if path.is_ident("track_caller") || path.is_ident("target_feature") {
            errors.add(
                attr,
                "this attribute has no meaning on a kernel\nhelp: remove it",
            );
        } else if path
            .segments
            .last()
            .is_some_and(|last| last.ident == "kernel")
        {
            errors.add(attr, "the function is marked as a kernel twice");
        }
    }
}

fn qualifiers(sig: &Signature, errors: &mut Errors) {
    if let Some(constness) = &sig.constness {
        errors.add(constness, "a kernel cannot be `const`");
    }
    if let Some(asyncness) = &sig.asyncness {
        errors.add(asyncness, "a kernel cannot be `async`");
    }
    if let Some(abi) = &sig.abi {
        errors.add(
            abi,
            "a kernel is an ordinary Rust function: mirgen makes the entry point\nhelp: remove the ABI",
        );
    }
}

fn generics(sig: &Signature, errors: &mut Errors) {
    for param in &sig.generics.params {
        match param {
            GenericParam::Lifetime(_) => {}
            GenericParam::Type(param) => errors.add(
                param,
                "a kernel cannot be generic: it is compiled by its name alone\n\
                 help: write one kernel for each type, which calls a generic function",
            ),
            GenericParam::Const(param) => errors.add(
                param,
                "a kernel cannot be generic: it is compiled by its name alone\n\
                 help: write one kernel for each value, which calls a generic function",
            ),
        }
    }
}

fn returns(output: &ReturnType, errors: &mut Errors) {
    let ReturnType::Type(_, ty) = output else {
        return;
    };
    if !matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty()) {
        errors.add(
            ty,
            "a kernel returns nothing\nhelp: write results to a parameter of type `Disjoint<[T]>`",
        );
    }
}

fn parameter(param: &PatType, safe: bool, errors: &mut Errors) {
    for attr in &param.attrs {
        errors.add(attr, "parameters of a kernel cannot have attributes");
    }
    match &*param.pat {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {}
        Pat::Wild(wild) => errors.add(
            wild,
            "a parameter of a kernel needs a name, by which the launch gives its value\nhelp: `_name` if it isn't used",
        ),
        pattern => errors.add(
            pattern,
            "a parameter of a kernel needs a name, by which the launch gives its value\nhelp: take the pattern apart in the body, with `let`",
        ),
    }
    if let Some((at, message)) = refused(&param.ty, safe) {
        errors.add(at, &message);
    }
}

/// Why a type cannot be a parameter, as far as its text says. What it hides behind names is for the trait `KernelParam`.
fn refused(ty: &Type, safe: bool) -> Option<(TokenStream, String)> {
    let no = |message: String| Some((ty.to_token_stream(), message));
    let text = |ty: &Type| {
        ty.to_token_stream()
            .to_string()
            .replace("& ", "&")
            .replace(" < ", "<")
            .replace(" >", ">")
    };
    match ty {
        Type::Paren(inner) => refused(&inner.elem, safe),
        Type::Group(inner) => refused(&inner.elem, safe),
        Type::Reference(reference) => {
            if reference.mutability.is_some() {
                let form = match &*reference.elem {
                    Type::Slice(slice) => format!("Disjoint<[{}]>", text(&slice.elem)),
                    other => format!("Disjoint<[{}]>", text(other)),
                };
                return no(format!(
                    "every thread of the grid would get this `&mut`, and it must be the only one\n\
                     help: use `{form}`, of which each thread writes its own elements"
                ));
            }
            if let Some(lifetime) = reference.lifetime.as_ref().filter(|name| name.ident == "static") {
                return Some((
                    lifetime.to_token_stream(),
                    "the memory that a launch gives is borrowed until the launch is done, not `'static`\nhelp: leave the lifetime out".into(),
                ));
            }
            match &*reference.elem {
                Type::TraitObject(_) => no(
                    "a trait object of the host has the host's functions, which a GPU cannot call\n\
                     help: take an enum, or the concrete type"
                        .into(),
                ),
                Type::ImplTrait(_) => generic(ty),
                _ => None,
            }
        }
        Type::Ptr(_) if safe => no(
            "a safe kernel cannot take a raw pointer\n\
             help: use `&[T]` to read and `Disjoint<[T]>` to write, or make the kernel an `unsafe fn`"
                .into(),
        ),
        Type::ImplTrait(_) => generic(ty),
        Type::TraitObject(_) => no("a kernel cannot take a trait object\nhelp: take an enum, or the concrete type".into()),
        Type::BareFn(_) => no(
            "a function pointer of the host points to the host's code\n\
             help: take an enum, and call the function that it selects"
                .into(),
        ),
        Type::Slice(_) => no(format!("a slice is passed behind a reference\nhelp: `&{}`", text(ty))),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            let owner = last.ident.to_string();
            if ["Box", "Vec", "String", "Rc", "Arc"].contains(&owner.as_str()) && !last.arguments.is_none() || owner == "String" {
                return no(format!(
                    "`{owner}` owns memory of the host's heap\n\
                     help: use `&[T]` to read and `Disjoint<[T]>` to write"
                ));
            }
            None
        }
        _ => None,
    }
}

fn generic(ty: &Type) -> Option<(TokenStream, String)> {
    Some((
        ty.to_token_stream(),
        "a kernel cannot be generic: it is compiled by its name alone\n\
         help: write one kernel for each type, which calls a generic function"
            .into(),
    ))
}
