//! Terminators and their successors.

use super::reader::Reader;
use crate::lex::Res;
use crate::wire::{BlockId, Operand, Place, SwitchArm, TerminatorKind, Unwind, UnwindAction};

/// ` -> bb1`, ` -> unwind continue` or ` -> [label: bb1, .., unwind continue]`.
#[derive(Default)]
struct Successors<'a> {
    bare: Option<BlockId>,
    labelled: Vec<(&'a str, BlockId)>,
    unwind: Option<UnwindAction>,
}

impl<'a> Successors<'a> {
    fn take(&mut self, label: &str) -> Option<BlockId> {
        let at = self.labelled.iter().position(|(name, _)| *name == label)?;
        Some(self.labelled.remove(at).1)
    }
}

impl<'a> Reader<'a, '_> {
    /// A terminator that is not an assignment; `None` when the text is not one of them.
    pub fn terminator(&mut self) -> Res<Option<TerminatorKind>> {
        let start = self.pos;
        let kind = match self.peek() {
            Some(b'g') if self.eat("goto -> ") => TerminatorKind::Goto { target: self.block_id()? },
            Some(b's') if self.eat("switchInt(") => self.switch()?,
            Some(b'r') if self.eat("return") => TerminatorKind::Return,
            Some(b'r') if self.eat("resume") => TerminatorKind::Resume,
            Some(b'u') if self.eat("unreachable") => TerminatorKind::Unreachable,
            Some(b'c') if self.eat("coroutine_drop") => TerminatorKind::CoroutineDrop,
            Some(b't') if self.eat("terminate(abi)") => TerminatorKind::TerminateAbi,
            Some(b't') if self.eat("terminate(cleanup)") => TerminatorKind::TerminateCleanup,
            Some(b't') if self.eat("tailcall ") => {
                let func = self.operand()?;
                self.expect("(", "a tail call")?;
                TerminatorKind::TailCall { func, args: self.operands_until(")")? }
            }
            Some(b'd') if self.eat("drop(") => self.drop(start)?,
            Some(b'a') if self.eat("async drop(") => {
                self.place()?;
                self.expect("; poll=", "async drop")?;
                self.local()?;
                self.expect(")", "async drop")?;
                self.successors()?;
                TerminatorKind::AsyncDrop { text: self.slice(start, self.pos).to_owned() }
            }
            Some(b'a') if self.eat("assert(") => self.assert()?,
            Some(b'f') if self.eat("falseEdge") => {
                self.successors()?;
                TerminatorKind::FalseEdge { text: self.slice(start, self.pos).to_owned() }
            }
            Some(b'f') if self.eat("falseUnwind") => {
                self.successors()?;
                TerminatorKind::FalseUnwind { text: self.slice(start, self.pos).to_owned() }
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    /// `func(args)` of a call; the cursor stands on `(`.
    pub fn call(&mut self, destination: Place, func: Operand) -> Res<TerminatorKind> {
        self.expect("(", "a call")?;
        let args = self.operands_until(")")?;
        let at = self.pos;
        let mut successors = self.successors()?;
        let target = successors.take("return");
        // A call that returns always labels its successors: the bare form is the cleanup of one that diverges.
        let cleanup = successors.bare.take().or_else(|| successors.take("unwind"));
        let unwind = match (cleanup, successors.unwind) {
            (Some(block), None) => Unwind { action: UnwindAction::Cleanup, block: Some(block) },
            (None, Some(action)) => Unwind { action, block: None },
            _ => return Err(self.error_at(at, "call without an unwind action")),
        };
        if !successors.labelled.is_empty() {
            return Err(self.error_at(at, "unknown successor of a call"));
        }
        Ok(TerminatorKind::Call { destination, func, args, target, unwind })
    }

    /// `yield(op)`, whose destination is already read; the text starts at `start`.
    pub fn yield_from(&mut self, start: usize) -> Res<TerminatorKind> {
        self.expect("yield(", "yield")?;
        self.operand()?;
        self.expect(")", "yield")?;
        self.successors()?;
        Ok(TerminatorKind::Yield { text: self.slice(start, self.pos).to_owned() })
    }

    fn switch(&mut self) -> Res<TerminatorKind> {
        let operand = self.operand()?;
        self.expect(")", "switchInt")?;
        let at = self.pos;
        let mut successors = self.successors()?;
        let Some(otherwise) = successors.bare.take().or_else(|| successors.take("otherwise")) else {
            return Err(self.error_at(at, "switchInt without `otherwise`"));
        };
        let mut arms = Vec::with_capacity(successors.labelled.len());
        for (value, target) in successors.labelled {
            if value.parse::<u128>().is_err() {
                return Err(self.error_at(at, "switchInt's value is not a number"));
            }
            arms.push(SwitchArm { value: value.to_owned(), target });
        }
        if successors.unwind.is_some() {
            return Err(self.error_at(at, "switchInt with an unwind action"));
        }
        Ok(TerminatorKind::SwitchInt { operand, arms, otherwise })
    }

    fn drop(&mut self, start: usize) -> Res<TerminatorKind> {
        let place = self.place()?;
        self.expect(")", "drop")?;
        let at = self.pos;
        let mut successors = self.successors()?;
        if successors.take("drop").is_some() {
            return Ok(TerminatorKind::AsyncDrop { text: self.slice(start, self.pos).to_owned() });
        }
        let (target, unwind) = self.target_and_unwind(at, "return", &mut successors)?;
        Ok(TerminatorKind::Drop { place, target, unwind })
    }

    /// `assert(!op, "message {}", args)`; the name and the parenthesis are already read.
    fn assert(&mut self) -> Res<TerminatorKind> {
        let expected = !self.eat("!");
        let operand = self.operand()?;
        self.expect(", ", "assert")?;
        let message = self.quoted("assert")?.to_owned();
        let args = if self.eat(", ") { self.operands_until(")")? } else { Vec::new() };
        if args.is_empty() {
            self.expect(")", "assert")?;
        }
        let at = self.pos;
        let mut successors = self.successors()?;
        let (target, unwind) = self.target_and_unwind(at, "success", &mut successors)?;
        Ok(TerminatorKind::Assert { operand, expected, message, args, target, unwind })
    }

    fn target_and_unwind(&self, at: usize, label: &str, successors: &mut Successors) -> Res<(BlockId, Unwind)> {
        let Some(target) = successors.take(label) else {
            return Err(self.error_at(at, format!("no `{label}` successor")));
        };
        let unwind = match (successors.take("unwind"), successors.unwind) {
            (Some(block), None) => Unwind { action: UnwindAction::Cleanup, block: Some(block) },
            (None, Some(action)) => Unwind { action, block: None },
            _ => return Err(self.error_at(at, "no single unwind action")),
        };
        if !successors.labelled.is_empty() {
            return Err(self.error_at(at, "unknown successor"));
        }
        Ok((target, unwind))
    }

    // ---- successors ---------------------------------------------------------------------------------------------

    pub fn block_id(&mut self) -> Res<BlockId> {
        self.expect("bb", "a block")?;
        self.number32("a block")
    }

    fn successors(&mut self) -> Res<Successors<'a>> {
        let mut found = Successors::default();
        self.expect(" -> ", "a terminator's successors")?;
        if self.eat("unwind ") {
            found.unwind = Some(self.unwind_action()?);
            return Ok(found);
        }
        if !self.eat("[") {
            found.bare = Some(self.block_id()?);
            return Ok(found);
        }
        loop {
            if self.eat("unwind ") {
                found.unwind = Some(self.unwind_action()?);
            } else {
                let label = self.ident();
                if label.is_empty() {
                    return self.fail("expected a successor's label");
                }
                self.expect(": ", "a successor")?;
                found.labelled.push((label, self.block_id()?));
            }
            if self.eat("]") {
                return Ok(found);
            }
            self.expect(", ", "successors")?;
        }
    }

    fn unwind_action(&mut self) -> Res<UnwindAction> {
        for (text, action) in [
            ("continue", UnwindAction::Continue),
            ("unreachable", UnwindAction::Unreachable),
            ("terminate(abi)", UnwindAction::TerminateAbi),
            ("terminate(cleanup)", UnwindAction::TerminateCleanup),
        ] {
            if self.eat(text) {
                return Ok(action);
            }
        }
        self.fail("unknown unwind action")
    }
}
