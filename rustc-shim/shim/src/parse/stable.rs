//! The side channel: `-Zunpretty=stable-mir` text of the same crate, which keeps what the main text loses.
//!
//! Both texts walk the same bodies in the same order and print the same statements, so everything is matched by
//! position, and used only where the two agree.

use super::grammar::Grammar;
use super::index::{header, Item};
use super::reader::Reader;
use super::tables::Tables;
use crate::lex::Cursor;
use crate::wire::{Body, Const, ItemKind, Operand, Place, Projection, Rvalue, StatementKind, TerminatorKind, Ty};

/// The side channel, matched with the main dump's items.
pub struct Side<'a> {
    text: &'a str,
    /// For every main item its place among `bodies`.
    matched: Vec<Option<usize>>,
    bodies: Vec<StableBody<'a>>,
}

struct StableBody<'a> {
    name: &'a str,
    start: usize,
    end: usize,
}

impl<'a> Side<'a> {
    /// Matches bodies in order; fails with a reason when the texts are not of the same crate.
    pub fn zip(text: &'a str, items: &[Item]) -> Result<Side<'a>, String> {
        let mut found = Vec::new();
        let mut cur = Cursor::new(text, 0);
        while cur.pos < text.len() {
            if !cur.at("fn ") {
                if !cur.at("//") && !cur.at("\n") {
                    return Err("unknown text between bodies".to_owned());
                }
                cur.pos = (cur.line_end() + 1).min(text.len());
                continue;
            }
            let item = header(&mut cur).map_err(|fail| fail.message)?;
            let Some(length) = memchr::memmem::find(&text.as_bytes()[item.start..], b"\n}\n") else {
                return Err(format!("body of `{}` has no end", item.header));
            };
            cur.pos = item.start + length + 3;
            found.push((item, cur.pos));
        }
        let with_body = |item: &Item| !matches!(item.kind, ItemKind::Promoted | ItemKind::TrivialConst) && !item.ctfe;
        let expected = items.iter().filter(|item| with_body(item)).count();
        if expected != found.len() {
            return Err(format!("{} bodies, but the main text has {expected}", found.len()));
        }
        let mut bodies = Vec::with_capacity(found.len());
        let mut matched = vec![None; items.len()];
        let pairs = items.iter().enumerate().filter(|(_, item)| with_body(item)).zip(found);
        for ((at, main), (stable, end)) in pairs {
            if main.args != stable.args || main.output != stable.output {
                return Err(format!("`{}` is matched with `{}`, whose types differ", main.header, stable.header));
            }
            if last_name(main.header) == last_name(stable.header) {
                matched[at] = Some(bodies.len());
            }
            bodies.push(StableBody { name: stable.header, start: stable.start, end });
        }
        Ok(Side { text, matched, bodies })
    }

    fn body(&self, at: usize) -> Option<&StableBody<'a>> {
        self.bodies.get((*self.matched.get(at)?)?)
    }

    /// What the side channel calls the main dump's item.
    pub fn instance(&self, at: usize) -> Option<&'a str> {
        self.body(at).map(|body| body.name)
    }

    /// Fills closure operands, downcasts' indices and variants' names of a body.
    pub fn complete(&self, at: usize, body: &mut Body, tables: &mut Tables, grammar: Grammar) -> Result<(), String> {
        let Some(stable) = self.body(at) else {
            return Ok(());
        };
        let blocks = self.blocks(stable)?;
        if blocks.len() != body.blocks.len() {
            return Err("another number of blocks".to_owned());
        }
        for (block, lines) in body.blocks.iter().zip(&blocks) {
            if block.statements.len() + 1 != lines.len() {
                return Err("another number of statements".to_owned());
            }
        }
        let locals: Vec<_> = body.locals.iter().map(|local| Some(local.ty)).collect();
        for (block, lines) in body.blocks.iter_mut().zip(&blocks) {
            for (statement, line) in block.statements.iter_mut().zip(lines) {
                let mut places = Vec::new();
                statement_places(&mut statement.kind, &mut places);
                fill_downcasts(places, self.line(*line))?;
                if let StatementKind::Assign { place, rvalue } = &mut statement.kind {
                    match rvalue {
                        Rvalue::Closure { complete: false, .. } => {
                            let mut reader = Reader::new(Cursor::new(&self.text[..line.1], line.0), tables, grammar);
                            reader.stable = true;
                            reader.locals.clone_from(&locals);
                            let dest = reader.place_ty(place);
                            complete_closure(&mut reader, dest, rvalue)?;
                        }
                        Rvalue::Adt { variant: Some(variant), .. } => rename_variant(variant, self.line(*line)),
                        _ => {}
                    }
                }
            }
            let mut places = Vec::new();
            terminator_places(&mut block.terminator.kind, &mut places);
            if let Some(last) = lines.last() {
                fill_downcasts(places, self.line(*last))?;
            }
        }
        Ok(())
    }

    fn line(&self, line: (usize, usize)) -> &'a str {
        &self.text[line.0..line.1]
    }

    /// Lines of every block, as offsets, without indentation.
    fn blocks(&self, body: &StableBody) -> Result<Vec<Vec<(usize, usize)>>, String> {
        let mut blocks = Vec::new();
        let mut open = false;
        let mut at = body.start;
        for line in self.text[body.start..body.end].split_inclusive('\n') {
            let start = at;
            at += line.len();
            let code = line.trim_end_matches('\n');
            if !open {
                if code.starts_with("    bb") && code.ends_with(": {") {
                    open = true;
                    blocks.push(Vec::new());
                }
                continue;
            }
            if code == "    }" {
                open = false;
                continue;
            }
            let indent = code.len() - code.trim_start_matches(' ').len();
            match blocks.last_mut() {
                Some(lines) => lines.push((start + indent, start + code.len())),
                None => return Err("statement outside a block".to_owned()),
            }
        }
        Ok(blocks)
    }
}

/// Last segment of a header without its disambiguator.
fn last_name(header: &str) -> &str {
    let name = header.rsplit("::").next().unwrap_or(header);
    match name.split_once('#') {
        Some((plain, number)) if number.bytes().all(|b| b.is_ascii_digit()) && plain != "r" => plain,
        _ => name,
    }
}

fn rename_variant(variant: &mut String, line: &str) {
    let Some((_, right)) = line.split_once(" = ") else {
        return;
    };
    let path = right.split(['(', ';']).next().unwrap_or(right);
    if let Some((_, name)) = path.rsplit_once("::") {
        if !name.is_empty() && name != variant && name.bytes().all(crate::lex::is_ident_byte) {
            *variant = name.to_owned();
        }
    }
}

// ---- closures ---------------------------------------------------------------------------------------------------

fn complete_closure(reader: &mut Reader, dest: Option<u32>, rvalue: &mut Rvalue) -> Result<(), String> {
    let line = reader.rest();
    let forms = ["{closure@", "{coroutine@", "{coroutine-closure@"];
    let Some(at) = forms.iter().filter_map(|form| line.find(&format!(" = {form}"))).min() else {
        return Err("no closure where the main text has one".to_owned());
    };
    reader.pos += at + " = ".len();
    let dest_ty = dest.and_then(|ty| reader.tables.ty(ty)).cloned();
    let read = reader.closure(dest).map_err(|fail| fail.message)?;
    let (Rvalue::Closure { operands: all, .. }, Rvalue::Closure { operands, complete, .. }) = (read, rvalue) else {
        return Err("no closure where the main text has one".to_owned());
    };
    let agrees = all.len() >= operands.len() && operands.iter().zip(&all).all(|(main, side)| same_operand(main, side));
    if !agrees {
        return Err("closure's operands differ".to_owned());
    }
    // Numbers of allocations are another compiler run's.
    if all.iter().skip(operands.len()).any(names_alloc) {
        return Err("lost closure operand is a constant in memory".to_owned());
    }
    *complete = match dest_ty {
        Some(Ty::Closure { upvars, .. } | Ty::Coroutine { upvars, .. }) => upvars.len() == all.len(),
        _ => true,
    };
    operands.extend(all.into_iter().skip(operands.len()));
    Ok(())
}

fn same_operand(main: &Operand, side: &Operand) -> bool {
    match (main, side) {
        (Operand::Copy { place: a }, Operand::Copy { place: b })
        | (Operand::Move { place: a }, Operand::Move { place: b }) => {
            let same = |(a, b): (&Projection, &Projection)| match (a, b) {
                (Projection::Downcast { .. }, Projection::Downcast { .. }) => true,
                (a, b) => a == b,
            };
            a.local == b.local && a.proj.len() == b.proj.len() && a.proj.iter().zip(&b.proj).all(same)
        }
        (Operand::Const { .. }, Operand::Const { .. }) => true,
        (Operand::RuntimeChecks { check: a }, Operand::RuntimeChecks { check: b }) => a == b,
        _ => false,
    }
}

fn names_alloc(operand: &Operand) -> bool {
    matches!(operand, Operand::Const { value: Const::Pointer { .. } | Const::Slice { .. } | Const::Indirect { .. } })
}

// ---- downcasts --------------------------------------------------------------------------------------------------

/// Gives downcasts the indices that the side channel prints for the same places, in the same order.
fn fill_downcasts(places: Vec<&mut Place>, line: &str) -> Result<(), String> {
    let casts: Vec<_> = places
        .into_iter()
        .flat_map(|place| place.proj.iter_mut())
        .filter_map(|projection| match projection {
            Projection::Downcast { index, .. } => Some(index),
            _ => None,
        })
        .collect();
    if casts.is_empty() {
        return Ok(());
    }
    let printed: Vec<u32> = line
        .split(" as variant#")
        .skip(1)
        .filter_map(|tail| tail.split_once(')'))
        .filter_map(|(number, _)| number.parse().ok())
        .collect();
    if printed.len() != casts.len() {
        return Err("another number of downcasts".to_owned());
    }
    for (index, number) in casts.into_iter().zip(printed) {
        if *index.get_or_insert(number) != number {
            return Err("another variant in a downcast".to_owned());
        }
    }
    Ok(())
}

fn statement_places<'b>(kind: &'b mut StatementKind, places: &mut Vec<&'b mut Place>) {
    match kind {
        StatementKind::Assign { place, rvalue } => {
            places.push(place);
            rvalue_places(rvalue, places);
        }
        StatementKind::SetDiscriminant { place, .. } => places.push(place),
        StatementKind::Assume { operand } => operand_place(operand, places),
        StatementKind::CopyNonoverlapping { dst, src, count } => {
            // rustc's own debug output, by which the side channel prints this, has the source first.
            [src, dst, count].into_iter().for_each(|operand| operand_place(operand, places));
        }
        StatementKind::StorageLive { .. } | StatementKind::StorageDead { .. } | StatementKind::Ignored { .. } => {}
    }
}

fn rvalue_places<'b>(rvalue: &'b mut Rvalue, places: &mut Vec<&'b mut Place>) {
    match rvalue {
        Rvalue::Use { operand }
        | Rvalue::Repeat { operand, .. }
        | Rvalue::Cast { operand, .. }
        | Rvalue::Unary { operand, .. }
        | Rvalue::WrapBinder { operand, .. } => operand_place(operand, places),
        Rvalue::Binary { left, right, .. } | Rvalue::RawPtrAggregate { data: left, meta: right, .. } => {
            operand_place(left, places);
            operand_place(right, places);
        }
        Rvalue::Array { operands }
        | Rvalue::Tuple { operands }
        | Rvalue::Adt { operands, .. }
        // A closure's lost operands are added after this, with the indices that the side channel prints.
        | Rvalue::Closure { operands, .. } => operands.iter_mut().for_each(|operand| operand_place(operand, places)),
        Rvalue::Ref { place, .. }
        | Rvalue::RawPtr { place, .. }
        | Rvalue::Discriminant { place }
        | Rvalue::CopyForDeref { place } => places.push(place),
        Rvalue::ThreadLocalRef { .. } => {}
    }
}

fn terminator_places<'b>(kind: &'b mut TerminatorKind, places: &mut Vec<&'b mut Place>) {
    match kind {
        TerminatorKind::SwitchInt { operand, .. } => operand_place(operand, places),
        TerminatorKind::Call { destination, func, args, .. } => {
            places.push(destination);
            operand_place(func, places);
            args.iter_mut().for_each(|operand| operand_place(operand, places));
        }
        TerminatorKind::TailCall { func, args } => {
            operand_place(func, places);
            args.iter_mut().for_each(|operand| operand_place(operand, places));
        }
        TerminatorKind::Drop { place, .. } => places.push(place),
        TerminatorKind::Assert { operand, args, .. } => {
            operand_place(operand, places);
            args.iter_mut().for_each(|operand| operand_place(operand, places));
        }
        _ => {}
    }
}

fn operand_place<'b>(operand: &'b mut Operand, places: &mut Vec<&'b mut Place>) {
    if let Operand::Copy { place } | Operand::Move { place } = operand {
        places.push(place);
    }
}
