//! Running rustc: which one, with which flags, and what it says.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::{Deserialize, Serialize};

use crate::args::Args;
use crate::fail::{Failure, Result};
use crate::files::{self, Fingerprint};
use crate::unit::{checks, Unit};

/// How far rustc's MIR inliner goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thresholds {
    /// Far enough that iterator code of a root crate becomes loops.
    Root,
    /// Much further, for a root crate whose tower left calls at the usual budget.
    Deep,
    /// As far as [`Thresholds::Deep`], but for functions that ask to be inlined only: for single instances.
    Query,
    /// rustc's own, for dependencies, whose every body would explode otherwise.
    Default,
}

/// Options that decide where and how rustc writes: ours replace cargo's whenever a unit is compiled again.
const OUTPUT_OPTIONS: &[&str] = &[
    "--emit",
    "--out-dir",
    "-o",
    "--error-format",
    "--json",
    "--cap-lints",
    "--color",
    "--diagnostic-width",
    "-C incremental",
    "-C extra-filename",
];

/// A stock rustc: where it is and what it says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rustc {
    /// The program to run: the toolchain's own where cargo named rustup's proxy.
    pub program: PathBuf,
    pub release: String,
    pub commit_hash: Option<String>,
    pub commit_date: Option<String>,
    pub host: Option<String>,
    pub llvm_version: Option<String>,
    pub sysroot: PathBuf,
}

impl Rustc {
    /// Asks the rustc of this name.
    pub fn ask(program: &Path) -> Result<Self> {
        let verbose = stdout_of(program, &["-vV"])?;
        let field = |name: &str| {
            let value = verbose.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.filter(|value| *value != "unknown").map(str::to_owned)
        };
        let release = field("release")
            .ok_or_else(|| Failure::internal(format!("{} -vV prints no release:\n{verbose}", program.display())))?;
        let sysroot = PathBuf::from(stdout_of(program, &["--print", "sysroot"])?.trim());
        let direct = sysroot.join("bin").join("rustc");
        let resolved = find_program(program);
        let proxied = fs::canonicalize(&resolved)
            .ok()
            .is_some_and(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains("rustup")));
        let program = if proxied && direct.exists() { direct } else { resolved };
        Ok(Self {
            program,
            release,
            commit_hash: field("commit-hash"),
            commit_date: field("commit-date"),
            host: field("host"),
            llvm_version: field("LLVM version"),
            sysroot,
        })
    }

    /// Like [`Rustc::ask`], remembering the answer in `dir` as long as the program and the toolchain are the same.
    pub fn ask_cached(program: &Path, dir: &Path) -> Result<Self> {
        let mut key = Fingerprint::new();
        key.add_file(&find_program(program)).add(&std::env::var_os("RUSTUP_TOOLCHAIN"));
        key.add(&std::env::var_os("LD_LIBRARY_PATH"));
        let path = dir.join(format!(".rustc-{}.json", key.finish()));
        if let Ok((known, stamp)) = files::read_json::<(Self, String)>(&path) {
            if Fingerprint::new().add_file(&known.program).finish() == stamp {
                return Ok(known);
            }
        }
        let asked = Self::ask(program)?;
        let stamp = Fingerprint::new().add_file(&asked.program).finish();
        files::write_json(&path, &(&asked, stamp))?;
        Ok(asked)
    }

    /// The release as numbers: `1.97.0-nightly` is `(1, 97)`.
    pub fn minor(&self) -> (u32, u32) {
        let mut numbers = self.release.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }
}

/// Where PATH finds a program; the name itself when it has a directory or is not found.
fn find_program(program: &Path) -> PathBuf {
    if program.components().count() > 1 {
        return program.to_owned();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|dir| dir.join(program)).filter(|file| file.is_file());
    found.next().unwrap_or_else(|| program.to_owned())
}

fn stdout_of(program: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(args)
        .output()
        .map_err(|error| Failure::internal(format!("cannot run {}: {error}", program.display())))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::internal(format!("{} {args:?} failed: {message}", program.display())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// x86-64's SIMD features, off.  No code is generated from these units, so that rustc's warning about the ABI
/// ([`is_abi_warning`]) is of no concern.
const NO_SIMD: &str = "-sse2,-sse";

/// Whether a line of rustc's output is its warning about [`NO_SIMD`].
pub fn is_abi_warning(line: &str) -> bool {
    line.contains("target feature `sse2` must be enabled to ensure that the ABI of the current target")
}

/// The flags with which every unit is compiled, whatever is asked of it: they decide what its MIR is.
pub fn mir_flags(args: &Args, thresholds: Thresholds) -> Vec<String> {
    let checks = checks(args);
    let switch = |on| if on { "on" } else { "off" };
    let mut flags: Vec<String> = [
        "--cfg=mirgen",
        "--check-cfg=cfg(mirgen,mirgen_deep)",
        "-Copt-level=3",
        "-Cpanic=abort",
        "-Zalways-encode-mir",
        "-Zmir-enable-passes=-JumpThreading",
        "-Zinline-mir",
        // The checks of `unsafe` preconditions are functions that a shipped core has no MIR of.
        "-Zub-checks=no",
    ]
    .map(str::to_owned)
    .to_vec();
    if args.value("--target").is_some_and(|target| target.starts_with("x86_64-")) {
        // Crates that ask for the host's SIMD at compile time then take their portable path.
        flags.push(format!("-Ctarget-feature={NO_SIMD}"));
    }
    flags.push(format!("-Cdebug-assertions={}", switch(checks.debug_assertions)));
    flags.push(format!("-Coverflow-checks={}", switch(checks.overflow_checks)));
    let budget = match thresholds {
        Thresholds::Root => Some(3_000),
        Thresholds::Deep | Thresholds::Query => Some(50_000),
        Thresholds::Default => None,
    };
    if thresholds == Thresholds::Deep {
        // Functions without `#[inline]` that call others get a share of the tower's budget too.
        flags.push("-Zcross-crate-inline-threshold=always".to_owned());
    }
    if let Some(budget) = budget {
        flags.extend(["", "-hint", "-forwarder"].map(|kind| format!("-Zinline-mir{kind}-threshold={budget}")));
    }
    flags
}

/// A rustc run on a recorded unit.  cargo's output options are gone; the caller adds its own.
pub struct Run {
    pub command: Command,
    /// The arguments so far, for fingerprints and reports.
    pub args: Vec<String>,
}

impl Run {
    /// The unit's own compilation again.
    ///
    /// `input` is compiled instead of the unit's own root file, where given.
    pub fn again(unit: &Unit, rustc: &Rustc, thresholds: Thresholds, input: Option<&Path>) -> Self {
        let args = unit.parsed();
        let mut run = Self::bare(unit, rustc);
        let mut own = args.without(OUTPUT_OPTIONS).to_vec();
        if let (Some(old), Some(new)) = (args.input(), input) {
            own.iter_mut().filter(|arg| arg.as_str() == old).for_each(|arg| *arg = new.to_string_lossy().into_owned());
        }
        run.args(own);
        run.args(mir_flags(&args, thresholds));
        run.args(["--cap-lints=allow"]);
        run
    }

    /// A rustc in the unit's directory and environment.
    pub fn bare(unit: &Unit, rustc: &Rustc) -> Self {
        let mut command = Command::new(&rustc.program);
        command.current_dir(&unit.cwd).envs(&unit.env).env("RUSTC_BOOTSTRAP", "1");
        // A panic that is expected (`stable-mir` has some) leaves no report in the user's directory.
        command.env("RUSTC_ICE", "0");
        command.env_remove("RUSTC_WRAPPER").env_remove("RUSTC_LOG");
        let mut run = Self { command, args: Vec::new() };
        if let Some(sysroot) = &unit.sysroot {
            run.args([format!("--sysroot={sysroot}")]);
        }
        run
    }

    pub fn args<S: Into<String>>(&mut self, args: impl IntoIterator<Item = S>) -> &mut Self {
        for arg in args {
            let arg = arg.into();
            self.command.arg(&arg);
            self.args.push(arg);
        }
        self
    }

    pub fn env(&mut self, name: &str, value: &str) -> &mut Self {
        self.command.env(name, value);
        self
    }

    /// Runs, keeping what rustc says.
    pub fn output(&mut self) -> Result<Output> {
        let program: OsString = self.command.get_program().to_owned();
        self.command
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Failure::internal(format!("cannot run {}: {error}", program.to_string_lossy())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_keep_the_profiles_checks() {
        let flags = mir_flags(&Args::parse(&["-Copt-level=3"]), Thresholds::Root);
        assert!(flags.contains(&"-Coverflow-checks=off".to_owned()));
        assert!(flags.contains(&"-Zinline-mir-hint-threshold=3000".to_owned()));
        let flags = mir_flags(&Args::parse::<&str>(&[]), Thresholds::Default);
        assert!(flags.contains(&"-Coverflow-checks=on".to_owned()));
        assert!(!flags.iter().any(|flag| flag.contains("threshold")));
    }

    #[test]
    fn asks_the_installed_rustc() {
        let dir = tempfile::tempdir().unwrap();
        let asked = Rustc::ask_cached(Path::new("rustc"), dir.path()).unwrap();
        assert!(asked.minor() >= (1, 85), "{}", asked.release);
        assert!(asked.sysroot.join("lib").is_dir());
        let again = Rustc::ask_cached(Path::new("rustc"), dir.path()).unwrap();
        assert_eq!(again.program, asked.program);
        assert_eq!(Rustc::ask(Path::new("no-such-rustc")).unwrap_err().code, crate::fail::INTERNAL);
    }
}
