//! Types as `-Zverbose-internals` prints them.

use super::reader::Reader;
use super::type_path::usize_value;
use crate::lex::{is_ident_byte, Res};
use crate::wire::{ClosureKind, FnSig, Ty, TyId};

/// How many ` {path}` groups the right edge of a type may take.  `fn() -> fn() {f}` is a function item that returns a
/// pointer, not a pointer to a function that returns an item: groups belong to the outermost signature first.
const ANY: u32 = u32::MAX;

/// Kinds of casts without arguments; those with are `PointerCoercion(..)`.
pub const CAST_KINDS: &[&str] = &[
    "PointerExposeProvenance",
    "PointerWithExposedProvenance",
    "IntToInt",
    "FloatToInt",
    "FloatToFloat",
    "IntToFloat",
    "PtrToPtr",
    "FnPtrToPtr",
    "Transmute",
    "Subtype",
];

impl<'a> Reader<'a, '_> {
    pub fn ty(&mut self) -> Res<TyId> {
        self.ty_edge(ANY)
    }

    fn ty_edge(&mut self, groups: u32) -> Res<TyId> {
        self.nested(|r| r.ty_inner(groups))
    }

    fn ty_inner(&mut self, groups: u32) -> Res<TyId> {
        let open_edge = matches!(self.peek(), Some(b'&' | b'*')) || self.at_fn_type() || self.at("unsafe<");
        let ty = self.ty_by_first(groups)?;
        if !open_edge {
            self.edge_sigs = 0;
        }
        Ok(ty)
    }

    fn ty_by_first(&mut self, groups: u32) -> Res<TyId> {
        let start = self.pos;
        match self.peek() {
            Some(b'&') => {
                self.pos += 1;
                if self.at_region() {
                    self.region()?;
                    self.expect(" ", "a reference type")?;
                }
                let mutable = self.eat("mut ");
                let pointee = self.ty_edge(groups)?;
                Ok(self.intern_from(start, |text| Ty::Ref { text, mutable, pointee }))
            }
            Some(b'*') => {
                let mutable = self.eat("*mut ");
                if !mutable {
                    self.expect("*const ", "a pointer type")?;
                }
                let pointee = self.ty_edge(groups)?;
                Ok(self.intern_from(start, |text| Ty::Ptr { text, mutable, pointee }))
            }
            Some(b'!') => {
                self.pos += 1;
                Ok(self.intern_from(start, |text| Ty::Never { text }))
            }
            Some(b'(') => self.tuple_dyn_or_pattern(start),
            Some(b'[') => {
                self.pos += 1;
                let elem = self.ty()?;
                if self.eat("; ") {
                    let len = self.const_arg(b']')?;
                    let len = usize_value(len);
                    self.expect("]", "an array type")?;
                    Ok(self.intern_from(start, |text| Ty::Array { text, elem, len }))
                } else {
                    self.expect("]", "a slice type")?;
                    Ok(self.intern_from(start, |text| Ty::Slice { text, elem }))
                }
            }
            Some(b'{') => self.braced_type(start),
            Some(b'.') if self.at("...") => self.fail("type cut short by rustc's type length limit"),
            Some(_) if self.at_fn_type() => self.fn_type(groups),
            Some(b'u') if self.at("unsafe<") => {
                self.pos += "unsafe".len();
                self.skip_group()?;
                self.expect(" ", "an unsafe binder")?;
                self.ty_edge(groups)?;
                Ok(self.intern_from(start, |text| Ty::UnsafeBinder { text }))
            }
            Some(b'O') if self.at("Opaque(") => {
                self.pos += "Opaque".len();
                self.skip_group()?;
                Ok(self.intern_from(start, |text| Ty::Alias { text }))
            }
            Some(b'f') if self.at("field_of!(") => {
                self.pos += "field_of!".len();
                self.skip_group()?;
                Ok(self.intern_from(start, |text| Ty::Alias { text }))
            }
            Some(b'i') if self.at("impl ") => self.impl_param(start),
            Some(b) if is_ident_byte(b) || b == b'<' => self.path_type(start),
            _ => self.fail("expected a type"),
        }
    }

    pub fn intern_from(&mut self, start: usize, make: impl FnOnce(String) -> Ty) -> TyId {
        let text = self.cur.slice(start, self.cur.pos);
        self.tables.intern(text, make)
    }

    fn tuple_dyn_or_pattern(&mut self, start: usize) -> Res<TyId> {
        if self.at("(dyn ") {
            self.skip_group()?;
            return Ok(self.intern_from(start, |text| Ty::Dynamic { text }));
        }
        self.pos += 1;
        let mut elems = Vec::new();
        if !self.eat(")") {
            loop {
                elems.push(self.ty()?);
                if elems.len() == 1 && self.eat(") is ") {
                    self.pattern()?;
                    return Ok(self.intern_from(start, |text| Ty::Pattern { text }));
                }
                if self.eat(",)") {
                    break;
                }
                if self.eat(", ") {
                    continue;
                }
                if elems.len() == 1 {
                    return self.fail("expected `,` in a tuple type");
                }
                self.expect(")", "a tuple type")?;
                break;
            }
        }
        Ok(self.intern_from(start, |text| Ty::Tuple { text, elems }))
    }

    /// `!null`, `A..`, `A..=B` or `(P | P)`.
    fn pattern(&mut self) -> Res<()> {
        self.nested(|r| {
            if r.eat("!null") {
                return Ok(());
            }
            if r.eat("(") {
                loop {
                    r.pattern()?;
                    if !r.eat(" | ") {
                        return r.expect(")", "a pattern type");
                    }
                }
            }
            if !r.at_const_arg() {
                return r.fail("expected a pattern type's bound");
            }
            r.const_arg(b'.')?;
            r.expect("..", "a pattern type")?;
            if r.eat("=") {
                r.const_arg(b')')?;
            }
            Ok(())
        })
    }

    // ---- functions ----------------------------------------------------------------------------------------------

    fn at_fn_type(&self) -> bool {
        match self.peek() {
            Some(b'f') => self.at("fn(") || self.at("for<"),
            Some(b'u') => self.at("unsafe fn(") || self.at("unsafe extern \""),
            Some(b'e') => self.at("extern \""),
            Some(b'#') => self.at("#[target_features] "),
            _ => false,
        }
    }

    /// A function pointer or, with ` {path}` after the signature, a function item.
    fn fn_type(&mut self, groups: u32) -> Res<TyId> {
        let start = self.pos;
        match self.fn_sig(groups, false)? {
            (sig, None) => Ok(self.intern_from(start, |text| Ty::FnPtr { text, sig })),
            (sig, Some(path)) => Ok(self.intern_from(start, |text| Ty::FnDef { text, path: path.to_owned(), sig })),
        }
    }

    /// A signature and, unless it is known to be a pointer's, the path of the item in the group that follows.
    fn fn_sig(&mut self, groups: u32, pointer_only: bool) -> Res<(FnSig, Option<&'a str>)> {
        self.eat("#[target_features] ");
        if self.at("for<") {
            self.pos += "for".len();
            self.skip_group()?;
            self.expect(" ", "a binder")?;
        }
        let is_unsafe = self.eat("unsafe ");
        let abi = if self.eat("extern ") { self.quoted("an ABI")?.to_owned() } else { "Rust".to_owned() };
        if abi != "Rust" {
            self.expect(" ", "a signature")?;
        }
        self.expect("fn(", "a signature")?;
        let mut inputs = Vec::new();
        let mut variadic = false;
        if !self.eat(")") {
            loop {
                if self.eat("...") {
                    variadic = true;
                } else {
                    inputs.push(self.ty()?);
                }
                if self.eat(")") {
                    break;
                }
                if variadic {
                    return self.fail("expected `)` after `...`");
                }
                self.expect(", ", "a signature")?;
            }
        }
        let output_at = if self.eat(" -> ") { Some(self.pos) } else { None };
        let mut output = match output_at {
            Some(_) => self.ty_edge(0)?,
            None => self.tables.intern("()", |text| Ty::Tuple { text, elems: Vec::new() }),
        };
        let after = self.pos;
        let sigs = 1 + if output_at.is_some() { self.edge_sigs } else { 0 };
        let mut found = 0;
        while found < groups.min(sigs) && self.at(" {") && !self.at(" {\n") {
            self.pos += 1;
            self.skip_group()?;
            found += 1;
        }
        let inner = if pointer_only { found } else { found.saturating_sub(1) };
        self.pos = after;
        if inner > 0 {
            let Some(at) = output_at else {
                return self.fail("unexpected group after a function type");
            };
            self.pos = at;
            output = self.ty_edge(inner)?;
        }
        self.edge_sigs = sigs;
        let sig = FnSig { inputs, output, abi, is_unsafe, variadic };
        if pointer_only || found == 0 {
            return Ok((sig, None));
        }
        self.expect(" {", "a function item")?;
        let path_at = self.pos;
        self.pos -= 1;
        self.skip_group()?;
        Ok((sig, Some(self.slice(path_at, self.pos - 1))))
    }

    pub fn quoted(&mut self, what: &str) -> Res<&'a str> {
        self.expect("\"", what)?;
        let start = self.pos;
        while self.peek().is_some_and(|b| b != b'"' && b != b'\n') {
            self.pos += 1;
        }
        let text = self.slice(start, self.pos);
        self.expect("\"", what)?;
        Ok(text)
    }

    // ---- closures and their kin ---------------------------------------------------------------------------------

    fn braced_type(&mut self, start: usize) -> Res<TyId> {
        if self.eat("{type error}") {
            return Ok(self.intern_from(start, |text| Ty::Error { text }));
        }
        self.pos += 1;
        self.eat("static ");
        let path_at = self.pos;
        self.skip_type_path()?;
        let path = self.slice(path_at, self.pos);
        if self.eat(" closure_kind_ty=") {
            let kind = self.ty()?;
            if self.at(" signature_parts_ty=") {
                return self.opaque_rest(start);
            }
            self.expect(" closure_sig_as_fn_ptr_ty=", "a closure type")?;
            let sig = if self.at_fn_type() {
                Some(self.nested(|r| r.fn_sig(ANY, true))?.0)
            } else {
                self.ty()?;
                None
            };
            self.expect(" upvar_tys=", "a closure type")?;
            let upvars = self.ty()?;
            let Some(Ty::Tuple { elems, .. }) = self.tables.ty(upvars) else {
                return self.fail("closure's upvars are not a tuple");
            };
            let upvars = elems.clone();
            self.expect("}", "a closure type")?;
            let closure_kind = match self.tables.ty(kind).map(Ty::text) {
                Some("i8") => Some(ClosureKind::Fn),
                Some("i16") => Some(ClosureKind::FnMut),
                Some("i32") => Some(ClosureKind::FnOnce),
                _ => None,
            };
            return Ok(self.intern_from(start, |text| Ty::Closure {
                text,
                path: path.to_owned(),
                closure_kind,
                sig,
                upvars,
            }));
        }
        if self.eat(" upvar_tys=") {
            return self.coroutine_type(start, path);
        }
        if self.at("}") {
            return self.opaque_rest(start);
        }
        self.fail("unknown type in braces")
    }

    /// `(A,) resume_ty=R yield_ty=Y return_ty=T}`.
    fn coroutine_type(&mut self, start: usize, path: &str) -> Res<TyId> {
        let upvars = self.ty()?;
        let Some(Ty::Tuple { elems, .. }) = self.tables.ty(upvars) else {
            return self.opaque_rest(start);
        };
        let upvars = elems.clone();
        self.expect(" resume_ty=", "a coroutine type")?;
        let resume = self.ty()?;
        self.expect(" yield_ty=", "a coroutine type")?;
        let yields = self.ty()?;
        self.expect(" return_ty=", "a coroutine type")?;
        let returns = self.ty()?;
        self.expect("}", "a coroutine type")?;
        let path = path.to_owned();
        Ok(self.intern_from(start, |text| Ty::Coroutine { text, path, upvars, resume, yields, returns }))
    }

    /// Skips to the end of the braces that opened at `start`: coroutine closures, witnesses.
    fn opaque_rest(&mut self, start: usize) -> Res<TyId> {
        self.pos = start;
        self.skip_group()?;
        Ok(self.intern_from(start, |text| Ty::OpaqueCoroutine { text }))
    }

    /// `impl Trait` in argument position: the parameter's name is the source text of the bounds.
    fn impl_param(&mut self, start: usize) -> Res<TyId> {
        while let Some(b) = self.peek() {
            match b {
                b'(' | b'[' | b'<' | b'{' => {
                    if b == b'(' && self.at_cast_kind() {
                        break;
                    }
                    self.skip_group()?;
                    continue;
                }
                b'>' if self.bytes()[self.pos - 1] == b'-' => {}
                b')' | b']' | b'}' | b'>' | b',' | b';' | b'\n' | b'=' => break,
                b' ' if self.at(" {") => break,
                _ => {}
            }
            self.pos += 1;
        }
        if self.bytes()[self.pos - 1] == b' ' {
            self.pos -= 1;
        }
        Ok(self.intern_from(start, |text| Ty::Param { text }))
    }

    /// At `(Kind)` of a cast.
    fn at_cast_kind(&self) -> bool {
        let rest = &self.rest()[1..];
        rest.starts_with("PointerCoercion(")
            || CAST_KINDS.iter().any(|kind| rest.strip_prefix(kind).is_some_and(|after| after.starts_with(')')))
    }
}
