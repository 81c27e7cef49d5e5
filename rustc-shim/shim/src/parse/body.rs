//! Bodies: signature, scope tree, locals, blocks.

use super::comment::{fill_statement, fill_terminator};
use super::reader::Reader;
use super::statement::Line;
use crate::lex::Res;
use crate::wire::{
    Block, Body, ItemKind, Local, Operand, Scope, SpanId, Statement, Terminator, TerminatorKind, TrivialConst,
};

/// Locals and scopes of the body at hand.
#[derive(Default)]
struct Frame {
    locals: Vec<Option<Local>>,
    scopes: Vec<Option<Scope>>,
    names: Vec<(u32, String)>,
    /// Arguments that rustc shows as constants, which it does with those of no size, in order.
    constant_args: Vec<String>,
}

impl Frame {
    /// Gives the locals the names of their variables.  Where as many arguments are left as constants they are each
    /// other's, but not in a closure: captured variables look the same.
    fn name_locals(&mut self, arg_count: usize, is_closure: bool) {
        for (local, name) in std::mem::take(&mut self.names) {
            if let Some(Some(found)) = self.locals.get_mut(local as usize) {
                found.name.get_or_insert(name);
            }
        }
        let unnamed: Vec<&mut Local> =
            self.locals.iter_mut().skip(1).take(arg_count).flatten().filter(|local| local.name.is_none()).collect();
        if !is_closure && unnamed.len() == self.constant_args.len() {
            for (local, name) in unnamed.into_iter().zip(std::mem::take(&mut self.constant_args)) {
                local.name = Some(name);
            }
        }
    }
}

impl<'a> Reader<'a, '_> {
    /// A body from its signature to the closing brace's line.
    pub fn body(&mut self, kind: ItemKind, ctfe: bool) -> Res<Body> {
        self.locals = Vec::new();
        let mut frame = Frame::default();
        frame.scopes.push(Some(Scope { parent: None, inlined: None, track_caller: false, span: None }));
        let start = self.pos;
        let (header, promoted) = self.signature(kind, &mut frame)?;
        let arg_count = frame.locals.len().saturating_sub(1) as u32;
        self.scope_tree(&mut frame)?;
        let blocks = self.blocks()?;
        self.expect("}", "the end of a body")?;
        if self.pos < self.src().len() {
            self.expect("\n", "the end of a body")?;
        }
        frame.name_locals(arg_count as usize, header.ends_with('}'));
        let locals: Option<Vec<Local>> = frame.locals.into_iter().collect();
        let Some(locals) = locals else {
            return Err(self.error_at(start, "body with an undeclared local"));
        };
        let scopes: Option<Vec<Scope>> = frame.scopes.into_iter().collect();
        let Some(scopes) = scopes else {
            return Err(self.error_at(start, "body with a missing scope"));
        };
        let span = locals.first().and_then(|place| place.span);
        Ok(Body { kind, header, instance: None, ctfe, promoted, arg_count, locals, scopes, blocks, span })
    }

    /// `const PATH: TY = const VALUE;`
    pub fn trivial_const(&mut self) -> Res<TrivialConst> {
        self.locals = Vec::new();
        self.expect("const ", "a constant")?;
        let header = self.value_path()?.to_owned();
        self.expect(": ", "a constant")?;
        let ty = self.ty()?;
        self.expect(" = const ", "a constant")?;
        let value = Operand::Const { value: self.constant()? };
        self.expect(";", "a constant")?;
        if self.pos < self.src().len() {
            self.expect("\n", "a constant")?;
        }
        Ok(TrivialConst { header, ty, value })
    }

    /// The signature with its ` {` and line end; declares `_0`'s slot and the arguments.
    fn signature(&mut self, kind: ItemKind, frame: &mut Frame) -> Res<(String, Option<u32>)> {
        let keyword = match kind {
            ItemKind::Fn => "fn ",
            ItemKind::Const | ItemKind::Promoted | ItemKind::TrivialConst => "const ",
            ItemKind::Static => "static ",
            ItemKind::StaticMut => "static mut ",
            ItemKind::Anon => "",
        };
        self.expect(keyword, "a header")?;
        let header = self.value_path()?.to_owned();
        frame.locals.push(None);
        if kind == ItemKind::Fn {
            self.expect("(", "a header")?;
            if !self.eat(")") {
                loop {
                    let local = self.local()?;
                    if local as usize != frame.locals.len() {
                        return self.fail("arguments out of order");
                    }
                    self.expect(": ", "an argument")?;
                    let ty = self.ty()?;
                    self.set_local(local, ty)?;
                    frame.locals.push(Some(Local { ty, mutable: false, name: None, span: None }));
                    if self.eat(")") {
                        break;
                    }
                    self.expect(", ", "a header")?;
                }
            }
            self.expect(" -> ", "a header")?;
            self.ty()?;
        } else {
            self.expect(": ", "a header")?;
            self.ty()?;
            self.expect(" =", "a header")?;
        }
        if self.eat("\nyields ") {
            self.ty()?;
        }
        self.expect(" {\n", "a header")?;
        let promoted =
            header.strip_suffix(']').and_then(|p| p.rsplit_once("::promoted[")).and_then(|p| p.1.parse().ok());
        Ok((header, promoted))
    }

    // ---- scopes and locals --------------------------------------------------------------------------------------

    /// Declarations up to the empty line before the first block.
    fn scope_tree(&mut self, frame: &mut Frame) -> Res<()> {
        let mut open: Vec<u32> = vec![0];
        loop {
            if self.eat("\n") {
                if open.len() != 1 {
                    return self.fail("unclosed scope");
                }
                return self.coverage();
            }
            for _ in 0..open.len() {
                if !self.eat("    ") {
                    break;
                }
            }
            if self.eat("debug ") {
                self.debug_line(frame, open.len() == 1)?;
            } else if self.eat("let ") {
                self.let_line(frame)?;
            } else if self.eat("scope ") {
                let number = self.scope_line(*open.last().unwrap_or(&0), frame)?;
                open.push(number);
            } else if open.len() > 1 && self.eat("}\n") {
                open.pop();
            } else {
                return self.fail("unknown declaration");
            }
        }
    }

    /// `coverage ..` lines, which an instrumented build prints between the scopes and the blocks.
    fn coverage(&mut self) -> Res<()> {
        let mut seen = false;
        while self.at("    coverage ") {
            self.pos = self.line_end();
            self.expect("\n", "coverage")?;
            seen = true;
        }
        if seen {
            self.expect("\n", "coverage")?;
        }
        Ok(())
    }

    /// `debug NAME => VALUE;`, or for a part of a variable `debug ((NAME: TY).0: TY) => VALUE;`.
    /// The variables of the `outermost` scope are the arguments, and what a closure has captured.
    fn debug_line(&mut self, frame: &mut Frame, outermost: bool) -> Res<()> {
        let name = self.ident();
        if name.is_empty() {
            self.debug_fragment()?;
        }
        self.expect(" => ", "debug")?;
        if self.at_place() {
            let place = self.place()?;
            if !name.is_empty() && place.proj.is_empty() {
                frame.names.push((place.local, name.to_owned()));
            }
        } else {
            self.operand()?;
            if outermost && !name.is_empty() {
                frame.constant_args.push(name.to_owned());
            }
        }
        self.expect(";", "debug")?;
        self.in_scope_comment(" in ").map(|_| ())
    }

    fn debug_fragment(&mut self) -> Res<()> {
        // Same brackets as a place, around `(NAME: TY)`.
        let mut depth = 0;
        while self.at("(") {
            self.pos += 1;
            self.eat("*");
            depth += 1;
        }
        if self.ident().is_empty() {
            return self.fail("expected a variable's name");
        }
        self.expect(": ", "debug")?;
        self.ty()?;
        self.expect(")", "debug")?;
        depth -= 1;
        while depth > 0 {
            if self.eat(".") {
                self.number("debug")?;
                self.expect(": ", "debug")?;
                self.ty()?;
            } else if self.eat(" as ") {
                self.ident();
            }
            self.expect(")", "debug")?;
            depth -= 1;
        }
        Ok(())
    }

    fn let_line(&mut self, frame: &mut Frame) -> Res<()> {
        let mutable = self.eat("mut ");
        let local = self.local()?;
        self.expect(": ", "a local")?;
        let ty = self.ty()?;
        while self.eat(" as UserTypeProjection ") {
            self.skip_group()?;
        }
        self.expect(";", "a local")?;
        self.set_local(local, ty)?;
        let span = self.in_scope_comment(if local == 0 { " return place in " } else { " in " })?;
        let at = local as usize;
        if frame.locals.len() <= at {
            frame.locals.resize(at + 1, None);
        }
        frame.locals[at] = Some(Local { ty, mutable, name: None, span });
        Ok(())
    }

    fn in_scope_comment(&mut self, lead: &str) -> Res<Option<SpanId>> {
        if !self.comment_start()? {
            return Ok(None);
        }
        self.expect(lead, "a comment")?;
        Ok(self.scope_and_span()?.1)
    }

    /// `N {` or `N (inlined #[track_caller] CALLEE) {`, with ` // at SPAN` when spans are on.
    fn scope_line(&mut self, parent: u32, frame: &mut Frame) -> Res<u32> {
        let number = self.number32("a scope")?;
        let mut scope = Scope { parent: Some(parent), inlined: None, track_caller: false, span: None };
        if self.eat(" (inlined ") {
            scope.track_caller = self.eat("#[track_caller] ");
            let start = self.pos;
            let line_end = self.line_end();
            let line = self.slice(start, line_end);
            // The comment is the last thing on the line and a span holds no ` // at `.
            let code_end = match line.rfind(" // at ") {
                Some(at) => start + line[..at].trim_end_matches(' ').len(),
                None => line_end,
            };
            let Some(callee) = self.slice(start, code_end).strip_suffix(") {") else {
                return self.fail("expected `) {` after an inlined callee");
            };
            scope.inlined = Some(callee.to_owned());
            self.pos = code_end;
            if self.comment_start()? {
                self.expect(" at ", "a scope's comment")?;
                scope.span = self.span_to_line_end()?;
            }
        } else {
            self.expect(" {\n", "a scope")?;
        }
        let at = number as usize;
        if at > frame.scopes.len() + 4_000_000 {
            return self.fail("scope's number is absurd");
        }
        if frame.scopes.len() <= at {
            frame.scopes.resize(at + 1, None);
        }
        if frame.scopes[at].replace(scope).is_some() {
            return self.fail(format!("scope {number} is declared twice"));
        }
        Ok(number)
    }

    // ---- blocks -------------------------------------------------------------------------------------------------

    fn blocks(&mut self) -> Res<Vec<Block>> {
        let mut blocks = Vec::new();
        loop {
            self.expect("    bb", "a block")?;
            let number = self.number32("a block")?;
            if number as usize != blocks.len() {
                return self.fail("blocks out of order");
            }
            let cleanup = self.eat(" (cleanup)");
            self.expect(": {\n", "a block")?;
            blocks.push(self.block(number, cleanup)?);
            if !self.eat("\n") {
                return Ok(blocks);
            }
        }
    }

    fn block(&mut self, number: u32, cleanup: bool) -> Res<Block> {
        let mut statements = Vec::new();
        loop {
            self.expect("        ", "a block's line")?;
            if self.eat("// DBG: ") {
                self.debug_info()?;
                continue;
            }
            let line = if self.at("asm!(\"") {
                Line::Terminator(self.inline_asm(number, statements.len())?)
            } else {
                self.line()?
            };
            self.expect(";", "the end of a statement")?;
            let (scope, span) = self.line_comment(number, statements.len())?;
            let extras = self.extras()?;
            match line {
                Line::Statement(mut kind) => {
                    fill_statement(&mut kind, &extras);
                    statements.push(Statement { kind, span, scope });
                }
                Line::Terminator(mut kind) => {
                    fill_terminator(&mut kind, &extras);
                    self.expect("    }\n", "the end of a block")?;
                    return Ok(Block { cleanup, statements, terminator: Terminator { kind, span, scope } });
                }
            }
        }
    }

    /// ` // bbN[i]: scope S at SPAN`, or the end of the line.
    fn line_comment(&mut self, block: u32, index: usize) -> Res<(Option<u32>, Option<SpanId>)> {
        if !self.comment_start()? {
            return Ok((None, None));
        }
        self.expect(&format!(" bb{block}[{index}]: "), "a statement's comment")?;
        let (scope, span) = self.scope_and_span()?;
        Ok((Some(scope), span))
    }

    /// `_2 = &PLACE;` or `_2 = &?;` of a `// DBG:` line.
    fn debug_info(&mut self) -> Res<()> {
        self.local()?;
        self.expect(" = &", "debug info")?;
        if !self.eat("?") {
            self.place()?;
        }
        self.expect(";\n", "debug info")
    }

    /// `asm!("TEMPLATE", ..)`: the template is not escaped and may span lines, so the text ends where the block does.
    /// A line of template cannot be a lone `}`, because braces are doubled.
    fn inline_asm(&mut self, block: u32, index: usize) -> Res<TerminatorKind> {
        let start = self.pos;
        let Some(length) = self.rest().find("\n    }\n") else {
            return self.fail("asm! without an end");
        };
        let region = self.slice(start, start + length);
        let comment = region.find(&format!(" // bb{block}[{index}]: scope "));
        let code = match comment {
            Some(at) => region[..at].trim_end_matches(' '),
            None => region,
        };
        let Some(text) = code.strip_suffix(';') else {
            return self.fail("asm! without `;`");
        };
        if !text.contains(", options(") {
            return self.fail("asm! without options");
        }
        self.pos = start + text.len();
        Ok(TerminatorKind::InlineAsm { text: text.to_owned() })
    }
}
