//! Asks rustc for the layouts of many types at once: one alias a line in a generated crate, answers joined by line.
//!
//! Privacy does not stop the answers (E0603 is reported beside them), an unresolved path stops all of them: the lines
//! that rustc refuses are taken out and the rest is asked again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::fail::{Failure, Result};
use crate::invoke::Rustc;
use crate::layout::externs::Externs;
use crate::layout::query::{errors, Lines, Said, Workshop};
use crate::layout::read;
use crate::layout::source::{Source, Writer};
use crate::layout::ty::Ty;
use crate::layout::ty_text;
use crate::unit::Unit;
use crate::wire::{FieldsShape, LayoutData};

/// One type asked for and what came of it.
#[derive(Debug, Clone)]
pub struct Asked {
    pub text: String,
    pub ty: Option<Ty>,
    pub source: Option<Source>,
    pub outcome: std::result::Result<LayoutData, String>,
    /// Whether dropping a value may run code; `None` until rustc has said.
    pub needs_drop: Option<bool>,
    /// Whether rustc objects to naming it (private), so that code cannot be generated for it.
    pub unusable: bool,
}

/// All answers and what later crates need to name the same types.
pub struct Answers {
    pub asked: Vec<Asked>,
    pub writer: Writer,
    /// Items with which something is wrong.
    pub unusable: BTreeSet<usize>,
    /// Items that rustc refuses, with its reason.
    pub refused: BTreeMap<usize, String>,
    /// Items that go without their implementations, which rustc refuses.
    pub bare: BTreeSet<usize>,
    /// Library features that the types' paths need.
    pub features: BTreeSet<String>,
    /// The attribute that prints layouts, as this rustc calls it.
    pub attribute: &'static str,
}

/// Features without which the generated crates do not compile.
pub const FEATURES: &[&str] = &["rustc_attrs", "fn_traits", "unboxed_closures", "never_type", "coroutine_trait"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Definition(usize),
    Impls(usize),
    Alias(usize),
    Drop(usize),
}

/// Asks for the layouts of types given by rustc's text for them.
pub fn ask(
    texts: &[String],
    unit: &Unit,
    rustc: &Rustc,
    externs: &Externs,
    own: &Path,
    workshop: &Workshop,
) -> Result<Answers> {
    let mut writer = Writer::new(externs.names.clone());
    let asked: Vec<Asked> = texts.iter().map(|text| prepare(text, &mut writer)).collect();
    let mut asking = Asking {
        answers: Answers {
            asked,
            writer,
            unusable: BTreeSet::new(),
            refused: BTreeMap::new(),
            bare: BTreeSet::new(),
            features: FEATURES.iter().map(|feature| (*feature).to_owned()).collect(),
            attribute: if rustc.minor() >= (1, 96) { "rustc_dump_layout" } else { "rustc_layout" },
        },
    };
    let args: Vec<String> = externs.args(own);
    let mut args = args;
    args.push("--emit=metadata".to_owned());
    args.push(format!("--out-dir={}", workshop.path("").display()));
    while asking.refuse_dependents() {
        let lines = asking.crate_text(externs);
        let output = workshop.compile(unit, rustc, "layouts.rs", lines.text(), &args)?;
        let said = errors(&output)?;
        if !asking.hear(&lines, &said)? {
            asking.give_up(&said);
            break;
        }
    }
    Ok(asking.answers)
}

/// The discriminant of types that have one value only, where rustc can be asked for it: for a struct it is zero.
///
/// Constants are evaluated whatever their privacy, and the length of an array is printed with its layout.
pub fn discriminants(
    answers: &Answers,
    of: &[usize],
    unit: &Unit,
    rustc: &Rustc,
    externs: &Externs,
    own: &Path,
    workshop: &Workshop,
) -> Result<BTreeMap<usize, i64>> {
    let mut out = BTreeMap::new();
    if of.is_empty() {
        return Ok(out);
    }
    let mut features = answers.features.clone();
    features.extend(["core_intrinsics", "const_discriminant"].map(str::to_owned));
    let features: Vec<&str> = features.iter().map(String::as_str).collect();
    let head = format!("#![feature({})] #![allow(warnings)] {}", features.join(", "), externs.prelude());
    let mut lines: Lines<Option<usize>> = Lines::new(&head);
    let attribute = answers.attribute;
    let all: BTreeSet<usize> = (0..answers.writer.items.len()).collect();
    let sources = of.iter().filter_map(|index| Some((*index, answers.asked[*index].source.as_ref()?)));
    for needed in answers.writer.closure_of(sources.clone().flat_map(|(_, source)| source.needs.clone()), &all) {
        lines.push(None, &answers.writer.items[needed].definition);
    }
    for (index, source) in sources {
        let text = &source.text;
        let value = format!(
            "unsafe {{ core::intrinsics::discriminant_value(core::mem::MaybeUninit::<{text}>::uninit().assume_init_ref()) \
             as isize as usize }}"
        );
        lines.push(Some(index), &format!("#[{attribute}(debug)] pub type __X{index} = [(); {{ {value} }}];"));
    }
    let mut args = externs.args(own);
    args.push("--emit=metadata".to_owned());
    args.push(format!("--out-dir={}", workshop.path("").display()));
    let output = workshop.compile(unit, rustc, "discriminants.rs", lines.text(), &args)?;
    for said in errors(&output)? {
        let (Some(index), Some(text)) =
            (said.line.and_then(|line| lines.owner(line)).flatten(), printed_layout(&said.message))
        else {
            continue;
        };
        if let Ok(LayoutData { fields: FieldsShape::Array { count, .. }, .. }) = read::layout(text) {
            out.insert(index, count as i64);
        }
    }
    Ok(out)
}

const PENDING: &str = "";

fn prepare(text: &str, writer: &mut Writer) -> Asked {
    let parsed = ty_text::parse(text);
    let source = parsed.as_ref().map_err(Clone::clone).and_then(|ty| writer.write(ty));
    let (source, outcome) = match source {
        Ok(source) => (Some(source), Err(PENDING.to_owned())),
        Err(reason) => (None, Err(reason)),
    };
    let ty = parsed.ok();
    let needs_drop = ty.as_ref().filter(|ty| ty.is_plain()).map(|_| false);
    Asked { text: text.to_owned(), ty, source, outcome, needs_drop, unusable: false }
}

impl Asked {
    fn pending(&self) -> bool {
        matches!(&self.outcome, Err(reason) if reason == PENDING)
    }
}

impl Answers {
    /// Whether nothing that a type's source names was refused.
    pub fn can_be_named(&self, index: usize) -> bool {
        let Some(source) = &self.asked[index].source else { return false };
        let needs = self.writer.closure_of(source.needs.clone(), &self.bare);
        needs.iter().all(|item| !self.refused.contains_key(item))
    }
}

struct Asking {
    answers: Answers,
}

impl Asking {
    /// Fails the types that need a refused item; says whether any type is left to ask for.
    fn refuse_dependents(&mut self) -> bool {
        let refused: BTreeSet<usize> = self.answers.refused.keys().copied().collect();
        self.answers.writer.strip(&mut self.answers.bare, &refused);
        for at in 0..self.answers.asked.len() {
            let needs = self.answers.asked[at].source.as_ref().map(|source| source.needs.clone()).unwrap_or_default();
            let all = self.answers.writer.closure_of(needs, &self.answers.bare);
            let asked = &mut self.answers.asked[at];
            if let (true, Some((_, reason))) =
                (asked.pending(), self.answers.refused.iter().find(|(index, _)| all.contains(index)))
            {
                asked.outcome = Err(reason.clone());
            }
        }
        self.answers.asked.iter().any(Asked::pending)
    }

    fn crate_text(&self, externs: &Externs) -> Lines<Owner> {
        let features: Vec<&str> = self.answers.features.iter().map(String::as_str).collect();
        let mut lines =
            Lines::new(&format!("#![feature({})] #![allow(warnings)] {}", features.join(", "), externs.prelude()));
        let pending = || self.answers.asked.iter().enumerate().filter(|(_, asked)| asked.pending());
        let needs = pending().filter_map(|(_, asked)| asked.source.as_ref()).flat_map(|source| source.needs.clone());
        for index in self.answers.writer.closure_of(needs, &self.answers.bare) {
            let item = &self.answers.writer.items[index];
            lines.push(Owner::Definition(index), &item.definition);
            if !self.answers.bare.contains(&index) && !item.impls.is_empty() {
                lines.push(Owner::Impls(index), &item.impls);
            }
        }
        for (index, asked) in pending() {
            if let Some(source) = &asked.source {
                let alias = format!("#[{}(debug)] pub type __X{index} = {};", self.answers.attribute, source.text);
                lines.push(Owner::Alias(index), &alias);
                if asked.needs_drop.is_none() {
                    lines.push(Owner::Drop(index), &drop_question(index, &source.text, self.answers.attribute));
                }
            }
        }
        lines
    }

    /// Takes in what rustc said; false when nothing changed.
    fn hear(&mut self, lines: &Lines<Owner>, said: &[Said]) -> Result<bool> {
        let mut refusals: BTreeMap<Owner, Vec<&Said>> = BTreeMap::new();
        let mut progress = false;
        for said in said {
            if said.message.contains("attributes starting with `rustc` are reserved") {
                return Ok(self.other_attribute());
            }
            let Some(owner) = said.line.and_then(|line| lines.owner(line)) else { continue };
            if let (Owner::Alias(index) | Owner::Drop(index), Some(layout)) = (owner, printed_layout(&said.message)) {
                let asked = &mut self.answers.asked[index];
                let read = read_layout(layout, &asked.text)?;
                if let Owner::Drop(_) = owner {
                    asked.needs_drop = needs_drop(&read);
                } else {
                    asked.outcome = Ok(read);
                }
                progress = true;
                continue;
            }
            match said.code.as_deref() {
                Some("E0603") => self.publish(owner, said),
                Some("E0658") => self.answers.features.extend(said.features()),
                _ => refusals.entry(owner).or_default().push(said),
            }
        }
        for (owner, said) in refusals {
            self.mark_unusable(owner);
            let reason = said.first().map(|said| said.reason()).unwrap_or_default();
            progress |= match owner {
                // What is wrong with an item that it needs says more; `refuse_dependents` takes that.
                Owner::Alias(index) if self.needs_refused(index) => false,
                Owner::Alias(index) if self.answers.asked[index].pending() => {
                    self.answers.asked[index].outcome = Err(reason);
                    true
                }
                // The alias beside it has the same fault, or else no answer makes the type fail.
                Owner::Alias(_) | Owner::Drop(_) => false,
                Owner::Impls(index) => self.answers.bare.insert(index),
                Owner::Definition(index) => self.answers.refused.insert(index, reason).is_none(),
            };
        }
        Ok(progress)
    }

    fn needs_refused(&self, index: usize) -> bool {
        let needs = self.answers.asked[index].source.as_ref().map(|source| source.needs.clone()).unwrap_or_default();
        let all = self.answers.writer.closure_of(needs, &self.answers.bare);
        all.iter().any(|item| self.answers.refused.contains_key(item))
    }

    /// What is private in a path may be public in another: rustc offers those that name the same item.
    fn publish(&mut self, owner: Owner, said: &Said) {
        let published = match owner {
            Owner::Definition(index) => self.answers.writer.publish(index, &said.instead),
            _ => false,
        };
        if !published {
            self.mark_unusable(owner);
        }
    }

    fn mark_unusable(&mut self, owner: Owner) {
        match owner {
            Owner::Alias(index) | Owner::Drop(index) => self.answers.asked[index].unusable = true,
            Owner::Definition(index) | Owner::Impls(index) => {
                self.answers.unusable.insert(index);
            }
        }
    }

    /// The attribute changed its name between releases; nightlies around the change have either.
    fn other_attribute(&mut self) -> bool {
        let other = if self.answers.attribute == "rustc_layout" { "rustc_dump_layout" } else { "rustc_layout" };
        std::mem::replace(&mut self.answers.attribute, other) != other
    }

    /// Fails what is left with what rustc said in general.
    fn give_up(&mut self, said: &[Said]) {
        let first = said.iter().find(|said| !matches!(said.code.as_deref(), Some("E0603" | "E0658")));
        let reason = first.map_or_else(|| "rustc printed no layout for it".to_owned(), Said::reason);
        for asked in self.answers.asked.iter_mut().filter(|asked| asked.pending()) {
            asked.outcome = Err(reason.clone());
        }
    }
}

/// Whether dropping the type runs code, as the length of an array, which is printed with its layout.
pub fn drop_question(index: usize, ty: &str, attribute: &str) -> String {
    format!("#[{attribute}(debug)] pub type __D{index} = [(); core::mem::needs_drop::<{ty}>() as usize];")
}

/// The answer to [`drop_question`].
pub fn needs_drop(answer: &LayoutData) -> Option<bool> {
    match answer.fields {
        FieldsShape::Array { count, .. } => Some(count != 0),
        _ => None,
    }
}

/// Reads what rustc printed about the type `text`.
pub fn read_layout(layout: &str, text: &str) -> Result<LayoutData> {
    read::layout(layout)
        .map_err(|unknown| Failure::text(&format!("the layout of {text}"), unknown.line, &unknown.message))
}

/// `Layout {..}` out of `layout_of(T) = Layout {..}`.
pub fn printed_layout(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("layout_of(")?;
    let at = rest.find(") = Layout {\n")?;
    Some(&rest[at + ") = ".len()..])
}
