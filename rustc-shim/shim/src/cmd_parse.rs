//! `mirgen-rustc parse FILE.mir`: reads dumps that are already there.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use memmap2::Mmap;
use regex::Regex;

use crate::fail::{Failure, Result};
use crate::parse::{parse_dump, Grammar, ParseError, Selection};
use crate::wire::{Compiler, MirDocument};

/// Arguments of the subcommand.
#[derive(Debug, Args)]
pub struct ParseArgs {
    /// Text of `rustc -Zunpretty=mir`
    pub file: PathBuf,
    /// Text of `rustc -Zunpretty=stable-mir` of the same crate
    #[arg(long)]
    pub stable: Option<PathBuf>,
    /// Release of the rustc that wrote the text, as `rustc -vV` prints it
    #[arg(long)]
    pub release: String,
    #[arg(long)]
    pub crate_name: String,
    #[arg(long)]
    pub out: PathBuf,
    /// Target triple of the compilation
    #[arg(long, default_value = "unknown")]
    pub target: String,
    /// Header or instance of a body to read
    #[arg(long = "function")]
    pub functions: Vec<String>,
    /// Regular expression to find in headers and instances
    #[arg(long = "function-regex")]
    pub patterns: Vec<String>,
    /// Read every body
    #[arg(long)]
    pub all: bool,
}

/// Runs the subcommand.
pub fn run(args: &ParseArgs) -> Result<()> {
    let text = open(&args.file)?;
    let stable = args.stable.as_deref().map(open).transpose()?;
    let patterns = args.patterns.iter().map(|pattern| Regex::new(pattern)).collect::<std::result::Result<Vec<_>, _>>();
    let patterns = patterns.map_err(|error| Failure::usage(error.to_string()))?;
    let selection = Selection { functions: args.functions.clone(), patterns, all: args.all };
    let (grammar, note) = Grammar::for_release(&args.release);
    let parsed = parse_dump(text.as_str(), stable.as_ref().map(MappedText::as_str), grammar, &selection)
        .map_err(|error| unknown_text(&args.file, &error))?;
    let compiler = Compiler {
        release: args.release.clone(),
        commit_hash: None,
        commit_date: None,
        host: None,
        llvm_version: None,
        grammar: grammar.name().to_owned(),
    };
    let notes = note.into_iter().chain(parsed.notes).collect();
    let document =
        MirDocument::new(args.crate_name.clone(), compiler, args.target.clone(), Vec::new(), notes, parsed.parts);
    write_json(&args.out, &document).map_err(|error| cannot("write", &args.out, &error))
}

/// The failure for text that is not understood.
pub fn unknown_text(file: &Path, error: &ParseError) -> Failure {
    Failure::text(&file.display().to_string(), error.line as usize, &error.message)
}

fn open(path: &Path) -> Result<MappedText> {
    MappedText::open(path).map_err(|error| cannot("read", path, &error))
}

fn cannot(verb: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot {verb} {}: {error}", path.display()))
}

/// A file's text in memory that the system can take back.
pub struct MappedText {
    map: Option<Mmap>,
}

impl MappedText {
    /// Maps a file and checks that it is UTF-8.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(MappedText { map: None });
        }
        // SAFETY: the file is a dump that the shim or its caller wrote and that nobody changes while it is read.
        let map = unsafe { Mmap::map(&file)? };
        if let Err(error) = std::str::from_utf8(&map) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(MappedText { map: Some(map) })
    }

    pub fn as_str(&self) -> &str {
        match &self.map {
            // SAFETY: checked when the file was opened.
            Some(map) => unsafe { std::str::from_utf8_unchecked(map) },
            None => "",
        }
    }
}

/// Writes a document beside its place and renames it, so that nobody sees half of one.
pub fn write_json<T: serde::Serialize>(path: &Path, document: &T) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(name);
    let result = (|| {
        let mut file = BufWriter::with_capacity(1 << 16, File::create(&temporary)?);
        serde_json::to_writer(&mut file, document)?;
        file.write_all(b"\n")?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
        std::fs::rename(&temporary, path)
    })();
    if result.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    result
}
