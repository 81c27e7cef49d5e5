//! A second opinion on layouts: functions that take the types by pointer are compiled to LLVM IR, whose debug
//! information says how rustc's code generator sees them, with the variants' names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::fail::{Failure, Result};
use crate::invoke::Rustc;
use crate::layout::ask::{Answers, Asked};
use crate::layout::debuginfo::{Kind, Metadata, TypeInfo};
use crate::layout::externs::Externs;
use crate::layout::query::{errors, Lines, Workshop};
use crate::layout::source::Source;
use crate::layout::ty::{Arg, Ty};
use crate::unit::Unit;
use crate::wire::{BackendRepr, LayoutData, Variants};

/// What debug information says about the types asked for, by their index.
#[derive(Debug, Default)]
pub struct Witness {
    pub infos: BTreeMap<usize, TypeInfo>,
    /// What the definition of a type is, from another instance of it.
    pub stand_ins: BTreeMap<usize, Kind>,
    /// `discriminant_value` of types that have only one value.
    pub discriminants: BTreeMap<usize, String>,
    /// Everything the crate's debug information describes.
    pub definitions: BTreeMap<String, Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Definition(usize),
    Impls(usize),
    Type(usize),
    Discriminant(usize),
    StandIn(usize),
}

/// Types that can be a parameter behind a thin pointer and have something to look at inside.
fn worth_asking(asked: &Asked) -> bool {
    let sized = |layout: &LayoutData| !matches!(layout.backend_repr, BackendRepr::Memory { sized: false });
    asked.outcome.as_ref().is_ok_and(sized)
        && matches!(asked.ty, Some(Ty::Path(_) | Ty::Projection { .. } | Ty::Tuple(_) | Ty::Closure { .. }))
}

/// A type with one value: where that is an enum's variant, its discriminant is written nowhere in the layout.
pub fn only_value(asked: &Asked) -> bool {
    let single = |layout: &LayoutData| {
        layout.size == 0 && !layout.uninhabited && matches!(layout.variants, Variants::Single { .. })
    };
    matches!(asked.ty, Some(Ty::Path(_) | Ty::Projection { .. })) && asked.outcome.as_ref().is_ok_and(single)
}

/// The same definition with `()` for every type argument.
fn stand_in(ty: &Ty) -> Option<Ty> {
    let Ty::Path(path) = ty else { return None };
    let mut path = path.clone();
    for arg in path.iter_mut().flat_map(|segment| &mut segment.args) {
        if matches!(arg, Arg::Type(_)) {
            *arg = Arg::Type(Ty::Tuple(Vec::new()));
        }
    }
    Some(Ty::Path(path))
}

/// Asks for debug information of every type that can be named.
pub fn witness(
    answers: &mut Answers,
    unit: &Unit,
    rustc: &Rustc,
    externs: &Externs,
    own: &Path,
    workshop: &Workshop,
) -> Result<Witness> {
    let mut features = answers.features.clone();
    features.extend(["core_intrinsics", "discriminant_kind"].map(str::to_owned));
    let Answers { asked, writer, unusable, refused, bare, .. } = &mut *answers;
    unusable.extend(refused.keys());
    let stand_ins: BTreeMap<usize, Source> = asked
        .iter()
        .enumerate()
        .filter(|(_, asked)| worth_asking(asked))
        .filter_map(|(index, asked)| Some((index, writer.write(&stand_in(asked.ty.as_ref()?)?).ok()?)))
        .collect();
    // What is private, or needs it, generates no code.
    writer.strip(bare, unusable);
    let mut dropped: BTreeSet<Owner> = unusable.iter().map(|index| Owner::Definition(*index)).collect();
    let ir = workshop.path("witness.ll");
    let mut args = externs.args(own);
    args.extend(["-Cdebuginfo=2", "-Cno-prepopulate-passes", "-Ccodegen-units=1", "-Copt-level=0"].map(str::to_owned));
    // Small functions would otherwise be left to other crates to compile, where the unit's options ask for inlining.
    args.push("-Zcross-crate-inline-threshold=never".to_owned());
    args.extend(["--emit=llvm-ir".to_owned(), format!("-o{}", ir.display())]);
    loop {
        let lines = crate_text(answers, &stand_ins, &features, &dropped, externs);
        let output = workshop.compile(unit, rustc, "witness.rs", lines.text(), &args)?;
        if output.status.success() {
            break;
        }
        let before = (dropped.len(), features.len(), answers.bare.len());
        for said in errors(&output)? {
            features.extend(said.features());
            if said.code.as_deref() != Some("E0658") || said.features().next().is_none() {
                match said.line.and_then(|line| lines.owner(line)) {
                    Some(Owner::Impls(index)) => {
                        answers.bare.insert(index);
                    }
                    owner => dropped.extend(owner),
                }
            }
        }
        if (dropped.len(), features.len(), answers.bare.len()) == before {
            // Nothing can be learnt here; layouts stand without a second opinion.
            return Ok(Witness::default());
        }
    }
    let text = fs::read_to_string(&ir).unwrap_or_default();
    read(&text, &expected(answers, unit))
}

/// By type, paths of which its definition must have one; none where any will do.
///
/// A type that is not asked for under its own path is what its debug information says it is.
fn expected(answers: &Answers, unit: &Unit) -> Vec<Vec<String>> {
    let path = |asked: &Asked| {
        let ty = asked.ty.as_ref().filter(|ty| answers.writer.is_published(ty))?;
        let path = ty.adt_path()?;
        Some(vec![format!("{}::{path}", unit.crate_name), path])
    };
    answers.asked.iter().map(|asked| path(asked).unwrap_or_default()).collect()
}

fn crate_text(
    answers: &Answers,
    stand_ins: &BTreeMap<usize, Source>,
    features: &BTreeSet<String>,
    dropped: &BTreeSet<Owner>,
    externs: &Externs,
) -> Lines<Owner> {
    let features: Vec<&str> = features.iter().map(String::as_str).collect();
    let mut lines =
        Lines::new(&format!("#![feature({})] #![allow(warnings)] {}", features.join(", "), externs.prelude()));
    let usable = |source: &Source| {
        let needs = answers.writer.closure_of(source.needs.clone(), &answers.bare);
        needs.iter().all(|index| !dropped.contains(&Owner::Definition(*index)))
    };
    let mut needed = BTreeSet::new();
    let mut types = Vec::new();
    for (index, asked) in answers.asked.iter().enumerate().filter(|(_, asked)| worth_asking(asked)) {
        let source = asked.source.as_ref().filter(|source| !asked.unusable && usable(source));
        if let Some(source) = source.filter(|_| !dropped.contains(&Owner::Type(index))) {
            needed.extend(answers.writer.closure_of(source.needs.clone(), &answers.bare));
            let text = &source.text;
            types.push((Owner::Type(index), format!("pub fn __q{index}(_: *const {text}) {{}}")));
            if only_value(asked) && !dropped.contains(&Owner::Discriminant(index)) {
                let line = format!(
                    "#[no_mangle] pub fn __d{index}(p: &{text}) -> <{text} as core::marker::DiscriminantKind>\
                     ::Discriminant {{ core::intrinsics::discriminant_value(p) }}"
                );
                types.push((Owner::Discriminant(index), line));
            }
        } else if let Some(source) =
            stand_ins.get(&index).filter(|source| usable(source) && !dropped.contains(&Owner::StandIn(index)))
        {
            needed.extend(answers.writer.closure_of(source.needs.clone(), &answers.bare));
            types.push((Owner::StandIn(index), format!("pub fn __s{index}(_: *const {}) {{}}", source.text)));
        }
    }
    for index in needed {
        let item = &answers.writer.items[index];
        lines.push(Owner::Definition(index), &item.definition);
        if !answers.bare.contains(&index) && !item.impls.is_empty() {
            lines.push(Owner::Impls(index), &item.impls);
        }
    }
    for (owner, line) in types {
        lines.push(owner, &line);
    }
    lines
}

fn read(text: &str, expected: &[Vec<String>]) -> Result<Witness> {
    let metadata = Metadata::of(text);
    let mut witness = Witness { definitions: metadata.definitions(), ..Witness::default() };
    let described = |name: String, paths: &[String]| {
        let Some(id) = metadata.pointee_of_first_parameter(&name) else { return Ok(None) };
        let path = metadata.node(id).and_then(|node| metadata.path(&node));
        if paths.is_empty() || path.as_ref().is_some_and(|path| paths.contains(path)) {
            return Ok(metadata.describe(id));
        }
        let other = path.unwrap_or_default();
        Err(Failure::internal(format!("what rustc offers for {} is another type: {other}", paths.join(" or "))))
    };
    for (index, paths) in expected.iter().enumerate() {
        if let Some(info) = described(format!("__q{index}"), paths)? {
            witness.infos.insert(index, info);
        }
        if let Some(info) = described(format!("__s{index}"), paths)? {
            witness.stand_ins.insert(index, info.shape.kind());
        }
    }
    let mut current = None;
    for line in text.lines() {
        if line.starts_with("define ") {
            let name = line.split_once("@__d").and_then(|(_, rest)| rest.split_once('('));
            current = name.and_then(|(index, _)| index.parse::<usize>().ok());
        } else if let (Some(index), Some(value)) = (current, line.trim_start().strip_prefix("ret i")) {
            let value = value.split(',').next().and_then(|value| value.split_once(' '));
            if let Some((_, value)) = value.filter(|(_, value)| value.parse::<i128>().is_ok()) {
                witness.discriminants.insert(index, value.to_owned());
            }
        }
    }
    Ok(witness)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
!5 = distinct !DISubprogram(name: "__q0", linkageName: "__q0", scope: !10, type: !71)
!10 = !DINamespace(name: "inner", scope: !11)
!11 = !DINamespace(name: "dep", scope: null)
!71 = !DISubroutineType(types: !72)
!72 = !{null, !73}
!73 = !DIDerivedType(tag: DW_TAG_pointer_type, name: "*const S", baseType: !74, size: 64, align: 64)
!74 = !DICompositeType(tag: DW_TAG_structure_type, name: "S<u8>", scope: !10, size: 8, align: 8, elements: !75)
!75 = !{}
"#;

    #[test]
    fn a_type_under_another_path_is_the_one_that_was_meant() {
        let paths = |path: &str| [vec![format!("mine::{path}"), path.to_owned()]];
        assert!(read(TEXT, &paths("dep::inner::S")).unwrap().infos.contains_key(&0));
        assert!(read(TEXT, &[vec![]]).unwrap().infos.contains_key(&0));
        let error = read(TEXT, &paths("dep::other::S")).unwrap_err();
        assert!(error.message.contains("dep::inner::S"), "{}", error.message);
    }
}
