//! Files that must compile without a word (`pass/`), under plain cargo and under mirgen, and files that must not (`ui/`): what rustc says about
//! those is compared with the `.stderr` beside them.
//!
//! `MIRGEN_BLESS=1 cargo test --test ui` writes the `.stderr` files anew. They are those of one release of rustc, named in `ui/rustc`; with
//! another, only the kernels' own messages have to be there, word for word.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The release whose messages the snapshots are.
fn release() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .arg("--version")
        .output()
        .expect("rustc runs");
    let text = String::from_utf8(output.stdout).expect("a version is text");
    text.split_whitespace()
        .nth(1)
        .expect("a version")
        .to_string()
}

/// What the compiler wrapper of mirgen adds.
const MIRGEN: [&str; 2] = ["--cfg=mirgen", "--check-cfg=cfg(mirgen,mirgen_deep)"];

/// Builds the device library for the tests, and says where it and what it needs are.
fn device(manifest: &Path, target: &Path, flags: &[&str]) -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .args(["build", "--quiet", "--manifest-path"])
        .arg(manifest.join("../device/Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the device library doesn't build");
    target.join("debug")
}

/// rustc, told to compile a file against the device library.
fn rustc(file: &Path, device: &Path, out: &Path) -> Command {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc
        .args(["--edition=2021", "--color=never"])
        .arg("--out-dir")
        .arg(out)
        .arg("--extern")
        .arg(format!(
            "mirgen_device={}",
            device.join("libmirgen_device.rlib").display()
        ))
        .arg("-L")
        .arg(format!("dependency={}", device.join("deps").display()))
        .arg(file.file_name().expect("a file"))
        .current_dir(file.parent().expect("a file in a directory"));
    rustc
}

/// The Rust files of a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the directory is there");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("readable").path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    assert!(!files.is_empty(), "no tests");
    files
}

/// What rustc says about a file, without the machine's paths.
fn stderr(file: &Path, device: &Path, out: &Path) -> (bool, String) {
    let output = rustc(file, device, out)
        .args(["--emit=obj", "--crate-type=bin", "--cap-lints=allow"])
        .output()
        .expect("rustc runs");
    let text = String::from_utf8_lossy(&output.stderr);
    let mut lines = String::new();
    for line in text.lines() {
        // Of other files only the name is said: their lines move, and the machine has them where it likes.
        let elsewhere = ["--> src/", "::: src/", "--> /", "::: /"]
            .iter()
            .any(|at| line.contains(at));
        let line = match line.split_once(".rs:") {
            Some((start, _)) if elsewhere => format!("{start}.rs"),
            _ => line.to_string(),
        };
        let line = match line.split_once("/rustc/") {
            Some((start, rest)) if elsewhere => {
                format!("{start}$RUSTC{}", &rest[rest.find('/').unwrap_or(0)..])
            }
            _ => line,
        };
        writeln!(lines, "{}", line.trim_end()).expect("a string takes text");
    }
    (output.status.success(), lines)
}

/// The first lines of errors, which do not depend on the release.
fn headlines(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.starts_with("error: ") && !line.contains("aborting due to"))
        .collect()
}

#[test]
fn messages() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let device = device(manifest, &target.join("device"), &[]);
    let release = release();
    let directory = manifest.join("tests/ui");
    let bless = env::var_os("MIRGEN_BLESS").is_some();
    if bless {
        fs::write(directory.join("rustc"), format!("{release}\n"))
            .expect("ui/rustc can be written");
    }
    let snapshot_release = fs::read_to_string(directory.join("rustc")).expect("ui/rustc is there");
    let same_release = snapshot_release.trim() == release;

    let mut wrong = Vec::new();
    for file in files(&directory) {
        let (compiled, found) = stderr(&file, &device, target);
        let snapshot = file.with_extension("stderr");
        if bless {
            fs::write(&snapshot, &found).expect("a snapshot can be written");
        }
        let expected = fs::read_to_string(&snapshot).unwrap_or_default();
        let same = if same_release {
            expected == found
        } else {
            headlines(&expected) == headlines(&found)
        };
        if compiled || !same {
            let why = if compiled {
                "it compiled"
            } else {
                "other messages"
            };
            wrong.push(format!(
                "{}: {why}\n--- expected\n{expected}--- found\n{found}",
                file.display()
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "MIRGEN_BLESS=1 writes the messages anew\n{}",
        wrong.join("\n")
    );
}

#[test]
fn no_messages() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, flags) in [("device", &[] as &[&str]), ("device-mirgen", &MIRGEN)] {
        let device = device(manifest, &target.join(name), flags);
        for file in files(&manifest.join("tests/pass")) {
            let output = rustc(&file, &device, target)
                .args(["--emit=metadata", "--crate-type=lib"])
                .args(flags)
                .output()
                .expect("rustc runs");
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() && text.is_empty(),
                "{name}: {}\n{text}",
                file.display()
            );
        }
    }
}
