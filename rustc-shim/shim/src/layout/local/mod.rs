//! Layouts of types that are defined inside bodies and so have no path: the aliases that ask for them are put beside
//! their definitions, in a copy of the crate's sources, and the crate is compiled from there.

pub mod find;
pub mod mirror;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::dump::unit_thresholds;
use crate::fail::{Failure, Result};
use crate::invoke::{Run, Rustc};
use crate::layout::ask::{drop_question, needs_drop, printed_layout, read_layout, Answers, FEATURES};
use crate::layout::externs::Externs;
use crate::layout::query::{errors, Workshop};
use crate::layout::source::{Names, Writer};
use crate::layout::ty::{key, Segment, Ty};
use crate::unit::Unit;
use find::{candidates, choose, Found, Wanted};

/// Where a type can be asked for, and the text that does it.
struct Question {
    index: usize,
    file: PathBuf,
    at: usize,
    text: String,
    /// Whether it needs to be dropped.
    drop: String,
}

/// What stands in a piece of added text: the index of the type, and whether its drop is asked about.
type Added = (std::ops::Range<usize>, usize, bool);

/// Asks for the types that need an item inside a body; their outcomes change from failures to layouts.
pub fn ask(answers: &mut Answers, unit: &Unit, rustc: &Rustc, externs: &Externs, workshop: &Workshop) -> Result<()> {
    let mut sources = Sources::of(unit);
    let mut questions = Vec::new();
    for index in 0..answers.asked.len() {
        let asked = &answers.asked[index];
        let (Err(_), Some(ty)) = (&asked.outcome, &asked.ty) else { continue };
        let ty = ty.clone();
        let nameless = nameless_paths(answers, &ty);
        if nameless.is_empty() {
            continue;
        }
        match question(index, &ty, &nameless, answers, externs, &mut sources) {
            Ok(question) => questions.push(question),
            Err(reason) => {
                if let Err(known) = &mut answers.asked[index].outcome {
                    known.push_str("; ");
                    known.push_str(&reason);
                }
            }
        }
    }
    // Lines that rustc refuses spoil the others only in resolution; a few rounds take them out.
    for round in 0..4 {
        if questions.is_empty() {
            break;
        }
        let heard = compile(round, &questions, answers, unit, rustc, externs, workshop, &sources)?;
        let before = questions.len();
        questions.retain(|question| !heard.contains(&question.index));
        if questions.len() == before {
            break;
        }
    }
    Ok(())
}

/// Paths of a type that cannot be written outside a body.
fn nameless_paths(answers: &mut Answers, ty: &Ty) -> Vec<Vec<Segment>> {
    let mut paths = Vec::new();
    ty.paths(&mut |path| paths.push(path.clone()));
    paths.retain(|path| {
        let args = path.last().map(|last| last.args.clone()).unwrap_or_default();
        match answers.writer.alias(path, &args) {
            Ok(item) => answers.refused.contains_key(&item),
            Err(_) => true,
        }
    });
    paths.sort_by_key(|path| key(path));
    paths.dedup_by_key(|path| key(path));
    paths.retain(|path| Wanted::of(path).is_some());
    paths
}

fn question(
    index: usize,
    ty: &Ty,
    nameless: &[Vec<Segment>],
    answers: &Answers,
    externs: &Externs,
    sources: &mut Sources,
) -> std::result::Result<Question, String> {
    let mut names = Names { krate: "crate".to_owned(), ..externs.names.clone() };
    let mut place: Option<(PathBuf, Found)> = None;
    for path in nameless {
        let wanted = Wanted::of(path).ok_or("it is inside a body")?;
        let (file, found) = sources.find(&wanted)?;
        names.locals.insert(key(path), wanted.name);
        // Of several items the innermost sees the others, if any does.
        let inner = place.as_ref().is_none_or(|(_, known)| known.block.contains(&found.at));
        if inner {
            place = Some((file, found));
        }
    }
    let (file, found) = place.ok_or("it is inside a body")?;
    let mut writer = Writer::new(names);
    let source = writer.write(ty)?;
    let mut text = String::new();
    for item in writer.closure_of(source.needs.clone(), &BTreeSet::new()) {
        let item = &writer.items[item];
        text.push_str(&rename(&item.definition, index));
        text.push(' ');
        text.push_str(&rename(&item.impls, index));
        text.push(' ');
    }
    let ty = rename(&source.text, index);
    let alias = format!("#[{}(debug)] type __X{index} = {ty}; ", answers.attribute);
    text.push_str(&alias);
    Ok(Question { index, file, at: found.at, text, drop: drop_question(index, &ty, answers.attribute) + " " })
}

/// Items of different questions stand in the same block.
fn rename(text: &str, index: usize) -> String {
    text.replace("__S", &format!("__L{index}_"))
}

/// Compiles the copy and takes in what rustc says; returns the questions that are done with.
#[allow(clippy::too_many_arguments)]
fn compile(
    round: usize,
    questions: &[Question],
    answers: &mut Answers,
    unit: &Unit,
    rustc: &Rustc,
    externs: &Externs,
    workshop: &Workshop,
    sources: &Sources,
) -> Result<BTreeSet<usize>> {
    let copy = workshop.path(&format!("copy{round}"));
    let mut changed = BTreeMap::new();
    let mut places: BTreeMap<PathBuf, Vec<Added>> = BTreeMap::new();
    let files: BTreeSet<&PathBuf> = questions.iter().map(|question| &question.file).collect();
    for file in files {
        let original = sources.text(file)?;
        let mut here: Vec<&Question> = questions.iter().filter(|question| question.file == *file).collect();
        here.sort_by_key(|question| question.at);
        let mut text = String::with_capacity(original.len() * 2);
        let mut copied = 0;
        for question in here {
            text.push_str(&original[copied..question.at]);
            copied = question.at;
            let places = places.entry(sources.in_copy(file, &copy)).or_default();
            for (added, is_drop) in [(&question.text, false), (&question.drop, true)] {
                let start = text.len();
                text.push_str(added);
                places.push((start..text.len(), question.index, is_drop));
            }
        }
        text.push_str(&original[copied..]);
        changed.insert(file.clone(), text);
    }
    mirror::mirror(&sources.root, &copy, &changed)?;
    let parsed = unit.parsed();
    let input = parsed.input().ok_or_else(|| Failure::internal("the unit has no root file"))?;
    let input = sources.in_copy(&unit.cwd.join(input), &copy);
    let mut run = Run::again(&unit.as_library(), rustc, unit_thresholds(unit), Some(&input));
    run.args(["--error-format=json".to_owned(), "--emit=metadata".to_owned()]);
    run.args([format!("--out-dir={}", workshop.path("").display())]);
    run.args(FEATURES.iter().map(|feature| format!("-Zcrate-attr=feature({feature})")));
    let given: BTreeSet<String> = unit.externs().into_iter().map(|(name, _)| name).collect();
    for (name, path) in externs.crates.iter().filter(|(name, _)| !given.contains(*name)) {
        run.args(["--extern".to_owned(), format!("{name}={}", path.display())]);
    }
    if externs.has_alloc {
        run.args(["--extern", "alloc"]);
    }
    let output = run.output()?;
    let mut done = BTreeSet::new();
    for said in errors(&output)? {
        let Some((file, byte)) = &said.place else { continue };
        let places = places.get(&unit.cwd.join(file));
        let place = places.and_then(|places| places.iter().find(|(range, _, _)| range.contains(byte)));
        let Some((_, index, is_drop)) = place else { continue };
        if let Some(layout) = printed_layout(&said.message) {
            let asked = &mut answers.asked[*index];
            let layout = read_layout(layout, &asked.text)?;
            if *is_drop {
                asked.needs_drop = needs_drop(&layout);
            } else {
                asked.outcome = Ok(layout);
                asked.unusable = true;
                done.insert(*index);
            }
        } else if !matches!(said.code.as_deref(), Some("E0603" | "E0658")) {
            answers.asked[*index].outcome = Err(said.reason());
            done.insert(*index);
        }
    }
    Ok(done)
}

/// The unit's source files, read when they are needed.
struct Sources {
    /// What is copied: the package's directory, or the root file's.
    root: PathBuf,
    files: Vec<PathBuf>,
    texts: BTreeMap<PathBuf, String>,
    found: HashMap<Wanted, std::result::Result<(PathBuf, Found), String>>,
}

impl Sources {
    fn of(unit: &Unit) -> Self {
        let input = unit.parsed().input().map(|input| unit.cwd.join(input)).unwrap_or_default();
        let package = PathBuf::from(&unit.package.manifest_dir);
        let whole = !unit.package.manifest_dir.is_empty() && input.starts_with(&package);
        let root = if whole { package } else { input.parent().unwrap_or(Path::new("/")).to_owned() };
        let files: Vec<PathBuf> = unit.sources().into_iter().filter(|file| file.starts_with(&root)).collect();
        let rust = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "rs");
        let files: Vec<PathBuf> = files.into_iter().filter(rust).collect();
        let texts = files.iter().filter_map(|file| Some((file.clone(), std::fs::read_to_string(file).ok()?))).collect();
        Self { root, files, texts, found: HashMap::new() }
    }

    fn text(&self, file: &Path) -> Result<&str> {
        let text = self.texts.get(file).map(String::as_str);
        text.ok_or_else(|| Failure::internal(format!("cannot read {}", file.display())))
    }

    fn in_copy(&self, file: &Path, copy: &Path) -> PathBuf {
        copy.join(file.strip_prefix(&self.root).unwrap_or(file))
    }

    fn find(&mut self, wanted: &Wanted) -> std::result::Result<(PathBuf, Found), String> {
        if let Some(known) = self.found.get(wanted) {
            return known.clone();
        }
        let found = self.search(wanted);
        self.found.insert(wanted.clone(), found.clone());
        found
    }

    fn search(&self, wanted: &Wanted) -> std::result::Result<(PathBuf, Found), String> {
        let mut all = Vec::new();
        for file in &self.files {
            let Some(text) = self.texts.get(file) else { continue };
            // A file that this version of the grammar cannot read has no candidates.
            let found = candidates(text, wanted).unwrap_or_default();
            all.extend(found.into_iter().map(|found| (file.clone(), found)));
        }
        let chosen = choose(&all, wanted);
        chosen.cloned().ok_or_else(|| {
            let Wanted { name, function, .. } = wanted;
            match all.len() {
                0 => format!("`{name}` in `{function}` is not in the sources as they stand: a macro made it"),
                _ => format!("which `{name}` in a function `{function}` is meant cannot be told"),
            }
        })
    }
}
