//! The dumps under `data/`, read.

#![allow(dead_code, reason = "every test binary uses a part")]

use std::path::PathBuf;

use mirgen_rustc::parse::{parse_dump, Grammar, ParseError, Parsed, Selection};
use mirgen_rustc::wire::{Alloc, Body, Rvalue, StatementKind, TerminatorKind, Ty, TyId};

pub const RELEASES: [&str; 3] = ["1.95.0", "1.96.0", "1.97.0"];

pub fn text(release: &str, extension: &str) -> String {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(release).join(format!("traps.{extension}"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn grammar(release: &str) -> Grammar {
    Grammar::for_release(release).0
}

/// Everything of one release's dump, with or without the side channel.
pub fn read(release: &str, side_channel: bool) -> Parsed {
    let stable = side_channel.then(|| text(release, "stable-mir"));
    parse_dump(&text(release, "mir"), stable.as_deref(), grammar(release), &Selection::all())
        .unwrap_or_else(|error| panic!("{release}: {error}"))
}

/// Reads a snippet: items without the three lines of warning.
pub fn snippet(items: &str) -> Result<Parsed, ParseError> {
    parse_dump(items, None, Grammar::newest(), &Selection::all())
}

/// A function with these locals (`_1: T; _2: T`) and this one line before `return`.
pub fn function(locals: &str, line: &str) -> String {
    let lets: String = locals.split("; _").map(|l| format!("    let mut _{};\n", l.trim_start_matches('_'))).collect();
    format!("fn f() -> () {{\n    let mut _0: ();\n{lets}\n    bb0: {{\n        {line};\n        return;\n    }}\n}}\n")
}

/// The one statement of [`function`].
pub fn statement(locals: &str, line: &str) -> Result<StatementKind, ParseError> {
    Ok(snippet(&function(locals, line))?.parts.bodies[0].blocks[0].statements[0].kind.clone())
}

pub fn body<'p>(parsed: &'p Parsed, header: &str) -> &'p Body {
    parsed.parts.bodies.iter().find(|b| b.header == header && !b.ctfe).unwrap_or_else(|| panic!("no body {header}"))
}

pub fn rvalues(body: &Body) -> Vec<&Rvalue> {
    let statements = body.blocks.iter().flat_map(|block| &block.statements);
    statements
        .filter_map(|statement| match &statement.kind {
            StatementKind::Assign { rvalue, .. } => Some(rvalue),
            _ => None,
        })
        .collect()
}

pub fn terminators(body: &Body) -> Vec<&TerminatorKind> {
    body.blocks.iter().map(|block| &block.terminator.kind).collect()
}

pub fn ty(parsed: &Parsed, id: TyId) -> &Ty {
    &parsed.parts.types[id as usize]
}

pub fn ty_called<'p>(parsed: &'p Parsed, text: &str) -> &'p Ty {
    parsed.parts.types.iter().find(|ty| ty.text() == text).unwrap_or_else(|| panic!("no type {text}"))
}

pub fn static_alloc<'p>(parsed: &'p Parsed, path: &str) -> &'p Alloc {
    let found = parsed.parts.allocs.iter().find(|alloc| match alloc {
        Alloc::Memory { static_path, .. } => static_path.as_deref() == Some(path),
        _ => false,
    });
    found.unwrap_or_else(|| panic!("no static {path}"))
}
