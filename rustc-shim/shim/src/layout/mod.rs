//! Layouts of types: rustc is asked through a generated crate and its answers are checked against its debug
//! information.

pub mod debug;
pub mod read;
pub mod source;
pub mod ty;
