//! Reads every dump of the corpus, whose place `MIRGEN_CORPUS` names.

use std::path::PathBuf;

use mirgen_rustc::parse::{parse_dump, Grammar, Selection};

/// Folders of the corpus by release, or `None` with the reason printed.
fn corpus() -> Option<Vec<(String, PathBuf)>> {
    let root = match std::env::var_os("MIRGEN_CORPUS") {
        Some(root) => PathBuf::from(root),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
    };
    let Ok(entries) = std::fs::read_dir(&root) else {
        eprintln!("skipped: no corpus at {} (set MIRGEN_CORPUS)", root.display());
        return None;
    };
    let mut found: Vec<_> = entries
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .filter(|(name, _)| name.starts_with("1."))
        .collect();
    found.sort();
    Some(found)
}

#[test]
fn every_dump_is_read() {
    let Some(releases) = corpus() else { return };
    let mut dumps = 0;
    for (release, folder) in releases {
        let (grammar, note) = Grammar::for_release(&release);
        assert_eq!(note, None);
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().extension().is_none_or(|e| e != "mir") {
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let stable = std::fs::read_to_string(entry.path().with_extension("stable-mir")).unwrap();
            let parsed = parse_dump(&text, Some(&stable), grammar, &Selection::all())
                .unwrap_or_else(|error| panic!("{}: {error}", entry.path().display()));
            assert_eq!(parsed.notes, Vec::<String>::new(), "{}", entry.path().display());
            assert!(!parsed.parts.bodies.is_empty());
            dumps += 1;
        }
    }
    assert!(dumps > 0);
}
