//! Types as Rust source of another crate, with surrogates for those that have no name.
//!
//! rustc lays a closure out as a struct of its captures, so a closure becomes `struct C3(U0, U1);`.  Where it stands
//! in a generic argument, the adapter around it may ask for a function trait; the surrogate implements what the
//! closure's signature says.  The zero-sized type of a function becomes a unit struct in the same way.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use crate::layout::ty::{Arg, Bound, ClosureKind, Path, Region, Segment, Sig, Ty};

/// Which crates a path may start with.
#[derive(Debug, Clone)]
pub struct Names {
    /// The crate whose paths have no crate in front.
    pub krate: String,
    /// Crates that can be named, the standard ones included.
    pub externs: BTreeSet<String>,
    /// Crates that exist in more than one version: a path through them could mean either.
    pub ambiguous: BTreeSet<String>,
}

/// A unit struct or tuple struct that stands for an unnameable type.
#[derive(Debug, Clone)]
pub struct Surrogate {
    /// `struct C3(..);`
    pub definition: String,
    /// Trait implementations, one line; empty when there are none to give.
    pub impls: String,
    /// Surrogates that the definition names.
    pub needs: BTreeSet<usize>,
}

/// A type's source and the surrogates that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub text: String,
    pub needs: BTreeSet<usize>,
}

/// Writes types, collecting surrogates.
pub struct Writer {
    names: Names,
    pub surrogates: Vec<Surrogate>,
    known: HashMap<Ty, usize>,
}

impl Writer {
    pub fn new(names: Names) -> Self {
        Self { names, surrogates: Vec::new(), known: HashMap::new() }
    }

    /// The source of a type, or why it has none.
    pub fn write(&mut self, ty: &Ty) -> Result<Source, String> {
        let mut one = One { writer: self, out: String::new(), needs: BTreeSet::new(), binders: Vec::new() };
        one.ty(ty)?;
        Ok(Source { text: one.out, needs: one.needs })
    }

    fn surrogate(&mut self, ty: &Ty) -> Result<usize, String> {
        if let Some(known) = self.known.get(ty) {
            return Ok(*known);
        }
        let (fields, sig, kind, copy) = match ty {
            Ty::Closure { kind, sig, upvars, .. } => (upvars.as_slice(), sig, *kind, false),
            Ty::FnDef { sig, .. } => (&[][..], sig, ClosureKind::Fn, true),
            _ => return Err("only closures and functions have surrogates".to_owned()),
        };
        let mut needs = BTreeSet::new();
        let mut texts = Vec::new();
        for field in fields {
            let source = self.write(field)?;
            needs.extend(source.needs);
            texts.push(format!("pub {}", source.text));
        }
        let mut impls = String::new();
        let callable = !sig.is_unsafe && !sig.variadic;
        if callable {
            // Without implementations the struct still has the layout; a bound that needs them fails then.
            impls = self.impls(sig, kind, matches!(ty, Ty::Closure { .. }), &mut needs).unwrap_or_default();
        }
        let index = self.surrogates.len();
        let name = format!("__S{index}");
        let definition = format!("pub struct {name}({});", texts.join(", "));
        let mut lines = String::new();
        if !impls.is_empty() {
            lines = impls.replace("__SELF", &name);
        }
        let _ = write!(lines, "impl Clone for {name} {{ fn clone(&self) -> Self {{ loop {{}} }} }}");
        if copy {
            let _ = write!(lines, " impl Copy for {name} {{}}");
        }
        self.surrogates.push(Surrogate { definition, impls: lines, needs });
        self.known.insert(ty.clone(), index);
        Ok(index)
    }

    /// `FnOnce`, `FnMut` and `Fn` as far as the kind goes, for `__SELF`.
    fn impls(
        &mut self,
        sig: &Sig,
        kind: ClosureKind,
        is_closure: bool,
        needs: &mut BTreeSet<usize>,
    ) -> Result<String, String> {
        let mut one = One { writer: self, out: String::new(), needs: BTreeSet::new(), binders: vec![0] };
        // A closure's signature has its arguments as one tuple already.
        match (is_closure, sig.inputs.as_slice()) {
            (true, [tuple @ Ty::Tuple(_)]) => one.ty(tuple)?,
            (true, _) => return Err("a closure's signature has no argument tuple".to_owned()),
            (false, inputs) => one.ty(&Ty::Tuple(inputs.to_vec()))?,
        }
        let args = std::mem::take(&mut one.out);
        one.ty(&sig.output)?;
        let output = std::mem::take(&mut one.out);
        needs.extend(std::mem::take(&mut one.needs));
        let generics = generics(0, sig.bound);
        let mut out = format!(
            "impl{generics} core::ops::FnOnce<{args}> for __SELF {{ type Output = {output}; \
             extern \"rust-call\" fn call_once(self, _: {args}) -> {output} {{ loop {{}} }} }} "
        );
        if kind != ClosureKind::FnOnce {
            let _ = write!(
                out,
                "impl{generics} core::ops::FnMut<{args}> for __SELF {{ \
                 extern \"rust-call\" fn call_mut(&mut self, _: {args}) -> {output} {{ loop {{}} }} }} "
            );
        }
        if kind == ClosureKind::Fn {
            let _ = write!(
                out,
                "impl{generics} core::ops::Fn<{args}> for __SELF {{ \
                 extern \"rust-call\" fn call(&self, _: {args}) -> {output} {{ loop {{}} }} }} "
            );
        }
        Ok(out)
    }
}

/// `<'b0_0, 'b0_1>` for a binder, nothing for an empty one.
fn generics(binder: usize, count: usize) -> String {
    if count == 0 {
        return String::new();
    }
    let names: Vec<String> = (0..count).map(|var| format!("'b{binder}_{var}")).collect();
    format!("<{}>", names.join(", "))
}

/// One type on its way to text.
struct One<'a> {
    writer: &'a mut Writer,
    out: String,
    needs: BTreeSet<usize>,
    /// Numbers of the binders around, innermost last.
    binders: Vec<usize>,
}

impl One<'_> {
    fn ty(&mut self, ty: &Ty) -> Result<(), String> {
        match ty {
            Ty::Primitive(name) => self.out.push_str(name),
            Ty::Tuple(elems) => {
                self.out.push('(');
                for elem in elems {
                    self.ty(elem)?;
                    self.out.push_str(", ");
                }
                self.out.push(')');
            }
            Ty::Ref { region, mutable, to } => {
                self.out.push('&');
                self.region(region);
                self.out.push_str(if *mutable { " mut " } else { " " });
                self.pointee(to)?;
            }
            Ty::Ptr { mutable, to } => {
                self.out.push_str(if *mutable { "*mut " } else { "*const " });
                self.pointee(to)?;
            }
            Ty::Array { elem, len } => {
                self.out.push('[');
                self.ty(elem)?;
                let _ = write!(self.out, "; {len}]");
            }
            Ty::Slice(elem) => {
                self.out.push('[');
                self.ty(elem)?;
                self.out.push(']');
            }
            Ty::Path(path) => self.path(path, false)?,
            Ty::FnPtr(sig) => self.fn_ptr(sig)?,
            Ty::FnDef { .. } | Ty::Closure { .. } => {
                let index = self.writer.surrogate(ty)?;
                self.needs.insert(index);
                let _ = write!(self.out, "__S{index}");
            }
            Ty::Dyn(bounds) => self.dynamic(bounds)?,
            Ty::Projection { of, bound, name } => {
                self.out.push('<');
                self.ty(of)?;
                self.out.push_str(" as ");
                self.path(bound, true)?;
                self.out.push_str(">::");
                self.segment(name, false)?;
            }
        }
        Ok(())
    }

    /// `dyn A + B` needs parentheses behind a pointer.
    fn pointee(&mut self, ty: &Ty) -> Result<(), String> {
        if !matches!(ty, Ty::Dyn(_)) {
            return self.ty(ty);
        }
        self.out.push('(');
        self.ty(ty)?;
        self.out.push(')');
        Ok(())
    }

    fn region(&mut self, region: &Region) {
        match region {
            Region::Erased => self.out.push_str("'static"),
            Region::Bound { depth, var } => {
                // A part of a signature that is asked for by itself has lost its binder; layouts have no regions.
                let at = self.binders.len().checked_sub(depth + 1);
                match at.and_then(|at| self.binders.get(at)) {
                    Some(binder) => {
                        let _ = write!(self.out, "'b{binder}_{var}");
                    }
                    None => self.out.push_str("'static"),
                }
            }
        }
    }

    /// Enters a binder of `count` regions, writing `for<..> ` where there are any.
    fn enter(&mut self, count: usize) {
        // Numbers only have to differ along one path.
        let binder = self.binders.last().map_or(1, |last| last + 1);
        self.binders.push(binder);
        if count > 0 {
            let _ = write!(self.out, "for{} ", generics(binder, count));
        }
    }

    fn fn_ptr(&mut self, sig: &Sig) -> Result<(), String> {
        self.enter(sig.bound);
        if sig.is_unsafe {
            self.out.push_str("unsafe ");
        }
        if let Some(abi) = &sig.abi {
            let _ = write!(self.out, "extern \"{abi}\" ");
        }
        self.out.push_str("fn(");
        for input in &sig.inputs {
            self.ty(input)?;
            self.out.push_str(", ");
        }
        if sig.variadic {
            self.out.push_str("...");
        }
        self.out.push_str(") -> ");
        self.pointee(&sig.output)?;
        self.binders.pop();
        Ok(())
    }

    fn dynamic(&mut self, bounds: &[Bound]) -> Result<(), String> {
        self.out.push_str("dyn ");
        for (at, bound) in bounds.iter().enumerate() {
            if at > 0 {
                self.out.push_str(" + ");
            }
            self.enter(bound.bound);
            self.path(&bound.path, true)?;
            self.binders.pop();
        }
        if bounds.is_empty() {
            return Err("`dyn` without a trait has no source form".to_owned());
        }
        self.out.push_str(" + 'static");
        Ok(())
    }

    fn path(&mut self, path: &Path, is_trait: bool) -> Result<(), String> {
        let names = &self.writer.names;
        let Some(first) = path.first() else {
            return Err("a path is empty".to_owned());
        };
        if names.externs.contains(&first.name) {
            if names.ambiguous.contains(&first.name) {
                return Err(format!("there are several crates `{}`: a path through it is ambiguous", first.name));
            }
        } else {
            let _ = write!(self.out, "::{}", names.krate);
        }
        for segment in path {
            self.out.push_str("::");
            self.segment(segment, is_trait)?;
        }
        Ok(())
    }

    fn segment(&mut self, segment: &Segment, is_trait: bool) -> Result<(), String> {
        self.out.push_str(&segment.name);
        if segment.args.is_empty() {
            return Ok(());
        }
        self.out.push('<');
        for arg in &segment.args {
            match arg {
                Arg::Type(ty) => self.ty(ty)?,
                Arg::Region(region) => self.region(region),
                Arg::Const(text) => self.out.push_str(text),
                Arg::Assoc(name, ty) if is_trait => {
                    let _ = write!(self.out, "{name} = ");
                    self.ty(ty)?;
                }
                Arg::Assoc(name, _) => return Err(format!("`{name} = ..` is no argument of a type")),
            }
            self.out.push_str(", ");
        }
        self.out.push('>');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::ty::parse;

    fn writer() -> Writer {
        let externs = ["core", "alloc", "std", "dep", "two"].map(str::to_owned).into();
        Writer::new(Names { krate: "mine".into(), externs, ambiguous: ["two".to_owned()].into() })
    }

    fn source(text: &str) -> String {
        writer().write(&parse(text).unwrap()).unwrap().text
    }

    #[test]
    fn paths_get_their_crate() {
        assert_eq!(source("inner::E"), "::mine::inner::E");
        assert_eq!(source("dep::E<'{erased}, u8>"), "::dep::E<'static, u8, >");
        assert_eq!(source("Opt<ValTree(Leaf(0x03): u8)>"), "::mine::Opt<3u8, >");
        assert_eq!(source("<u8 as Tr>::Out<u16>"), "<u8 as ::mine::Tr>::Out<u16, >");
        assert!(writer().write(&parse("two::X").unwrap()).unwrap_err().contains("several crates"));
    }

    #[test]
    fn higher_ranked_regions_are_named_by_their_binder() {
        let text = "for<Region(BrAnon)> fn(&'^0 u8, for<Region(BrAnon)> fn(&'^0 u8, &'^1_0 u8)) -> &'^0 u8";
        let expected = "for<'b1_0> fn(&'b1_0 u8, for<'b2_0> fn(&'b2_0 u8, &'b1_0 u8, ) -> (), ) -> &'b1_0 u8";
        assert_eq!(source(text), expected);
        let text = "&'{erased} (dyn for<Region(BrAnon)> core::ops::Fn<(&'^0 u8,), Output = ()> + '{erased})";
        let expected = "&'static (dyn for<'b1_0> ::core::ops::Fn<(&'b1_0 u8, ), Output = (), > + 'static)";
        assert_eq!(source(text), expected);
        assert_eq!(source("&'^0 u8"), "&'static u8");
    }

    #[test]
    fn closures_become_structs_with_their_traits() {
        let text = "{f::{closure#1} closure_kind_ty=i16 closure_sig_as_fn_ptr_ty=for<Region(BrAnon)> extern \
                    \"rust-call\" fn((&'^0 u32,)) -> bool upvar_tys=(&'{erased} u32, u8)}";
        let mut writer = writer();
        let source = writer.write(&parse(&format!("core::X<{text}, {text}>")).unwrap()).unwrap();
        assert_eq!(source.text, "::core::X<__S0, __S0, >");
        assert_eq!(source.needs, [0].into());
        let [surrogate] = writer.surrogates.as_slice() else { panic!() };
        assert_eq!(surrogate.definition, "pub struct __S0(pub &'static u32, pub u8);");
        assert!(surrogate.impls.contains("impl<'b0_0> core::ops::FnMut<(&'b0_0 u32, )> for __S0 "));
        assert!(!surrogate.impls.contains("core::ops::Fn<"));
    }

    #[test]
    fn functions_are_zero_sized_and_copy() {
        let mut writer = writer();
        writer.write(&parse("fn(u32) -> u32 {a::f::<u8>}").unwrap()).unwrap();
        assert_eq!(writer.surrogates[0].definition, "pub struct __S0();");
        assert!(writer.surrogates[0].impls.contains("core::ops::Fn<(u32, )> for __S0"));
        assert!(writer.surrogates[0].impls.contains("impl Copy for __S0"));
    }
}
