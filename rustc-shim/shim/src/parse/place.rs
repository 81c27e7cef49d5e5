//! Places, constants, operands.

use super::reader::Reader;
use crate::lex::{is_ident_byte, Res};
use crate::wire::{AllocId, Const, LocalId, Operand, Place, Projection, Ty};

/// What a place's opening characters promised.
enum Opened {
    Deref,
    Paren,
    UnwrapBinder,
}

impl<'a> Reader<'a, '_> {
    /// `_N`.
    pub fn local(&mut self) -> Res<LocalId> {
        self.expect("_", "a local")?;
        self.number32("a local")
    }

    /// At the first character of a place.
    pub fn at_place(&self) -> bool {
        match self.peek() {
            Some(b'_') => self.peek_at(1).is_some_and(|b| b.is_ascii_digit()),
            Some(b'(') => true,
            Some(b'u') => self.at("unwrap_binder!("),
            _ => false,
        }
    }

    /// A place.  Openings are printed right to left and closings left to right, so a stack of openings reads it.
    pub fn place(&mut self) -> Res<Place> {
        let mut opened = Vec::new();
        loop {
            if self.eat("(*") {
                opened.push(Opened::Deref);
            } else if self.eat("(") {
                opened.push(Opened::Paren);
            } else if self.eat("unwrap_binder!(") {
                opened.push(Opened::UnwrapBinder);
            } else {
                break;
            }
        }
        let local = self.local()?;
        let mut place = Place { local, proj: Vec::with_capacity(opened.len()) };
        self.projections(&mut place.proj, &mut opened)?;
        if let Some(Projection::Field { .. } | Projection::Downcast { .. }) = place.proj.first() {
            if let Some(Some(ty)) = self.locals.get(local as usize) {
                self.tables.surely_adt.insert(*ty);
            }
        }
        Ok(place)
    }

    fn projections(&mut self, proj: &mut Vec<Projection>, opened: &mut Vec<Opened>) -> Res<()> {
        loop {
            if self.at("[") {
                let bracket = self.index_projection()?;
                proj.push(bracket);
                continue;
            }
            let Some(top) = opened.pop() else {
                return Ok(());
            };
            let next = match top {
                Opened::Deref => {
                    self.expect(")", "a dereference")?;
                    Projection::Deref
                }
                Opened::UnwrapBinder => {
                    self.expect("; ", "unwrap_binder!")?;
                    let ty = self.ty()?;
                    self.expect(")", "unwrap_binder!")?;
                    Projection::UnwrapBinder { ty }
                }
                Opened::Paren if self.eat(".") => {
                    let index = self.number32("a field")?;
                    self.expect(": ", "a field")?;
                    let ty = self.ty()?;
                    self.expect(")", "a field")?;
                    Projection::Field { index, ty }
                }
                Opened::Paren => {
                    self.expect(" as ", "a place")?;
                    self.downcast()?
                }
            };
            proj.push(next);
        }
    }

    /// `Name)`, `variant#3)` or a type and `)`.
    fn downcast(&mut self) -> Res<Projection> {
        let start = self.pos;
        let name = self.ident();
        if !name.is_empty() && self.eat(")") {
            return Ok(Projection::Downcast { variant: Some(name.to_owned()), index: None });
        }
        if name == "variant" && self.eat("#") {
            let index = self.number32("a variant's index")?;
            self.expect(")", "a variant")?;
            return Ok(Projection::Downcast { variant: None, index: Some(index) });
        }
        self.pos = start;
        let ty = self.ty()?;
        self.expect(")", "a cast of a place")?;
        Ok(Projection::OpaqueCast { ty })
    }

    /// `[_N]`, `[a of b]`, `[-a of b]`, `[a:]`, `[:-b]`, `[a:-b]`, `[a..b]`.
    fn index_projection(&mut self) -> Res<Projection> {
        self.expect("[", "an index")?;
        if self.at("_") {
            let local = self.local()?;
            self.expect("]", "an index")?;
            return Ok(Projection::Index { local });
        }
        if self.eat(":-") {
            let to = self.number("a subslice")?;
            self.expect("]", "a subslice")?;
            return Ok(Projection::Subslice { from: 0, to, from_end: true });
        }
        let from_end = self.eat("-");
        let first = self.number("a constant index")?;
        let projection = if self.eat(" of ") {
            let min_length = self.number("a constant index")?;
            Projection::ConstantIndex { offset: first, min_length, from_end }
        } else if from_end {
            return self.fail("expected ` of ` in an index from the end");
        } else if self.eat("..") {
            Projection::Subslice { from: first, to: self.number("a subslice")?, from_end: false }
        } else if self.eat(":-") {
            Projection::Subslice { from: first, to: self.number("a subslice")?, from_end: true }
        } else {
            self.expect(":", "a subslice")?;
            Projection::Subslice { from: first, to: 0, from_end: true }
        };
        self.expect("]", "an index")?;
        Ok(projection)
    }

    // ---- operands -----------------------------------------------------------------------------------------------

    pub fn operand(&mut self) -> Res<Operand> {
        if let Some(operand) = self.known_operand()? {
            return Ok(operand);
        }
        // A function item that rustc left as a path, the one constant printed without a keyword.
        Ok(Operand::Const { value: self.unevaluated()? })
    }

    /// An operand that its first word tells; `None` at anything else, which may be a path.
    pub fn known_operand(&mut self) -> Res<Option<Operand>> {
        if self.stable {
            return self.stable_operand();
        }
        let start = self.pos;
        match self.peek() {
            Some(b'c') if self.eat("copy ") && self.at_place() => {
                return Ok(Some(Operand::Copy { place: self.place()? }));
            }
            Some(b'm') if self.eat("move ") => {
                return Ok(Some(Operand::Move { place: self.place()? }));
            }
            _ => self.pos = start,
        }
        if self.eat("const ") {
            return Ok(Some(Operand::Const { value: self.constant()? }));
        }
        if self.at_const_value() {
            return Ok(Some(Operand::Const { value: self.constant()? }));
        }
        Ok(self.runtime_checks())
    }

    fn stable_operand(&mut self) -> Res<Option<Operand>> {
        if self.eat("move ") {
            return Ok(Some(Operand::Move { place: self.place()? }));
        }
        if self.at_place() {
            return Ok(Some(Operand::Copy { place: self.place()? }));
        }
        if let Some(checks) = self.runtime_checks() {
            return Ok(Some(checks));
        }
        if self.at_const_value() || self.at_const_arg() {
            return Ok(Some(Operand::Const { value: self.constant()? }));
        }
        Ok(None)
    }

    fn runtime_checks(&mut self) -> Option<Operand> {
        for check in ["UbChecks", "ContractChecks", "OverflowChecks"] {
            let after = self.peek_at(check.len());
            if self.at(check) && !after.is_some_and(|b| is_ident_byte(b) || matches!(b, b':' | b'(' | b' ' | b'<')) {
                self.pos += check.len();
                return Some(Operand::RuntimeChecks { check: check.to_owned() });
            }
        }
        None
    }

    /// At `ConstValue(..)`, not at an aggregate of a struct that is called so.
    fn at_const_value(&self) -> bool {
        let Some(inner) = self.rest().strip_prefix("ConstValue(") else {
            return false;
        };
        ["ZeroSized: ", "Scalar(", "Slice {", "Indirect {"].iter().any(|form| inner.starts_with(form))
    }

    // ---- constants ----------------------------------------------------------------------------------------------

    pub fn constant(&mut self) -> Res<Const> {
        let start = self.pos;
        if self.at_const_value() {
            self.pos += "ConstValue(".len();
            let value = self.const_value()?;
            self.expect(")", "a constant")?;
            return Ok(value);
        }
        if self.eat("ValTree(") {
            self.ident();
            if self.peek() != Some(b'(') {
                return self.fail("unknown form of ValTree");
            }
            self.skip_group()?;
            self.expect(": ", "a ValTree")?;
            let ty = self.ty()?;
            self.expect(")", "a ValTree")?;
            return Ok(Const::TyConst { text: self.slice(start, self.pos).to_owned(), ty: Some(ty) });
        }
        if self.at("{const error}") {
            return self.fail("constant with an error");
        }
        if self.at("UnevaluatedConst {") {
            self.pos += "UnevaluatedConst ".len();
            self.skip_group()?;
            return Ok(Const::TyConst { text: self.slice(start, self.pos).to_owned(), ty: None });
        }
        if self.at_const_arg() {
            self.ident();
            self.expect("/#", "a constant parameter")?;
            self.number("a constant parameter")?;
            return Ok(Const::TyConst { text: self.slice(start, self.pos).to_owned(), ty: None });
        }
        self.unevaluated()
    }

    fn const_value(&mut self) -> Res<Const> {
        if self.eat("ZeroSized: ") {
            return Ok(Const::Zst { ty: self.ty()? });
        }
        if self.eat("Scalar(") {
            if self.at("0x") {
                let start = self.pos;
                self.pos += 2;
                let digits = self.ident();
                let bad = digits.is_empty()
                    || digits.len() % 2 == 1
                    || digits.len() > 32
                    || !digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
                if bad {
                    return Err(self.error_at(start, "expected whole bytes of a scalar in hex"));
                }
                let bits = self.slice(start, self.pos).to_owned();
                let size = (digits.len() / 2) as u32;
                self.expect("): ", "a scalar")?;
                return Ok(Const::Scalar { ty: self.ty()?, bits, size });
            }
            let (alloc, offset) = self.alloc_pointer("alloc")?;
            self.expect("): ", "a pointer constant")?;
            return Ok(Const::Pointer { ty: self.ty()?, alloc, offset });
        }
        if self.eat("Slice { alloc_id: alloc") {
            let alloc = self.number("an allocation")?;
            self.expect(", meta: ", "a slice constant")?;
            let meta = self.number("a slice constant")?;
            self.expect(" }: ", "a slice constant")?;
            return Ok(Const::Slice { ty: self.ty()?, alloc, meta });
        }
        self.expect("Indirect { alloc_id: alloc", "a constant")?;
        let alloc = self.number("an allocation")?;
        self.expect(", offset: Size(", "a constant in memory")?;
        let offset = self.number("a constant in memory")?;
        self.expect(" bytes) }: ", "a constant in memory")?;
        Ok(Const::Indirect { ty: self.ty()?, alloc, offset })
    }

    /// `alloc7`, `alloc7+0x10`, `alloc7<imm>`; `prefix` is `alloc` or, where room is short, `a`.
    pub fn alloc_pointer(&mut self, prefix: &str) -> Res<(AllocId, u64)> {
        self.expect(prefix, "a pointer")?;
        let alloc = self.number("a pointer")?;
        let mut offset = 0;
        if self.eat("+0x") {
            let start = self.pos;
            offset = u64::from_str_radix(self.ident(), 16)
                .map_err(|_| self.error_at(start, "expected a pointer's offset in hex"))?;
        }
        self.eat("<imm>");
        Ok((alloc, offset))
    }

    /// `path::<args>`, `path::promoted[0]`.
    fn unevaluated(&mut self) -> Res<Const> {
        let start = self.pos;
        let path = self.value_path()?;
        if path == "true" || path == "false" || path.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.error_at(start, "constant printed without -Zverbose-internals"));
        }
        if let Some((owner, number)) = path.strip_suffix(']').and_then(|p| p.rsplit_once("::promoted[")) {
            if let Ok(promoted) = number.parse() {
                return Ok(Const::Unevaluated { path: owner.to_owned(), promoted: Some(promoted), ty: None });
            }
        }
        Ok(Const::Unevaluated { path: path.to_owned(), promoted: None, ty: None })
    }

    /// A path in value position with all its generic arguments; the text is the answer.
    pub fn value_path(&mut self) -> Res<&'a str> {
        let start = self.pos;
        loop {
            match self.peek() {
                Some(b'<' | b'{') => self.skip_group()?,
                Some(b) if is_ident_byte(b) => {
                    if self.at("r#") {
                        self.pos += 2;
                    }
                    let name = self.ident();
                    if self.peek() == Some(b'#') && self.peek_at(1).is_some_and(|b| b.is_ascii_digit()) {
                        self.pos += 1;
                        self.ident();
                    }
                    if name == "promoted" && self.peek() == Some(b'[') {
                        self.skip_group()?;
                    }
                    if self.peek() == Some(b'<') {
                        self.skip_group()?;
                    }
                }
                _ => return self.fail("expected a path"),
            }
            if !self.eat("::") {
                return Ok(self.slice(start, self.pos));
            }
        }
    }

    /// Whether a type is an ADT, and its path.
    pub fn adt_path(&self, ty: Option<u32>) -> Option<&str> {
        match self.tables.ty(ty?)? {
            Ty::Adt { path, .. } => Some(path),
            _ => None,
        }
    }
}
