//! MIR text of a recorded unit: rustc is run again with its arguments and `-Zunpretty`, and the text is kept.

use std::fs;
use std::path::{Path, PathBuf};

use crate::answers::{written, Question, Refusal};
use crate::fail::{Failure, Result};
use crate::files::Fingerprint;
use crate::invoke::{Run, Rustc, Thresholds};
use crate::unit::Unit;

/// What to ask rustc for, beyond the unit itself.
#[derive(Debug, Clone)]
pub struct Request {
    pub thresholds: Option<Thresholds>,
    /// Whether statements carry file, line and column.
    pub spans: bool,
    /// More `--cfg` values.
    pub cfgs: Vec<String>,
    /// More environment variables.
    pub env: Vec<(String, String)>,
    /// Another root file instead of the unit's, and the directory that its positions are to name: (file, ours, theirs).
    pub overlay: Option<Overlay>,
    /// Files that the answer depends on besides the unit's sources.
    pub inputs: Vec<PathBuf>,
    /// Whether bodies are as they were built, with the parts of the source that rustc's coverage tells of their blocks.
    pub regions: bool,
    /// The bodies that drop coroutines instead of the crate's own.
    pub coroutine_drops: bool,
}

/// Bodies as they were built; nothing is linked, so that no run-time library for profiles is looked for.
const REGIONS: [&str; 4] = ["-Cinstrument-coverage", "-Zno-profiler-runtime", "-Zmir-opt-level=0", "-Zinline-mir=no"];

impl Default for Request {
    fn default() -> Self {
        Self {
            thresholds: None,
            spans: true,
            cfgs: Vec::new(),
            env: Vec::new(),
            overlay: None,
            inputs: Vec::new(),
            regions: false,
            coroutine_drops: false,
        }
    }
}

/// A copy of the unit's sources with something added to it.
#[derive(Debug, Clone)]
pub struct Overlay {
    /// The copy's root file.
    pub input: PathBuf,
    /// The copy's directory, and the one whose copy it is: positions in the text name the latter.
    pub copy: PathBuf,
    pub original: PathBuf,
}

/// rustc's two texts, and what it prints of the drop glue of coroutines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Mir,
    StableMir,
    /// The bodies that drop coroutines, under the headers of those that resume them.
    CoroutineDrops,
}

impl Format {
    fn unpretty(self) -> &'static str {
        match self {
            Self::Mir => "mir",
            Self::StableMir => "stable-mir",
            Self::CoroutineDrops => "mir",
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Mir => ".mir",
            Self::StableMir => ".stable-mir",
            Self::CoroutineDrops => ".drops.mir",
        }
    }
}

/// A text that rustc printed and where it is kept.
#[derive(Debug, Clone)]
pub struct Text {
    pub path: PathBuf,
    /// The flags of the run, for the document.
    pub flags: Vec<String>,
}

/// The text of a unit, from where it is kept when nothing changed since.
pub fn text(
    unit_path: &Path,
    unit: &Unit,
    rustc: &Rustc,
    request: &Request,
    format: Format,
) -> Result<std::result::Result<Text, Refusal>> {
    let thresholds = request.thresholds.unwrap_or(unit_thresholds(unit));
    let input = request.overlay.as_ref().map(|overlay| overlay.input.as_path());
    let prepared = || {
        let mut run = Run::again(unit, rustc, thresholds, input);
        run.args(["-Ztrim-diagnostic-paths=no", "-Zverbose-internals"]);
        if request.spans {
            run.args(["-Zmir-include-spans=yes"]);
        }
        if request.regions {
            run.args(REGIONS);
        }
        run.args([format!("-Zunpretty={}", format.unpretty())]);
        run.args(request.cfgs.iter().map(|cfg| format!("--cfg={cfg}")));
        if let Some(overlay) = &request.overlay {
            let (copy, original) = (overlay.copy.display(), overlay.original.display());
            run.args([format!("--remap-path-prefix={copy}={original}")]);
        }
        for (name, value) in &request.env {
            run.env(name, value);
        }
        run
    };
    let flags = prepared().args;
    let variant = variant(request, thresholds);
    let question = Question {
        unit_path,
        unit,
        rustc,
        args: &flags,
        env: &request.env,
        overlay: request.overlay.as_ref(),
        inputs: &request.inputs,
        variant: &variant,
        prefix: "",
        suffix: format.suffix(),
        derived: format == Format::CoroutineDrops,
    };
    let answer = question.answer(|part| match format {
        Format::CoroutineDrops => coroutine_drops(prepared(), part),
        Format::Mir | Format::StableMir => Ok(written(prepared(), part)?.map(drop)),
    })?;
    Ok(answer.map(|path| Text { path, flags }))
}

/// What the name of a file ends with to which rustc writes how a coroutine is dropped.
const DROP_FILE: &str = ".coroutine_drop.0.mir";

/// Has rustc print the bodies that drop coroutines, each to a file, and writes them to one.
fn coroutine_drops(mut run: Run, to: &Path) -> Result<std::result::Result<(), Refusal>> {
    let dir = to.with_extension("dumps");
    run.args(["-Zdump-mir=coroutine_drop".to_owned(), format!("-Zdump-mir-dir={}", dir.display())]);
    let refused = written(run, to)?.map(drop);
    let texts = drop_files(&dir);
    let _ = fs::remove_dir_all(&dir);
    if refused.is_err() {
        return Ok(refused);
    }
    let failed = |error: std::io::Error| Failure::internal(format!("coroutines' drops: {error}"));
    let mut all = String::new();
    for text in texts.map_err(failed)? {
        // In front of the body stands a comment that names it and the pass.
        all.push_str(text.find("\nfn ").map_or(&*text, |at| &text[at + 1..]));
        all.push('\n');
    }
    fs::write(to, all).map_err(failed)?;
    Ok(Ok(()))
}

/// The texts in `dir`, which is not there where the crate has no coroutine, in an order of their own.
fn drop_files(dir: &Path) -> std::io::Result<Vec<String>> {
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let mut files = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.retain(|path| path.to_string_lossy().ends_with(DROP_FILE));
    files.sort();
    files.iter().map(fs::read_to_string).collect()
}

/// The main text; rustc's refusal is the caller's error, in rustc's words.
pub fn mir_text(unit_path: &Path, unit: &Unit, rustc: &Rustc, request: &Request) -> Result<Text> {
    match text(unit_path, unit, rustc, request, Format::Mir)? {
        Ok(text) => Ok(text),
        Err(refusal) => {
            eprint!("{}", refusal.stderr);
            Err(Failure::rustc())
        }
    }
}

/// Roots are inlined far, dependencies as far as rustc does by itself.
pub fn unit_thresholds(unit: &Unit) -> Thresholds {
    if unit.primary {
        Thresholds::Root
    } else {
        Thresholds::Default
    }
}

/// Names a combination of options; nothing for what is asked usually.
fn variant(request: &Request, thresholds: Thresholds) -> String {
    let usual = request.spans
        && request.overlay.is_none()
        && request.cfgs.is_empty()
        && request.env.is_empty()
        && request.thresholds.is_none()
        && !request.regions;
    if usual {
        return String::new();
    }
    let mut print = Fingerprint::new();
    print.add(&thresholds).add(&request.spans).add(&request.cfgs).add(&request.env).add(&request.overlay.is_some());
    print.add(&request.regions);
    format!("{}.", &print.finish()[..8])
}
