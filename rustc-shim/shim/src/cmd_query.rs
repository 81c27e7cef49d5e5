//! `mirgen-rustc query`: a generated crate that asks for instances, constants or glue of a unit's crate, recorded as
//! a unit of its own so that its bodies and layouts can be asked for like any other's.

use std::path::{Path, PathBuf};

use crate::fail::{Failure, Result};
use crate::files::{self, Fingerprint};
use crate::invoke::Rustc;
use crate::layout::externs::Externs;
use crate::layout::own_metadata;
use crate::unit::{Package, Unit, VERSION};

/// Records the unit of a query crate beside the unit it asks about; returns where, and the unit.
pub fn record(
    unit_path: &Path,
    unit: &Unit,
    rustc: &Rustc,
    source: &Path,
    name: &str,
    edition: &str,
) -> Result<(PathBuf, Unit)> {
    let ident = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
    if !ident {
        return Err(Failure::usage(format!("`{name}` is no name of a crate")));
    }
    let source =
        source.canonicalize().map_err(|error| Failure::usage(format!("cannot find {}: {error}", source.display())))?;
    let stem = unit_path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let hash = Fingerprint::new().add(&stem).add(name).finish();
    let own = own_metadata(unit_path, unit, rustc)?;
    let mut externs = Externs::of(unit_path, unit, rustc)?;
    // Here the crate has its own name, which is how the generated source writes its paths.
    externs.crates.remove(&unit.crate_name);

    let given = unit.parsed();
    let mut args = vec![
        "--crate-name".to_owned(),
        name.to_owned(),
        format!("--edition={edition}"),
        source.to_string_lossy().into_owned(),
        "--crate-type=lib".to_owned(),
        format!("-Cmetadata={hash}"),
        "--target".to_owned(),
        unit.target.clone(),
    ];
    let kept = ["opt-level", "debug-assertions", "overflow-checks", "target-cpu", "target-feature"];
    for option in kept {
        args.extend(given.codegen(option).map(|value| format!("-C{option}={value}")));
    }
    args.extend(given.values("-Z").map(|value| format!("-Z{value}")));
    args.extend(externs.search.iter().map(|path| format!("-L{path}")));
    for (name, path) in &externs.crates {
        args.extend(["--extern".to_owned(), format!("{name}={}", path.display())]);
    }
    args.extend(["--extern".to_owned(), format!("{}={}", unit.crate_name, own.display())]);

    let query = Unit {
        schema: "mirgen-unit".to_owned(),
        version: VERSION,
        crate_name: name.to_owned(),
        edition: edition.to_owned(),
        crate_types: vec!["lib".to_owned()],
        target: unit.target.clone(),
        // Everything that it reaches is to be inlined.
        primary: true,
        package: Package::default(),
        rustc: unit.rustc.clone(),
        cwd: unit.cwd.clone(),
        args,
        env: unit.env.clone(),
        sysroot: unit.sysroot.clone(),
        overlay: None,
        metadata: None,
        dep_info: None,
    };
    let path = unit_path.with_file_name(format!("{name}-{hash}.json"));
    files::write_json(&path, &query)?;
    Ok((path, query))
}
