//! What differs between the releases whose text is understood.

/// Release line whose printer wrote the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    R1_95,
    R1_96,
    R1_97,
}

/// The grammar of one release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grammar {
    pub release: Release,
    /// `Retag(..)` statements (up to 1.96).
    pub retag_statements: bool,
    /// `no_retag` before the operand of a `Use` (from 1.97 on).
    pub no_retag: bool,
}

impl Grammar {
    pub const fn new(release: Release) -> Self {
        match release {
            Release::R1_95 | Release::R1_96 => Grammar { release, retag_statements: true, no_retag: false },
            Release::R1_97 => Grammar { release, retag_statements: false, no_retag: true },
        }
    }

    /// The newest grammar known.
    pub const fn newest() -> Self {
        Grammar::new(Release::R1_97)
    }

    /// Grammar for rustc's `release` (`1.96.0`, `1.97.0-nightly`), and a note when that release is not a known one.
    pub fn for_release(release: &str) -> (Self, Option<String>) {
        let mut numbers = release.split(['.', '-']).map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(1)), Some(Ok(95))) => (Grammar::new(Release::R1_95), None),
            (Some(Ok(1)), Some(Ok(96))) => (Grammar::new(Release::R1_96), None),
            (Some(Ok(1)), Some(Ok(97))) => (Grammar::new(Release::R1_97), None),
            _ => {
                let grammar = Grammar::newest();
                let note = format!("rustc {release} is not a known release; its text was read as {}'s", grammar.name());
                (grammar, Some(note))
            }
        }
    }

    /// `1.95`, `1.96` or `1.97`.
    pub fn name(&self) -> &'static str {
        match self.release {
            Release::R1_95 => "1.95",
            Release::R1_96 => "1.96",
            Release::R1_97 => "1.97",
        }
    }
}
