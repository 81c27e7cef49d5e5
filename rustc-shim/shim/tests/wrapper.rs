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
        self.check_in("target", stamp, &[])
    }

    /// Compiles into another target directory, with more variables.
    fn check_in(&self, target: &str, stamp: &str, variables: &[(&str, &str)]) -> Output {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["check", "--offline", "--target", TARGET, "--message-format=json-render-diagnostics"]);
        command.current_dir(self.dir.path()).env("MIRGEN_WRAPPER_DIR", self.units()).env("MIRGEN_TARGET", TARGET);
        command.env("RUSTC_WRAPPER", env!("CARGO_BIN_EXE_mirgen-rustc")).env("MIRGEN_STAMP", stamp);
        command.env("CARGO_TARGET_DIR", self.dir.path().join(target));
        // This test is itself run by a cargo whose variables must not pass for the inner one's.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if (name.starts_with("CARGO_") && name != "CARGO_HOME" && name != "CARGO_TARGET_DIR") || name == "RUSTFLAGS"
            {
                command.env_remove(name);
            }
        }
        succeed(command.envs(variables.iter().copied()))
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

/// The answers of one kind in a directory.
fn answers(dir: &Path, suffix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(suffix)).collect();
    found.sort();
    found
}

/// Another compiler: a script that ends in the installed one.
fn compiler(dir: &Path, before: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(dir).unwrap();
    let path = dir.join("rustc");
    fs::write(&path, format!("#!/bin/sh\n{before}\nexec rustc \"$@\"\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn texts_of_dependencies_serve_every_build_of_the_same_and_no_other() {
    let demo = Demo::new();
    let shared = demo.dir.path().join("answers");
    let index = |extra: &[&str]| {
        let (unit, out) = (demo.unit("demo_dep"), demo.dir.path().join("out"));
        let mut command = binary();
        command.arg("dump").arg("--unit").arg(&unit).arg("--out").arg(&out).args(["--index-only", "--no-side-channel"]);
        succeed(command.args(extra).env("MIRGEN_ANSWERS", &shared));
        read_json(&out)["index"].as_array().unwrap().len()
    };
    let again = |variables: &[(&str, &str)]| {
        fs::remove_dir_all(demo.units()).unwrap();
        demo.check_in("elsewhere", "1", variables);
        assert!(read_json(&demo.unit("demo_dep"))["metadata"].to_string().contains("elsewhere"));
    };
    demo.check("1");
    let whole = index(&[]);
    assert!(whole > 0);
    let texts = answers(&shared, ".mir");
    assert_eq!(texts.len(), 1, "{texts:?}");
    // Whoever reads this one did not ask rustc.
    fs::write(&texts[0], "").unwrap();
    assert_eq!(index(&[]), 0);
    again(&[]);
    assert_eq!(index(&[]), 0, "another target directory");

    assert_eq!(index(&["--thresholds", "root"]), whole, "other flags");
    again(&[("CARGO_PROFILE_DEV_OVERFLOW_CHECKS", "false")]);
    assert_eq!(index(&[]), whole, "another profile");
    let other = compiler(&demo.dir.path().join("toolchain"), "");
    again(&[("RUSTC", other.to_str().unwrap())]);
    assert_eq!(index(&[]), whole, "another compiler");
    again(&[]);
    assert_eq!(index(&[]), 0, "as at first");

    // The same length and the same time: cargo takes it for the same, and so may nobody else.
    let source = demo.dir.path().join("dep/src/lib.rs");
    let time = fs::metadata(&source).unwrap().modified().unwrap();
    fs::write(&source, DEP.replace("x == 0", "x == 1")).unwrap();
    fs::File::options().append(true).open(&source).unwrap().set_modified(time).unwrap();
    assert_eq!(index(&[]), whole, "another source");
    assert!(answers(&demo.units(), ".mir").is_empty(), "nothing is kept twice");
}

#[test]
fn the_users_own_crates_are_kept_beside_their_units_once() {
    let demo = Demo::new();
    let shared = demo.dir.path().join("answers");
    let headers = || {
        let (unit, out) = (demo.unit("demo"), demo.dir.path().join("out"));
        succeed(
            binary()
                .args(["dump", "--index-only", "--unit"])
                .arg(unit)
                .arg("--out")
                .arg(&out)
                .env("MIRGEN_ANSWERS", &shared),
        );
        read_json(&out)["index"].to_string()
    };
    demo.check("1");
    assert!(!headers().contains("added"));
    let before = answers(&demo.units(), ".mir");
    assert_eq!(before.len(), 1);
    fs::write(demo.dir.path().join("src/lib.rs"), format!("{LIB} pub fn added() {{}}")).unwrap();
    demo.check("1");
    assert!(headers().contains("added"));
    let after = answers(&demo.units(), ".mir");
    assert!(after.len() == 1 && after != before, "{after:?}");
    assert!(answers(&shared, ".mir").is_empty());
}

#[test]
fn layouts_of_the_same_types_are_asked_once() {
    let demo = Demo::new();
    let calls = demo.dir.path().join("calls");
    let counting = compiler(&demo.dir.path().join("toolchain"), &format!("echo \"$*\" >> '{}'", calls.display()));
    demo.check_in("target", "1", &[("RUSTC", counting.to_str().unwrap())]);
    let (request, out) = (demo.dir.path().join("types.json"), demo.dir.path().join("layouts.json"));
    let layouts = |text: &str| {
        fs::write(&request, serde_json::json!({"types": [{"text": text}], "roots": [0]}).to_string()).unwrap();
        fs::write(&calls, "").unwrap();
        let unit = demo.unit("demo_dep");
        succeed(binary().arg("layouts").arg("--unit").arg(unit).arg("--types").arg(&request).arg("--out").arg(&out));
        let compiled = fs::read_to_string(&calls).unwrap().lines().filter(|line| line.contains("--emit")).count();
        (read_json(&out)["layouts"][0]["layout"]["size"].as_u64(), compiled > 0)
    };
    assert_eq!(layouts("D"), (Some(8), true));
    assert_eq!(layouts("D"), (Some(8), false));
    assert_eq!(layouts("inner::Deep"), (Some(8), true));
    assert_eq!(layouts("D"), (Some(8), false));
    fs::write(demo.dir.path().join("dep/src/lib.rs"), DEP.replace("u32", "u64")).unwrap();
    // What cargo has not compiled yet disagrees with what it has; that must not be taken for the new sources' answer.
    let mut early = binary();
    early.arg("layouts").arg("--unit").arg(demo.unit("demo_dep")).arg("--types").arg(&request);
    assert_eq!(early.arg("--out").arg(&out).output().unwrap().status.code(), Some(1));
    fs::write(demo.dir.path().join("src/lib.rs"), "").unwrap();
    demo.check_in("target", "1", &[("RUSTC", counting.to_str().unwrap())]);
    assert_eq!(layouts("D"), (Some(16), true));
}

#[test]
fn what_rustc_refuses_it_is_asked_once() {
    for (said, status, runs) in [("thread 'rustc' panicked at x.rs", 101, 1), ("error: no space (os error 28)", 1, 2)] {
        let demo = Demo::new();
        let calls = demo.dir.path().join("calls");
        let refusing = format!(
            "case \"$*\" in *stable-mir*) echo asked >> '{}'; echo \"{said}\" >&2; exit {status};; esac",
            calls.display()
        );
        let compiler = compiler(&demo.dir.path().join("toolchain"), &refusing);
        demo.check_in("target", "1", &[("RUSTC", compiler.to_str().unwrap())]);
        for _ in 0..2 {
            let document = dump(&demo.unit("demo_dep"), &["--index-only"]);
            assert_eq!(document["notes"][0], format!("no side channel: {said}"));
        }
        assert_eq!(fs::read_to_string(&calls).unwrap().lines().count(), runs, "{said}");
    }
}

#[test]
fn no_report_of_a_panic_is_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("bad.rs");
    let reports = || answers(dir.path(), ".txt").len();
    let compile = |mut command: Command| {
        command.args(["--crate-name", "bad", "--crate-type=lib", "--emit=dep-info,metadata", "--target", TARGET]);
        command.args(["-Ztreat-err-as-bug", "--out-dir"]).arg(dir.path()).arg(&source).current_dir(dir.path());
        command.env("RUSTC_BOOTSTRAP", "1").output().unwrap().status.code()
    };
    let wrapped = || {
        let mut command = binary();
        command.env("MIRGEN_WRAPPER_DIR", dir.path()).env("MIRGEN_TARGET", TARGET).env("CARGO_CRATE_NAME", "bad");
        command.arg("rustc");
        compile(command)
    };
    fs::write(&source, "pub fn f() {}").unwrap();
    assert_eq!(wrapped(), Some(0));
    fs::write(&source, "pub fn f() -> u8 { \"text\" }").unwrap();
    assert_eq!(wrapped(), Some(101));
    let unit = dir.path().join("bad.json");
    let mut command = binary();
    command.arg("dump").arg("--unit").arg(&unit).args(["--all", "--out"]).arg(dir.path().join("out"));
    assert_eq!(command.output().unwrap().status.code(), Some(101));
    assert_eq!(reports(), 0);
    assert_eq!(compile(Command::new("rustc")), Some(101));
    assert_eq!(reports(), 1, "rustc by itself leaves one");
}

#[test]
fn builds_at_the_same_time_do_not_disturb_each_other() {
    let demo = Demo::new();
    demo.check("1");
    let (unit, shared) = (demo.unit("demo_dep"), demo.dir.path().join("answers"));
    let started: Vec<_> = (0..4)
        .map(|number| {
            let out = demo.dir.path().join(format!("out{number}"));
            let mut command = binary();
            command.args(["dump", "--all", "--no-side-channel", "--unit"]).arg(&unit).arg("--out").arg(&out);
            (command.env("MIRGEN_ANSWERS", &shared).spawn().unwrap(), out)
        })
        .collect();
    let documents: Vec<Value> = started
        .into_iter()
        .map(|(mut child, out)| {
            assert!(child.wait().unwrap().success());
            read_json(&out)
        })
        .collect();
    assert!(documents[0]["bodies"].as_array().is_some_and(|bodies| !bodies.is_empty()));
    assert!(documents.iter().all(|document| *document == documents[0]));
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 1, "one text, and no part of another");
}
