//! `mirgen-rustc dump`: a recorded unit's MIR as a document.

use std::io::ErrorKind;
use std::path::Path;

use clap::Args;
use regex::Regex;

use crate::answers::Refusal;
use crate::cmd_parse::{unknown_text, write_json, MappedText};
use crate::dump::{self, Format, Request, Text};
use crate::fail::{Failure, Result};
use crate::invoke::Rustc;
use crate::parse::{parse_watched, Grammar, Selection};
use crate::unit::Unit;
use crate::wire::{Compiler, MirDocument};

/// Which bodies of the text are read.
#[derive(Debug, Args)]
pub struct Select {
    /// Header or instance of a body to read.
    #[arg(long = "function")]
    functions: Vec<String>,
    /// Regular expression to find in headers and instances.
    #[arg(long = "function-regex")]
    patterns: Vec<String>,
    /// Read every body.
    #[arg(long)]
    all: bool,
    /// Read no body, only the index.
    #[arg(long, conflicts_with_all = ["functions", "patterns", "all"])]
    index_only: bool,
    /// Do without the second text, which names instances and completes closures.
    #[arg(long)]
    no_side_channel: bool,
}

impl Select {
    fn selection(&self) -> Result<Selection> {
        let patterns = self.patterns.iter().map(|pattern| Regex::new(pattern));
        let patterns = patterns.collect::<std::result::Result<Vec<_>, _>>();
        Ok(Selection {
            functions: self.functions.clone(),
            patterns: patterns.map_err(|error| Failure::usage(error.to_string()))?,
            all: self.all,
        })
    }
}

/// Writes the document of `select`ed bodies.
pub fn run(unit_path: &Path, unit: &Unit, rustc: &Rustc, request: &Request, select: &Select, out: &Path) -> Result<()> {
    let selection = select.selection()?;
    let mut notes = Vec::new();
    // Copies are often refused; the second text would be refused with them.
    let alone = select.no_side_channel || request.coroutine_drops;
    let (main, stable) = if alone || request.overlay.is_some() {
        let format = if request.coroutine_drops { Format::CoroutineDrops } else { Format::Mir };
        let main = opened(|| dump::text(unit_path, unit, rustc, request, format));
        let stable = (main.is_ok() && !alone).then(|| side_channel(unit_path, unit, rustc, request));
        (main, stable)
    } else {
        std::thread::scope(|scope| {
            let stable = scope.spawn(|| side_channel(unit_path, unit, rustc, request));
            let main = opened(|| dump::text(unit_path, unit, rustc, request, Format::Mir));
            let stable = stable.join().unwrap_or_else(|_| Err(Failure::internal("a thread panicked")));
            (main, Some(stable))
        })
    };
    let (main, main_text) = main?.map_err(|refusal| {
        eprint!("{}", refusal.stderr);
        Failure::rustc()
    })?;
    let stable_text = match stable.transpose()? {
        Some(Ok((_, text))) => Some(text),
        Some(Err(refusal)) => {
            let said = refusal.stderr.lines().find(|line| line.contains("panicked") || line.starts_with("error"));
            notes.push(format!("no side channel: {}", said.unwrap_or("rustc gave no stable-mir text")));
            None
        }
        None => None,
    };
    let (grammar, note) = Grammar::for_release(&rustc.release);
    let side = stable_text.as_ref().map(MappedText::as_str);
    let parsed = parse_watched(main_text.as_str(), side, grammar, &selection, &main_text.forgetting())
        .map_err(|error| unknown_text(&main.path, &error))?;
    notes.extend(note);
    notes.extend(parsed.notes);
    let compiler = Compiler {
        release: rustc.release.clone(),
        commit_hash: rustc.commit_hash.clone(),
        commit_date: rustc.commit_date.clone(),
        host: rustc.host.clone(),
        llvm_version: rustc.llvm_version.clone(),
        grammar: grammar.name().to_owned(),
    };
    let document =
        MirDocument::new(unit.crate_name.clone(), compiler, unit.target.clone(), main.flags, notes, parsed.parts);
    write_json(out, &document).map_err(|error| Failure::internal(format!("cannot write {}: {error}", out.display())))
}

/// The second text; rustc aborts on some crates, and then the document says so.
fn side_channel(unit_path: &Path, unit: &Unit, rustc: &Rustc, request: &Request) -> Result<Opened> {
    opened(|| dump::text(unit_path, unit, rustc, request, Format::StableMir))
}

/// A text and its contents, or rustc's refusal.
type Opened = std::result::Result<(Text, MappedText), Refusal>;

/// Opens the text that `ask` gives; one that somebody removed before it was open is asked for again.
fn opened(ask: impl Fn() -> Result<std::result::Result<Text, Refusal>>) -> Result<Opened> {
    let mut lost = false;
    loop {
        let text = match ask()? {
            Ok(text) => text,
            Err(refusal) => return Ok(Err(refusal)),
        };
        match MappedText::open(&text.path) {
            Ok(map) => return Ok(Ok((text, map))),
            Err(error) if error.kind() == ErrorKind::NotFound && !lost => lost = true,
            Err(error) => {
                return Err(Failure::internal(format!("cannot read {}: {error}", text.path.display())));
            }
        }
    }
}
