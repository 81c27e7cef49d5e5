"""What `std` exports, in the words of the crates behind it."""

from __future__ import annotations

import pytest

from mirgen.cargo.std_paths import behind_std


@pytest.mark.parametrize(
    ("text", "crate", "spelled"),
    [
        ("std::result::Result<(), std::fmt::Error>", "alloc", "core::result::Result<(), core::fmt::Error>"),
        ("&mut std::string::String", "alloc", "&mut string::String"),
        ("std::vec::Vec<std::borrow::Cow<str>>", "alloc", "vec::Vec<borrow::Cow<str>>"),
        ("std::sync::Arc<std::sync::atomic::AtomicU8>", "alloc", "sync::Arc<core::sync::atomic::AtomicU8>"),
        ("std::option::Option<u8>", "core", "option::Option<u8>"),
        ("a::std::X", "core", "a::std::X"),
        ("std::option::Option<u8>", "mine", "std::option::Option<u8>"),
    ],
)
def test_paths_of_std(text: str, crate: str, spelled: str) -> None:
    assert behind_std(text, crate) == spelled
