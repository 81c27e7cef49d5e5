//! A copy of a source tree in which some files differ: everything else is links to the original.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::fail::{Failure, Result};

/// Builds the copy of `root` under `copy`; `changed` files of the original get new texts.
pub fn mirror(root: &Path, copy: &Path, changed: &BTreeMap<PathBuf, String>) -> Result<()> {
    // Directories on the way to a changed file are real, their other entries links.
    let mut real: BTreeSet<&Path> = BTreeSet::new();
    for file in changed.keys() {
        real.extend(file.ancestors().skip(1).take_while(|dir| dir.starts_with(root)));
    }
    real.insert(root);
    let fail =
        |path: &Path, error: std::io::Error| Failure::internal(format!("cannot copy {}: {error}", path.display()));
    for dir in real.iter().copied() {
        let target = copy.join(dir.strip_prefix(root).unwrap_or(dir));
        fs::create_dir_all(&target).map_err(|error| fail(dir, error))?;
        for entry in fs::read_dir(dir).map_err(|error| fail(dir, error))?.flatten() {
            let original = entry.path();
            if changed.contains_key(&original) || real.contains(original.as_path()) {
                continue;
            }
            symlink(&original, target.join(entry.file_name())).map_err(|error| fail(&original, error))?;
        }
    }
    for (file, text) in changed {
        let target = copy.join(file.strip_prefix(root).unwrap_or(file));
        fs::write(&target, text).map_err(|error| fail(file, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_files_differ() {
        let dir = tempfile::tempdir().unwrap();
        let (root, copy) = (dir.path().join("a"), dir.path().join("b"));
        fs::create_dir_all(root.join("src/m")).unwrap();
        for (name, text) in [("Cargo.toml", "1"), ("src/lib.rs", "2"), ("src/m/x.rs", "3"), ("src/m/y.rs", "4")] {
            fs::write(root.join(name), text).unwrap();
        }
        mirror(&root, &copy, &[(root.join("src/m/x.rs"), "new".to_owned())].into()).unwrap();
        let read = |name: &str| fs::read_to_string(copy.join(name)).unwrap();
        assert_eq!(
            [read("Cargo.toml"), read("src/lib.rs"), read("src/m/x.rs"), read("src/m/y.rs")],
            ["1", "2", "new", "4"]
        );
        assert_eq!(fs::read_to_string(root.join("src/m/x.rs")).unwrap(), "3");
    }
}
