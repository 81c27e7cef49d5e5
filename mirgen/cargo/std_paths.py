"""Paths that begin at ``std`` in the words of the crates behind it, which do not see it."""

from __future__ import annotations

import re

from mirgen.cargo.join import BEHIND_STD

_STD = re.compile(r"(?<![\w:])std::((?:\w+::)*\w+)")
#: What ``std`` has from alloc: whole modules, and items of modules that core has too.  All else is core's; where that
#: is wrong for a type, rustc does not know the path and nothing is compiled.
_MODULES = ("boxed::", "collections::", "rc::", "string::", "vec::")
_ITEMS = frozenset({
    "alloc::Global", "borrow::Cow", "borrow::ToOwned", "ffi::CString", "ffi::c_str::CString", "sync::Arc",
    "sync::Weak", "task::Wake",
})  # fmt: skip


def behind_std(text: str, crate: str) -> str:
    """A text with ``std``'s names for things, as core or alloc prints it."""
    return _STD.sub(lambda path: _spelled(path[1], crate), text) if crate in BEHIND_STD else text


def _spelled(path: str, crate: str) -> str:
    owner = "alloc" if path.startswith(_MODULES) or path in _ITEMS else "core"
    return path if owner == crate else f"{owner}::{path}"
