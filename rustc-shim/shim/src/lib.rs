//! The shim between mirgen and a stock rustc: records what cargo compiles, asks rustc for MIR text and layouts, and
//! writes what it understood as JSON.

pub mod cmd_dump;
pub mod cmd_parse;
pub mod lex;
pub mod parse;
pub mod wire;

pub mod answers;
pub mod args;
pub mod dump;
pub mod fail;
pub mod files;
pub mod invoke;
pub mod layout;
pub mod unit;
pub mod wrapper;
