//! Reads the text of `-Zunpretty=mir` (with `-Zverbose-internals -Ztrim-diagnostic-paths=no`, spans optional) of
//! rustc 1.95 to 1.97 into the wire models.
//!
//! A first pass indexes the items; only selected bodies are read further, with the allocations they name.

mod alloc;
mod body;
mod comment;
mod grammar;
mod index;
mod place;
mod reader;
mod rvalue;
mod stable;
mod statement;
mod tables;
mod terminator;
mod type_path;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use grammar::{Grammar, Release};
use index::Item;
use reader::Reader;
use regex::Regex;
use tables::Tables;

use crate::lex::{line_of, Cursor, Fail, Res};
use crate::wire::{
    Alloc, AllocId, Body, Const, Header, ItemKind, MirDocumentParts, Operand, Rvalue, StatementKind, TerminatorKind,
    TrivialConst,
};

/// Stack of the thread that reads: types nest.
const STACK: usize = 64 << 20;

/// Text that is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// 1-based line of the dump.
    pub line: u64,
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Which bodies are wanted.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Exact headers or instances.
    pub functions: Vec<String>,
    /// Found anywhere in a header or instance.
    pub patterns: Vec<Regex>,
    pub all: bool,
}

impl Selection {
    /// Every body, compile-time ones of `const fn` included.
    pub fn all() -> Self {
        Selection { all: true, ..Selection::default() }
    }

    fn wants(&self, header: &str, instance: Option<&str>) -> bool {
        self.all
            || self.functions.iter().any(|f| f == header || Some(f.as_str()) == instance)
            || self.patterns.iter().any(|p| p.is_match(header) || instance.is_some_and(|i| p.is_match(i)))
    }
}

/// Is told how far the reading is.
pub type Passed<'a> = &'a (dyn Fn(usize) + Sync);

/// What [`parse_dump`] gives: the document's tables, and notes for its `notes`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    pub parts: MirDocumentParts,
    pub notes: Vec<String>,
}

/// Reads a dump.  `stable` is the `-Zunpretty=stable-mir` text of the same crate; without it headers have no
/// instances, closure aggregates may be incomplete and downcasts have no indices.
pub fn parse_dump(
    text: &str,
    stable: Option<&str>,
    grammar: Grammar,
    selection: &Selection,
) -> Result<Parsed, ParseError> {
    parse_watched(text, stable, grammar, selection, &|_| {})
}

/// Like [`parse_dump`]; `passed` is told offsets of `text` as they are passed, in every pass from the first one.
pub fn parse_watched(
    text: &str,
    stable: Option<&str>,
    grammar: Grammar,
    selection: &Selection,
    passed: Passed<'_>,
) -> Result<Parsed, ParseError> {
    std::thread::scope(|scope| {
        let work = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, || parse_here(text, stable, grammar, selection, passed));
        match work.map(|thread| thread.join()) {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => Err(ParseError { line: 0, message: format!("no thread to read in: {error}") }),
        }
    })
}

fn parse_here(
    text: &str,
    stable: Option<&str>,
    grammar: Grammar,
    selection: &Selection,
    passed: Passed<'_>,
) -> Result<Parsed, ParseError> {
    let located = |fail: Box<Fail>| ParseError { line: line_of(text, fail.offset), message: fail.message };
    let items = index::index(text, passed).map_err(located)?;
    let mut notes = Vec::new();
    let side = stable.and_then(|stable| match stable::Side::zip(stable, &items) {
        Ok(side) => Some(side),
        Err(reason) => {
            notes.push(format!("side channel not used: {reason}"));
            None
        }
    });
    let mut document = Document { text, grammar, tables: Tables::default(), parsed: Parsed::default() };
    let instance = |at: usize| side.as_ref().and_then(|side| side.instance(at));
    let mut owner_wanted = false;
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (at, item) in items.iter().enumerate() {
        passed(item.start);
        let wanted = match item.kind {
            // Promoted constants follow the item they belong to.
            ItemKind::Promoted => owner_wanted || selection.wants(item.header, None),
            _ => {
                owner_wanted = selection.wants(item.header, instance(at)) && (selection.all || !item.ctfe);
                owner_wanted
            }
        };
        if !wanted {
            continue;
        }
        seen.insert(item.header);
        seen.extend(instance(at));
        if item.kind == ItemKind::TrivialConst {
            let value = document.trivial_const(item).map_err(located)?;
            document.parsed.parts.trivial_consts.push(value);
            continue;
        }
        let mut body = document.body(item).map_err(located)?;
        if let Some(side) = &side {
            body.instance = side.instance(at).map(str::to_owned);
            document.complete(side, at, &mut body, &mut notes);
        }
        document.parsed.parts.bodies.push(body);
    }
    for wanted in &selection.functions {
        if !seen.contains(wanted.as_str()) {
            notes.push(format!("no body is called `{wanted}`"));
        }
    }
    document.allocs(&items, passed).map_err(located)?;
    document.tables.settle_params();
    let mut parsed = document.parsed;
    parsed.notes = notes;
    parsed.parts.index = items
        .iter()
        .enumerate()
        .filter(|(_, item)| !item.ctfe)
        .inspect(|(_, item)| passed(item.start))
        .map(|(at, item)| Header {
            header: item.header.to_owned(),
            instance: instance(at).map(str::to_owned),
            kind: item.kind,
            line: item.line,
            args: item.args.iter().map(|&arg| arg.to_owned()).collect(),
            output: item.output.to_owned(),
        })
        .collect();
    parsed.parts.files = document.tables.files;
    parsed.parts.spans = document.tables.spans;
    parsed.parts.types = document.tables.types;
    Ok(parsed)
}

/// A document being filled.
struct Document<'a> {
    text: &'a str,
    grammar: Grammar,
    tables: Tables,
    parsed: Parsed,
}

impl<'a> Document<'a> {
    fn reader(&mut self, start: usize, end: usize) -> Reader<'a, '_> {
        let text = &self.text[..end];
        Reader::new(Cursor::new(text, start), &mut self.tables, self.grammar)
    }

    fn body(&mut self, item: &Item) -> Res<Body> {
        let mut reader = self.reader(item.start, item.end);
        let body = reader.body(item.kind, item.ctfe)?;
        if reader.pos != item.end {
            return reader.fail("text after the end of a body");
        }
        Ok(body)
    }

    fn trivial_const(&mut self, item: &Item) -> Res<TrivialConst> {
        let mut reader = self.reader(item.start, item.end + 1);
        reader.trivial_const()
    }

    /// Restores from the side channel what the main text lost.
    fn complete(&mut self, side: &stable::Side, at: usize, body: &mut Body, notes: &mut Vec<String>) {
        if let Err(reason) = side.complete(at, body, &mut self.tables, self.grammar) {
            notes.push(format!("side channel not used for `{}`: {reason}", body.header));
        }
    }

    /// Reads the allocations that the bodies need: their own, and others' only when these do not say.
    fn allocs(&mut self, items: &[Item], passed: Passed<'_>) -> Res<()> {
        let mut wanted: BTreeSet<AllocId> = BTreeSet::new();
        for body in &self.parsed.parts.bodies {
            body_allocs(body, &mut wanted);
        }
        // rustc prints no allocations after a one-line constant: its own are there only if some body has them too.
        let mut hoped = BTreeSet::new();
        for value in &self.parsed.parts.trivial_consts {
            operand_alloc(&value.value, &mut hoped);
        }
        hoped.retain(|id| wanted.insert(*id));
        if wanted.is_empty() {
            return Ok(());
        }
        let own: BTreeSet<&str> = self.parsed.parts.bodies.iter().map(|body| body.header.as_str()).collect();
        let mut found: BTreeMap<AllocId, Alloc> = BTreeMap::new();
        let mut others = Vec::new();
        for item in items {
            if item.end == item.allocs_end {
                continue;
            }
            passed(item.end);
            if own.contains(item.header) {
                self.read_allocs(item, &mut wanted, &mut found)?;
            } else {
                others.push(item);
            }
        }
        loop {
            let before = (found.len(), unprinted(&found));
            if wanted.iter().all(|id| found.contains_key(id)) && before.1 == 0 {
                break;
            }
            for item in &others {
                passed(item.end);
                self.read_allocs(item, &mut wanted, &mut found)?;
            }
            if before == (found.len(), unprinted(&found)) {
                break;
            }
        }
        if let Some(missing) = wanted.iter().find(|id| !found.contains_key(id) && !hoped.contains(id)) {
            return Err(Box::new(Fail { offset: 0, message: format!("alloc{missing} is used but never printed") }));
        }
        self.parsed.parts.allocs = found.into_values().collect();
        Ok(())
    }

    /// Reads the wanted allocations among those printed after an item.
    fn read_allocs(
        &self,
        item: &Item,
        wanted: &mut BTreeSet<AllocId>,
        found: &mut BTreeMap<AllocId, Alloc>,
    ) -> Res<()> {
        let mut again = true;
        while again {
            again = false;
            let mut cur = Cursor::new(&self.text[..item.allocs_end], item.end);
            while cur.pos < item.allocs_end {
                cur.expect("\n", "allocations")?;
                let at = cur.pos;
                cur.expect("alloc", "allocations")?;
                let id = cur.number("an allocation")?;
                cur.pos = at;
                let known = found.get(&id).is_some_and(|alloc| !matches!(alloc, Alloc::StaticUnprinted { .. }));
                if !wanted.contains(&id) || known {
                    index::skip_alloc(&mut cur)?;
                    continue;
                }
                let read = alloc::alloc(&mut cur)?;
                if let Alloc::Memory { relocations, .. } = &read {
                    for relocation in relocations {
                        again |= wanted.insert(relocation.alloc);
                    }
                }
                found.insert(id, read);
            }
        }
        Ok(())
    }
}

fn unprinted(found: &BTreeMap<AllocId, Alloc>) -> usize {
    found.values().filter(|alloc| matches!(alloc, Alloc::StaticUnprinted { .. })).count()
}

fn body_allocs(body: &Body, wanted: &mut BTreeSet<AllocId>) {
    for block in &body.blocks {
        for statement in &block.statements {
            match &statement.kind {
                StatementKind::Assign { rvalue, .. } => rvalue_allocs(rvalue, wanted),
                StatementKind::Assume { operand } => operand_alloc(operand, wanted),
                StatementKind::CopyNonoverlapping { dst, src, count } => {
                    [dst, src, count].into_iter().for_each(|operand| operand_alloc(operand, wanted));
                }
                _ => {}
            }
        }
        match &block.terminator.kind {
            TerminatorKind::SwitchInt { operand, .. } => operand_alloc(operand, wanted),
            TerminatorKind::Call { func: operand, args, .. }
            | TerminatorKind::TailCall { func: operand, args }
            | TerminatorKind::Assert { operand, args, .. } => {
                operand_alloc(operand, wanted);
                args.iter().for_each(|operand| operand_alloc(operand, wanted));
            }
            _ => {}
        }
    }
}

fn rvalue_allocs(rvalue: &Rvalue, wanted: &mut BTreeSet<AllocId>) {
    match rvalue {
        Rvalue::Use { operand }
        | Rvalue::Repeat { operand, .. }
        | Rvalue::Cast { operand, .. }
        | Rvalue::Unary { operand, .. }
        | Rvalue::WrapBinder { operand, .. } => operand_alloc(operand, wanted),
        Rvalue::Binary { left, right, .. } | Rvalue::RawPtrAggregate { data: left, meta: right, .. } => {
            operand_alloc(left, wanted);
            operand_alloc(right, wanted);
        }
        Rvalue::Array { operands }
        | Rvalue::Tuple { operands }
        | Rvalue::Adt { operands, .. }
        | Rvalue::Closure { operands, .. } => operands.iter().for_each(|operand| operand_alloc(operand, wanted)),
        Rvalue::Ref { .. }
        | Rvalue::RawPtr { .. }
        | Rvalue::ThreadLocalRef { .. }
        | Rvalue::Discriminant { .. }
        | Rvalue::CopyForDeref { .. } => {}
    }
}

fn operand_alloc(operand: &Operand, wanted: &mut BTreeSet<AllocId>) {
    if let Operand::Const {
        value: Const::Pointer { alloc, .. } | Const::Slice { alloc, .. } | Const::Indirect { alloc, .. },
    } = operand
    {
        wanted.insert(*alloc);
    }
}
