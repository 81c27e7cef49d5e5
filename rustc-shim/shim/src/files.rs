//! Files: read with a message, write whole or not at all, and fingerprints of what went into a cached answer.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::de::DeserializeOwned;
use serde::Serialize;

use crate::fail::{Failure, Result};

/// Reads a text file of the caller's.
pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))
}

/// Reads a JSON file of the caller's.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    serde_json::from_str(&read(path)?)
        .map_err(|error| Failure::usage(format!("{} is not what was expected: {error}", path.display())))
}

/// Writes a file through a temporary one beside it, so that readers never see a part.
pub fn write_atomic(path: &Path, contents: &[u8]) -> Result<()> {
    let fail = |error: std::io::Error| Failure::internal(format!("cannot write {}: {error}", path.display()));
    let mut name = path.file_name().map(|name| name.to_os_string()).unwrap_or_default();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = fs::File::create(&temporary).and_then(|mut file| file.write_all(contents));
    match written.and_then(|()| fs::rename(&temporary, path)) {
        Ok(()) => Ok(()),
        Err(error) => {
            let _ = fs::remove_file(&temporary);
            Err(fail(error))
        }
    }
}

/// Writes a value as one line of JSON.
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let mut text = serde_json::to_vec(value).map_err(|error| Failure::internal(error.to_string()))?;
    text.push(b'\n');
    write_atomic(path, &text)
}

/// A key of what a cached answer was computed from.
pub struct Fingerprint(DefaultHasher, DefaultHasher);

impl Default for Fingerprint {
    fn default() -> Self {
        Self::new()
    }
}

impl Fingerprint {
    pub fn new() -> Self {
        let mut this = Self(DefaultHasher::new(), DefaultHasher::new());
        // Two hashes that start differently: 64 bits are few for files that are kept for good.
        this.1.write_u8(1);
        this.add(env!("CARGO_PKG_VERSION"));
        this
    }

    pub fn add<T: Hash + ?Sized>(&mut self, value: &T) -> &mut Self {
        value.hash(&mut self.0);
        value.hash(&mut self.1);
        self
    }

    /// Adds a file's name, length and time of change; a missing file is a value of its own.
    pub fn add_file(&mut self, path: &Path) -> &mut Self {
        self.add(path);
        let Ok(meta) = fs::metadata(path) else {
            return self.add("missing");
        };
        self.add(&meta.len());
        if let Some(time) = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()) {
            self.add(&time.as_nanos());
        }
        self
    }

    /// Adds what a file holds, whatever it is called; a missing file is a value of its own.
    pub fn add_contents(&mut self, path: &Path) -> &mut Self {
        match fs::read(path) {
            Ok(bytes) => self.add(bytes.as_slice()),
            Err(_) => self.add("missing"),
        }
    }

    pub fn finish(&self) -> String {
        format!("{:016x}{:016x}", self.0.finish(), self.1.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_whole_files_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        write_json(&path, &[1, 2]).unwrap();
        assert_eq!(read_json::<Vec<u8>>(&path).unwrap(), [1, 2]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert_eq!(read_json::<Vec<String>>(&path).unwrap_err().code, crate::fail::USAGE);
        assert_eq!(write_json(&dir.path().join("no/such"), &1).unwrap_err().code, crate::fail::INTERNAL);
    }

    #[test]
    fn fingerprints_see_changes_of_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let print = || Fingerprint::new().add_file(&path).finish();
        let missing = print();
        fs::write(&path, "1").unwrap();
        let one = print();
        fs::write(&path, "22").unwrap();
        assert_ne!(missing, one);
        assert_ne!(one, print());
        let contents = |name: &str| Fingerprint::new().add_contents(&dir.path().join(name)).finish();
        fs::write(dir.path().join("b"), "22").unwrap();
        assert_eq!(contents("a"), contents("b"));
        fs::write(dir.path().join("b"), "23").unwrap();
        assert_ne!(contents("a"), contents("b"));
        assert_eq!(contents("c"), contents("d"), "missing");
    }
}
