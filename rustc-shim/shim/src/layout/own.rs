//! What the unit's own compilation says about types when it generates code: `-Zprint-type-sizes` under the names of
//! the MIR text, and debug information, in which private types stand too.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::answers::{written, Question, Refusal};
use crate::dump;
use crate::fail::{Failure, Result};
use crate::files;
use crate::invoke::{Run, Rustc};
use crate::layout::ask::Asked;
use crate::layout::coroutine;
use crate::layout::debuginfo::{Kind, Metadata};
use crate::layout::query::Workshop;
use crate::layout::ty::Ty;
use crate::unit::Unit;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Own {
    /// Size and alignment by rustc's text of the type.
    pub sizes: BTreeMap<String, (u64, u64)>,
    /// Coroutines' by rustc's text.
    pub coroutines: coroutine::Layouts,
    /// By `krate::path` of the definition.
    pub definitions: BTreeMap<String, Kind>,
    /// Why there is nothing, when code could not be generated.
    pub refused: Option<String>,
}

impl Own {
    /// From where it is kept, or by compiling the unit again.
    pub fn of(unit_path: &Path, unit: &Unit, rustc: &Rustc) -> Result<Self> {
        let mut made = None;
        let question = Question {
            unit_path,
            unit,
            rustc,
            args: &prepared(unit, rustc).args,
            env: &[],
            overlay: None,
            inputs: &[],
            variant: "",
            prefix: "",
            suffix: ".own",
            derived: true,
        };
        let answer = question.answer(|part| {
            let own = match Self::ask(unit_path, unit, rustc)? {
                Ok(own) => made.insert(own),
                Err(refusal) => return Ok(Err(refusal)),
            };
            files::write_json(part, own).map(Ok)
        })?;
        match (answer, made) {
            (Ok(_), Some(own)) => Ok(own),
            (Ok(path), None) => files::read_json(&path),
            (Err(refusal), _) => {
                let first = refusal.stderr.lines().find(|line| line.contains("error")).unwrap_or("rustc failed");
                Ok(Self { refused: Some(first.to_owned()), ..Self::default() })
            }
        }
    }

    /// Size and alignment of the coroutines, by rustc's text.
    pub fn coroutine_sizes(&self) -> HashMap<String, (u64, u64)> {
        self.coroutines.keys().filter_map(|text| Some((text.clone(), *self.sizes.get(text)?))).collect()
    }

    /// Puts a coroutine's own layout in the place of the one that its stand-in has.
    pub fn complete(&self, asked: &mut Asked) {
        if let (Some(Ty::Coroutine { text, .. }), Ok(_)) = (&asked.ty, &asked.outcome) {
            let unknown = || Err("no code of its crate holds it".to_owned());
            asked.outcome = self.coroutines.get(text).cloned().unwrap_or_else(unknown);
        }
    }

    /// Tells the user where there is nothing.
    pub fn note_refusal(&self, unit: &Unit) {
        if let Some(reason) = &self.refused {
            eprintln!("note: no code for crate {}, so nothing to compare with: {reason}", unit.crate_name);
        }
    }

    fn ask(unit_path: &Path, unit: &Unit, rustc: &Rustc) -> Result<std::result::Result<Self, Refusal>> {
        let workshop = Workshop::new(unit_path, "own")?;
        let ir = workshop.path("own.ll");
        let output = match written(prepared(unit, rustc), &ir)? {
            Ok(output) => output,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let text = fs::read_to_string(&ir)
            .map_err(|error| Failure::internal(format!("rustc wrote no {}: {error}", ir.display())))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let sizes = type_sizes(&printed)?;
        let coroutines = coroutine::layouts(&printed, &text)?;
        Ok(Ok(Self { sizes, coroutines, definitions: Metadata::of(&text).definitions(), ..Self::default() }))
    }
}

/// The unit's compilation to code.
fn prepared(unit: &Unit, rustc: &Rustc) -> Run {
    let mut run = Run::again(unit, rustc, dump::unit_thresholds(unit), None);
    run.args(["-Ztrim-diagnostic-paths=no", "-Zverbose-internals", "-Zprint-type-sizes"]);
    // Everything without type parameters is compiled, used or not.
    run.args(["-Cdebuginfo=2", "-Cno-prepopulate-passes", "-Ccodegen-units=1", "-Clink-dead-code=yes"]);
    run.args(["--emit=llvm-ir"]);
    run
}

/// Lines ``print-type-size type: `T`: 8 bytes, alignment: 4 bytes``.
fn type_sizes(text: &str) -> Result<BTreeMap<String, (u64, u64)>> {
    let mut out = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let Some(rest) = line.strip_prefix("print-type-size type: `") else { continue };
        let parsed = rest.rsplit_once("`: ").and_then(|(name, numbers)| {
            let (size, align) = numbers.strip_suffix(" bytes")?.split_once(" bytes, alignment: ")?;
            Some((name.to_owned(), (size.parse().ok()?, align.parse().ok()?)))
        });
        let (name, numbers) = parsed.ok_or_else(|| Failure::text("-Zprint-type-sizes", number + 1, line))?;
        // Types of the same text (items told apart only by a disambiguator) say nothing when they differ.
        out.entry(name)
            .and_modify(|known| *known = if *known == numbers { numbers } else { (0, 0) })
            .or_insert(numbers);
    }
    out.retain(|_, numbers| *numbers != (0, 0));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_type_sizes() {
        let text = "print-type-size type: `a::B<'{erased}>`: 8 bytes, alignment: 4 bytes\n\
                    print-type-size     field `.0`: 8 bytes\n\
                    print-type-size type: `two`: 1 bytes, alignment: 1 bytes\n\
                    print-type-size type: `two`: 2 bytes, alignment: 1 bytes\n";
        let sizes = type_sizes(text).unwrap();
        assert_eq!(sizes.len(), 1);
        assert_eq!(sizes["a::B<'{erased}>"], (8, 4));
        let error = type_sizes("print-type-size type: `x`: many bytes\n").unwrap_err();
        assert_eq!(error.code, crate::fail::TEXT);
    }
}
