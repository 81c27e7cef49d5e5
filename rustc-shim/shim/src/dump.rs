//! MIR text of a recorded unit: rustc is run again with its arguments and `-Zunpretty`, and the text is kept.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fail::{Failure, Result};
use crate::files::{self, Fingerprint};
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
    /// Files and directories that the answer depends on besides the unit's sources.
    pub inputs: Vec<PathBuf>,
}

impl Default for Request {
    fn default() -> Self {
        Self { thresholds: None, spans: true, cfgs: Vec::new(), env: Vec::new(), overlay: None, inputs: Vec::new() }
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

/// rustc's two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Mir,
    StableMir,
}

impl Format {
    fn unpretty(self) -> &'static str {
        match self {
            Self::Mir => "mir",
            Self::StableMir => "stable-mir",
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

/// What a failed run said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: Option<i32>,
    pub stderr: String,
}

/// The text of a unit, from the file beside it when nothing changed since.
pub fn text(
    unit_path: &Path,
    unit: &Unit,
    rustc: &Rustc,
    request: &Request,
    format: Format,
) -> Result<std::result::Result<Text, Refusal>> {
    let thresholds = request.thresholds.unwrap_or(unit_thresholds(unit));
    let input = request.overlay.as_ref().map(|overlay| overlay.input.as_path());
    let mut run = Run::again(unit, rustc, thresholds, input);
    let mut flags = vec!["-Ztrim-diagnostic-paths=no".to_owned(), "-Zverbose-internals".to_owned()];
    if request.spans {
        flags.push("-Zmir-include-spans=yes".to_owned());
    }
    flags.push(format!("-Zunpretty={}", format.unpretty()));
    flags.extend(request.cfgs.iter().map(|cfg| format!("--cfg={cfg}")));
    run.args(flags.iter().cloned());
    if let Some(overlay) = &request.overlay {
        run.args([format!("--remap-path-prefix={}={}", overlay.copy.display(), overlay.original.display())]);
    }
    for (name, value) in &request.env {
        run.env(name, value);
    }
    let flags = run.args.clone();

    let (path, key) = cache_names(unit_path, request, thresholds, format);
    let mut print = Fingerprint::new();
    print.add(&stamp(unit, rustc, &flags)).add(&request.env);
    for input in &request.inputs {
        add_tree(&mut print, input);
    }
    let stamp = print.finish();
    if path.exists() && fs::read_to_string(&key).is_ok_and(|known| known == stamp) {
        return Ok(Ok(Text { path, flags }));
    }
    // The key goes first: a run that is cut short must not leave the old key beside a new text.
    let _ = fs::remove_file(&key);
    // rustc runs in the unit's directory.
    let part = std::path::absolute(path.with_extension(format!("{}.part", std::process::id())))
        .map_err(|error| Failure::internal(format!("the current directory is not to be had: {error}")))?;
    run.args(["-o".to_owned(), part.to_string_lossy().into_owned()]);
    let output = run.output()?;
    if !output.status.success() {
        let _ = fs::remove_file(&part);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        return Ok(Err(Refusal { code: output.status.code(), stderr }));
    }
    fs::rename(&part, &path)
        .map_err(|error| Failure::internal(format!("rustc wrote no text to {}: {error}", part.display())))?;
    files::write_atomic(&key, stamp.as_bytes())?;
    Ok(Ok(Text { path, flags }))
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

/// `<unit>.mir` for what is asked usually, another name for every other combination of options.
fn cache_names(unit_path: &Path, request: &Request, thresholds: Thresholds, format: Format) -> (PathBuf, PathBuf) {
    let stem = unit_path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let usual = request.spans
        && request.overlay.is_none()
        && request.cfgs.is_empty()
        && request.env.is_empty()
        && request.thresholds.is_none();
    let variant = if usual {
        String::new()
    } else {
        let mut print = Fingerprint::new();
        print.add(&thresholds).add(&request.spans).add(&request.cfgs).add(&request.env);
        print.add(&request.overlay.as_ref().map(|overlay| &overlay.input));
        format!(".{}", print.finish())
    };
    let text = unit_path.with_file_name(format!("{stem}{variant}.{}", format.unpretty()));
    let key = unit_path.with_file_name(format!("{stem}{variant}.{}.key", format.unpretty()));
    (text, key)
}

/// A key of everything that rustc's answers about a unit depend on.
pub fn stamp(unit: &Unit, rustc: &Rustc, flags: &[String]) -> String {
    let mut print = Fingerprint::new();
    print.add_file(&rustc.program).add(&rustc.release).add(&rustc.commit_hash).add(flags);
    print.add(&unit.args).add(&unit.env).add(&unit.cwd).add(&unit.sysroot);
    for source in unit.sources() {
        print.add_file(&source);
    }
    for (name, path) in unit.externs() {
        print.add(&name).add_file(&path);
    }
    print.finish()
}

/// Adds a file, or a directory's files one level deep.
fn add_tree(print: &mut Fingerprint, path: &Path) {
    print.add_file(path);
    if let Ok(entries) = fs::read_dir(path) {
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in files {
            print.add_file(&file);
        }
    }
}
