//! One compilation that cargo asked for, recorded so that rustc can be asked the same again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::args::Args;
use crate::fail::{Failure, Result};
use crate::files;

pub const VERSION: u32 = 1;

/// A recorded compilation.  Paths are as cargo gave them, relative ones to `cwd`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Unit {
    pub schema: String,
    pub version: u32,
    pub crate_name: String,
    pub edition: String,
    pub crate_types: Vec<String>,
    pub target: String,
    /// Whether the user asked for this package itself (`CARGO_PRIMARY_PACKAGE`).
    pub primary: bool,
    /// `name`, `version` and `manifest_dir` of the cargo package.
    pub package: Package,
    /// The compiler as cargo named it.
    pub rustc: String,
    pub cwd: PathBuf,
    /// cargo's arguments, without what mirgen adds.
    pub args: Vec<String>,
    /// The environment that the crate may see: cargo's variables and those its dep-info names.
    pub env: BTreeMap<String, String>,
    pub sysroot: Option<String>,
    /// The copy of the sources that was compiled, where they were not compiled as they are.
    #[serde(default)]
    pub overlay: Option<SourceCopy>,
    /// The metadata file that depending crates use.
    pub metadata: Option<PathBuf>,
    /// rustc's dep-info file: every source file read.
    pub dep_info: Option<PathBuf>,
}

/// A copy of a crate's sources in which private items may be named; positions still name the original.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SourceCopy {
    /// The original root file and the directory that holds all sources.
    pub original_input: PathBuf,
    pub original: PathBuf,
    /// The same of the copy.
    pub input: PathBuf,
    pub copy: PathBuf,
}

impl SourceCopy {
    /// Makes a command line compile the copy.
    pub fn redirect(&self, args: &mut Vec<String>) {
        if let Some(old) = Args::parse(args).input().map(str::to_owned) {
            args.iter_mut().filter(|arg| **arg == old).for_each(|arg| *arg = self.input.to_string_lossy().into_owned());
        }
        args.push(format!("--remap-path-prefix={}={}", self.copy.display(), self.original.display()));
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub manifest_dir: String,
}

/// Whether debug assertions and overflow checks are on, as cargo's profile means them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks {
    pub debug_assertions: bool,
    pub overflow_checks: bool,
}

impl Unit {
    /// Reads a recorded unit.
    pub fn load(path: &Path) -> Result<Self> {
        let unit: Self = files::read_json(path)?;
        if unit.schema != "mirgen-unit" || unit.version != VERSION {
            return Err(Failure::usage(format!(
                "{} is {} version {}, not mirgen-unit version {VERSION}",
                path.display(),
                unit.schema,
                unit.version
            )));
        }
        Ok(unit)
    }

    pub fn parsed(&self) -> Args {
        Args::parse(&self.args)
    }

    /// The source files that rustc read, as its dep-info has them; the root alone before there is one.
    pub fn sources(&self) -> Vec<PathBuf> {
        let text = self.dep_info.as_ref().and_then(|path| std::fs::read_to_string(self.cwd.join(path)).ok());
        let mut files = dep_info_files(&text.unwrap_or_default());
        if let Some(root) = self.parsed().input().map(PathBuf::from).filter(|root| !files.contains(root)) {
            files.push(root);
        }
        files.into_iter().map(|file| self.cwd.join(file)).collect()
    }

    /// The same crate as a library, whatever cargo made of it.
    pub fn as_library(&self) -> Self {
        let mut unit = self.clone();
        unit.args = self.parsed().without(&["--crate-type", "--test"]).to_vec();
        unit.args.push("--crate-type=lib".to_owned());
        unit.crate_types = vec!["lib".to_owned()];
        unit
    }

    /// The metadata files of this unit's direct dependencies.
    pub fn externs(&self) -> Vec<(String, PathBuf)> {
        let parsed = self.parsed();
        let named = parsed.values("--extern").filter_map(|value| value.split_once('='));
        // Options before the name: `--extern priv:name=path`.
        named.map(|(name, path)| (name.rsplit(':').next().unwrap_or(name).to_owned(), self.cwd.join(path))).collect()
    }
}

/// What cargo's profile says about run-time checks: rustc turns both on when it does not optimise.
pub fn checks(args: &Args) -> Checks {
    let flag = |name: &str| args.codegen(name).map(|value| !matches!(value, "n" | "no" | "off" | "false"));
    let optimised = match args.codegen("opt-level") {
        Some(level) => level != "0",
        None => args.has_flag("-O"),
    };
    let debug_assertions = flag("debug-assertions").unwrap_or(!optimised);
    Checks { debug_assertions, overflow_checks: flag("overflow-checks").unwrap_or(debug_assertions) }
}

/// The prerequisites in the first rule of a dep-info file.
pub fn dep_info_files(text: &str) -> Vec<PathBuf> {
    let Some((_, files)) = text.lines().find_map(|line| line.split_once(": ")) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let mut file = String::new();
    let mut chars = files.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&' ') => file.extend(chars.next()),
            ' ' => out.push(std::mem::take(&mut file)),
            c => file.push(c),
        }
    }
    out.push(file);
    out.into_iter().filter(|file| !file.is_empty()).map(PathBuf::from).collect()
}

/// The environment variables that a dep-info file says the crate read, those that were set.
pub fn dep_info_env(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# env-dep:"));
    let set = lines.filter_map(|line| line.split_once('='));
    set.map(|(name, value)| (unescape(name), unescape(value))).collect()
}

/// The environment variables that a dep-info file says the crate looked at, set or not.
pub fn dep_info_env_names(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# env-dep:"));
    lines.map(|line| unescape(line.split_once('=').map_or(line, |(name, _)| name))).collect()
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            (c, false) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_dep_info() {
        let text = "/t/a.d: src/lib.rs src/with\\ space.rs\n\n/t/liba.rmeta: src/lib.rs\n\nsrc/lib.rs:\n\
                    # env-dep:A=x\\ny\\\\z\n# env-dep:B\n";
        assert_eq!(dep_info_files(text), [Path::new("src/lib.rs"), Path::new("src/with space.rs")]);
        assert_eq!(dep_info_env(text), [("A".to_owned(), "x\ny\\z".to_owned())]);
        assert_eq!(dep_info_env_names(text), ["A", "B"]);
    }

    #[test]
    fn checks_follow_the_profile() {
        let checks = |args: &[&str]| checks(&Args::parse(args));
        let of = |debug_assertions, overflow_checks| Checks { debug_assertions, overflow_checks };
        assert_eq!(checks(&[]), of(true, true));
        assert_eq!(checks(&["-O"]), of(false, false));
        assert_eq!(checks(&["-C", "opt-level=3"]), of(false, false));
        assert_eq!(checks(&["-C", "opt-level=3", "-C", "overflow-checks=on"]), of(false, true));
        assert_eq!(checks(&["-C", "debug-assertions=off"]), of(false, false));
    }
}
