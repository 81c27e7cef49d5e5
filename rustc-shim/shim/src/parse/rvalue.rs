//! Right-hand sides of assignments.

use super::reader::Reader;
use super::type_path::usize_value;
use super::types::CAST_KINDS;
use crate::lex::Res;
use crate::wire::{Borrow, Const, Operand, Rvalue, Ty, TyId};

const BINARY_OPS: &[&str] = &[
    "Add",
    "AddUnchecked",
    "AddWithOverflow",
    "Sub",
    "SubUnchecked",
    "SubWithOverflow",
    "Mul",
    "MulUnchecked",
    "MulWithOverflow",
    "Div",
    "Rem",
    "BitXor",
    "BitAnd",
    "BitOr",
    "Shl",
    "ShlUnchecked",
    "Shr",
    "ShrUnchecked",
    "Eq",
    "Lt",
    "Le",
    "Ne",
    "Ge",
    "Gt",
    "Cmp",
    "Offset",
];

const UNARY_OPS: &[&str] = &["Not", "Neg", "PtrMetadata"];

const COERCIONS: &[&str] = &[
    "ReifyFnPointer(Safe)",
    "ReifyFnPointer(Unsafe)",
    "UnsafeFnPointer",
    "ClosureFnPointer(Safe)",
    "ClosureFnPointer(Unsafe)",
    "MutToConstPointer",
    "ArrayToPointer",
    "Unsize",
];

/// What follows ` = `: an rvalue, or the callee of a call.
pub enum Right {
    Rvalue(Rvalue),
    /// The cursor stands after the callee, on `(`.
    Callee(Operand),
}

impl<'a> Reader<'a, '_> {
    /// Reads an rvalue that goes to a place of type `dest`.
    pub fn right(&mut self, dest: Option<TyId>) -> Res<Right> {
        let rvalue = match self.peek() {
            Some(b'&') => self.borrow()?,
            Some(b'[') => self.array()?,
            Some(b'(') => {
                self.pos += 1;
                Rvalue::Tuple { operands: self.tuple_operands()? }
            }
            Some(b'{') if self.at("{closure@") || self.at("{coroutine@") => self.closure(dest)?,
            Some(b'*') => self.raw_ptr_aggregate()?,
            _ => return self.worded_right(dest),
        };
        Ok(Right::Rvalue(rvalue))
    }

    fn worded_right(&mut self, dest: Option<TyId>) -> Res<Right> {
        let start = self.pos;
        if self.grammar.no_retag && self.eat("no_retag ") {
            match self.known_operand()? {
                Some(operand) => return Ok(Right::Rvalue(Rvalue::Use { operand })),
                None => self.pos = start,
            }
        }
        let dest_adt = self.adt_path(dest).unwrap_or("").to_owned();
        let unit_struct = dest_adt.ends_with("Checks") && self.at(&dest_adt);
        if !unit_struct {
            if let Some(operand) = self.known_operand()? {
                return self.after_operand(operand);
            }
        }
        if self.at("discriminant(") && dest_adt != "discriminant" {
            self.pos += "discriminant(".len();
            let place = self.place()?;
            self.expect(")", "discriminant")?;
            return Ok(Right::Rvalue(Rvalue::Discriminant { place }));
        }
        if self.eat("deref_copy ") {
            if self.at_place() {
                return Ok(Right::Rvalue(Rvalue::CopyForDeref { place: self.place()? }));
            }
            self.pos = start;
        }
        if self.eat("wrap_binder!(") {
            let operand = self.operand()?;
            self.expect("; ", "wrap_binder!")?;
            let ty = self.ty()?;
            self.expect(")", "wrap_binder!")?;
            return Ok(Right::Rvalue(Rvalue::WrapBinder { operand, ty }));
        }
        let path = self.value_path()?;
        if self.at("(") && dest_adt != path {
            if BINARY_OPS.contains(&path) {
                self.pos += 1;
                let left = self.operand()?;
                self.expect(", ", path)?;
                let right = self.operand()?;
                self.expect(")", path)?;
                return Ok(Right::Rvalue(Rvalue::Binary { op: path.to_owned(), left, right }));
            }
            if UNARY_OPS.contains(&path) {
                self.pos += 1;
                let operand = self.operand()?;
                self.expect(")", path)?;
                return Ok(Right::Rvalue(Rvalue::Unary { op: path.to_owned(), operand }));
            }
        }
        self.path_right(start, path, dest)
    }

    fn after_operand(&mut self, operand: Operand) -> Res<Right> {
        if self.at("(") {
            return Ok(Right::Callee(operand));
        }
        if self.eat(" as ") {
            return Ok(Right::Rvalue(self.cast(operand)?));
        }
        Ok(Right::Rvalue(Rvalue::Use { operand }))
    }

    fn cast(&mut self, operand: Operand) -> Res<Rvalue> {
        let ty = self.ty()?;
        self.expect(" (", "a cast")?;
        let start = self.pos;
        let kind = self.ident();
        if kind == "PointerCoercion" {
            self.expect("(", "a coercion")?;
            let inner = self.pos;
            self.ident();
            if self.at("(") {
                self.skip_group()?;
            }
            if !COERCIONS.contains(&self.slice(inner, self.pos)) {
                return Err(self.error_at(inner, "unknown coercion"));
            }
            if !self.eat(", Implicit)") && !self.eat(", AsCast)") {
                return self.fail("unknown source of a coercion");
            }
        } else if !CAST_KINDS.contains(&kind) {
            return Err(self.error_at(start, "unknown kind of cast"));
        }
        let cast = self.slice(start, self.pos).to_owned();
        self.expect(")", "a cast")?;
        Ok(Rvalue::Cast { cast, operand, ty })
    }

    /// A path: an aggregate, a function item left unevaluated, or such an item called or cast.
    fn path_right(&mut self, start: usize, path: &str, dest: Option<TyId>) -> Res<Right> {
        let function =
            || Operand::Const { value: Const::Unevaluated { path: path.to_owned(), promoted: None, ty: None } };
        if self.at(" as ") {
            return self.after_operand(function());
        }
        if self.at("(") {
            let open = self.pos;
            self.skip_group()?;
            let calls = self.at(" -> ");
            self.pos = open;
            if calls {
                return Ok(Right::Callee(function()));
            }
        }
        match dest.and_then(|ty| self.tables.ty(ty)) {
            Some(Ty::FnDef { .. }) if !self.at("(") && !self.at(" {") => {
                return Ok(Right::Rvalue(Rvalue::Use { operand: function() }));
            }
            Some(Ty::Adt { .. }) => {}
            Some(other) => {
                let text: String = other.text().chars().take(80).collect();
                return Err(self.error_at(start, format!("path assigned to a place of type `{text}`")));
            }
            None => return Err(self.error_at(start, "path assigned to a place of unknown type")),
        }
        if let Some(ty) = dest {
            self.tables.surely_adt.insert(ty);
        }
        let variant = variant_name(path, self.adt_path(dest).unwrap_or(""));
        let path = path.to_owned();
        let mut fields = Vec::new();
        let operands = if self.eat("(") {
            self.operands_until(")")?
        } else if self.eat(" { ") {
            self.named_operands(&mut fields)?
        } else {
            Vec::new()
        };
        Ok(Right::Rvalue(Rvalue::Adt { path, variant, fields, operands }))
    }

    // ---- lists of operands --------------------------------------------------------------------------------------

    /// `a, b` and `close`; the opening is already read.
    pub fn operands_until(&mut self, close: &str) -> Res<Vec<Operand>> {
        let mut operands = Vec::new();
        if self.eat(close) {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand()?);
            if self.eat(close) {
                return Ok(operands);
            }
            self.expect(", ", "a list of operands")?;
        }
    }

    /// `)`, `a,)`, `a, b)`.
    fn tuple_operands(&mut self) -> Res<Vec<Operand>> {
        let mut operands = Vec::new();
        if self.eat(")") {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand()?);
            if operands.len() == 1 && self.eat(",)") {
                return Ok(operands);
            }
            if operands.len() > 1 && self.eat(")") {
                return Ok(operands);
            }
            self.expect(", ", "a tuple")?;
        }
    }

    /// `f: a, g: b }`.
    fn named_operands(&mut self, fields: &mut Vec<String>) -> Res<Vec<Operand>> {
        let mut operands = Vec::new();
        loop {
            let name = self.ident();
            if name.is_empty() {
                return self.fail("expected a field's name");
            }
            fields.push(name.to_owned());
            self.expect(": ", "an aggregate")?;
            operands.push(self.operand()?);
            if self.eat(" }") {
                return Ok(operands);
            }
            self.expect(", ", "an aggregate")?;
        }
    }

    // ---- the rest -----------------------------------------------------------------------------------------------

    fn borrow(&mut self) -> Res<Rvalue> {
        if self.eat("&raw ") {
            let mutable = self.eat("mut ");
            if !mutable {
                self.expect("const ", "a raw borrow")?;
                self.eat("(fake) ");
            }
            return Ok(Rvalue::RawPtr { mutable, place: self.place()? });
        }
        if self.eat("&/*tls*/ ") {
            self.eat("mut ");
            return Ok(Rvalue::ThreadLocalRef { path: self.value_path()?.to_owned() });
        }
        self.expect("&", "a borrow")?;
        if self.at_region() {
            self.region()?;
            self.expect(" ", "a borrow")?;
        }
        let borrow = if self.eat("mut ") {
            Borrow::Mut
        } else if self.eat("fake shallow ") || self.eat("fake ") {
            Borrow::Fake
        } else {
            Borrow::Shared
        };
        Ok(Rvalue::Ref { borrow, place: self.place()? })
    }

    fn array(&mut self) -> Res<Rvalue> {
        self.expect("[", "an array")?;
        if self.eat("]") {
            return Ok(Rvalue::Array { operands: Vec::new() });
        }
        let first = self.operand()?;
        if self.eat("; ") {
            let count = usize_value(self.const_arg(b']')?);
            self.expect("]", "an array")?;
            return Ok(Rvalue::Repeat { operand: first, count });
        }
        let mut operands = vec![first];
        if !self.eat("]") {
            self.expect(", ", "an array")?;
            operands.append(&mut self.operands_until("]")?);
        }
        Ok(Rvalue::Array { operands })
    }

    /// `{closure@FILE:1:2: 3:4} { x: copy _1 }`.  The text may have lost operands: it names one for each captured
    /// variable, not one for each captured place.
    pub fn closure(&mut self, dest: Option<TyId>) -> Res<Rvalue> {
        let start = self.pos;
        self.skip_group()?;
        let inside = self.slice(start + 1, self.pos - 1);
        let location = inside.strip_prefix("closure@").unwrap_or(inside).to_owned();
        let mut names = Vec::new();
        let operands = if self.stable {
            self.expect("(", "a closure")?;
            self.operands_until(")")?
        } else if self.eat(" { ") {
            self.named_operands(&mut names)?
        } else {
            Vec::new()
        };
        let complete = match dest.and_then(|ty| self.tables.ty(ty)) {
            Some(Ty::Closure { upvars, .. } | Ty::Coroutine { upvars, .. }) if operands.len() > upvars.len() => {
                return Err(self.error_at(start, "closure has more operands than captures"));
            }
            Some(Ty::Closure { upvars, .. } | Ty::Coroutine { upvars, .. }) => operands.len() == upvars.len(),
            Some(Ty::OpaqueCoroutine { .. }) => false,
            _ => return Err(self.error_at(start, "closure assigned to a place that is not one")),
        };
        Ok(Rvalue::Closure { location, operands, complete })
    }

    fn raw_ptr_aggregate(&mut self) -> Res<Rvalue> {
        let ty = self.ty()?;
        self.expect(" from (", "a raw pointer")?;
        let data = self.operand()?;
        self.expect(", ", "a raw pointer")?;
        let meta = self.operand()?;
        self.expect(")", "a raw pointer")?;
        Ok(Rvalue::RawPtrAggregate { ty, data, meta })
    }
}

/// The variant that an aggregate's path names, given the path of the type it builds: `None` for structs and unions.
/// A re-exported variant may be printed by its other path; whatever is not the type's own path names a variant.
fn variant_name(path: &str, adt: &str) -> Option<String> {
    let plain = without_args(path);
    if plain == adt {
        return None;
    }
    Some(plain.rsplit("::").next().unwrap_or(&plain).to_owned())
}

/// A path without its `::<..>` arguments; `<T as Trait>` and `<impl T>` segments stay.
fn without_args(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find("::<") {
        plain.push_str(&rest[..at]);
        let mut group = crate::lex::Cursor::new(rest, at + 2);
        if group.skip_group().is_err() {
            break;
        }
        let segment = &rest[at..group.pos];
        if segment.starts_with("::<impl ") && group.at("::") {
            plain.push_str(segment);
        }
        rest = &rest[group.pos..];
    }
    plain.push_str(rest);
    plain
}
