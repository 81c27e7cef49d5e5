//! A generated crate, its compilation, and what rustc says about each of its lines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde::Deserialize;

use crate::fail::{Failure, Result};
use crate::invoke::{Run, Rustc};
use crate::unit::Unit;

/// An error of rustc's and the line of the generated file that it points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub line: Option<usize>,
    /// The file and the byte that it points at, wherever that is.
    pub place: Option<(String, usize)>,
    /// `E0603`.
    pub code: Option<String>,
    pub message: String,
    /// Everything that the message's notes and help say.
    pub notes: Vec<String>,
    /// What rustc offers to write instead of a part of its line.
    pub instead: Vec<Instead>,
}

/// A replacement for the columns (1-based, the end exclusive) of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instead {
    pub columns: (usize, usize),
    pub text: String,
}

impl Said {
    /// Features that rustc's help asks for.
    pub fn features(&self) -> impl Iterator<Item = String> + '_ {
        self.notes.iter().filter_map(|note| {
            let (_, rest) = note.split_once("#![feature(")?;
            rest.split_once(")]").map(|(name, _)| name.to_owned())
        })
    }

    /// Code and message.
    pub fn reason(&self) -> String {
        match &self.code {
            Some(code) => format!("{code}: {}", self.message),
            None => self.message.clone(),
        }
    }
}

/// The parts of rustc's JSON diagnostics that are read.
#[derive(Deserialize)]
struct Diagnostic {
    message: String,
    code: Option<Code>,
    level: String,
    spans: Vec<Span>,
    children: Vec<Child>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: usize,
    line_end: usize,
    column_start: usize,
    column_end: usize,
    byte_start: usize,
    is_primary: bool,
    suggested_replacement: Option<String>,
}

#[derive(Deserialize)]
struct Child {
    message: String,
    spans: Vec<Span>,
}

impl Child {
    /// What it offers to write in the place of something on the line of `primary`.
    fn instead<'a>(&'a self, primary: &'a Span) -> impl Iterator<Item = Instead> + 'a {
        let there = move |span: &&Span| {
            (&span.file_name, span.line_start, span.line_end)
                == (&primary.file_name, primary.line_start, primary.line_start)
        };
        self.spans.iter().filter(there).filter_map(|span| {
            let columns = (span.column_start, span.column_end);
            Some(Instead { columns, text: span.suggested_replacement.clone()? })
        })
    }
}

/// A directory of generated sources that goes away with the value.
pub struct Workshop {
    dir: PathBuf,
}

impl Workshop {
    /// Makes a fresh directory beside the unit.
    pub fn new(unit_path: &Path, purpose: &str) -> Result<Self> {
        let stem = unit_path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let dir = unit_path.with_file_name(format!(".{stem}.{purpose}.{}", std::process::id()));
        let dir = std::path::absolute(&dir).unwrap_or(dir);
        fs::create_dir_all(&dir)
            .map_err(|error| Failure::internal(format!("cannot make {}: {error}", dir.display())))?;
        Ok(Self { dir })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Writes a source file and compiles it in the unit's surroundings; `args` say what for.
    pub fn compile(&self, unit: &Unit, rustc: &Rustc, name: &str, source: &str, args: &[String]) -> Result<Output> {
        let path = self.path(name);
        fs::write(&path, source)
            .map_err(|error| Failure::internal(format!("cannot write {}: {error}", path.display())))?;
        let mut run = Run::bare(unit, rustc);
        run.args([path.to_string_lossy().into_owned()]);
        run.args(["--edition=2021", "--crate-type=lib", "--error-format=json", "--cap-lints=allow"]);
        // No crate of the user's can have this identity.
        run.args(["--crate-name=__mirgen_generated", "-Cmetadata=__mirgen_generated"]);
        run.args(["--target".to_owned(), unit.target.clone()]);
        // Only what can change a layout or what the crates were compiled for is taken over.
        let given = unit.parsed();
        run.args(given.values("-Z").map(|value| format!("-Z{value}")));
        let target = given.values("-C").filter(|value| value.starts_with("target-") || value.starts_with("target_"));
        run.args(target.map(|value| format!("-C{value}")));
        run.args(args.iter().cloned());
        run.output()
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        if std::env::var_os("MIRGEN_KEEP").is_none() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

/// rustc's errors, those in the generated file with their lines.
pub fn errors(output: &Output) -> Result<Vec<Said>> {
    let text = String::from_utf8_lossy(&output.stderr);
    let mut out = Vec::new();
    for line in text.lines() {
        let Ok(diagnostic) = serde_json::from_str::<Diagnostic>(line) else {
            // Anything else on stderr is a warning of the driver (jobserver, target features) or an ICE.
            if line.contains("internal compiler error") || line.contains("panicked at") {
                return Err(Failure::internal(format!("rustc broke on a generated crate:\n{text}")));
            }
            continue;
        };
        if diagnostic.level.contains("internal compiler error") {
            return Err(Failure::internal(format!("rustc broke on a generated crate: {}", diagnostic.message)));
        }
        if diagnostic.level != "error" {
            continue;
        }
        let primary = diagnostic.spans.iter().find(|span| span.is_primary);
        out.push(Said {
            line: primary.filter(|span| span.file_name.ends_with(".rs")).map(|span| span.line_start),
            place: primary.map(|span| (span.file_name.clone(), span.byte_start)),
            code: diagnostic.code.map(|code| code.code),
            message: diagnostic.message,
            instead: primary
                .map(|primary| diagnostic.children.iter().flat_map(|child| child.instead(primary)).collect())
                .unwrap_or_default(),
            notes: diagnostic.children.into_iter().map(|child| child.message).collect(),
        });
    }
    Ok(out)
}

/// Lines of a generated file, each with an owner who answers for rustc's errors on it.
#[derive(Debug, Clone)]
pub struct Lines<T> {
    text: String,
    owners: Vec<Option<T>>,
}

impl<T: Copy> Lines<T> {
    /// The head takes the first line.
    pub fn new(head: &str) -> Self {
        Self { text: format!("{}\n", head.replace('\n', " ")), owners: vec![None] }
    }

    pub fn push(&mut self, owner: T, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        self.owners.push(Some(owner));
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Who wrote a line of the file (1-based).
    pub fn owner(&self, line: usize) -> Option<T> {
        self.owners.get(line.checked_sub(1)?).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_owners() {
        let mut lines = Lines::new("#![no_std]\n#![allow(warnings)]");
        lines.push(7, "type A = u8;");
        assert_eq!(lines.text(), "#![no_std] #![allow(warnings)]\ntype A = u8;\n");
        assert_eq!((lines.owner(0), lines.owner(1), lines.owner(2), lines.owner(3)), (None, None, Some(7), None));
    }
}
