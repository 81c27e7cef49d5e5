"""What of a library's private items is opened at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.cargo.hoist import hoisted_lines
from mirgen.cargo.openable import mended, openable
from mirgen.cargo.overlay import Private

LIB = """\
mod inner;
mod known;
mod tests;
pub mod prelude;
pub use known::Shown;
trait Hidden {}
#[stable(feature = "rust1")]
trait Told { fn f(); }
/// Text with stable( in it;
struct Own<T>(T);
#[unstable(
    feature = "a",
    issue = "none",
)]
struct Old;
fn drop() {}
mod exporting {
    pub(crate) use core::mem;
}
mod holding {
    struct Deep;
}
impl<T: Fn(u8)> Own<T> {
    fn private(&self) {}
    const fn folded(&self) {}
    pub fn public(&self) {}
}
impl<T> Hidden for Own<T> {
    fn method(&self) {}
}
#[stable(feature = "rust1")]
impl Clone for Old {}
macro_rules! each {
    ($t:ty) => {
        impl Hidden for $t {}
        impl Clone for $t {}
    };
}
const impl<T> Own<T>
where
    T: Copy,
{
    unsafe fn behind_where(&self) {}
}
"""
INNER = """\
#![unstable(feature = "b")]
pub struct Reached;
impl Reached {
    fn of_nobody(&self) {}
    pub(crate) fn near(&self) {
        struct Guard;
        impl Drop for Guard {}
    }
}
impl Drop for Reached {}
"""
KNOWN = "pub struct Shown;\nimpl Shown {\n    fn method(&self) {}\n}\n"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    files = {"lib": LIB, "inner": INNER, "known": KNOWN, "tests": "fn test() {}\n"}
    for name, text in files.items():
        (tmp_path / f"{name}.rs").write_text(text)
    (tmp_path / "prelude").mkdir()
    (tmp_path / "prelude/mod.rs").write_text("pub use super::mem::drop;\n")
    return tmp_path


def opened(library: Path, name: str) -> dict[str, bool]:
    """The lines that are opened in a file, and whether each gets a mark."""
    found = [item for item in openable(library) if item.file == library / f"{name}.rs"]
    return {hoisted_lines(item.file)[item.line - 1].strip(): bool(item.attribute) for item in found}


def test_items_of_modules_and_methods_of_types_that_nobody_else_has(library: Path) -> None:
    assert opened(library, "lib") == {
        "mod inner;": False,  # says it itself
        "mod known;": True,
        "mod tests;": True,
        "trait Hidden {}": True,
        "struct Own<T>(T);": True,
        "struct Old;": False,
        "mod holding {": True,
        "fn private(&self) {}": True,
        "unsafe fn behind_where(&self) {}": True,
        "impl<T> Hidden for Own<T> {": True,
        "impl Hidden for $t {}": True,
    }


def test_what_a_whole_file_says_and_what_its_functions_hold(library: Path) -> None:
    found = opened(library, "inner")
    assert found.pop("struct MirgenGuard0;") and found.pop("impl Drop for Guard {}")
    assert set(found) == {"fn of_nobody(&self) {}", "pub(crate) fn near(&self) {"}
    assert opened(library, "known") == {}, "others call methods of what is exported"
    assert opened(library, "tests") == {}


def test_what_rustc_misses_is_added_and_what_it_finds_fault_with_is_left_out() -> None:
    file = Path("/l/core/src/a.rs")
    kept, wrong, wanted = (Private(file, line, 1, "#[a] ") for line in (3, 5, 7))
    output = """\
error: implementation has missing stability attribute
   --> /l/core/src/x/../a.rs:9:5
    |
error: implementation has missing const stability attribute
  --> /l/core/src/a.rs:5:1
error[E0449]: no
  --> /l/core/src/a.rs:7:1
   ::: /l/core/src/a.rs:11:2
"""
    found = mended([kept, wrong, wanted, Private(file, 11, 4)], [wanted], output)
    assert [(item.line, item.col) for item in found] == [(3, 1), (5, 1), (7, 1), (9, 5)]
    assert "rustc_const_unstable" in "".join(item.attribute for item in found if item.line == 5)
    assert mended(found, [], "error: something else") == found
    again = mended(found, [wanted], "error: function has missing stability attribute\n   --> /l/core/src/a.rs:7:1\n")
    assert [item.line for item in again] == [3, 5, 7, 9]
    marked = next(item for item in again if item.line == 7)
    assert marked.attribute.startswith("#[a] #[unstable(")
