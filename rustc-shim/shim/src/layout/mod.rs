//! Layouts of types: rustc is asked through a generated crate and its answers are checked against its debug
//! information.

pub mod ask;
pub mod debug;
pub mod externs;
pub mod query;
pub mod read;
pub mod source;
pub mod ty;

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::fail::{Failure, Result};
use crate::files;
use crate::invoke::Rustc;
use crate::unit::Unit;
use crate::wire::{Compiler, LayoutDocument, LayoutFailure, TypeLayout};

/// What the caller asks for: a table of wire types and which of them.
#[derive(Debug, Deserialize)]
pub struct Request {
    pub types: Vec<TypeText>,
    pub roots: Vec<usize>,
}

/// Of a wire type only rustc's text is used: it is complete.
#[derive(Debug, Deserialize)]
pub struct TypeText {
    pub text: String,
}

/// Answers a request and returns the document.
pub fn layouts(unit_path: &Path, unit: &Unit, rustc: &Rustc, request: &Request) -> Result<LayoutDocument> {
    let mut texts = Vec::new();
    for root in &request.roots {
        let ty = request.types.get(*root).ok_or_else(|| Failure::usage(format!("there is no type {root}")))?;
        if !texts.contains(&ty.text) {
            texts.push(ty.text.clone());
        }
    }
    let own = own_metadata(unit)?;
    let externs = externs::Externs::of(unit_path, unit, rustc)?;
    let workshop = query::Workshop::new(unit_path, "layouts")?;
    let answers = ask::ask(&texts, unit, rustc, &externs, &own, &workshop)?;
    let mut document = LayoutDocument {
        schema: "mirgen-layout".to_owned(),
        version: 1,
        compiler: compiler(rustc),
        target: unit.target.clone(),
        layouts: Vec::new(),
        failures: Vec::new(),
    };
    for asked in answers.asked {
        match asked.outcome {
            Ok(layout) => document.layouts.push(TypeLayout {
                ty: asked.text,
                layout,
                variant_names: None,
                checked_by: Vec::new(),
            }),
            Err(reason) => document.failures.push(LayoutFailure { ty: asked.text, reason }),
        }
    }
    Ok(document)
}

/// The metadata file through which other crates see the unit's.
fn own_metadata(unit: &Unit) -> Result<PathBuf> {
    let path = unit.metadata.as_ref().map(|path| unit.cwd.join(path));
    path.filter(|path| path.exists())
        .ok_or_else(|| Failure::usage(format!("the metadata of crate {} is gone: build it again", unit.crate_name)))
}

/// rustc's identity as documents carry it.
pub fn compiler(rustc: &Rustc) -> Compiler {
    let (major, minor) = rustc.minor();
    Compiler {
        release: rustc.release.clone(),
        commit_hash: rustc.commit_hash.clone(),
        commit_date: rustc.commit_date.clone(),
        host: rustc.host.clone(),
        llvm_version: rustc.llvm_version.clone(),
        grammar: format!("{major}.{minor}"),
    }
}

/// Reads a request file, answers it, writes the document.
pub fn run(unit_path: &Path, types: &Path, out: &Path, rustc: &Rustc, unit: &Unit) -> Result<()> {
    let request: Request = files::read_json(types)?;
    files::write_json(out, &layouts(unit_path, unit, rustc, &request)?)
}
