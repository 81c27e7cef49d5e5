"""A crate's own tests, ``#[mirgen::test]``: found, chosen, run in lanes, reported as cargo-nextest would."""
