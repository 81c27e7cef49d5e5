//! What rustc answered about units, kept under names that hold a key of everything the answer depends on: a file with
//! the right name is the right answer, whoever wrote it and when.
//!
//! Answers about dependencies are kept in the directory that `MIRGEN_ANSWERS` names, for all builds of a user; their
//! keys are of contents.  Answers about the user's own crates stay beside their units, keyed by times of change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::args::{Arg, Args};
use crate::dump::Overlay;
use crate::fail::{Failure, Result};
use crate::files::{self, Fingerprint};
use crate::invoke::{Run, Rustc};
use crate::unit::{dep_info_env_names, Unit};
use crate::wrapper::TRACKED;

/// How many bytes of answers are kept in one directory; those not used for longest go first.
const LIMIT: u64 = 2 << 30;
/// What answers' files end with.
const SUFFIXES: &[&str] = &[".mir", ".stable-mir", ".own", ".layouts", ".rmeta", ".refused"];
/// How often the same answer is sought while its sources change under rustc.
const ATTEMPTS: usize = 3;

/// What a failed run said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub code: Option<i32>,
    pub stderr: String,
}

impl Refusal {
    /// Whether rustc would say the same again: it panicked, or found errors in the source; a full disk is neither.
    fn is_lasting(&self) -> bool {
        let of_the_system = self.stderr.contains("os error") || self.stderr.contains("memory allocation");
        let panicked = self.code == Some(101) && self.stderr.contains("panicked at");
        let found_errors = self.code == Some(1) && self.stderr.contains("error[E");
        (panicked || found_errors) && !of_the_system
    }
}

/// Has rustc write to a file; that it refuses is an answer too.
pub fn written(mut run: Run, to: &Path) -> Result<std::result::Result<Output, Refusal>> {
    run.args(["-o".to_owned(), to.to_string_lossy().into_owned()]);
    let output = run.output()?;
    if output.status.success() {
        return Ok(Ok(output));
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Err(Refusal { code: output.status.code(), stderr }))
}

/// A question about a unit: what rustc is asked, and what its answer depends on besides the unit.
pub struct Question<'a> {
    pub unit_path: &'a Path,
    pub unit: &'a Unit,
    pub rustc: &'a Rustc,
    /// rustc's arguments.
    pub args: &'a [String],
    /// More environment variables.
    pub env: &'a [(String, String)],
    /// A copy of the sources that is compiled instead of them.
    pub overlay: Option<&'a Overlay>,
    /// More files that are read: those of a copy that differ, others' metadata.
    pub inputs: &'a [PathBuf],
    /// Tells answers of one unit apart that are kept side by side.
    pub variant: &'a str,
    /// How the answer's file is called: `lib` before the unit's name, `.rmeta` behind the key.
    pub prefix: &'a str,
    pub suffix: &'a str,
    /// Whether this program has worked on the answer, so that another version of it may make another one.
    pub derived: bool,
}

impl Question<'_> {
    /// The file that holds the answer; `ask` writes it where it is told, if there is none yet.
    pub fn answer(
        &self,
        mut ask: impl FnMut(&Path) -> Result<std::result::Result<(), Refusal>>,
    ) -> Result<std::result::Result<PathBuf, Refusal>> {
        let beside = absolute(self.unit_path.parent().unwrap_or(Path::new(".")))?;
        let shared = self.shared();
        let dir = shared.as_deref().unwrap_or(&beside);
        for _ in 0..ATTEMPTS {
            let key = self.key(shared.is_some());
            let path = dir.join(format!("{}{key}{}", self.stem(), self.suffix));
            if path.exists() {
                touch(&path);
                return Ok(Ok(path));
            }
            let refused = self.refusals(dir, &beside).join(self.refused_name(&key));
            if let Ok(refusal) = files::read_json(&refused) {
                return Ok(Err(refusal));
            }
            let part = dir.join(format!(".{}{key}.{}.part{}", self.stem(), std::process::id(), self.suffix));
            let answered = ask(&part)?;
            if self.key(shared.is_some()) != key {
                let _ = fs::remove_file(&part);
                continue;
            }
            if let Err(refusal) = answered {
                let _ = fs::remove_file(&part);
                if refusal.is_lasting() {
                    files::write_json(&refused, &refusal)?;
                }
                return Ok(Err(refusal));
            }
            fs::rename(&part, &path)
                .map_err(|error| Failure::internal(format!("rustc wrote nothing to {}: {error}", part.display())))?;
            if shared.is_none() && self.overlay.is_none() {
                self.forget_others(&path);
            }
            prune(dir, LIMIT, &path);
            return Ok(Ok(path));
        }
        Err(Failure::internal(format!("the sources of {} change while they are compiled", self.unit.crate_name)))
    }

    /// How all answers of this kind start.
    fn stem(&self) -> String {
        let stem = self.unit_path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        format!("{}{stem}.{}", self.prefix, self.variant)
    }

    /// The directory for all builds.  The user's own crates change too often for it, and of crates without dep-info
    /// nobody knows what their sources are.
    fn shared(&self) -> Option<PathBuf> {
        let dir = std::env::var_os("MIRGEN_ANSWERS").filter(|dir| !dir.is_empty()).map(PathBuf::from)?;
        let known = self.unit.dep_info.as_ref().is_some_and(|path| self.unit.cwd.join(path).is_file());
        (!self.unit.primary && known && fs::create_dir_all(&dir).is_ok()).then(|| absolute(&dir).ok()).flatten()
    }

    /// Where refusals go: messages about a copy name the copy, which is this build's.
    fn refusals<'b>(&self, dir: &'b Path, beside: &'b Path) -> &'b Path {
        if self.overlay.is_some() {
            beside
        } else {
            dir
        }
    }

    fn refused_name(&self, key: &str) -> String {
        let copy = self.overlay.map(|overlay| Fingerprint::new().add(&overlay.copy).finish()).unwrap_or_default();
        format!("{}{key}{copy}{}.refused", self.stem(), self.suffix)
    }

    /// Removes what the answer's predecessors left.
    fn forget_others(&self, path: &Path) {
        let (stem, suffix) = (self.stem(), format!("{}.refused", self.suffix));
        for other in path.parent().and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten().flatten() {
            let name = other.file_name().to_string_lossy().into_owned();
            let key = name
                .strip_prefix(&stem)
                .and_then(|rest| rest.strip_suffix(self.suffix).or_else(|| rest.strip_suffix(&suffix)));
            if key.is_some_and(|key| !key.contains('.')) && other.path() != path {
                let _ = fs::remove_file(other.path());
            }
        }
    }

    fn key(&self, shared: bool) -> String {
        let Self { unit, rustc, .. } = self;
        let mut print = Fingerprint::new();
        print.add_file(&rustc.program).add(&rustc.release).add(&rustc.commit_hash).add(&rustc.host);
        if self.derived {
            if let Ok(program) = std::env::current_exe() {
                print.add_file(&program);
            }
        }
        print.add(self.variant).add(self.suffix).add(&self.env).add(&unit.cwd);
        self.add_libraries(&mut print);
        if shared {
            self.add_contents(&mut print);
        } else {
            print.add(self.args).add(&unit.args).add(&unit.env);
            for source in unit.sources() {
                print.add_file(&source);
            }
            for (name, path) in unit.externs() {
                print.add(&name).add_file(&path);
            }
            for input in self.inputs {
                print.add(input).add_contents(input);
            }
        }
        print.finish()
    }

    /// The standard library's files for the target.
    fn add_libraries(&self, print: &mut Fingerprint) {
        let sysroot = self.unit.sysroot.as_ref().map_or_else(|| self.rustc.sysroot.clone(), PathBuf::from);
        let target = Path::new(&self.unit.target).file_stem().unwrap_or_default().to_owned();
        let dir = sysroot.join("lib/rustlib").join(target).join("lib");
        let mut files: Vec<PathBuf> =
            fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in &files {
            print.add_file(file);
        }
    }

    /// Everything by its contents, so that builds in other places have the same key.
    fn add_contents(&self, print: &mut Fingerprint) {
        let unit = self.unit;
        // Both kinds of copies lie in the build's directory; what they are a copy of is in the arguments too.
        let copies: Vec<&Path> = self
            .overlay
            .map(|overlay| overlay.copy.as_path())
            .into_iter()
            .chain(unit.overlay.as_ref().map(|overlay| overlay.copy.as_path()))
            .collect();
        let placed = |text: &str| {
            copies.iter().fold(text.to_owned(), |text, copy| text.replace(&*copy.to_string_lossy(), "<copy>"))
        };
        for arg in Args::parse(self.args).0 {
            match arg {
                // What the dependencies were built from is in the hashes that direct ones name them by.
                Arg::Option(name, value) if name == "-L" && value.starts_with("dependency=") => {}
                Arg::Option(name, value) if name == "--extern" && value.contains('=') => {
                    let (given, path) = value.split_once('=').unwrap_or((&value, ""));
                    print.add(given).add_contents(&unit.cwd.join(path));
                }
                Arg::Option(name, value) => {
                    print.add(&name).add(&placed(&value));
                }
                Arg::Flag(text) | Arg::Input(text) => {
                    print.add(&placed(&text));
                }
            }
        }
        // The record is among them for cargo's sake; what it says is in this key already.
        let record = absolute(self.unit_path).unwrap_or_default();
        for source in unit.sources().into_iter().filter(|source| *source != record) {
            print.add(&placed(&source.to_string_lossy())).add_contents(&source);
        }
        for input in self.inputs {
            print.add(&input.file_name()).add_contents(input);
        }
        for (name, value) in self.read_environment() {
            print.add(&name).add(&value);
        }
    }

    /// The variables that the crate read; procedural macros may read any without telling.
    fn read_environment(&self) -> Vec<(String, Option<String>)> {
        let unit = self.unit;
        let macros = unit.externs().iter().any(|(_, path)| {
            let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
            matches!(extension.as_deref(), Some("so" | "dylib" | "dll"))
        });
        if macros {
            let linkers = ["LD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"];
            let all = unit.env.iter().filter(|(name, _)| !linkers.contains(&name.as_str()));
            return all.map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        }
        let text = unit.dep_info.as_ref().and_then(|path| fs::read_to_string(unit.cwd.join(path)).ok());
        let names = dep_info_env_names(&text.unwrap_or_default());
        let own = names.into_iter().filter(|name| !TRACKED.contains(&name.as_str()));
        own.map(|name| (name.clone(), unit.env.get(&name).cloned())).collect()
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
        .map_err(|error| Failure::internal(format!("the current directory is not to be had: {error}")))
}

/// Notes that an answer was used.
fn touch(path: &Path) {
    let file = fs::File::options().append(true).open(path);
    let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
}

/// Removes the answers of a directory that were not used for longest, until `limit` bytes are left.
fn prune(dir: &Path, limit: u64, keep: &Path) {
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let answer = SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
        let (true, Ok(meta)) = (answer && path != keep, entry.metadata()) else { continue };
        let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        // Parts of runs that were cut short are nobody's after a day.
        if name.starts_with('.') && used.elapsed().unwrap_or_default() < Duration::from_secs(86_400) {
            continue;
        }
        files.push((used, meta.len(), path));
    }
    files.sort();
    let mut left: u64 = files.iter().map(|(_, size, _)| size).sum();
    for (_, size, path) in files {
        if left <= limit {
            break;
        }
        if fs::remove_file(path).is_ok() {
            left -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, age: u64| {
            let path = dir.path().join(name);
            fs::write(&path, [0; 100]).unwrap();
            let file = fs::File::options().append(true).open(&path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
            path
        };
        let (old, new, other) = (make("a.1.mir", 300), make("a.2.mir", 200), make("a.json", 900));
        let (part, lost) = (make(".a.3.7.part.mir", 500), make(".a.4.7.part.mir", 100_000));
        touch(&old);
        prune(dir.path(), 150, &dir.path().join("a.9.mir"));
        assert!(old.exists() && !new.exists(), "the one that was used is kept");
        assert!(other.exists() && part.exists(), "neither an answer nor one that is being written");
        assert!(!lost.exists());
    }

    #[test]
    fn only_what_rustc_would_say_again_is_kept() {
        let lasting = |code, stderr: &str| Refusal { code, stderr: stderr.to_owned() }.is_lasting();
        assert!(lasting(Some(101), "thread 'rustc' (7) panicked at compiler/rustc_x.rs"));
        assert!(lasting(Some(1), "error[E0603]: function `f` is private"));
        assert!(!lasting(None, "thread 'rustc' panicked at"), "killed");
        assert!(!lasting(Some(101), "panicked at x: No space left on device (os error 28)"));
        assert!(!lasting(Some(1), "error: could not write"));
    }
}
