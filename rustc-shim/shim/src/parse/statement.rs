//! Statements and the lines of a block.

use super::reader::Reader;
use super::rvalue::Right;
use crate::lex::Res;
use crate::wire::{Const, Operand, Rvalue, StatementKind, TerminatorKind};

/// One line of a block.
pub enum Line {
    Statement(StatementKind),
    Terminator(TerminatorKind),
}

/// Statements without run-time meaning, whose arguments are kept as text.
const IGNORED: &[&str] = &[
    "FakeRead(",
    "PlaceMention(",
    "AscribeUserType(",
    "Coverage::",
    "ConstEvalCounter",
    "nop",
    "BackwardIncompatibleDropHint(",
];

impl<'a> Reader<'a, '_> {
    /// A statement or terminator up to its `;`, which stays unread.
    pub fn line(&mut self) -> Res<Line> {
        if self.at_place() {
            return self.assignment();
        }
        if let Some(kind) = self.plain_statement()? {
            return Ok(Line::Statement(kind));
        }
        if let Some(kind) = self.terminator()? {
            return Ok(Line::Terminator(kind));
        }
        self.fail("unknown statement or terminator")
    }

    fn plain_statement(&mut self) -> Res<Option<StatementKind>> {
        let start = self.pos;
        let kind = match self.peek() {
            Some(b'S') if self.eat("StorageLive(") => {
                let local = self.local()?;
                self.expect(")", "StorageLive")?;
                StatementKind::StorageLive { local }
            }
            Some(b'S') if self.eat("StorageDead(") => {
                let local = self.local()?;
                self.expect(")", "StorageDead")?;
                StatementKind::StorageDead { local }
            }
            Some(b'd') if self.eat("discriminant(") => {
                let place = self.place()?;
                self.expect(") = ", "a discriminant's assignment")?;
                StatementKind::SetDiscriminant { place, variant_index: self.number32("a variant's index")? }
            }
            Some(b'a') if self.eat("assume(") => {
                let operand = self.operand()?;
                self.expect(")", "assume")?;
                StatementKind::Assume { operand }
            }
            Some(b'c') if self.eat("copy_nonoverlapping(dst = ") => {
                let dst = self.operand()?;
                self.expect(", src = ", "copy_nonoverlapping")?;
                let src = self.operand()?;
                self.expect(", count = ", "copy_nonoverlapping")?;
                let count = self.operand()?;
                self.expect(")", "copy_nonoverlapping")?;
                StatementKind::CopyNonoverlapping { dst, src, count }
            }
            Some(b'R') if self.grammar.retag_statements && self.eat("Retag(") => {
                let _ = self.eat("[fn entry] ") || self.eat("[2phase] ") || self.eat("[raw] ");
                self.place()?;
                self.expect(")", "Retag")?;
                StatementKind::Ignored { text: self.slice(start, self.pos).to_owned() }
            }
            _ if IGNORED.iter().any(|word| self.at(word)) => {
                self.pos = self.statement_end();
                StatementKind::Ignored { text: self.slice(start, self.pos).to_owned() }
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    fn assignment(&mut self) -> Res<Line> {
        let start = self.pos;
        let place = self.place()?;
        self.expect(" = ", "an assignment")?;
        if self.at("yield(") {
            return Ok(Line::Terminator(self.yield_from(start)?));
        }
        let dest = self.place_ty(&place);
        match self.right(dest)? {
            Right::Rvalue(mut rvalue) => {
                // A constant is of the type of the place it goes to.
                if let Rvalue::Use { operand: Operand::Const { value: Const::Unevaluated { ty, .. } } } = &mut rvalue {
                    *ty = dest;
                }
                Ok(Line::Statement(StatementKind::Assign { place, rvalue }))
            }
            Right::Callee(func) => Ok(Line::Terminator(self.call(place, func)?)),
        }
    }

    /// Offset of the `;` that ends the statement of this line, before its comment if it has one.
    fn statement_end(&self) -> usize {
        let line = self.slice(self.pos, self.line_end());
        let code = match line.rfind(" // bb") {
            Some(at) => line[..at].trim_end_matches(' '),
            None => line,
        };
        self.pos + code.strip_suffix(';').unwrap_or(code).len()
    }
}
