//! The wrapper under a real cargo: what it records, what it leaves alone, and when cargo builds again.

// Each test file uses its part of it.
#[allow(dead_code)]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use support::{binary, read_json, succeed, TARGET};

const BUILD: &str = r##"
fn main() {
    assert!(std::env::var_os("RUSTC_BOOTSTRAP").is_none(), "RUSTC_BOOTSTRAP reaches build scripts");
    let out = std::env::var("OUT_DIR").unwrap();
    std::fs::write(format!("{out}/made.rs"), "pub const MADE: u32 = 17;").unwrap();
    println!("cargo:rustc-env=DEMO_VALUE=4\\2 and more");
    println!("cargo:rerun-if-changed=build.rs");
    // A probe as crates write them: through the wrapper, without cargo's variables for a crate.
    let probe = format!("{out}/probe.rs");
    std::fs::write(&probe, "#![feature(never_type)]").unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap();
    let accepts = |mut command: std::process::Command| {
        command.args(["--crate-name", "probe", "--crate-type=lib", "--emit=metadata", "--target"]);
        command.arg(std::env::var_os("TARGET").unwrap()).arg("--out-dir").arg(&out).arg(&probe);
        command.env_remove("CARGO_CRATE_NAME").output().unwrap().status.success()
    };
    let mut wrapped = std::process::Command::new(std::env::var_os("RUSTC_WRAPPER").unwrap());
    wrapped.arg(&rustc);
    assert_eq!(accepts(wrapped), accepts(std::process::Command::new(&rustc)), "a probe is not left alone");
}
"##;

const LIB: &str = r#"
include!(concat!(env!("OUT_DIR"), "/made.rs"));
pub const VALUE: &str = env!("DEMO_VALUE");
#[derive(demo_derive::Nothing)] pub struct S { pub a: demo_dep::D }
#[inline] pub fn k(x: &[u32]) -> u32 { x.iter().map(|a| a * MADE).sum() }
#[cfg(mirgen)] pub fn only_here() -> demo_dep::D { demo_dep::make(MADE) }
"#;

const DERIVE: &str = "extern crate proc_macro; #[proc_macro_derive(Nothing)] \
    pub fn nothing(_: proc_macro::TokenStream) -> proc_macro::TokenStream { Default::default() }";

const DEP: &str = "pub enum D { One(u32), Two } pub mod inner { pub struct Deep(pub u8, pub u32); } \
    pub fn make(x: u32) -> D { if x == 0 { D::Two } else { D::One(x) } }";

struct Demo {
    dir: tempfile::TempDir,
}

impl Demo {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let package = |name: &str, rest: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{rest}")
        };
        let dependencies = "[dependencies]\ndemo_dep = { path = \"dep\" }\ndemo_derive = { path = \"derive\" }\n\
                            [workspace]\n";
        write("Cargo.toml", &package("demo", dependencies));
        write("build.rs", BUILD);
        write("src/lib.rs", LIB);
        write("dep/Cargo.toml", &package("demo_dep", ""));
        write("dep/src/lib.rs", DEP);
        write("derive/Cargo.toml", &package("demo_derive", "[lib]\nproc-macro = true\n"));
        write("derive/src/lib.rs", DERIVE);
        Self { dir }
    }

    fn units(&self) -> PathBuf {
        self.dir.path().join("units of mirgen")
    }

    fn check(&self, stamp: &str) -> Output {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["check", "--offline", "--target", TARGET, "--message-format=json-render-diagnostics"]);
        command.current_dir(self.dir.path()).env("MIRGEN_WRAPPER_DIR", self.units()).env("MIRGEN_TARGET", TARGET);
        command.env("RUSTC_WRAPPER", env!("CARGO_BIN_EXE_mirgen-rustc")).env("MIRGEN_STAMP", stamp);
        command.env("CARGO_TARGET_DIR", self.dir.path().join("target"));
        // This test is itself run by a cargo whose variables must not pass for the inner one's.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if (name.starts_with("CARGO_") && name != "CARGO_HOME" && name != "CARGO_TARGET_DIR") || name == "RUSTFLAGS"
            {
                command.env_remove(name);
            }
        }
        succeed(&mut command)
    }

    /// Names of the crates that were compiled, not found fresh.
    fn compiled(&self, stamp: &str) -> Vec<String> {
        let output = self.check(stamp);
        let text = String::from_utf8(output.stdout).unwrap();
        let messages = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let built = messages.filter(|message| message["reason"] == "compiler-artifact" && message["fresh"] == false);
        let kinds = built.filter(|message| message["target"]["kind"][0] == "lib");
        let mut names: Vec<String> =
            kinds.map(|message| message["target"]["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }

    fn recorded(&self) -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(self.units()).unwrap().flatten().map(|entry| entry.path());
        let json = entries.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        let visible = json.filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'));
        let named = |path: PathBuf| (read_json(&path)["crate_name"].as_str().unwrap().to_owned(), path);
        let mut units: Vec<_> = visible.map(named).collect();
        units.sort();
        units
    }

    fn unit(&self, name: &str) -> PathBuf {
        self.recorded().into_iter().find(|(found, _)| found == name).unwrap().1
    }
}

fn dump(unit: &Path, args: &[&str]) -> Value {
    let out = unit.with_file_name("out");
    succeed(binary().arg("dump").arg("--unit").arg(unit).arg("--out").arg(&out).args(args));
    read_json(&out)
}

#[test]
fn units_are_recorded_and_cargo_stays_right_about_freshness() {
    let demo = Demo::new();
    assert_eq!(demo.compiled("1"), ["demo", "demo_dep"]);
    let names: Vec<String> = demo.recorded().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["demo", "demo_dep"], "build scripts, proc-macros and probes are no units");

    let unit = read_json(&demo.unit("demo"));
    assert_eq!((&unit["primary"], &unit["package"]["version"]), (&true.into(), &"0.1.0".into()));
    assert_eq!(unit["env"]["DEMO_VALUE"], "4\\2 and more");
    assert!(unit["env"]["OUT_DIR"].is_string());
    assert!(unit["env"]["CARGO_MAKEFLAGS"].is_null());
    assert_eq!(read_json(&demo.unit("demo_dep"))["primary"], false);

    assert!(demo.compiled("1").is_empty(), "nothing changed");
    assert_eq!(demo.compiled("2"), ["demo", "demo_dep"], "the stamp changed");
    assert!(demo.compiled("2").is_empty());
    fs::remove_file(demo.unit("demo")).unwrap();
    assert_eq!(demo.compiled("2"), ["demo"], "a recording was lost");
    assert_eq!(demo.recorded().len(), 2);
}

#[test]
fn recorded_units_can_be_asked() {
    let demo = Demo::new();
    demo.check("1");
    let (root, dep) = (demo.unit("demo"), demo.unit("demo_dep"));
    let document = dump(&root, &["--function", "k"]);
    let headers: Vec<&str> =
        document["index"].as_array().unwrap().iter().map(|header| header["header"].as_str().unwrap()).collect();
    assert!(headers.contains(&"only_here"), "--cfg mirgen is set: {headers:?}");
    assert_eq!(document["bodies"].as_array().unwrap().len(), 1);
    assert_eq!(dump(&dep, &["--all"])["crate_name"], "demo_dep");

    // Types of a dependency, as the root's text names them.
    let request = demo.dir.path().join("types.json");
    fs::write(
        &request,
        r#"{"types": [{"text": "S"}, {"text": "demo_dep::D"}, {"text": "demo_dep::inner::Deep"}],
        "roots": [0, 1, 2]}"#,
    )
    .unwrap();
    let out = demo.dir.path().join("layouts.json");
    let layouts = |unit: &Path| {
        succeed(binary().arg("layouts").arg("--unit").arg(unit).arg("--types").arg(&request).arg("--out").arg(&out));
        read_json(&out)
    };
    let document = layouts(&root);
    assert_eq!(document["failures"], serde_json::json!([]));
    assert_eq!(document["layouts"][1]["variant_names"][0]["name"], "One");
    assert_eq!(document["layouts"][2]["layout"]["size"], 8);
    assert_eq!(document["layouts"][2]["needs_drop"], false);
}

#[test]
fn an_executable_is_asked_as_a_library() {
    let demo = Demo::new();
    fs::write(demo.dir.path().join("src/main.rs"), "struct M(u8, u16); fn main() { std::hint::black_box(M(1, 2)); }")
        .unwrap();
    fs::remove_file(demo.dir.path().join("src/lib.rs")).unwrap();
    demo.check("1");
    let request = demo.dir.path().join("types.json");
    fs::write(&request, r#"{"types": [{"text": "M"}], "roots": [0]}"#).unwrap();
    let out = demo.dir.path().join("layouts.json");
    let unit = demo.unit("demo");
    succeed(binary().arg("layouts").arg("--unit").arg(unit).arg("--types").arg(&request).arg("--out").arg(&out));
    let document = read_json(&out);
    assert_eq!(document["layouts"][0]["layout"]["size"], 4, "{document}");
}

#[test]
fn rustc_errors_pass_through() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("bad.rs");
    fs::write(&source, "pub fn f() -> u8 { \"text\" }").unwrap();
    let run = |mut command: Command| {
        command.args(["--crate-name", "bad", "--crate-type=lib", "--emit=metadata", "--target", TARGET]);
        command.args(["--error-format=json", "--json=diagnostic-rendered-ansi,artifacts"]);
        command.arg("--out-dir").arg(dir.path()).arg(&source).output().unwrap()
    };
    // cargo swallows the line that counts errors and warnings.
    let said = |output: &Output| {
        let text = String::from_utf8(output.stderr.clone()).unwrap();
        let kept = text.lines().filter(|line| !line.contains("aborting due to"));
        kept.map(str::to_owned).collect::<Vec<_>>()
    };
    let native = run(Command::new("rustc"));
    let mut wrapped = binary();
    wrapped.env("MIRGEN_WRAPPER_DIR", dir.path()).env("MIRGEN_TARGET", TARGET).env("CARGO_CRATE_NAME", "bad");
    wrapped.arg("rustc");
    let wrapped = run(wrapped);
    assert_eq!(wrapped.status.code(), native.status.code());
    assert_eq!(said(&wrapped), said(&native));
    assert!(said(&native)[0].contains("E0308"));
    assert!(!dir.path().join("bad.json").exists());
}
