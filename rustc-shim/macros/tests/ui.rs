//! Compile-fail tests: each file of `ui/` is compiled, and what rustc says about it is compared with the `.stderr` beside it.
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

/// Builds the device library for the tests, and says where it and what it needs are.
fn device(manifest: &Path, target: &Path) -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--manifest-path"])
        .arg(manifest.join("../device/Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the device library doesn't build");
    target.join("debug")
}

/// What rustc says about a file, without the machine's paths.
fn stderr(file: &Path, device: &Path, out: &Path) -> (bool, String) {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let directory = file.parent().expect("a file in a directory");
    let output = Command::new(rustc)
        .args([
            "--edition=2021",
            "--emit=obj",
            "--crate-type=bin",
            "--cap-lints=allow",
            "--color=never",
        ])
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
        .current_dir(directory)
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
    let device = device(manifest, &target.join("device"));
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
    let mut files: Vec<_> = fs::read_dir(&directory)
        .expect("ui is there")
        .map(|entry| entry.expect("readable").path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    assert!(!files.is_empty(), "no tests");
    for file in files {
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
