//! rustc's command line, taken apart far enough to change it.

use std::fs;
use std::path::Path;

use crate::fail::{Failure, Result};

/// One element of a rustc command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg {
    /// `--name value`, `--name=value`, `-Xvalue` or `-X value`; the name has its dashes.
    Option(String, String),
    /// An option without a value.
    Flag(String),
    /// The crate's root file.
    Input(String),
}

/// Long options that take their value as the next argument when there is no `=`.
const LONG: &[&str] = &[
    "--crate-name",
    "--crate-type",
    "--edition",
    "--emit",
    "--print",
    "--target",
    "--out-dir",
    "--extern",
    "--cfg",
    "--check-cfg",
    "--codegen",
    "--error-format",
    "--json",
    "--cap-lints",
    "--sysroot",
    "--remap-path-prefix",
    "--remap-path-scope",
    "--color",
    "--diagnostic-width",
    "--env-set",
    "--force-warn",
    "--allow",
    "--warn",
    "--deny",
    "--forbid",
    "--explain",
];
/// Short options with a value, joined or not.
const SHORT: &[&str] = &["-L", "-l", "-C", "-Z", "-o", "-A", "-W", "-D", "-F"];

/// A rustc command line without the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Args(pub Vec<Arg>);

impl Args {
    /// Parses arguments; `@file` ones must have been expanded (see [`expand`]).
    pub fn parse<S: AsRef<str>>(args: &[S]) -> Self {
        let mut out = Vec::new();
        let mut iter = args.iter().map(AsRef::as_ref);
        while let Some(arg) = iter.next() {
            if let Some(short) = SHORT.iter().find(|short| arg.starts_with(**short)) {
                let joined = &arg[short.len()..];
                let value = if joined.is_empty() { iter.next().unwrap_or("") } else { joined };
                out.push(Arg::Option((*short).to_owned(), value.to_owned()));
            } else if let Some((name, value)) = arg.split_once('=').filter(|_| arg.starts_with("--")) {
                out.push(Arg::Option(name.to_owned(), value.to_owned()));
            } else if LONG.contains(&arg) {
                out.push(Arg::Option(arg.to_owned(), iter.next().unwrap_or("").to_owned()));
            } else if arg.starts_with('-') && arg.len() > 1 {
                out.push(Arg::Flag(arg.to_owned()));
            } else {
                out.push(Arg::Input(arg.to_owned()));
            }
        }
        for arg in &mut out {
            if let Arg::Option(name, _) = arg {
                if name == "--codegen" {
                    "-C".clone_into(name);
                }
            }
        }
        Self(out)
    }

    /// The arguments as rustc takes them.
    pub fn to_vec(&self) -> Vec<String> {
        let mut out = Vec::new();
        for arg in &self.0 {
            match arg {
                Arg::Option(name, value) if name.starts_with("--") => {
                    out.push(name.clone());
                    out.push(value.clone());
                }
                Arg::Option(name, value) => out.push(format!("{name}{value}")),
                Arg::Flag(text) | Arg::Input(text) => out.push(text.clone()),
            }
        }
        out
    }

    /// Every value of an option, in order.
    pub fn values<'a>(&'a self, option: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.0.iter().filter_map(move |arg| match arg {
            Arg::Option(name, value) if name == option => Some(value.as_str()),
            _ => None,
        })
    }

    /// The last value of an option, which is the one that counts.
    pub fn value<'a>(&'a self, option: &'a str) -> Option<&'a str> {
        self.values(option).last()
    }

    /// The last value of `-C name=value`; dashes and underscores are the same to rustc.
    pub fn codegen(&self, name: &str) -> Option<&str> {
        self.values("-C").filter_map(|value| named(value, name)).last()
    }

    pub fn has_flag(&self, flag: &str) -> bool {
        self.0.iter().any(|arg| matches!(arg, Arg::Flag(text) if text == flag))
    }

    pub fn input(&self) -> Option<&str> {
        self.0.iter().find_map(|arg| match arg {
            Arg::Input(text) => Some(text.as_str()),
            _ => None,
        })
    }

    pub fn crate_types(&self) -> impl Iterator<Item = &str> {
        self.values("--crate-type").flat_map(|types| types.split(','))
    }

    /// Drops options by name, `-C name=..` ones by the name after `-C `.
    pub fn without(&self, drop: &[&str]) -> Self {
        let dropped = |arg: &Arg| match arg {
            Arg::Option(name, value) if name == "-C" => {
                drop.iter().filter_map(|drop| drop.strip_prefix("-C ")).any(|name| named(value, name).is_some())
            }
            Arg::Option(name, _) | Arg::Flag(name) => drop.contains(&name.as_str()),
            Arg::Input(_) => drop.contains(&"INPUT"),
        };
        Self(self.0.iter().filter(|arg| !dropped(arg)).cloned().collect())
    }
}

/// The value in `name=value` (or the empty one in `name`) if the name is the one asked for.
fn named<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    (key.replace('_', "-") == name).then_some(value)
}

/// Replaces `@file` arguments by the file's lines, as rustc does; cargo uses them for long command lines.
pub fn expand(args: Vec<String>) -> Result<Vec<String>> {
    let mut out = Vec::with_capacity(args.len());
    for arg in args {
        match arg.strip_prefix('@') {
            Some(path) => {
                let text = fs::read_to_string(Path::new(path))
                    .map_err(|error| Failure::usage(format!("cannot read argument file {path}: {error}")))?;
                out.extend(text.lines().map(str::to_owned));
            }
            None => out.push(arg),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(text: &str) -> Args {
        Args::parse(&text.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn reads_what_cargo_writes() {
        let parsed = args(
            "--crate-name saxpy --edition=2021 src/lib.rs --error-format=json --crate-type lib,cdylib \
             --emit=dep-info,metadata -C embed-bitcode=no -C metadata=12 -Cextra-filename=-ab --out-dir /t \
             --target x86_64-unknown-linux-gnu -L dependency=/t --extern a=/t/liba.rmeta --test -Zx",
        );
        assert_eq!(parsed.value("--crate-name"), Some("saxpy"));
        assert_eq!(parsed.value("--edition"), Some("2021"));
        assert_eq!(parsed.input(), Some("src/lib.rs"));
        assert_eq!(parsed.codegen("extra-filename"), Some("-ab"));
        assert_eq!(parsed.crate_types().collect::<Vec<_>>(), ["lib", "cdylib"]);
        assert_eq!(parsed.values("--extern").collect::<Vec<_>>(), ["a=/t/liba.rmeta"]);
        assert!(parsed.has_flag("--test"));
        assert_eq!(parsed.value("-Z"), Some("x"));
        assert_eq!(Args::parse(&parsed.to_vec()), parsed);
    }

    #[test]
    fn the_last_value_counts_and_underscores_are_dashes() {
        let parsed = args("-C opt-level=1 --codegen opt_level=3 -C debuginfo=2");
        assert_eq!(parsed.codegen("opt-level"), Some("3"));
        assert_eq!(parsed.without(&["-C opt-level"]).to_vec(), ["-Cdebuginfo=2"]);
    }

    #[test]
    fn expands_argument_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("args");
        fs::write(&path, "--cfg\nfeature=\"a b\"\n").unwrap();
        let expanded = expand(vec![format!("@{}", path.display()), "x.rs".into()]).unwrap();
        assert_eq!(expanded, ["--cfg", "feature=\"a b\"", "x.rs"]);
        assert!(expand(vec!["@/no/such/file".into()]).is_err());
    }
}
