//! Command line of `mirgen-rustc`; as cargo's `RUSTC_WRAPPER` it takes rustc's instead.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use mirgen_rustc::dump::{self, Overlay, Request};
use mirgen_rustc::fail::{Result, USAGE};
use mirgen_rustc::invoke::{Rustc, Thresholds};
use mirgen_rustc::layout;
use mirgen_rustc::parse::Grammar;
use mirgen_rustc::unit::Unit;
use mirgen_rustc::wire::WIRE_VERSION;
use mirgen_rustc::wrapper;
use mirgen_rustc::{cmd_dump, cmd_parse};

/// Asks a stock rustc for MIR and layouts and writes them as JSON.
#[derive(Parser)]
#[command(name = "mirgen-rustc", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Re-run a recorded unit's rustc for its MIR and write the bodies asked for.
    Dump(Dump),
    /// Ask for the layouts of types printed while compiling a recorded unit.
    Layouts(Layouts),
    /// Say which version this is and which rustc it would use, as JSON.
    SelfCheck(SelfCheck),
    /// Read dumps that are already there.
    Parse(cmd_parse::ParseArgs),
}

#[derive(Args)]
struct Layouts {
    /// The recorded unit.
    #[arg(long)]
    unit: PathBuf,
    /// `{"types": [..], "roots": [..]}`.
    #[arg(long)]
    types: PathBuf,
    /// Where the document goes.
    #[arg(long)]
    out: PathBuf,
    /// Do without the unit's own compilation with code where it is only a check.
    #[arg(long)]
    quick: bool,
}

#[derive(Args)]
struct Dump {
    /// The recorded unit.
    #[arg(long)]
    unit: PathBuf,
    /// Where the document goes.
    #[arg(long, required_unless_present = "emit_text")]
    out: Option<PathBuf>,
    /// Only keep rustc's text and print its path.
    #[arg(long)]
    emit_text: bool,
    #[command(flatten)]
    select: cmd_dump::Select,
    #[command(flatten)]
    how: How,
}

#[derive(Args)]
struct SelfCheck {
    /// The compiler to look at.
    #[arg(long, env = "RUSTC", default_value = "rustc")]
    rustc: PathBuf,
}

#[derive(Args)]
struct How {
    /// How far rustc inlines; as the unit was compiled by default.
    #[arg(long, value_enum)]
    thresholds: Option<ThresholdsArg>,
    /// Leave out file, line and column of statements.
    #[arg(long)]
    no_spans: bool,
    /// Bodies as they were built, with the parts of the source that rustc's coverage tells of their blocks.
    #[arg(long)]
    regions: bool,
    /// The bodies that drop coroutines, under the headers of those that resume them.
    #[arg(long)]
    coroutine_drops: bool,
    /// One more `--cfg` for rustc.
    #[arg(long = "cfg")]
    cfgs: Vec<String>,
    /// One more environment variable for rustc, `NAME=VALUE`.
    #[arg(long = "env", value_parser = name_value)]
    env: Vec<(String, String)>,
    /// A copy of the sources with additions: its root file, its directory, the directory whose copy it is.
    #[arg(long, num_args = 3, value_names = ["ROOT", "COPY", "ORIGINAL"])]
    overlay: Vec<PathBuf>,
    /// A file of the copy that differs from the original.
    #[arg(long = "overlay-file")]
    overlay_files: Vec<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ThresholdsArg {
    Root,
    Deep,
    Query,
    Default,
}

fn name_value(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text} is not NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

impl How {
    fn request(self) -> Request {
        let mut request = Request {
            thresholds: self.thresholds.map(|thresholds| match thresholds {
                ThresholdsArg::Root => Thresholds::Root,
                ThresholdsArg::Deep => Thresholds::Deep,
                ThresholdsArg::Query => Thresholds::Query,
                ThresholdsArg::Default => Thresholds::Default,
            }),
            spans: !self.no_spans,
            cfgs: self.cfgs,
            env: self.env,
            overlay: None,
            inputs: Vec::new(),
            regions: self.regions,
            coroutine_drops: self.coroutine_drops,
        };
        if let [input, copy, original] = self.overlay.as_slice() {
            request.overlay = Some(Overlay { input: input.clone(), copy: copy.clone(), original: original.clone() });
            request.inputs.extend(self.overlay_files);
        }
        request
    }
}

fn dump(args: Dump) -> Result<()> {
    let unit = Unit::load(&args.unit)?;
    let rustc = rustc_of(&args.unit, &unit)?;
    let request = args.how.request();
    if args.emit_text {
        println!("{}", dump::mir_text(&args.unit, &unit, &rustc, &request)?.path.display());
    }
    match args.out {
        Some(out) => cmd_dump::run(&args.unit, &unit, &rustc, &request, &args.select, &out),
        None => Ok(()),
    }
}

fn self_check(args: &SelfCheck) -> Result<()> {
    let rustc = Rustc::ask(&args.rustc)?;
    let (grammar, note) = Grammar::for_release(&rustc.release);
    let said = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "wire_version": WIRE_VERSION,
        "grammar": grammar.name(),
        "note": note,
        "rustc": rustc,
    });
    println!("{said}");
    Ok(())
}

fn layouts(args: Layouts) -> Result<()> {
    let unit = Unit::load(&args.unit)?;
    let rustc = rustc_of(&args.unit, &unit)?;
    let effort = if args.quick { layout::Effort::Quick } else { layout::Effort::Full };
    layout::run(&args.unit, &args.types, &args.out, &rustc, &unit, effort)
}

fn rustc_of(unit_path: &std::path::Path, unit: &Unit) -> Result<Rustc> {
    let dir = unit_path.parent().unwrap_or(std::path::Path::new("."));
    if let Some(toolchain) = unit.env.get("RUSTUP_TOOLCHAIN") {
        std::env::set_var("RUSTUP_TOOLCHAIN", toolchain);
    }
    Rustc::ask_cached(std::path::Path::new(&unit.rustc), dir)
}

fn main() -> ExitCode {
    let args: Vec<String> = match std::env::args_os().map(|arg| arg.into_string()).collect() {
        Ok(args) => args,
        Err(arg) => {
            eprintln!("mirgen-rustc: argument is not UTF-8: {}", arg.to_string_lossy());
            return ExitCode::from(USAGE);
        }
    };
    let done = if wrapper::is_wrapper(&args) {
        wrapper::run(&args)
    } else {
        match Cli::parse().command {
            Command::Dump(args) => dump(args).map(|()| 0),
            Command::Layouts(args) => layouts(args).map(|()| 0),
            Command::SelfCheck(args) => self_check(&args).map(|()| 0),
            Command::Parse(args) => cmd_parse::run(&args).map(|()| 0),
        }
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            if !failure.message.is_empty() {
                eprintln!("{}", failure.message);
            }
            ExitCode::from(failure.code)
        }
    }
}
