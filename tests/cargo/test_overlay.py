"""What of a library's private items may be made public."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.cargo.overlay import Private, make_overlay, module_file, private_items_of, shares_its_name
from mirgen.errors import InternalError

LIB = """mod plain;
pub(crate) mod from_fn;
pub mod open;
mod inline {
    fn inner() {}
}
trait Hidden {}
pub(in crate::a) struct Near;
const fn folded() {}
fn free() {}
    fn indented() {}
pub use self::from_fn::FromFn;
mod alone;
"""


def write(folder: Path) -> Path:
    (folder / "plain").mkdir()
    (folder / "lib.rs").write_text(LIB)
    (folder / "plain/mod.rs").write_text("pub struct S;\npub fn plainly() {}\n")
    (folder / "from_fn.rs").write_text("pub struct FromFn;\npub const fn from_fn() {}\n")
    (folder / "open.rs").write_text("mod under;\n")
    (folder / "alone.rs").write_text("pub fn alone() {}\n")
    (folder / "open").mkdir()
    (folder / "open/under.rs").write_text("")
    return folder / "lib.rs"


def test_private_items_of_a_file(tmp_path: Path) -> None:
    """Not those inside others, and no constant functions."""
    lib = write(tmp_path)
    assert {item.line for item in private_items_of(lib)} == {1, 2, 4, 7, 8, 10, 13}


def test_files_of_modules(tmp_path: Path) -> None:
    lib = write(tmp_path)
    assert module_file(Private(lib, 1, 1)) == tmp_path / "plain/mod.rs"
    assert module_file(Private(lib, 3, 1)) == tmp_path / "open.rs"
    assert module_file(Private(tmp_path / "open.rs", 1, 1)) == tmp_path / "open/under.rs"
    assert module_file(Private(lib, 4, 1)) is None, "an inline module has no file"
    assert module_file(Private(lib, 7, 1)) is None


def test_a_module_that_would_be_imported_with_its_function_stays_private(tmp_path: Path) -> None:
    lib = write(tmp_path)
    assert shares_its_name(Private(lib, 2, 1))
    assert not shares_its_name(Private(lib, 1, 1))
    assert not shares_its_name(Private(lib, 7, 1))
    assert not shares_its_name(Private(lib, 13, 1)), "nobody imports it from around its module"


def test_only_the_copy_is_written(tmp_path: Path) -> None:
    """Whatever way a path goes: what stands beside it in the copy are links to the original."""
    (tmp_path / "library/core").mkdir(parents=True)
    (tmp_path / "library/simd").mkdir()
    lib, simd = tmp_path / "library/core/lib.rs", tmp_path / "library/simd/mod.rs"
    lib.write_text("mod a;\n")
    simd.write_text("mod b;\n")
    around = tmp_path / "library/core/../simd/mod.rs"
    overlay = make_overlay(lib, tmp_path / "library", (), tmp_path / "copies", [Private(around, 1, 1)], "pub")
    assert (overlay.copy / "simd/mod.rs").read_text() == "pub mod b;\n"
    assert (lib.read_text(), simd.read_text()) == ("mod a;\n", "mod b;\n")
    with pytest.raises(InternalError, match="in a copy"):
        make_overlay(lib, tmp_path / "library", (), tmp_path / "copies", texts={around: "changed"})
    assert simd.read_text() == "mod b;\n"
