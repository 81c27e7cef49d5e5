//! Layouts of types: rustc is asked through a generated crate and its answers are checked against its debug
//! information.

pub mod ask;
pub mod check;
pub mod coroutine;
pub mod debug;
pub mod debuginfo;
pub mod externs;
pub mod local;
pub mod own;
pub mod query;
pub mod read;
pub mod source;
pub mod ty;
pub mod ty_text;
pub mod witness;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::answers::{written, Question};
use crate::dump;
use crate::fail::{Failure, Result};
use crate::files::{self, Fingerprint};
use crate::invoke::{Run, Rustc};
use crate::layout::ask::Asked;
use crate::layout::debuginfo::Kind;
use crate::layout::local::find::Wanted;
use crate::layout::ty::Ty;
use crate::unit::Unit;
use crate::wire::{Compiler, LayoutDocument, LayoutFailure, TypeLayout, Variants};

/// What the caller asks for: a table of wire types and which of them.
#[derive(Debug, Deserialize)]
pub struct Request {
    pub types: Vec<TypeText>,
    pub roots: Vec<usize>,
}

/// Of a wire type only rustc's text is used: it is complete.
#[derive(Debug, Deserialize)]
pub struct TypeText {
    pub text: String,
}

impl Request {
    /// Every text asked for, once.
    fn texts(&self) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        let mut seen = HashSet::new();
        for root in &self.roots {
            let ty = self.types.get(*root).ok_or_else(|| Failure::usage(format!("there is no type {root}")))?;
            if seen.insert(&ty.text) {
                texts.push(ty.text.clone());
            }
        }
        Ok(texts)
    }
}

/// How thoroughly to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effort {
    /// Debug information of the generated crate, and the unit's own compilation with code.
    Full,
    /// The unit itself is compiled with code only where a private enum's variants stand nowhere else.
    Quick,
}

/// Asks for the layouts of types given by rustc's texts.
pub fn layouts(
    unit_path: &Path,
    unit: &Unit,
    rustc: &Rustc,
    texts: &[String],
    effort: Effort,
) -> Result<LayoutDocument> {
    let own_metadata = own_metadata(unit_path, unit, rustc)?;
    let mut externs = externs::Externs::of(unit_path, unit, rustc)?;
    // Other types hold coroutines by value.
    let first = texts.iter().any(|text| coroutine::in_text(text)).then(|| own::Own::of(unit_path, unit, rustc));
    let first = first.transpose()?;
    if let Some(own) = &first {
        externs.names.sizes = own.coroutine_sizes();
    }
    let workshop = query::Workshop::new(unit_path, "layouts")?;
    let (said, own) = std::thread::scope(|scope| {
        let own =
            (effort == Effort::Full && first.is_none()).then(|| scope.spawn(|| own::Own::of(unit_path, unit, rustc)));
        let said = said(texts, unit, rustc, &externs, &own_metadata, &workshop);
        (said, own.map(|own| own.join().map_err(|_| Failure::internal("a thread panicked"))))
    });
    let (mut answers, witness) = said?;
    let own = first.or(own.transpose()?.transpose()?);
    own.iter().for_each(|own| own.note_refusal(unit));
    if let Some(own) = &own {
        answers.asked.iter_mut().for_each(|asked| own.complete(asked));
    }
    let mut judge = Judge { unit_path, unit, rustc, witness, own };
    let mut document = LayoutDocument {
        schema: "mirgen-layout".to_owned(),
        version: 1,
        compiler: compiler(rustc),
        target: unit.target.clone(),
        layouts: Vec::new(),
        failures: Vec::new(),
    };
    for (index, asked) in answers.asked.into_iter().enumerate() {
        match judge.judge(index, &asked)? {
            Ok(layout) => document.layouts.push(layout),
            Err(reason) => document.failures.push(LayoutFailure { ty: asked.text, reason }),
        }
    }
    Ok(document)
}

/// Layouts and what debug information says of them.
fn said(
    texts: &[String],
    unit: &Unit,
    rustc: &Rustc,
    externs: &externs::Externs,
    own_metadata: &Path,
    workshop: &query::Workshop,
) -> Result<(ask::Answers, witness::Witness)> {
    let mut answers = ask::ask(texts, unit, rustc, externs, own_metadata, workshop)?;
    local::ask(&mut answers, unit, rustc, externs, workshop)?;
    let mut witness = witness::witness(&mut answers, unit, rustc, externs, own_metadata, workshop)?;
    let unknown: Vec<usize> = (0..answers.asked.len())
        .filter(|index| witness::only_value(&answers.asked[*index]) && !witness.infos.contains_key(index))
        .filter(|index| answers.can_be_named(*index))
        .collect();
    let private = ask::discriminants(&answers, &unknown, unit, rustc, externs, own_metadata, workshop)?;
    witness.discriminants.extend(private.into_iter().map(|(index, value)| (index, value.to_string())));
    Ok((answers, witness))
}

/// Compares what the sources say of a type and names its variants.
struct Judge<'a> {
    unit_path: &'a Path,
    unit: &'a Unit,
    rustc: &'a Rustc,
    witness: witness::Witness,
    own: Option<own::Own>,
}

impl Judge<'_> {
    fn own(&mut self) -> Result<&own::Own> {
        let own = match self.own.take() {
            Some(own) => own,
            None => {
                let own = own::Own::of(self.unit_path, self.unit, self.rustc)?;
                own.note_refusal(self.unit);
                own
            }
        };
        Ok(self.own.insert(own))
    }

    fn judge(&mut self, index: usize, asked: &Asked) -> Result<std::result::Result<TypeLayout, String>> {
        let layout = match &asked.outcome {
            Ok(layout) => layout.clone(),
            Err(reason) => return Ok(Err(reason.clone())),
        };
        let Some(needs_drop) = asked.needs_drop else {
            return Ok(Err("rustc did not say whether it needs to be dropped".to_owned()));
        };
        let mut checked_by = Vec::new();
        let disagree =
            |what: &str| Failure::internal(format!("sources disagree on the layout of {}: {what}", asked.text));
        if let Some(info) = self.witness.infos.get(&index) {
            check::agree(&layout, info).map_err(|what| disagree(&what))?;
            checked_by.push("debuginfo".to_owned());
        }
        if let Some((size, align)) = self.own.as_ref().and_then(|own| own.sizes.get(&asked.text)) {
            if (*size, *align) != (layout.size, layout.align) {
                let what = format!(
                    "{} bytes aligned {} in the layout, {size} aligned {align} in -Zprint-type-sizes",
                    layout.size, layout.align
                );
                return Err(disagree(&what));
            }
            checked_by.push("print-type-sizes".to_owned());
        }
        let several = matches!(layout.variants, Variants::Multiple { .. });
        let mut kind = self.definition(index, asked)?;
        if let (Some(Kind::Enum(variants)), true) = (&mut kind, witness::only_value(asked)) {
            if let [only] = variants.as_mut_slice() {
                // The one case in which a discriminant that the layout does not hold need not be the index.
                match self.witness.discriminants.get(&index) {
                    Some(value) => only.discriminant.clone_from(value),
                    None => return Ok(Err("the discriminant of its only variant cannot be asked for".to_owned())),
                }
            }
        }
        let variant_names = match kind {
            Some(Kind::Plain) if several => return Err(disagree("it has variants, but is no enum")),
            Some(Kind::Plain) => None,
            Some(Kind::Enum(variants)) => Some(variants),
            Some(Kind::Contradictory) => return Ok(Err("several types have this path".to_owned())),
            None if several => {
                return Ok(Err("its variants' names are in no debug information: it is private and no code of its \
                               crate holds it"
                    .to_owned()))
            }
            None => None,
        };
        if let (Variants::Multiple { variants, .. }, Some(names)) = (&layout.variants, &variant_names) {
            if variants.len() != names.len() {
                return Err(disagree(&format!("{} variants in the layout, {} names", variants.len(), names.len())));
            }
        }
        Ok(Ok(TypeLayout { ty: asked.text.clone(), layout, needs_drop, variant_names, checked_by }))
    }

    /// What the definition of a type is, from the nearest source that knows.
    fn definition(&mut self, index: usize, asked: &Asked) -> Result<Option<Kind>> {
        if let Some(info) = self.witness.infos.get(&index) {
            return Ok(Some(info.shape.kind()));
        }
        if let (Some(Ty::Coroutine { .. }), Ok(layout)) = (&asked.ty, &asked.outcome) {
            return Ok(Some(coroutine::states(layout)));
        }
        let Some(path) = asked.ty.as_ref().and_then(Ty::adt_path) else {
            let resolved = !matches!(asked.ty, Some(Ty::Projection { .. }));
            return Ok(resolved.then_some(Kind::Plain));
        };
        if let Some(kind) = self.witness.stand_ins.get(&index) {
            return Ok(Some(kind.clone()));
        }
        let local = format!("{}::{path}", self.unit.crate_name);
        if let Some(kind) = [&local, &path].iter().find_map(|path| self.witness.definitions.get(*path)) {
            return Ok(Some(kind.clone()));
        }
        let wanted = match &asked.ty {
            Some(Ty::Path(path)) => Wanted::of(path),
            _ => None,
        };
        let own = self.own()?;
        if let Some(kind) = [&local, &path].iter().find_map(|path| own.definitions.get(*path)) {
            return Ok(Some(kind.clone()));
        }
        // Inside methods the two texts name the surroundings differently.
        let Some(wanted) = wanted else { return Ok(None) };
        let tail = format!("::{}::{}", wanted.function, wanted.name);
        let mut fitting =
            own.definitions.iter().filter(|(path, _)| path.ends_with(&tail)).map(|(_, kind)| kind.clone());
        let first = fitting.next();
        Ok(first.map(|first| {
            fitting.fold(first, |mut all, other| {
                all.merge(&other);
                all
            })
        }))
    }
}

/// The metadata file through which other crates see the unit's: cargo's, or one of our own where cargo's is none
/// that can be used (executables have empty ones).
pub fn own_metadata(unit_path: &Path, unit: &Unit, rustc: &Rustc) -> Result<PathBuf> {
    let library = unit.crate_types.iter().any(|kind| matches!(kind.as_str(), "lib" | "rlib" | "dylib"));
    let given = unit.metadata.as_ref().map(|path| unit.cwd.join(path));
    if let Some(path) = given.filter(|path| library && path.exists()) {
        return Ok(path);
    }
    let prepared = || {
        let mut run = Run::again(&unit.as_library(), rustc, dump::unit_thresholds(unit), None);
        run.args(["--emit=metadata"]);
        run
    };
    let question = Question {
        unit_path,
        unit,
        rustc,
        args: &prepared().args,
        env: &[],
        overlay: None,
        inputs: &[],
        variant: "",
        prefix: "lib",
        suffix: ".rmeta",
        derived: false,
    };
    let answer = question.answer(|part| Ok(written(prepared(), part)?.map(drop)))?;
    answer.map_err(|refusal| {
        eprint!("{}", refusal.stderr);
        Failure::rustc()
    })
}

/// rustc's identity as documents carry it.
pub fn compiler(rustc: &Rustc) -> Compiler {
    let (major, minor) = rustc.minor();
    Compiler {
        release: rustc.release.clone(),
        commit_hash: rustc.commit_hash.clone(),
        commit_date: rustc.commit_date.clone(),
        host: rustc.host.clone(),
        llvm_version: rustc.llvm_version.clone(),
        grammar: format!("{major}.{minor}"),
    }
}

/// Reads a request file, answers it, writes the document; one that was made before for the same types is copied.
pub fn run(unit_path: &Path, types: &Path, out: &Path, rustc: &Rustc, unit: &Unit, effort: Effort) -> Result<()> {
    let request: Request = files::read_json(types)?;
    let texts = request.texts()?;
    // Generated crates see the unit's crate through this file.
    let seen: Vec<PathBuf> = unit.metadata.iter().map(|path| unit.cwd.join(path)).collect();
    let variant = format!("{}.", Fingerprint::new().add(&texts).add(&effort).finish());
    let question = Question {
        unit_path,
        unit,
        rustc,
        args: &Run::again(unit, rustc, dump::unit_thresholds(unit), None).args,
        env: &[],
        overlay: None,
        inputs: &seen,
        variant: &variant,
        prefix: "",
        suffix: ".layouts",
        derived: true,
    };
    let answer =
        question.answer(|part| files::write_json(part, &layouts(unit_path, unit, rustc, &texts, effort)?).map(Ok))?;
    let path = answer.map_err(|refusal| Failure::internal(refusal.stderr))?;
    let text =
        fs::read(&path).map_err(|error| Failure::internal(format!("cannot read {}: {error}", path.display())))?;
    files::write_atomic(out, &text)
}
