"""Structs inside functions of a library get a path, and everything else stays where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.cargo.hoist import PREFIX, hoisted, moved_lines
from mirgen.cargo.overlay import Private, private_item

SOURCE = """\
impl<T, A: Allocator> Drop for IntoIter<T, A> {
    fn drop(&mut self) {
        struct DropGuard<'a, T, A: Allocator>(&'a mut IntoIter<T, A>);

        impl<T, A: Allocator> Drop for DropGuard<'_, T, A> {
            fn drop(&mut self) {}
        }
        /// Of several lines.
        struct Guard<T> {
            mem: [T; { 1 }],
            len: usize,
        }
        let guard = DropGuard(self);
    }
}
"""
OTHER = """\
mod inner {
    fn f() {
        struct InAModule(u8);
    }
}
fn g() {
        #[repr(C)]
        struct Marked(u8);
}
macro_rules! m {
    () => {
        struct OfAMacro;
    };
}
struct Free(u8);
"""


def test_a_struct_moves_to_the_end_under_a_name_of_its_own() -> None:
    before, after = SOURCE.splitlines(), hoisted(SOURCE).splitlines()
    changed = [i for i, line in enumerate(before) if after[i] != line]
    assert changed == [2, 8, 9, 10, 11]
    assert after[2].strip() == f"use self::{PREFIX}DropGuard0 as DropGuard;"
    assert after[8].strip() == f"use self::{PREFIX}Guard1 as Guard;" and after[9:12] == ["", "", ""]
    moved = "\n".join(after[len(before) :])
    assert f"struct {PREFIX}DropGuard0<'a, T, A: Allocator>(&'a mut IntoIter<T, A>);" in moved
    assert f"struct {PREFIX}Guard1<T> {{\n            mem: [T; {{ 1 }}],\n            len: usize,\n        }}" in moved


def test_what_is_elsewhere_or_has_attributes_stays() -> None:
    assert hoisted(OTHER) == OTHER


def test_moved_structs_are_items_that_can_be_made_public(tmp_path: Path) -> None:
    file = tmp_path / "into_iter.rs"
    file.write_text(SOURCE)
    lines = moved_lines(file)
    assert len(lines) == 2 and all(at > len(SOURCE.splitlines()) for at in lines)
    assert [private_item(file, at, 1) for at in lines] == [Private(file, at, 1) for at in lines]
    assert private_item(file, max(lines) + 20, 1) is None


@pytest.mark.parametrize("text", ["", "fn f() {}\n", "        struct Unended<"])
def test_any_text_is_taken(text: str) -> None:
    assert hoisted(text) == text
