//! Paths of types, their generic arguments, regions and constants in types.

use super::reader::Reader;
use crate::lex::{is_ident_byte, Res};
use crate::wire::{GenericArg, Ty, TyId};

struct TypePath {
    /// End of the path without its last generic arguments.
    end: usize,
    args: Vec<GenericArg>,
    /// `<T as Trait>::Name`, an alias that rustc left alone.
    projection: bool,
}

impl<'a> Reader<'a, '_> {
    pub fn path_type(&mut self, start: usize) -> Res<TyId> {
        let found = self.type_path()?;
        let text = self.slice(start, self.pos);
        if let Some(make) = primitive(text) {
            return Ok(self.intern_from(start, make));
        }
        if found.projection {
            return Ok(self.intern_from(start, |text| Ty::Alias { text }));
        }
        if text == "Self" {
            return Ok(self.intern_from(start, |text| Ty::Param { text }));
        }
        let path = self.slice(start, found.end);
        let args = found.args;
        Ok(self.intern_from(start, |text| Ty::Adt { text, path: path.to_owned(), args }))
    }

    /// Reads a path without making a type of it.
    pub fn skip_type_path(&mut self) -> Res<()> {
        self.type_path().map(|_| ())
    }

    fn type_path(&mut self) -> Res<TypePath> {
        let qualified = self.at("<") && !self.at("<impl ");
        let mut args = Vec::new();
        let mut segments = 0;
        let mut opaque = false;
        loop {
            let segment_at = self.pos;
            match self.peek() {
                Some(b'<') => {
                    self.skip_group()?;
                    if !self.at("::") {
                        return self.fail("expected `::` after `<..>` in a path");
                    }
                }
                Some(b'{') => {
                    self.skip_group()?;
                    let segment = self.slice(segment_at, self.pos);
                    opaque = segment.starts_with("{opaque#") || segment.starts_with("{anon_assoc#");
                    segments += 1;
                }
                _ => {
                    self.path_name()?;
                    opaque = false;
                    segments += 1;
                }
            }
            let end = self.pos;
            args.clear();
            if self.at("<") {
                args = self.generic_args()?;
            }
            if !self.eat("::") {
                return Ok(TypePath { end, args, projection: opaque || (qualified && segments == 1) });
            }
        }
    }

    /// `name`, `r#name`, `name#1`.
    fn path_name(&mut self) -> Res<()> {
        let start = self.pos;
        if self.at("r#") {
            self.pos += 2;
        }
        if self.ident().is_empty() {
            self.pos = start;
            return self.fail("expected a name in a path");
        }
        if self.peek() == Some(b'#') && self.peek_at(1).is_some_and(|b| b.is_ascii_digit()) {
            self.pos += 1;
            self.ident();
        }
        Ok(())
    }

    fn generic_args(&mut self) -> Res<Vec<GenericArg>> {
        self.expect("<", "generic arguments")?;
        let mut args = Vec::new();
        loop {
            let start = self.pos;
            if self.at_region() {
                self.region()?;
                args.push(GenericArg::Region { text: self.slice(start, self.pos).to_owned() });
            } else if self.at_const_arg() {
                let text = self.const_arg(b'>')?.to_owned();
                args.push(GenericArg::Const { text });
            } else {
                args.push(GenericArg::Type { ty: self.ty()? });
            }
            if self.eat(">") {
                return Ok(args);
            }
            self.expect(", ", "generic arguments")?;
        }
    }

    pub fn at_region(&self) -> bool {
        self.peek() == Some(b'\'') || self.at("ReLateParam(")
    }

    pub fn region(&mut self) -> Res<()> {
        let start = self.pos;
        if self.eat("'") {
            if self.at("{") {
                return self.skip_group();
            }
        } else {
            self.expect("ReLateParam", "a region")?;
            return self.skip_group();
        }
        while let Some(b) = self.peek() {
            match b {
                b'(' => self.skip_group()?,
                b'.' | b'^' | b'#' | b'/' | b'?' => self.pos += 1,
                b if is_ident_byte(b) => self.pos += 1,
                _ => break,
            }
        }
        if self.pos == start + 1 {
            return self.fail("expected a region");
        }
        Ok(())
    }

    /// At a `ty::Const`: `ValTree(..)`, `N/#1`, `UnevaluatedConst {..}`, `{const error}`.
    pub fn at_const_arg(&self) -> bool {
        if self.at("ValTree(") || self.at("UnevaluatedConst {") || self.at("{const error}") {
            return true;
        }
        let mut ahead = self.cur.clone();
        !ahead.ident().is_empty() && ahead.at("/#")
    }

    /// Text of a `ty::Const`, which ends before `close` or a comma.
    pub fn const_arg(&mut self, close: u8) -> Res<&'a str> {
        let start = self.pos;
        if self.at("ValTree(") {
            self.pos += "ValTree".len();
            self.skip_group()?;
        } else if self.at("UnevaluatedConst {") {
            self.pos += "UnevaluatedConst ".len();
            self.skip_group()?;
        } else if self.at("{const error}") || self.at("(") {
            // `(Add: (N/#0: usize), ..)`: an expression of generic_const_exprs.
            self.skip_group()?;
        } else {
            let name = self.ident().to_owned();
            self.expect("/#", "a constant argument")?;
            self.number("a constant parameter")?;
            if name.is_empty() {
                return self.fail("expected a constant argument");
            }
        }
        let text = self.slice(start, self.pos);
        if self.peek() == Some(close) || self.peek() == Some(b',') || close == b')' {
            Ok(text)
        } else {
            self.fail("unexpected text after a constant argument")
        }
    }
}

fn primitive(text: &str) -> Option<fn(String) -> Ty> {
    Some(match text {
        "bool" => |text| Ty::Bool { text },
        "char" => |text| Ty::Char { text },
        "str" => |text| Ty::Str { text },
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" | "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => {
            |text| Ty::Int { name: text.clone(), text }
        }
        "f16" | "f32" | "f64" | "f128" => |text| Ty::Float { name: text.clone(), text },
        _ => return None,
    })
}

/// Decimal value of `ValTree(Leaf(0x0000000000000003): usize)`; `None` for constants that rustc has not evaluated.
pub fn usize_value(text: &str) -> Option<String> {
    let hex = text.strip_prefix("ValTree(Leaf(0x")?.strip_suffix("): usize)")?;
    Some(u64::from_str_radix(hex, 16).ok()?.to_string())
}
