//! Which crates a generated crate can name, and the options that tell rustc so.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::fail::Result;
use crate::invoke::Rustc;
use crate::layout::source::Names;
use crate::unit::Unit;

/// The name under which a generated crate sees the unit's own crate.
pub const OWN: &str = "__mirgen_unit";

/// Everything a generated crate needs to see what a unit's crate sees.
#[derive(Debug, Clone)]
pub struct Externs {
    pub names: Names,
    /// Crate name and metadata file; of several versions one.
    pub crates: BTreeMap<String, PathBuf>,
    /// `-L` values of the unit and of what it depends on.
    pub search: BTreeSet<String>,
    pub has_std: bool,
    pub has_alloc: bool,
}

impl Externs {
    /// Follows the unit's dependencies through the other recorded units of its directory.
    pub fn of(unit_path: &Path, unit: &Unit, rustc: &Rustc) -> Result<Self> {
        let recorded = recorded(unit_path.parent().unwrap_or(Path::new(".")));
        let mut crates = BTreeMap::new();
        let mut ambiguous = BTreeSet::new();
        let mut search: BTreeSet<String> = BTreeSet::new();
        let mut queue = vec![unit.clone()];
        let mut seen: BTreeSet<PathBuf> = unit.metadata.iter().map(|path| unit.cwd.join(path)).collect();
        while let Some(unit) = queue.pop() {
            for value in unit.parsed().values("-L") {
                let (kind, path) = value.split_once('=').unwrap_or(("all", value));
                search.insert(format!("{kind}={}", unit.cwd.join(path).display()));
            }
            for (given, path) in unit.externs() {
                if !seen.insert(path.clone()) {
                    continue;
                }
                let name = crate_name(&path).unwrap_or(given);
                if let Some(known) = crates.insert(name.clone(), path.clone()) {
                    // The first found is the nearer one, but a printed path does not say which it means.
                    crates.insert(name.clone(), known);
                    ambiguous.insert(name);
                }
                queue.extend(recorded.get(&path).cloned());
            }
        }
        let libs = target_libs(unit, rustc);
        let has = |name: &str| libs.iter().any(|file| crate_name(Path::new(file)).as_deref() == Some(name));
        let (has_std, has_alloc) = (has("std"), has("alloc"));
        let mut externs: BTreeSet<String> = crates.keys().cloned().collect();
        externs.insert("core".to_owned());
        externs.extend(has_alloc.then(|| "alloc".to_owned()));
        externs.extend(has_std.then(|| "std".to_owned()));
        // A crate prints its own paths without its name: in alloc's, `alloc::` is its module.
        externs.remove(&unit.crate_name);
        // core sees no other crate: in its own, `alloc::` is a module as well.
        if unit.crate_name == "core" {
            externs.clear();
        }
        let names =
            Names { krate: format!("::{OWN}"), externs, locals: HashMap::new(), ambiguous, sizes: HashMap::new() };
        Ok(Self { names, crates, search, has_std, has_alloc })
    }

    /// rustc options that make the crates visible; `own` is the unit's metadata file.
    pub fn args(&self, own: &Path) -> Vec<String> {
        let mut out: Vec<String> = self.search.iter().map(|path| format!("-L{path}")).collect();
        for (name, path) in &self.crates {
            out.extend(["--extern".to_owned(), format!("{name}={}", path.display())]);
        }
        out.extend(["--extern".to_owned(), format!("{OWN}={}", own.display())]);
        out
    }

    /// Attributes and items at the head of a generated crate.
    pub fn prelude(&self) -> String {
        let mut out = String::new();
        if !self.has_std {
            out.push_str("#![no_std] ");
        }
        if self.has_alloc {
            out.push_str("extern crate alloc; ");
        }
        out
    }
}

/// `serde` for `../libserde-1f60147e65a1d1a7.rmeta`.
fn crate_name(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let name = stem.strip_prefix("lib").unwrap_or(stem);
    Some(name.split_once('-').map_or(name, |(name, _)| name).to_owned())
}

/// How the files of recorded units start.
const UNIT_HEAD: &[u8; 23] = b"{\"schema\":\"mirgen-unit\"";

/// The recorded units of a directory by their metadata file; files that are no units are none.
fn recorded(dir: &Path) -> HashMap<PathBuf, Unit> {
    let mut out = HashMap::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if hidden || path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        // Callers may keep documents here that are large.
        let mut head = [0; UNIT_HEAD.len()];
        let read = fs::File::open(&path).and_then(|mut file| file.read_exact(&mut head));
        if read.is_err() || head != *UNIT_HEAD {
            continue;
        }
        if let Ok(unit) = Unit::load(&path) {
            if let Some(metadata) = &unit.metadata {
                out.insert(unit.cwd.join(metadata), unit);
            }
        }
    }
    out
}

/// Names of the library files of the unit's target.
fn target_libs(unit: &Unit, rustc: &Rustc) -> Vec<String> {
    let sysroot = unit.sysroot.as_ref().map_or_else(|| rustc.sysroot.clone(), PathBuf::from);
    let target = Path::new(&unit.target).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let dir = sysroot.join("lib/rustlib").join(target.unwrap_or_default()).join("lib");
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_files() {
        assert_eq!(crate_name(Path::new("/t/libserde_core-1f.rmeta")).unwrap(), "serde_core");
        assert_eq!(crate_name(Path::new("/t/libfoo.rlib")).unwrap(), "foo");
        assert_eq!(crate_name(Path::new("liballoc.rmeta")).unwrap(), "alloc");
    }
}
