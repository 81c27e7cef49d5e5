//! Reader of rustc's type text (`-Zverbose-internals`, untrimmed paths).

use crate::layout::ty::{Arg, Bound, ClosureKind, Path, Region, Segment, Sig, Ty};

/// Reads a whole type; the error says why it cannot be written as source.
pub fn parse(text: &str) -> Result<Ty, String> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let ty = reader.ty()?;
    if reader.rest().is_empty() {
        Ok(ty)
    } else {
        Err(format!("unknown text after the type: `{}`", reader.near()))
    }
}

const PRIMITIVES: &[&str] = &[
    "bool", "char", "str", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize",
    "f16", "f32", "f64", "f128",
];

const MAX_DEPTH: usize = 256;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn near(&self) -> String {
        self.rest().chars().take(40).collect()
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn need(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) {
            Ok(())
        } else {
            Err(format!("expected `{token}` at `{}`", self.near()))
        }
    }

    fn ident(&mut self) -> &'a str {
        let rest = self.rest();
        let raw = if rest.starts_with("r#") { 2 } else { 0 };
        let ident = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest[raw..].find(|c| !ident(c)).map_or(rest.len(), |end| end + raw);
        if rest[raw..].starts_with(|c: char| c.is_ascii_digit()) {
            return "";
        }
        self.at += end;
        &rest[..end]
    }

    fn ty(&mut self) -> Result<Ty, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the type is nested too deep".to_owned());
        }
        let ty = self.ty_inner();
        self.depth -= 1;
        ty
    }

    fn ty_inner(&mut self) -> Result<Ty, String> {
        let rest = self.rest();
        if self.eat("&") {
            let region = self.region()?;
            self.need(" ")?;
            let mutable = self.eat("mut ");
            return Ok(Ty::Ref { region, mutable, to: Box::new(self.ty()?) });
        }
        if self.eat("*const ") {
            return Ok(Ty::Ptr { mutable: false, to: Box::new(self.ty()?) });
        }
        if self.eat("*mut ") {
            return Ok(Ty::Ptr { mutable: true, to: Box::new(self.ty()?) });
        }
        if self.eat("!") {
            return Ok(Ty::Primitive("!".to_owned()));
        }
        if self.eat("[") {
            let elem = Box::new(self.ty()?);
            if self.eat("]") {
                return Ok(Ty::Slice(elem));
            }
            self.need("; ")?;
            let len = if self.eat("UnevaluatedConst ") {
                self.braced()?;
                None
            } else {
                Some(self.constant()?.0)
            };
            self.need("]")?;
            return Ok(Ty::Array { elem, len });
        }
        if rest.starts_with("(dyn ") {
            self.at += 1;
            let ty = self.ty()?;
            self.need(")")?;
            return Ok(ty);
        }
        if self.eat("dyn ") {
            return self.dynamic();
        }
        if self.eat("(") {
            let mut elems = self.types(")")?;
            if !self.eat(" is ") {
                return Ok(Ty::Tuple(elems));
            }
            let (Some(of), true) = (elems.pop(), elems.is_empty()) else {
                return Err("a pattern type of several types".to_owned());
            };
            return Ok(Ty::Pattern { of: Box::new(of), pattern: self.pattern()? });
        }
        if rest.starts_with('{') {
            return self.closure();
        }
        if ["for<", "#[target_features] ", "fn(", "unsafe ", "extern "].iter().any(|start| rest.starts_with(start)) {
            let sig = Box::new(self.sig()?);
            if self.rest().starts_with(" {") {
                self.at += 1;
                return Ok(Ty::FnDef { text: self.braced()?, sig });
            }
            return Ok(Ty::FnPtr(sig));
        }
        if rest.starts_with("<impl ") {
            return Ok(Ty::Path(self.path()?));
        }
        if rest.starts_with('<') {
            return self.projection();
        }
        for unnameable in ["impl ", "Opaque(", "unsafe<", "field_of!("] {
            if rest.starts_with(unnameable) {
                return Err(format!("`{}` is no type of its own: rustc has not resolved it", self.near()));
            }
        }
        let start = self.at;
        let name = self.ident();
        let ends = !self.rest().starts_with("::") && !self.rest().starts_with(['<', '/']);
        if PRIMITIVES.contains(&name) && ends {
            return Ok(Ty::Primitive(name.to_owned()));
        }
        if self.rest().starts_with("/#") {
            return Err(format!("`{name}` is a generic parameter"));
        }
        self.at = start;
        Ok(Ty::Path(self.path()?))
    }

    /// At `<T as Trait>::Name`.
    fn projection(&mut self) -> Result<Ty, String> {
        let start = self.at;
        self.need("<")?;
        let of = Box::new(self.ty()?);
        self.need(" as ")?;
        let bound = self.path()?;
        self.need(">")?;
        let qualified = &self.text[start..self.at];
        self.need("::")?;
        let mut rest = self.path()?;
        match rest.pop() {
            Some(name) if rest.is_empty() => Ok(match (&*of, bound.last()) {
                // A closure's text states its own output, which may be private where the closure is not usable.
                (Ty::Closure { sig, .. } | Ty::FnDef { sig, .. }, Some(last))
                    if last.name == "FnOnce" && name.name == "Output" && sig.bound == 0 =>
                {
                    sig.output.clone()
                }
                _ => Ty::Projection { of, bound, name },
            }),
            // An item in the body of a method.
            Some(name) => {
                rest.insert(0, Segment { name: qualified.to_owned(), nth: 0, args: Vec::new() });
                rest.push(name);
                Ok(Ty::Path(rest))
            }
            None => Err(format!("unknown associated type before `{}`", self.near())),
        }
    }

    /// Types up to the closing token; a trailing comma is part of one-tuples.
    fn types(&mut self, close: &str) -> Result<Vec<Ty>, String> {
        let mut out = Vec::new();
        while !self.eat(close) {
            out.push(self.ty()?);
            if !self.eat(", ") && !self.eat(",") && !self.rest().starts_with(close) {
                return Err(format!("expected `,` or `{close}` at `{}`", self.near()));
            }
        }
        Ok(out)
    }

    fn region(&mut self) -> Result<Region, String> {
        for erased in ["'{erased}", "'static", "'_"] {
            if self.eat(erased) {
                return Ok(Region::Erased);
            }
        }
        if !self.eat("'^") {
            return Err(format!("`{}` is no region of a concrete type", self.near()));
        }
        let first = self.number()?;
        let region = if self.eat("_") {
            Region::Bound { depth: first, var: self.number()? }
        } else {
            Region::Bound { depth: 0, var: first }
        };
        if self.eat(".Named(") || self.eat(".BrNamed(") {
            self.skip_to_close(1)?;
        } else if !self.eat(".Anon") {
            self.eat(".BrAnon");
        }
        Ok(region)
    }

    fn number(&mut self) -> Result<usize, String> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..end].parse().map_err(|_| format!("expected a number at `{}`", self.near()))?;
        self.at += end;
        Ok(number)
    }

    /// Skips to after the parenthesis that closes `open` levels.
    fn skip_to_close(&mut self, mut open: usize) -> Result<(), String> {
        for (at, c) in self.rest().char_indices() {
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                self.at += at + 1;
                return Ok(());
            }
        }
        Err("unbalanced parentheses".to_owned())
    }

    /// `for<Region(BrAnon), Region(BrNamed(..))> `: how many variables there are.
    fn binder(&mut self) -> Result<usize, String> {
        if !self.eat("for<") {
            return Ok(0);
        }
        let mut count = 0;
        while !self.eat("> ") {
            if self.eat("Region(") {
                self.skip_to_close(1)?;
            } else if self.eat("'") {
                self.ident();
            } else {
                return Err(format!("unknown bound variable at `{}`", self.near()));
            }
            count += 1;
            self.eat(", ");
        }
        Ok(count)
    }

    fn sig(&mut self) -> Result<Sig, String> {
        let bound = self.binder()?;
        // Functions with target features are called like unsafe ones: no trait describes them.
        let special = self.eat("#[target_features] ");
        let is_unsafe = self.eat("unsafe ") || special;
        let mut abi = None;
        if self.eat("extern \"") {
            let rest = self.rest();
            let end = rest.find("\" ").ok_or("an ABI string does not end")?;
            abi = Some(rest[..end].to_owned());
            self.at += end + 2;
        }
        self.need("fn(")?;
        let mut inputs = Vec::new();
        let mut variadic = false;
        while !self.eat(")") {
            if self.eat("...") {
                variadic = true;
            } else {
                inputs.push(self.ty()?);
            }
            self.eat(", ");
        }
        let output = if self.eat(" -> ") { self.ty()? } else { Ty::Tuple(Vec::new()) };
        Ok(Sig { bound, is_unsafe, abi, inputs, variadic, output })
    }

    /// The text between braces, which may nest.
    fn braced(&mut self) -> Result<String, String> {
        let rest = self.rest();
        let mut open = 0usize;
        for (at, c) in rest.char_indices() {
            match c {
                '{' => open += 1,
                '}' => open -= 1,
                _ => {}
            }
            if open == 0 {
                self.at += at + 1;
                return Ok(rest[1..at].to_owned());
            }
        }
        Err("unbalanced braces".to_owned())
    }

    fn closure(&mut self) -> Result<Ty, String> {
        let whole = self.braced()?;
        let Some((path, guts)) = split_outside(&whole, " closure_kind_ty=") else {
            return self.coroutine(&whole);
        };
        let mut reader = Reader { text: guts, at: 0, depth: self.depth };
        let kind = match reader.ident() {
            "i8" => ClosureKind::Fn,
            "i16" => ClosureKind::FnMut,
            "i32" => ClosureKind::FnOnce,
            other => return Err(format!("unknown closure kind `{other}`")),
        };
        reader.need(" closure_sig_as_fn_ptr_ty=")?;
        let sig = Box::new(reader.sig()?);
        reader.need(" upvar_tys=(")?;
        let upvars = reader.types(")")?;
        if !reader.rest().is_empty() {
            return Err(format!("unknown text after a closure's types: `{}`", reader.near()));
        }
        Ok(Ty::Closure { text: path.to_owned(), kind, sig, upvars })
    }

    /// `static? path upvar_tys=(A,) resume_ty=R yield_ty=Y return_ty=T`.
    fn coroutine(&mut self, whole: &str) -> Result<Ty, String> {
        let Some((path, guts)) = split_outside(whole, " upvar_tys=(") else {
            return Err(format!("this type cannot be asked for: `{{{whole}}}`"));
        };
        let mut reader = Reader { text: guts, at: 0, depth: self.depth };
        let upvars = reader.types(")")?.len();
        reader.need(" resume_ty=")?;
        let resume = Box::new(reader.ty()?);
        reader.need(" yield_ty=")?;
        let yields = Box::new(reader.ty()?);
        reader.need(" return_ty=")?;
        let returns = Box::new(reader.ty()?);
        if !reader.rest().is_empty() {
            return Err(format!("unknown text after a coroutine's types: `{}`", reader.near()));
        }
        let path = path.trim_start_matches("static ").to_owned();
        Ok(Ty::Coroutine { text: format!("{{{whole}}}"), path, upvars, resume, yields, returns })
    }

    fn dynamic(&mut self) -> Result<Ty, String> {
        let mut bounds = Vec::new();
        loop {
            if self.rest().starts_with('\'') {
                self.region()?;
            } else {
                let bound = self.binder()?;
                bounds.push(Bound { bound, path: self.path()? });
            }
            if !self.eat(" + ") {
                return Ok(Ty::Dyn(bounds));
            }
        }
    }

    fn path(&mut self) -> Result<Path, String> {
        let mut out = Vec::new();
        loop {
            let name = match self.rest().chars().next() {
                Some('{') => format!("{{{}}}", self.braced()?),
                Some('<') if self.rest().starts_with("<impl ") => self.impl_block()?,
                _ => self.ident().to_owned(),
            };
            if name.is_empty() {
                return Err(format!("`{}` is no part of a path that source can name", self.near()));
            }
            let nth = if self.eat("#") { self.number()? } else { 0 };
            let mut args = Vec::new();
            let generic = self.rest().starts_with('<') || self.rest().starts_with("::<");
            if generic && !self.rest().starts_with("::<impl ") {
                self.eat("::");
                self.eat("<");
                while !self.eat(">") {
                    args.push(self.arg()?);
                    if !self.eat(", ") && !self.rest().starts_with('>') {
                        return Err(format!("expected `,` or `>` at `{}`", self.near()));
                    }
                }
            }
            out.push(Segment { name, nth, args });
            if !self.eat("::") {
                return Ok(out);
            }
        }
    }

    /// `<impl at file:1:2: 3:4>`, which may hold `>` only as part of `->`.
    fn impl_block(&mut self) -> Result<String, String> {
        let rest = self.rest();
        let mut open = 0usize;
        let bytes = rest.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'<' => open += 1,
                b'>' if at > 0 && bytes[at - 1] == b'-' => {}
                b'>' => open -= 1,
                _ => {}
            }
            if open == 0 {
                self.at += at + 1;
                return Ok(rest[..=at].to_owned());
            }
        }
        Err("an impl block's text does not end".to_owned())
    }

    fn arg(&mut self) -> Result<Arg, String> {
        let rest = self.rest();
        if rest.starts_with('\'') {
            return Ok(Arg::Region(self.region()?));
        }
        if rest.starts_with("ValTree(") {
            let (value, ty) = self.constant()?;
            return Ok(Arg::Const { value, ty });
        }
        let start = self.at;
        let name = self.ident();
        if !name.is_empty() && self.eat(" = ") {
            return Ok(Arg::Assoc(name.to_owned(), self.ty()?));
        }
        self.at = start;
        Ok(Arg::Type(self.ty()?))
    }

    /// The pattern of a pattern type as `core::pattern_type!` takes it: `!null`, `A..`, `A..=B` or `(P | P)`.
    fn pattern(&mut self) -> Result<String, String> {
        if self.eat("!null") {
            return Ok("!null".to_owned());
        }
        if self.eat("(") {
            let mut choices = vec![self.pattern()?];
            while self.eat(" | ") {
                choices.push(self.pattern()?);
            }
            self.need(")")?;
            return Ok(choices.join(" | "));
        }
        let start = self.pattern_bound()?;
        self.need("..")?;
        Ok(if self.eat("=") { format!("{start}..={}", self.pattern_bound()?) } else { format!("{start}..") })
    }

    /// An end of a pattern's range: patterns take no braces around negative literals.
    fn pattern_bound(&mut self) -> Result<String, String> {
        let (value, _) = self.constant()?;
        Ok(value.trim_matches(['{', '}', ' ']).to_owned())
    }

    /// `ValTree(Leaf(0x..): usize)` as a literal and its type.
    fn constant(&mut self) -> Result<(String, String), String> {
        let near = self.near();
        let unknown = || format!("`{near}` is no constant that source can name");
        if !self.eat("ValTree(Leaf(0x") {
            return Err(unknown());
        }
        let rest = self.rest();
        let end = rest.find("): ").ok_or_else(unknown)?;
        let digits = &rest[..end];
        let bits = u128::from_str_radix(digits, 16).map_err(|_| unknown())?;
        self.at += end + 3;
        let name = self.ident();
        self.need(")")?;
        Ok((literal(bits, name, digits.len()).ok_or_else(unknown)?, name.to_owned()))
    }
}

/// A literal of a primitive type from its bits; `digits` is how many hex digits were printed.
fn literal(bits: u128, ty: &str, digits: usize) -> Option<String> {
    match ty {
        "bool" => Some((bits != 0).to_string()),
        "char" => char::from_u32(u32::try_from(bits).ok()?).map(|_| format!("'\\u{{{bits:x}}}'")),
        _ if ty.starts_with('u') => Some(format!("{bits}{ty}")),
        _ if ty.starts_with('i') => {
            let width = u32::try_from(digits.checked_mul(4)?).ok().filter(|width| (8..=128).contains(width))?;
            let value = (bits << (128 - width)) as i128 >> (128 - width);
            Some(format!("{{ {value}{ty} }}"))
        }
        _ => None,
    }
}

/// Splits at the first occurrence of a separator that is in no braces.
fn split_outside<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let mut open = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' => open = open.saturating_sub(1),
            ' ' if open == 0 && text[at..].starts_with(separator) => {
                return Some((&text[..at], &text[at + separator.len()..]));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_types_of_the_corpus() {
        for text in [
            "()",
            "(u8,)",
            "[&'{erased} str; ValTree(Leaf(0x0000000000000002): usize)]",
            "&'{erased} mut (dyn core::ops::FnMut<(u32,), Output = ()> + '{erased})",
            "core::option::Option<core::option::Option<bool>>",
            "for<Region(BrNamed(DefId(1:70403 ~ core[9071]::cmp::PartialOrd::lt::'_)))> \
             fn(&'^0.Named(DefId(1:70403 ~ core[9071]::cmp::PartialOrd::lt::'_)) u32) -> bool {<u32 as \
             core::cmp::PartialOrd>::lt}",
            "{nested::{closure#1} closure_kind_ty=i16 closure_sig_as_fn_ptr_ty=for<Region(BrAnon)> extern \
             \"rust-call\" fn((&'^0 u32,)) -> bool upvar_tys=(&'{erased} u32,)}",
            "*const [core::mem::MaybeUninit<(u8, f32)>]",
            "unsafe extern \"C\" fn(*const u8, ...) -> i32",
            "fn()",
            "fn(u8) -> [u8; UnevaluatedConst { def: DefId(1:2 ~ core[1]::num::{impl#9}::f::{constant#0}), args: [] }] {a}",
            "#[target_features] fn(u8) -> u8 {a::f}",
            "<u32 as dep::private::Sealed>::Buffer",
            "<<a::B as c::D<u8>>::E as c::F>::G<'{erased}>",
        ] {
            parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }

    #[test]
    fn items_in_bodies_have_paths_of_their_own() {
        for (text, names) in [
            ("f::S#1", &["f", "S"][..]),
            ("f::{closure#0}::S", &["f", "{closure#0}", "S"]),
            ("<a::X<u8> as b::T>::m::S<u8>", &["<a::X<u8> as b::T>", "m", "S"]),
            ("a::<impl at x.rs:1:1: 2:2>::m::S", &["a", "<impl at x.rs:1:1: 2:2>", "m", "S"]),
            ("<impl at x.rs:1:1: 2:2>::m::S", &["<impl at x.rs:1:1: 2:2>", "m", "S"]),
        ] {
            let Ty::Path(path) = parse(text).unwrap() else { panic!("{text}") };
            assert_eq!(path.iter().map(|segment| segment.name.as_str()).collect::<Vec<_>>(), names);
        }
        let Ty::Path(path) = parse("f::S#1").unwrap() else { panic!() };
        assert_eq!(path[1].nth, 1);
        assert!(!path[1].is_plain());
    }

    #[test]
    fn nested_closures_keep_to_their_braces() {
        let inner =
            "{a::{closure#0} closure_kind_ty=i8 closure_sig_as_fn_ptr_ty=extern \"rust-call\" fn((u32,)) -> u32 \
                     upvar_tys=()}";
        let outer = format!(
            "{{f<{inner}>::{{closure#0}} closure_kind_ty=i32 closure_sig_as_fn_ptr_ty=extern \"rust-call\" fn(()) \
             upvar_tys=({inner},)}}"
        );
        let Ty::Closure { kind, upvars, text, .. } = parse(&outer).unwrap() else { panic!() };
        assert_eq!(kind, ClosureKind::FnOnce);
        assert_eq!(upvars, [parse(inner).unwrap()]);
        assert!(text.ends_with("::{closure#0}"));
    }

    #[test]
    fn a_closure_states_its_output() {
        let text = "{a::{closure#0} closure_kind_ty=i8 closure_sig_as_fn_ptr_ty=extern \"rust-call\" fn((u32,)) -> \
                    dep::E upvar_tys=()}";
        let projection = parse(&format!("<{text} as core::ops::FnOnce<(u32,)>>::Output")).unwrap();
        assert_eq!(projection, parse("dep::E").unwrap());
    }

    #[test]
    fn says_why_a_type_has_no_source() {
        for (text, reason) in [
            ("T/#0", "generic parameter"),
            ("<T/#0 as core::iter::Iterator>::Item", "generic parameter"),
            ("impl core::marker::Sized", "resolved"),
            ("Opaque(DefId(0:1 ~ a), [])", "resolved"),
            ("(u32) is 1..", "no constant"),
            ("{a::{closure#0} closure_kind=() upvar_tys=[]}", "asked for"),
            ("&'a/#0 u8", "region"),
            ("u8 u8", "after the type"),
            ("[u8; N/#1]", "constant"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(parse(&"&'{erased} ".repeat(3000)).is_err());
    }

    #[test]
    fn constants_become_literals() {
        assert_eq!(literal(3, "usize", 16).unwrap(), "3usize");
        assert_eq!(literal(0xfe, "i8", 2).unwrap(), "{ -2i8 }");
        assert_eq!(literal(0x61, "char", 8).unwrap(), "'\\u{61}'");
        assert_eq!(literal(1, "bool", 2).unwrap(), "true");
        assert_eq!(literal(1, "Enum", 2), None);
    }
}
