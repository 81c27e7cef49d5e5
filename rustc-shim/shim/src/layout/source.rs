//! Types as Rust source of another crate, with surrogates for those that have no name.
//!
//! rustc lays a closure out as a struct of its captures, so a closure becomes `struct C3(U0, U1);`.  Where it stands
//! in a generic argument, the adapter around it may ask for a function trait; the surrogate implements what the
//! closure's signature says.  The zero-sized type of a function becomes a unit struct in the same way.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use crate::layout::query::Instead;
use crate::layout::ty::{key, Arg, Bound, ClosureKind, Path, Region, Segment, Sig, Ty};

/// Which crates a path may start with.
#[derive(Debug, Clone)]
pub struct Names {
    /// How the crate is named whose paths have no crate in front: `::name` or `crate`.
    pub krate: String,
    /// Crates that can be named, the standard ones included.
    pub externs: BTreeSet<String>,
    /// Items inside bodies that can be named where the text goes, by [`ty::key`] of their path.
    pub locals: HashMap<String, String>,
    /// Crates that exist in more than one version: a path through them could mean either.
    pub ambiguous: BTreeSet<String>,
    /// Size and alignment of types that cannot be named or made again, coroutines, by rustc's text.
    pub sizes: HashMap<String, (u64, u64)>,
}

/// An item that types name: an alias of a path, or a struct that stands for an unnameable type.
///
/// Aliases keep rustc fast: it looks for an accessible path at every mention of a private one.  (An import of a
/// private path is an error that spoils its users, an alias is not.)
#[derive(Debug, Clone, Default)]
pub struct Item {
    /// `struct __S3(..);` or `type __S3 = ..;`
    pub definition: String,
    /// Trait implementations, one line; empty when there are none to give.
    pub impls: String,
    /// Items that the definition names.
    pub needs: BTreeSet<usize>,
    /// Items that only the implementations name.
    pub impls_need: BTreeSet<usize>,
    /// The path that an alias is of; what rustc calls it, where other crates must say so.
    pub path: Option<AliasPath>,
}

/// The path of an alias as rustc's text has it, and another of the same item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliasPath {
    pub written: String,
    pub public: Option<String>,
}

/// A type's source and the items that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub text: String,
    pub needs: BTreeSet<usize>,
}

/// Writes types, collecting the items that they name.
pub struct Writer {
    names: Names,
    pub items: Vec<Item>,
    known: HashMap<Ty, usize>,
    aliases: HashMap<String, usize>,
}

impl Writer {
    pub fn new(names: Names) -> Self {
        Self { names, items: Vec::new(), known: HashMap::new(), aliases: HashMap::new() }
    }

    /// The source of a type, or why it has none.
    pub fn write(&mut self, ty: &Ty) -> Result<Source, String> {
        let mut one = One { writer: self, out: String::new(), needs: BTreeSet::new(), binders: Vec::new() };
        one.ty(ty)?;
        Ok(Source { text: one.out, needs: one.needs })
    }

    /// The items that these need, transitively; those in `bare` go without their implementations.
    pub fn closure_of(&self, needs: impl IntoIterator<Item = usize>, bare: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut out = BTreeSet::new();
        let mut queue: Vec<usize> = needs.into_iter().collect();
        while let Some(index) = queue.pop() {
            let Some(item) = self.items.get(index).filter(|_| out.insert(index)) else { continue };
            queue.extend(&item.needs);
            if !bare.contains(&index) {
                queue.extend(&item.impls_need);
            }
        }
        out
    }

    /// Adds to `bare` the items whose implementations need one of `bad`, and what follows from that.
    pub fn strip(&self, bare: &mut BTreeSet<usize>, bad: &BTreeSet<usize>) {
        loop {
            let spoilt = |item: &Item| !self.closure_of(item.impls_need.clone(), bare).is_disjoint(bad);
            let more: Vec<usize> = (0..self.items.len())
                .filter(|index| !bare.contains(index) && !self.items[*index].impls_need.is_empty())
                .filter(|index| spoilt(&self.items[*index]))
                .collect();
            if more.is_empty() {
                return;
            }
            bare.extend(more);
        }
    }

    /// The path as another crate writes it, without arguments.
    fn absolute(&self, path: &Path) -> Result<String, String> {
        let Some((last, parents)) = path.split_last() else { return Err("a path is empty".to_owned()) };
        if !path.iter().all(Segment::is_plain) || parents.iter().any(|segment| !segment.args.is_empty()) {
            return Err(format!("`{}` is inside a body and has no path", key(path)));
        }
        let first = &parents.first().unwrap_or(last).name;
        let mut text = String::new();
        if !self.names.externs.contains(first) {
            text.push_str(&self.names.krate);
        } else if self.names.ambiguous.contains(first) {
            return Err(format!("there are several crates `{first}`: a path through it is ambiguous"));
        }
        for segment in path {
            let _ = write!(text, "::{}", segment.name);
        }
        Ok(text)
    }

    /// An alias of a path that takes arguments like the given ones.
    pub fn alias(&mut self, path: &Path, args: &[Arg]) -> Result<usize, String> {
        let text = self.absolute(path)?;
        let mut parameters = String::new();
        let mut arguments = String::new();
        for (at, arg) in args.iter().enumerate() {
            let (parameter, name) = match arg {
                Arg::Region(_) => (format!("'a{at}"), format!("'a{at}")),
                Arg::Type(_) => (format!("A{at}"), format!("A{at}")),
                Arg::Const { ty, .. } => (format!("const A{at}: {ty}"), format!("A{at}")),
                Arg::Assoc(name, _) => return Err(format!("`{name} = ..` is no argument of a type")),
            };
            let _ = write!(parameters, "{parameter}, ");
            let _ = write!(arguments, "{name}, ");
        }
        let key =
            if args.is_empty() { format!(" = {text};") } else { format!("<{parameters}> = {text}<{arguments}>;") };
        if let Some(known) = self.aliases.get(&key) {
            return Ok(*known);
        }
        let index = self.items.len();
        let path = Some(AliasPath { written: text, public: None });
        self.items.push(Item { definition: format!("pub type __S{index}{key}"), path, ..Item::default() });
        self.aliases.insert(key, index);
        Ok(index)
    }

    /// Has an alias name its private path as rustc offers to; whether that could be done.
    pub fn publish(&mut self, index: usize, offered: &[Instead]) -> bool {
        let Some(item) = self.items.get_mut(index) else { return false };
        let Some(path) = item.path.as_mut().filter(|path| path.public.is_none()) else { return false };
        // Generated crates have no items of their own that could be meant.
        let offer = offered.iter().find(|offer| {
            let (start, end) = (offer.columns.0.saturating_sub(1), offer.columns.1.saturating_sub(1));
            item.definition.get(start..end) == Some(&path.written) && !offer.text.starts_with("crate::")
        });
        let Some(offer) = offer else { return false };
        let public = format!("::{}", offer.text.trim_start_matches("::"));
        item.definition = item.definition.replacen(&path.written, &public, 1);
        path.public = Some(public);
        true
    }

    /// Whether a type's own path (not those of its arguments) is named by another one of the same item.
    pub fn is_published(&self, ty: &Ty) -> bool {
        let Ty::Path(path) = ty else { return false };
        let Ok(written) = self.absolute(path) else { return false };
        let paths = self.items.iter().filter_map(|item| item.path.as_ref());
        paths.into_iter().any(|path| path.written == written && path.public.is_some())
    }

    fn surrogate(&mut self, ty: &Ty) -> Result<usize, String> {
        if let Some(known) = self.known.get(ty) {
            return Ok(*known);
        }
        let (fields, sig, kind, copy) = match ty {
            Ty::Closure { kind, sig, upvars, .. } => (upvars.as_slice(), sig, *kind, false),
            Ty::FnDef { sig, .. } => (&[][..], sig, ClosureKind::Fn, true),
            Ty::Coroutine { .. } => return self.coroutine(ty),
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
        let mut impls_need = BTreeSet::new();
        let callable = !sig.is_unsafe && !sig.variadic;
        if callable {
            // Without implementations the struct still has the layout; a bound that needs them fails then.
            impls = self.impls(sig, kind, matches!(ty, Ty::Closure { .. }), &mut impls_need).unwrap_or_default();
        }
        let index = self.items.len();
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
        self.items.push(Item { definition, impls: lines, needs, impls_need, path: None });
        self.known.insert(ty.clone(), index);
        Ok(index)
    }

    /// A struct of a coroutine's size and alignment.
    ///
    /// Of a coroutine's bytes rustc uses none as a niche, and whether it needs to be dropped is not asked: it may.
    fn coroutine(&mut self, ty: &Ty) -> Result<usize, String> {
        let Ty::Coroutine { text, resume, yields, returns, .. } = ty else {
            return Err("only coroutines stand in for themselves".to_owned());
        };
        let unknown =
            || format!("the layout of the coroutine `{text}` is in nothing that rustc says of its crate's code");
        let (size, align) = *self.names.sizes.get(text).ok_or_else(unknown)?;
        if !matches!(align, 1 | 2 | 4 | 8 | 16) {
            return Err(format!("a coroutine that is aligned to {align} bytes"));
        }
        let mut impls_need = BTreeSet::new();
        let mut texts = Vec::new();
        for part in [&**resume, &**yields, &**returns] {
            let source = self.write(part).unwrap_or(Source { text: String::new(), needs: BTreeSet::new() });
            impls_need.extend(source.needs);
            texts.push(source.text);
        }
        let index = self.items.len();
        let name = format!("__S{index}");
        let definition = format!(
            "pub struct {name}([core::mem::MaybeUninit<u8>; {size}], [u{}; 0]); \
             impl Drop for {name} {{ fn drop(&mut self) {{}} }}",
            align * 8
        );
        let is_async = matches!(&**resume, Ty::Path(path) if path.last().is_some_and(|last| last.name == "ResumeTy"));
        let impls = match texts.as_slice() {
            [resume, _, returns] if is_async && !resume.is_empty() && !returns.is_empty() => format!(
                "impl core::future::Future for {name} {{ type Output = {returns}; fn poll(self: core::pin::Pin<&mut \
                 Self>, _: &mut core::task::Context<'_>) -> core::task::Poll<{returns}> {{ loop {{}} }} }}"
            ),
            [resume, yields, returns] if !texts.iter().any(String::is_empty) => format!(
                "impl core::ops::Coroutine<{resume}> for {name} {{ type Yield = {yields}; type Return = {returns}; fn \
                 resume(self: core::pin::Pin<&mut Self>, _: {resume}) -> core::ops::CoroutineState<{yields}, \
                 {returns}> {{ loop {{}} }} }}"
            ),
            _ => String::new(),
        };
        self.items.push(Item { definition, impls, needs: BTreeSet::new(), impls_need, path: None });
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
            Ty::Pattern { of, pattern } => {
                self.out.push_str("core::pattern_type!(");
                self.ty(of)?;
                let _ = write!(self.out, " is {pattern})");
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
                let len = len.as_ref().ok_or("the length of an array is a constant that rustc has not evaluated")?;
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
            Ty::FnDef { .. } | Ty::Closure { .. } | Ty::Coroutine { .. } => {
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
        let Some(last) = path.last() else { return Err("a path is empty".to_owned()) };
        let name = if let Some(local) = self.writer.names.locals.get(&key(path)) {
            local.clone()
        } else if is_trait {
            self.writer.absolute(path)?
        } else {
            let index = self.writer.alias(path, &last.args)?;
            self.needs.insert(index);
            format!("__S{index}")
        };
        self.segment(&Segment { name, nth: 0, args: last.args.clone() }, is_trait)
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
                Arg::Const { value, .. } => self.out.push_str(value),
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
    use crate::layout::ty_text::parse;

    fn writer() -> Writer {
        let externs = ["core", "alloc", "std", "dep", "two"].map(str::to_owned).into();
        let locals = [("f::S#1".to_owned(), "S".to_owned())].into();
        let ambiguous = ["two".to_owned()].into();
        Writer::new(Names { krate: "::mine".into(), externs, locals, ambiguous, sizes: HashMap::new() })
    }

    /// A type's source and the aliases that it names.
    fn source(text: &str) -> (String, Vec<String>) {
        let mut writer = writer();
        let source = writer.write(&parse(text).unwrap()).unwrap().text;
        (source, writer.items.into_iter().map(|item| item.definition).collect())
    }

    #[test]
    fn pattern_types_are_written_for_cores_macro() {
        let of = |text| source(text).0;
        let nonzero =
            "(i16) is (ValTree(Leaf(0x8000): i16)..=ValTree(Leaf(0xffff): i16) | ValTree(Leaf(0x0001): i16)..)";
        assert_eq!(of(nonzero), "core::pattern_type!(i16 is -32768i16..=-1i16 | 1i16..)");
        assert_eq!(of("(u32) is ValTree(Leaf(0x00000001): u32).."), "core::pattern_type!(u32 is 1u32..)");
        assert_eq!(of("(*const u8) is !null"), "core::pattern_type!(*const u8 is !null)");
    }

    #[test]
    fn paths_get_their_crate() {
        let of = |text| {
            let (source, definitions) = source(text);
            format!("{source} {}", definitions.join(" "))
        };
        assert_eq!(of("inner::E"), "__S0 pub type __S0 = ::mine::inner::E;");
        let generic = "__S0<'static, u8, > pub type __S0<'a0, A1, > = ::dep::E<'a0, A1, >;";
        assert_eq!(of("dep::E<'{erased}, u8>"), generic);
        let constant = "__S0<3u8, > pub type __S0<const A0: u8, > = ::mine::Opt<A0, >;";
        assert_eq!(of("Opt<ValTree(Leaf(0x03): u8)>"), constant);
        assert_eq!(of("<u8 as Tr>::Out<u16>"), "<u8 as ::mine::Tr>::Out<u16, > ");
        assert!(writer().write(&parse("two::X").unwrap()).unwrap_err().contains("several crates"));
        assert!(writer().write(&parse("f<u8>::X").unwrap()).unwrap_err().contains("inside"));
        assert!(writer().write(&parse("f::S#2").unwrap()).unwrap_err().contains("inside"));
        assert_eq!(of("f::S#1<u8>"), "S<u8, > ");
    }

    #[test]
    fn a_function_may_have_what_source_cannot_say() {
        let array = "[u8; UnevaluatedConst { def: DefId(1:2 ~ core[1]::num::{impl#9}::f::{constant#0}), args: [] }]";
        assert!(writer().write(&parse(array).unwrap()).unwrap_err().contains("length"));
        let (source, definitions) = source(&format!("fn(u8) -> {array} {{a::f}}"));
        assert_eq!((source.as_str(), definitions.len()), ("__S0", 1));
    }

    #[test]
    fn a_path_is_aliased_once() {
        let (source, definitions) = source("(a::B<u8>, a::B<u16>, a::B)");
        assert_eq!(source, "(__S0<u8, >, __S0<u16, >, __S1, )");
        assert_eq!(definitions, ["pub type __S0<A0, > = ::mine::a::B<A0, >;", "pub type __S1 = ::mine::a::B;"]);
    }

    #[test]
    fn a_private_path_gives_way_to_what_rustc_offers_for_it() {
        let mut writer = writer();
        let ty = parse("dep::a::B<u8>").unwrap();
        writer.write(&ty).unwrap();
        let definition = writer.items[0].definition.clone();
        let at = |written: &str| definition.find(written).map(|at| (at + 1, at + 1 + written.len())).unwrap();
        let offer = |written, text: &str| [Instead { columns: at(written), text: text.to_owned() }];
        assert!(!writer.publish(0, &[]) && !writer.publish(7, &offer("::dep::a::B", "dep::B")));
        // Only the whole path may be replaced, and by nothing of the generated crate's own.
        assert!(!writer.publish(0, &offer("dep::a::B", "dep::B")));
        assert!(!writer.publish(0, &offer("::dep::a::B", "crate::B")));
        assert!(!writer.is_published(&ty));
        assert!(writer.publish(0, &offer("::dep::a::B", "dep::B")));
        assert_eq!(writer.items[0].definition, "pub type __S0<A0, > = ::dep::B<A0, >;");
        assert!(writer.is_published(&ty) && !writer.is_published(&parse("dep::a::C<u8>").unwrap()));
        assert!(!writer.publish(0, &offer("::dep::a::B", "dep::B")));
    }

    #[test]
    fn higher_ranked_regions_are_named_by_their_binder() {
        let source = |text| source(text).0;
        let text = "for<Region(BrAnon)> fn(&'^0 u8, for<Region(BrAnon)> fn(&'^0 u8, &'^1_0 u8)) -> &'^0 u8";
        let expected = "for<'b1_0> fn(&'b1_0 u8, for<'b2_0> fn(&'b2_0 u8, &'b1_0 u8, ) -> (), ) -> &'b1_0 u8";
        assert_eq!(source(text), expected);
        let text = "&'{erased} (dyn for<Region(BrAnon)> core::ops::Fn<(&'^0 u8,), Output = ()> + '{erased})";
        let expected = "&'static (dyn for<'b1_0> ::core::ops::Fn<(&'b1_0 u8, ), Output = (), > + 'static)";
        assert_eq!(source(text), expected);
        assert_eq!(source("&'^0 u8"), "&'static u8");
    }

    const CLOSURE: &str = "{f::{closure#1} closure_kind_ty=i16 closure_sig_as_fn_ptr_ty=for<Region(BrAnon)> extern \
                           \"rust-call\" fn((&'^0 u32,)) -> f::Local upvar_tys=(&'{erased} u32, u8)}";

    #[test]
    fn closures_become_structs_with_their_traits() {
        let mut writer = writer();
        let source = writer.write(&parse(&format!("({CLOSURE}, {CLOSURE})")).unwrap()).unwrap();
        assert_eq!(source.text, "(__S1, __S1, )");
        assert_eq!(source.needs, [1].into());
        let [local, surrogate] = writer.items.as_slice() else { panic!() };
        assert_eq!(local.definition, "pub type __S0 = ::mine::f::Local;");
        assert_eq!(surrogate.definition, "pub struct __S1(pub &'static u32, pub u8);");
        assert!(surrogate.impls.contains("impl<'b0_0> core::ops::FnMut<(&'b0_0 u32, )> for __S1 "));
        assert!(!surrogate.impls.contains("core::ops::Fn<"));
    }

    #[test]
    fn implementations_are_dispensable() {
        let mut writer = writer();
        writer.write(&parse(CLOSURE).unwrap()).unwrap();
        let mut bare = BTreeSet::new();
        assert_eq!(writer.closure_of([1], &bare), [0, 1].into());
        writer.strip(&mut bare, &[0].into());
        assert_eq!(bare, [1].into());
        assert_eq!(writer.closure_of([1], &bare), [1].into());
    }

    #[test]
    fn functions_are_zero_sized_and_copy() {
        let mut writer = writer();
        writer.write(&parse("fn(u32) -> u32 {a::f::<u8>}").unwrap()).unwrap();
        assert_eq!(writer.items[0].definition, "pub struct __S0();");
        assert!(writer.items[0].impls.contains("core::ops::Fn<(u32, )> for __S0"));
        assert!(writer.items[0].impls.contains("impl Copy for __S0"));
    }
}
