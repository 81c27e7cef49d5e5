//! The binary as cargo's `RUSTC_WRAPPER`: units of the target are compiled with mirgen's flags and recorded;
//! everything else (build scripts, proc-macros, their dependencies, probes) is rustc untouched.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use crate::args::{expand, Args};
use crate::fail::{Failure, Result};
use crate::files;
use crate::invoke::{is_abi_warning, mir_flags, Thresholds};
use crate::unit::{dep_info_env, Package, SourceCopy, Unit, VERSION};

/// Variables whose change must make cargo compile again: they change what is recorded or how.
pub const TRACKED: &[&str] =
    &["MIRGEN_WRAPPER_DIR", "MIRGEN_TARGET", "MIRGEN_SYSROOT", "MIRGEN_STAMP", "MIRGEN_OVERLAYS"];

/// Variables outside `CARGO_*` that a later run needs to find the same compiler and libraries.
const KEPT: &[&str] = &["OUT_DIR", "RUSTUP_TOOLCHAIN", "RUSTUP_HOME", "LD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"];

/// Whether this process was started as a wrapper: cargo puts the compiler's name first.
pub fn is_wrapper(args: &[String]) -> bool {
    let program = args.get(1).is_some_and(|arg| {
        let name = Path::new(arg).file_stem().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.contains("rustc") || name.contains("clippy-driver"))
    });
    program && std::env::var_os("MIRGEN_WRAPPER_DIR").is_some()
}

/// Runs rustc for cargo and returns its exit code.
pub fn run(args: &[String]) -> Result<u8> {
    let Some((rustc, rest)) = args.get(1..).and_then(<[String]>::split_first) else {
        return Err(Failure::usage("the wrapper needs a compiler to run"));
    };
    match Recording::of(rustc, rest)? {
        Some(recording) => recording.run(),
        None => status(Command::new(rustc).args(rest), rustc),
    }
}

fn status(command: &mut Command, program: &str) -> Result<u8> {
    let status = command.status().map_err(|error| Failure::internal(format!("cannot run {program}: {error}")))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(crate::fail::RUSTC))
}

/// Like [`status`], without rustc's warning about a flag that the user did not give.
fn filtered_status(command: &mut Command, program: &str) -> Result<u8> {
    let failure = |error: std::io::Error| Failure::internal(format!("cannot run {program}: {error}"));
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(failure)?;
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).split(b'\n') {
            let line = line.map_err(failure)?;
            let text = String::from_utf8_lossy(&line);
            if !is_abi_warning(&text) {
                eprintln!("{text}");
            }
        }
    }
    let status = child.wait().map_err(failure)?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(crate::fail::RUSTC))
}

/// A unit about to be compiled.
struct Recording {
    unit: Unit,
    args: Args,
    path: PathBuf,
}

impl Recording {
    /// The recording for a command line, or `None` when it is to be left alone.
    fn of(rustc: &str, rest: &[String]) -> Result<Option<Self>> {
        let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (Some(dir), Some(target), Some(_)) =
            (var("MIRGEN_WRAPPER_DIR"), var("MIRGEN_TARGET"), var("CARGO_CRATE_NAME"))
        else {
            return Ok(None);
        };
        let mut expanded = library_of_tests(expand(rest.to_vec())?);
        let overlay = overlay(&expanded)?;
        if let Some(overlay) = &overlay {
            overlay.redirect(&mut expanded);
        }
        let args = Args::parse(&expanded);
        let (Some(crate_name), Some(_)) = (args.value("--crate-name"), args.input()) else {
            return Ok(None);
        };
        let host_only = args.crate_types().any(|kind| kind == "proc-macro") || crate_name.starts_with("build_script_");
        if host_only || args.value("--target") != Some(target.as_str()) || args.value("--print").is_some() {
            return Ok(None);
        }
        let suffix = args.codegen("extra-filename").unwrap_or("").to_owned();
        let outputs = args.value("--out-dir").map(PathBuf::from);
        let output = |name: String| outputs.as_ref().map(|dir| dir.join(name));
        let cwd = std::env::current_dir()
            .map_err(|error| Failure::internal(format!("the current directory is not to be had: {error}")))?;
        let unit = Unit {
            schema: "mirgen-unit".to_owned(),
            version: VERSION,
            crate_name: crate_name.to_owned(),
            edition: args.value("--edition").unwrap_or("2015").to_owned(),
            crate_types: args.crate_types().map(str::to_owned).collect(),
            target,
            primary: var("CARGO_PRIMARY_PACKAGE").is_some(),
            package: Package {
                name: var("CARGO_PKG_NAME").unwrap_or_default(),
                version: var("CARGO_PKG_VERSION").unwrap_or_default(),
                manifest_dir: var("CARGO_MANIFEST_DIR").unwrap_or_default(),
            },
            rustc: rustc.to_owned(),
            cwd,
            env: environment(),
            sysroot: var("MIRGEN_SYSROOT"),
            overlay,
            metadata: output(format!("lib{crate_name}{suffix}.rmeta")),
            dep_info: output(format!("{crate_name}{suffix}.d")),
            args: expanded,
        };
        let path = PathBuf::from(dir).join(format!("{crate_name}{suffix}.json"));
        Ok(Some(Self { unit, args, path }))
    }

    fn run(mut self) -> Result<u8> {
        let thresholds = if self.unit.primary { Thresholds::Root } else { Thresholds::Default };
        let mut command = Command::new(&self.unit.rustc);
        command.args(self.args.without(&["-C incremental"]).to_vec()).args(mir_flags(&self.args, thresholds));
        if let Some(sysroot) = &self.unit.sysroot {
            command.arg("--sysroot").arg(sysroot);
        }
        command.env("RUSTC_BOOTSTRAP", "1").env("RUSTC_ICE", "0");
        let code = filtered_status(&mut command, &self.unit.rustc)?;
        if code == 0 {
            self.record()?;
        }
        Ok(code)
    }

    /// Writes the unit and ties its file and our variables to cargo's freshness.
    fn record(&mut self) -> Result<()> {
        let dep_info = self.unit.dep_info.as_ref().map(|path| self.unit.cwd.join(path));
        let text = dep_info.as_ref().and_then(|path| fs::read_to_string(path).ok());
        for (name, value) in text.as_deref().map(dep_info_env).unwrap_or_default() {
            self.unit.env.insert(name, value);
        }
        if let Some(dir) = self.path.parent() {
            fs::create_dir_all(dir)
                .map_err(|error| Failure::internal(format!("cannot make {}: {error}", dir.display())))?;
        }
        files::write_json(&self.path, &self.unit)?;
        if let (Some(path), Some(text)) = (dep_info, text) {
            age(&self.path)?;
            files::write_atomic(&path, tracked(&text, &self.path).as_bytes())?;
        }
        Ok(())
    }
}

/// A crate's tests as a library: `cfg(test)` holds, there is no harness, and `#[test]` functions are gone.
///
/// What only those use is unused now, so that lints say nothing here.
fn library_of_tests(args: Vec<String>) -> Vec<String> {
    let parsed = Args::parse(&args);
    if !parsed.has_flag("--test") {
        return args;
    }
    let mut args = parsed.without(&["--test", "--crate-type", "--cap-lints"]).to_vec();
    args.extend(["--crate-type", "lib", "--cfg", "test", "--cap-lints", "allow"].map(str::to_owned));
    args
}

/// The copy of its sources that a crate is to be compiled from, if `MIRGEN_OVERLAYS` (JSON: root file to copy) has one.
fn overlay(args: &[String]) -> Result<Option<SourceCopy>> {
    let Some(map) = std::env::var_os("MIRGEN_OVERLAYS").filter(|path| !path.is_empty()) else { return Ok(None) };
    let copies: BTreeMap<PathBuf, SourceCopy> = files::read_json(Path::new(&map))?;
    let Some(input) = Args::parse(args).input().map(PathBuf::from) else { return Ok(None) };
    let cwd = std::env::current_dir()
        .map_err(|error| Failure::internal(format!("the current directory is not to be had: {error}")))?;
    Ok(copies.get(&cwd.join(input)).cloned())
}

/// Makes a file old: cargo calls a unit stale when a file in its dep-info is newer than the unit's compilation.
fn age(path: &Path) -> Result<()> {
    let old = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let file = fs::File::options().write(true).open(path);
    file.and_then(|file| file.set_modified(old))
        .map_err(|error| Failure::internal(format!("cannot date {}: {error}", path.display())))
}

/// A dep-info text that also names the recorded unit's file (a lost recording is made again) and our variables.
fn tracked(dep_info: &str, unit: &Path) -> String {
    let unit = unit.to_string_lossy().replace(' ', "\\ ");
    let mut out = String::with_capacity(dep_info.len() + 512);
    let mut done = false;
    for line in dep_info.lines() {
        out.push_str(line);
        if !done && line.contains(": ") && !line.starts_with('#') {
            out.push(' ');
            out.push_str(&unit);
            done = true;
        }
        out.push('\n');
    }
    for name in TRACKED {
        let escape = |value: String| value.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
        match std::env::var(name) {
            Ok(value) => out.push_str(&format!("# env-dep:{name}={}\n", escape(value))),
            Err(_) => out.push_str(&format!("# env-dep:{name}\n")),
        }
    }
    out
}

/// cargo's variables for this crate; secrets of registries stay out.
fn environment() -> BTreeMap<String, String> {
    let wanted = |name: &str| {
        let secret = ["TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"].iter().any(|word| name.contains(word));
        // The jobserver of CARGO_MAKEFLAGS is gone when rustc is asked again.
        let cargo = name.starts_with("CARGO_") && !name.starts_with("CARGO_REGISTR") && name != "CARGO_MAKEFLAGS";
        let cargo = cargo || name == "CARGO";
        !secret && (cargo || name.starts_with("DEP_") || KEPT.contains(&name))
    };
    // Values that are not text are nothing a Rust crate can read with `env!`.
    let text =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    text.filter(|(name, _)| wanted(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dep_info_names_the_recording_once() {
        let text = "/t/a.d: src/lib.rs\n\n/t/liba.rmeta: src/lib.rs\n\nsrc/lib.rs:\n\n# env-dep:A=1\n";
        let out = tracked(text, Path::new("/w/my units/a.json"));
        assert_eq!(out.matches("/w/my\\ units/a.json").count(), 1);
        assert!(out.starts_with("/t/a.d: src/lib.rs /w/my\\ units/a.json\n"));
        assert!(out.contains("# env-dep:A=1\n"));
        assert!(out.contains("# env-dep:MIRGEN_STAMP\n"));
    }

    #[test]
    fn tests_become_a_library() {
        let args = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let plain = args("--crate-name a src/lib.rs --crate-type lib");
        assert_eq!(library_of_tests(plain.clone()), plain);
        let tests = Args::parse(&library_of_tests(args("--crate-name a src/lib.rs --test --cfg x --cap-lints warn")));
        assert!(!tests.has_flag("--test"));
        assert_eq!(tests.crate_types().collect::<Vec<_>>(), ["lib"]);
        assert_eq!(tests.values("--cfg").collect::<Vec<_>>(), ["x", "test"]);
        assert_eq!(tests.values("--cap-lints").collect::<Vec<_>>(), ["allow"]);
    }

    #[test]
    fn only_compilers_make_a_wrapper() {
        // Without MIRGEN_WRAPPER_DIR nothing is one.
        assert!(!is_wrapper(&["mirgen-rustc".into(), "dump".into()]));
        assert!(!is_wrapper(&["mirgen-rustc".into()]));
    }
}
