//! Finds the definition of an item inside a function's body in a source file.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::layout::ty::Segment;

/// A struct, enum or union inside a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where the item starts, attributes included; bytes in the file.
    pub at: usize,
    /// The block whose statement it is.
    pub block: Range<usize>,
    /// Start of the function.
    function: usize,
    /// What stands around the function: a type's or trait's name, another function, a module.
    around: Option<String>,
    /// How many closures and constants of the function are around the item.
    inner: usize,
}

/// What a path says about where its item is: `f::{closure#0}::S` is an `S` in a function `f`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Wanted {
    pub name: String,
    pub function: String,
    pub around: Option<String>,
    pub inner: usize,
    pub nth: usize,
}

impl Wanted {
    /// `None` when the path has no function in it.
    pub fn of(path: &[Segment]) -> Option<Self> {
        let (last, parents) = path.split_last()?;
        let braced = |segment: &&Segment| segment.name.starts_with('{');
        let inner = parents.iter().rev().take_while(braced).count();
        let mut parents = parents.iter().rev().skip(inner);
        let function = parents.next().filter(|segment| !segment.name.starts_with('<'))?;
        let around = parents.next().and_then(|segment| last_name(&segment.name));
        Some(Self { name: last.name.clone(), function: function.name.clone(), around, inner, nth: last.nth })
    }
}

/// `X` of `a::X`, `X<u8>`, `<a::X as b::T>` and `&X`.
fn last_name(text: &str) -> Option<String> {
    let of = text.strip_prefix('<').map_or(text, |rest| rest.split(" as ").next().unwrap_or(rest));
    let of = of.split('<').next()?;
    let name: String = of.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let name: String = name.chars().rev().collect();
    (!name.is_empty()).then_some(name)
}

/// Every item of the file that a path may mean.
pub fn candidates(text: &str, wanted: &Wanted) -> Result<Vec<Found>, String> {
    if !text.contains(&wanted.name) || !text.contains(&wanted.function) {
        return Ok(Vec::new());
    }
    let file = syn::parse_file(text).map_err(|error| error.to_string())?;
    // syn leaves a byte order mark out of its positions.
    let shift = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut search =
        Search { wanted, functions: Vec::new(), around: Vec::new(), blocks: Vec::new(), inner: 0, found: Vec::new() };
    search.visit_file(&file);
    for found in &mut search.found {
        found.at += shift;
        found.block = found.block.start + shift..found.block.end + shift;
    }
    Ok(search.found)
}

/// The one candidate that is meant, if that can be said.
pub fn choose<'a, T>(candidates: &'a [(T, Found)], wanted: &Wanted) -> Option<&'a (T, Found)> {
    let same = |found: &Found| found.inner == wanted.inner && found.around == wanted.around;
    // A module of its own file is not seen around what is in it.
    let near = |found: &Found| found.inner == wanted.inner && found.around.is_none();
    let of = |fits: &dyn Fn(&Found) -> bool| candidates.iter().filter(|(_, found)| fits(found)).collect::<Vec<_>>();
    let mut left = of(&same);
    if left.is_empty() {
        left = of(&near);
    }
    let (_, first) = left.first()?;
    if left.iter().any(|(_, found)| found.function != first.function) {
        return None;
    }
    left.sort_by_key(|(_, found)| found.at);
    left.get(wanted.nth).copied()
}

struct Search<'a> {
    wanted: &'a Wanted,
    /// Name and start of the functions around, outermost first.
    functions: Vec<(String, usize)>,
    around: Vec<String>,
    blocks: Vec<Range<usize>>,
    inner: usize,
    found: Vec<Found>,
}

impl Search<'_> {
    fn function(&mut self, name: &syn::Ident, start: usize, body: impl FnOnce(&mut Self)) {
        self.functions.push((name.to_string(), start));
        self.around.push(name.to_string());
        let inner = std::mem::take(&mut self.inner);
        body(self);
        self.inner = inner;
        self.around.pop();
        self.functions.pop();
    }

    fn within(&mut self, name: String, body: impl FnOnce(&mut Self)) {
        self.around.push(name);
        body(self);
        self.around.pop();
    }

    fn item(&mut self, name: &syn::Ident, at: usize) {
        let (Some((function, start)), Some(block)) = (self.functions.last(), self.blocks.last()) else { return };
        if *function == self.wanted.function && *name == self.wanted.name {
            let around = self.around.len().checked_sub(2).and_then(|at| self.around.get(at)).cloned();
            self.found.push(Found { at, block: block.clone(), function: *start, around, inner: self.inner });
        }
    }
}

fn start(node: &impl Spanned) -> usize {
    node.span().byte_range().start
}

impl<'ast> Visit<'ast> for Search<'_> {
    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        self.within(node.ident.to_string(), |this| visit::visit_item_mod(this, node));
    }

    fn visit_item_impl(&mut self, node: &'ast syn::ItemImpl) {
        let name = match &*node.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        self.within(name.unwrap_or_default(), |this| visit::visit_item_impl(this, node));
    }

    fn visit_item_trait(&mut self, node: &'ast syn::ItemTrait) {
        self.within(node.ident.to_string(), |this| visit::visit_item_trait(this, node));
    }

    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.function(&node.sig.ident, start(node), |this| visit::visit_item_fn(this, node));
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.function(&node.sig.ident, start(node), |this| visit::visit_impl_item_fn(this, node));
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        self.function(&node.sig.ident, start(node), |this| visit::visit_trait_item_fn(this, node));
    }

    fn visit_expr_closure(&mut self, node: &'ast syn::ExprClosure) {
        self.inner += 1;
        visit::visit_expr_closure(self, node);
        self.inner -= 1;
    }

    fn visit_block(&mut self, node: &'ast syn::Block) {
        self.blocks.push(node.span().byte_range());
        visit::visit_block(self, node);
        self.blocks.pop();
    }

    fn visit_item_struct(&mut self, node: &'ast syn::ItemStruct) {
        self.item(&node.ident, start(node));
    }

    fn visit_item_enum(&mut self, node: &'ast syn::ItemEnum) {
        self.item(&node.ident, start(node));
    }

    fn visit_item_union(&mut self, node: &'ast syn::ItemUnion) {
        self.item(&node.ident, start(node));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::ty::Ty;
    use crate::layout::ty_text::parse;

    const TEXT: &str =
        "mod m { impl X { fn f() { struct S; } } impl T for u8 { fn f() { /// doc\n struct S(u8); } } }\n\
                        fn f() { #[repr(C)] enum S {} { struct S; } let c = || { union U { a: u8 } }; }\n\
                        fn g() { struct S; }";

    fn find(path: &str) -> Option<&'static str> {
        let Ty::Path(path) = parse(path).unwrap() else { panic!() };
        let wanted = Wanted::of(&path)?;
        let found: Vec<((), Found)> = candidates(TEXT, &wanted).unwrap().into_iter().map(|found| ((), found)).collect();
        let (_, found) = choose(&found, &wanted)?;
        assert!(found.block.contains(&found.at));
        Some(&TEXT[found.at..TEXT.len().min(found.at + 12)])
    }

    #[test]
    fn finds_items_by_their_path() {
        assert_eq!(find("m::X::f::S"), Some("struct S; } "));
        assert_eq!(find("<u8 as m::T>::f::S"), Some("/// doc\n str"));
        assert_eq!(find("f::S"), Some("#[repr(C)] e"));
        assert_eq!(find("f::S#1"), Some("struct S; } "));
        assert_eq!(find("file::g::S"), Some("struct S; }"));
        assert_eq!(find("f::S#2"), None);
        assert_eq!(find("f::{closure#0}::U"), Some("union U { a:"));
        assert_eq!(find("g::S"), Some("struct S; }"));
        assert_eq!(find("h::S"), None);
        assert_eq!(Wanted::of(&[]), None);
    }
}
