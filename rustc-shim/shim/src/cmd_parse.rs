//! `mirgen-rustc parse FILE.mir`: reads dumps that are already there.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use memmap2::Mmap;
#[cfg(unix)]
use memmap2::UncheckedAdvice;
use regex::Regex;

use crate::fail::{Failure, Result};
use crate::parse::{parse_watched, Grammar, ParseError, Selection};
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
    let stable = stable.as_ref().map(MappedText::as_str);
    let parsed = parse_watched(text.as_str(), stable, grammar, &selection, &text.forgetting())
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

/// How much of a file may stay in memory behind the place that is read.
const WINDOW: usize = 32 << 20;

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
        let text = MappedText { map: Some(unsafe { Mmap::map(&file)? }) };
        text.check(WINDOW)?;
        Ok(text)
    }

    /// Fails where the file is not UTF-8; looks at `window` bytes at a time.
    fn check(&self, window: usize) -> io::Result<()> {
        let bytes: &[u8] = self.map.as_deref().unwrap_or_default();
        let mut start = 0;
        while start < bytes.len() {
            let limit = bytes.len().min(start + window);
            // A character has at most three bytes after its first.
            let end =
                (start + 1..=limit).rev().take(4).find(|&at| bytes.get(at).is_none_or(|byte| byte & 0xc0 != 0x80));
            let end = end.unwrap_or(limit);
            std::str::from_utf8(&bytes[start..end])
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            self.forget(end);
            start = end;
        }
        Ok(())
    }

    pub fn as_str(&self) -> &str {
        match &self.map {
            // SAFETY: checked when the file was opened.
            Some(map) => unsafe { std::str::from_utf8_unchecked(map) },
            None => "",
        }
    }

    /// A listener for the reader: what lies [`WINDOW`] behind it need not stay in memory.  A dump may be larger than
    /// all else that mirgen needs, and each pass looks at it from one end to the other.
    pub fn forgetting(&self) -> impl Fn(usize) + Sync + '_ {
        let last = AtomicUsize::new(0);
        move |at| {
            let before = last.load(Ordering::Relaxed);
            if at < before || at - before >= WINDOW {
                self.forget(at);
                last.store(at, Ordering::Relaxed);
            }
        }
    }

    /// Gives the memory before `end` back; who looks there again has the file read again.
    #[cfg(unix)]
    fn forget(&self, end: usize) {
        if let Some(map) = &self.map {
            // SAFETY: nothing is lost, for the map is only read, and its file is not changed.
            // A system that keeps the memory is right as well.
            let _ = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, 0, end) };
        }
    }

    #[cfg(not(unix))]
    fn forget(&self, _end: usize) {}
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

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(content: &[u8]) -> (tempfile::NamedTempFile, MappedText) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let map = (!content.is_empty()).then(|| unsafe { Mmap::map(file.as_file()).unwrap() });
        (file, MappedText { map })
    }

    #[test]
    fn characters_may_lie_across_windows() {
        let text = "aé\u{20ac}\u{1f980}".repeat(50);
        let (_file, map) = mapped(text.as_bytes());
        for window in 1..12 {
            assert!(map.check(window).is_ok() || window < 4, "{window}");
        }
        for (cut, bad) in [(1, true), (2, true), (3, true), (4, false)] {
            let (_file, map) = mapped(&text.as_bytes()[..text.len() - cut]);
            for window in 4..12 {
                assert_eq!(map.check(window).is_err(), bad, "{cut} {window}");
            }
        }
        let (_file, map) = mapped(&[0x80; 40]);
        assert!(map.check(8).is_err());
        assert_eq!(mapped(b"").1.as_str(), "");
    }

    #[test]
    fn what_was_given_back_is_read_again() {
        let text: String = (0..100_000).map(|line| format!("line {line}\n")).collect();
        let (_file, map) = mapped(text.as_bytes());
        map.forget(text.len());
        assert_eq!(map.as_str(), text);
        let listener = map.forgetting();
        [0, 40 << 10, 10, WINDOW + 11, 5].into_iter().for_each(&listener);
        assert_eq!(map.as_str(), text);
    }
}
