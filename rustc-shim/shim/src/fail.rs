//! The one error type of the binary: a message and the exit code that tells callers what kind it is.

use std::fmt;

/// Something went wrong inside the shim, or sources that must agree did not.
pub const INTERNAL: u8 = 1;
/// The command line or an input file of the caller makes no sense.
pub const USAGE: u8 = 2;
/// rustc refused; its own messages are on stderr already.
pub const RUSTC: u8 = 101;
/// rustc's text holds something that the readers do not know.
pub const TEXT: u8 = 103;

/// Why a command stops, and the process's exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub code: u8,
    /// Printed on stderr when not empty.
    pub message: String,
}

impl Failure {
    pub fn internal(message: impl Into<String>) -> Self {
        Self { code: INTERNAL, message: message.into() }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: USAGE, message: message.into() }
    }

    /// rustc failed and has already said why.
    pub fn rustc() -> Self {
        Self { code: RUSTC, message: String::new() }
    }

    /// Text that is not understood, as the one-line JSON object that callers parse.
    pub fn text(file: &str, line: usize, message: &str) -> Self {
        let object = serde_json::json!({"error": "unknown-text", "file": file, "line": line, "message": message});
        Self { code: TEXT, message: object.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

pub type Result<T> = std::result::Result<T, Failure>;
