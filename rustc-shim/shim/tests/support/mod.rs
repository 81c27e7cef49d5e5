//! What the integration tests share: compilers to try, and units recorded through the binary itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The compilers to test with: `MIRGEN_TEST_RUSTCS`, separated by colons, or the one that PATH finds.
pub fn rustcs() -> Vec<String> {
    match std::env::var("MIRGEN_TEST_RUSTCS") {
        Ok(list) if !list.is_empty() => list.split(':').map(str::to_owned).collect(),
        _ => vec!["rustc".to_owned()],
    }
}

pub fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mirgen-rustc"));
    command.env_remove("RUSTC_BOOTSTRAP").env_remove("MIRGEN_WRAPPER_DIR").env_remove("CARGO_CRATE_NAME");
    command
}

/// The output of a command that must succeed.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} said {}:\n{stderr}", output.status);
    output
}

/// A crate of one file, compiled and recorded as cargo would have it.
pub struct Recorded {
    pub dir: tempfile::TempDir,
    pub unit: PathBuf,
}

impl Recorded {
    pub fn new(rustc: &str, source: &Path, name: &str) -> Self {
        Self::new_in(rustc, source, name, None)
    }

    /// The same with a package's directory around the source.
    pub fn new_in(rustc: &str, source: &Path, name: &str, package: Option<&Path>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut command = binary();
        command.env("MIRGEN_WRAPPER_DIR", dir.path()).env("MIRGEN_TARGET", TARGET);
        command.env("CARGO_CRATE_NAME", name).env("CARGO_PRIMARY_PACKAGE", "1");
        command.current_dir(source.parent().unwrap()).arg(rustc);
        command.args(["--crate-name", name, "--edition=2021"]).arg(source.file_name().unwrap());
        command.args(["--crate-type", "lib", "--emit=dep-info,metadata", "-Copt-level=3", "-Cextra-filename=-1"]);
        command.args(["--cap-lints=allow", "--target", TARGET, "--out-dir"]).arg(dir.path());
        command.envs(package.map(|package| ("CARGO_MANIFEST_DIR", package)));
        succeed(&mut command);
        let unit = dir.path().join(format!("{name}-1.json"));
        assert!(unit.exists(), "the wrapper recorded nothing for {name}");
        Self { dir, unit }
    }

    /// The document of every body.
    pub fn dump(&self) -> Value {
        let out = self.dir.path().join("dump.json");
        succeed(binary().arg("dump").arg("--unit").arg(&self.unit).args(["--all", "--out"]).arg(&out));
        read_json(&out)
    }

    /// Layouts of types given as wire types or as texts.
    pub fn layouts(&self, types: &[Value]) -> Value {
        let (request, out) = (self.dir.path().join("types.json"), self.dir.path().join("layouts.json"));
        let roots: Vec<usize> = (0..types.len()).collect();
        std::fs::write(&request, serde_json::json!({"types": types, "roots": roots}).to_string()).unwrap();
        let mut command = binary();
        command.arg("layouts").arg("--unit").arg(&self.unit).arg("--types").arg(&request).arg("--out").arg(&out);
        succeed(&mut command);
        read_json(&out)
    }

    pub fn layouts_of(&self, texts: &[&str]) -> Value {
        let types: Vec<Value> = texts.iter().map(|text| serde_json::json!({ "text": text })).collect();
        self.layouts(&types)
    }
}

pub fn read_json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}
