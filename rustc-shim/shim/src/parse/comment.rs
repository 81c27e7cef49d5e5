//! Comments that `-Zmir-include-spans=yes` adds: scopes, spans, and what constants and closures are.

use super::reader::Reader;
use crate::lex::Res;
use crate::wire::{Const, Operand, Rvalue, SpanId, StatementKind, TerminatorKind, TyId};

/// Start of every line of extra comments.
const EXTRA: &str = "                                         // ";

/// `+ const_:` comment of a constant that rustc left as a path.
pub struct Extra<'a> {
    name: &'a str,
    promoted: Option<u32>,
    ty: TyId,
}

impl<'a> Reader<'a, '_> {
    /// ` // ` after padding, if the line goes on; `None` at the end of the line.
    pub fn comment_start(&mut self) -> Res<bool> {
        if self.eat("\n") {
            return Ok(false);
        }
        while self.at(" ") {
            self.pos += 1;
        }
        self.expect("//", "the rest of a line")?;
        Ok(true)
    }

    /// `scope N at SPAN` and the end of the line.
    pub fn scope_and_span(&mut self) -> Res<(u32, Option<SpanId>)> {
        self.expect("scope ", "a comment")?;
        let scope = self.number32("a comment's scope")?;
        self.expect(" at ", "a comment")?;
        Ok((scope, self.span_to_line_end()?))
    }

    /// A span that reaches to the end of the line, which is read too.
    pub fn span_to_line_end(&mut self) -> Res<Option<SpanId>> {
        let start = self.pos;
        let end = self.line_end();
        let text = self.slice(start, end);
        self.pos = end;
        self.expect("\n", "a span")?;
        if text == "no-location" {
            return Ok(None);
        }
        match split_span(text) {
            Some((file, position)) => Ok(Some(self.tables.span(file, position))),
            None => Err(self.error_at(start, "expected a span")),
        }
    }

    /// Lines of extra comments after a statement or terminator.
    pub fn extras(&mut self) -> Res<Vec<Extra<'a>>> {
        let mut found = Vec::new();
        while self.eat(EXTRA) {
            let start = self.pos;
            let end = self.line_end();
            if self.eat("+ const_: Const { ty: ") {
                let ty = self.ty()?;
                self.expect(", val: ", "a constant's comment")?;
                if self.eat("Unevaluated(") || self.eat("ty::Unevaluated(") {
                    found.push(self.unevaluated_comment(ty, end)?);
                }
            } else {
                let text = self.slice(start, end);
                let known = ["mir::ConstOperand", "+ ", "    ", "]", "closure", "coroutine", "adt"];
                if !known.iter().any(|word| text.starts_with(word)) {
                    return self.fail("unknown comment");
                }
                self.note_params(text);
            }
            self.pos = end;
            self.expect("\n", "a comment")?;
        }
        Ok(found)
    }

    /// `PATH, [ARGS], None) }`.
    fn unevaluated_comment(&mut self, ty: TyId, end: usize) -> Res<Extra<'a>> {
        let path = self.value_path()?;
        let name = last_name(path);
        let rest = self.slice(self.pos, end);
        self.note_params(rest);
        let promoted = rest
            .rsplit_once("Some(promoted[")
            .and_then(|(_, tail)| tail.split(']').next())
            .and_then(|number| number.parse().ok());
        Ok(Extra { name, promoted, ty })
    }

    /// Remembers generic parameters, which debug output prints as `T/#0`.
    fn note_params(&mut self, text: &str) {
        let mut at = 0;
        while let Some(found) = text[at..].find("/#") {
            let end = at + found;
            let name_at = text[..end]
                .rfind(|c: char| !(c == '_' || c.is_alphanumeric()))
                .map_or(0, |before| before + text[before..].chars().next().map_or(1, char::len_utf8));
            let quoted = text[..name_at].ends_with('\'');
            if name_at < end && !quoted {
                self.tables.param_names.insert(text[name_at..end].to_owned());
            }
            at = end + 2;
        }
    }
}

/// `FILE:1:2: 3:4` into the file and the numbers; file names may hold colons and spaces.
pub fn split_span(text: &str) -> Option<(&str, [u32; 4])> {
    let (rest, end_col) = text.rsplit_once(':')?;
    let (rest, end_line) = rest.rsplit_once(": ")?;
    let (rest, col) = rest.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some((file, [line.parse().ok()?, col.parse().ok()?, end_line.parse().ok()?, end_col.parse().ok()?]))
}

fn last_name(path: &str) -> &str {
    let mut path = path;
    while let Some(open) = path.strip_suffix('>').and_then(|_| matching_open(path)) {
        path = path[..open].trim_end_matches("::");
    }
    path.rsplit("::").next().unwrap_or(path)
}

/// Where the `<` stands that the last `>` closes.
fn matching_open(path: &str) -> Option<usize> {
    let bytes = path.as_bytes();
    let mut depth = 0usize;
    for at in (0..bytes.len()).rev() {
        match bytes[at] {
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'>' => depth += 1,
            b'<' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

// ---- matching comments with constants ---------------------------------------------------------------------------

/// Fills the types of constants left as paths from a statement's comments.
pub fn fill_statement(kind: &mut StatementKind, extras: &[Extra]) {
    if extras.is_empty() {
        return;
    }
    let mut operands: Vec<&mut Operand> = Vec::new();
    match kind {
        StatementKind::Assign { rvalue, .. } => rvalue_operands(rvalue, &mut operands),
        StatementKind::Assume { operand } => operands.push(operand),
        // rustc visits the source first.
        StatementKind::CopyNonoverlapping { dst, src, count } => operands.extend([src, dst, count]),
        _ => {}
    }
    fill(operands, extras);
}

/// The same for a terminator.
pub fn fill_terminator(kind: &mut TerminatorKind, extras: &[Extra]) {
    if extras.is_empty() {
        return;
    }
    let mut operands: Vec<&mut Operand> = Vec::new();
    match kind {
        TerminatorKind::SwitchInt { operand, .. } => operands.push(operand),
        TerminatorKind::Call { func, args, .. } | TerminatorKind::TailCall { func, args } => {
            operands.push(func);
            operands.extend(args);
        }
        TerminatorKind::Assert { operand, args, .. } => {
            operands.push(operand);
            operands.extend(args);
        }
        _ => {}
    }
    fill(operands, extras);
}

fn rvalue_operands<'o>(rvalue: &'o mut Rvalue, operands: &mut Vec<&'o mut Operand>) {
    match rvalue {
        Rvalue::Use { operand }
        | Rvalue::Repeat { operand, .. }
        | Rvalue::Cast { operand, .. }
        | Rvalue::Unary { operand, .. }
        | Rvalue::WrapBinder { operand, .. } => operands.push(operand),
        Rvalue::Binary { left, right, .. } => operands.extend([left, right]),
        Rvalue::RawPtrAggregate { data, meta, .. } => operands.extend([data, meta]),
        Rvalue::Array { operands: all }
        | Rvalue::Tuple { operands: all }
        | Rvalue::Adt { operands: all, .. }
        | Rvalue::Closure { operands: all, .. } => operands.extend(all),
        Rvalue::Ref { .. }
        | Rvalue::RawPtr { .. }
        | Rvalue::ThreadLocalRef { .. }
        | Rvalue::Discriminant { .. }
        | Rvalue::CopyForDeref { .. } => {}
    }
}

type Slot<'o> = (String, Option<u32>, &'o mut Option<TyId>);

/// Comments leave out constants of scalar types, so they are a subsequence of the constants.  A type is filled only
/// where matching from the left and from the right agree.
fn fill(operands: Vec<&mut Operand>, extras: &[Extra]) {
    let mut slots: Vec<Slot> = Vec::new();
    for operand in operands {
        match operand {
            Operand::Const { value: Const::Unevaluated { path, promoted, ty } } => {
                slots.push((last_name(path).to_owned(), *promoted, ty));
            }
            Operand::Const { value: Const::TyConst { text, ty: ty @ None } }
                if text.starts_with("UnevaluatedConst") =>
            {
                slots.push((String::new(), None, ty));
            }
            _ => {}
        }
    }
    let fits = |slot: &Slot, extra: &Extra| (slot.0.is_empty() || slot.0 == extra.name) && slot.1 == extra.promoted;
    let mut left = Vec::new();
    let mut at = 0;
    for extra in extras {
        match (at..slots.len()).find(|&slot| fits(&slots[slot], extra)) {
            Some(slot) => {
                left.push(slot);
                at = slot + 1;
            }
            None => return,
        }
    }
    let mut right = Vec::new();
    let mut end = slots.len();
    for extra in extras.iter().rev() {
        match (0..end).rev().find(|&slot| fits(&slots[slot], extra)) {
            Some(slot) => {
                right.push(slot);
                end = slot;
            }
            None => return,
        }
    }
    for ((extra, &slot), &other) in extras.iter().zip(&left).zip(right.iter().rev()) {
        if slot == other {
            *slots[slot].2 = Some(extra.ty);
        }
    }
}
