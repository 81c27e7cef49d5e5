"""rustc's ``tests/ui``: every program that is to be run and pass, ``main`` as the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mirgen.testing.corpora.program import Source, entry
from mirgen.testing.corpora.sources import Sources

_HEADER: Final = re.compile(r"^//@ *(.*?) *$", re.MULTILINE)
_KEY: Final = re.compile(r"(?:\[[^\]]*\] *)?[^\s:]+")
#: A library of C that the test suite builds for its programs.
_LINKED: Final = re.compile(r"^#\[link\(name", re.MULTILINE)
_RUN_PASS: Final = re.compile(r"^//@ *run-pass\b", re.MULTILINE)

#: What a program of one file, compiled once and run in one thread without unwinding, cannot have.
_OUTSIDE: Final = {
    "aux-build": "needs auxiliary crates",
    "aux-crate": "needs auxiliary crates",
    "aux-bin": "needs auxiliary crates",
    "aux-codegen-backend": "needs auxiliary crates",
    "proc-macro": "needs auxiliary crates",
    "revisions": "has revisions",
    "known-bug": "shows a bug of rustc or LLVM",
    "needs-unwind": "unwinds",
    "needs-threads": "has threads",
    "ignore-x86_64": "is for other platforms",
    "ignore-linux": "is for other platforms",
    "only-windows": "is for other platforms",
    "only-apple": "is for other platforms",
    "only-aarch64": "is for other platforms",
    "only-arm": "is for other platforms",
    "only-wasm32": "is for other platforms",
    "only-32bit": "is for other platforms",
}

#: Flags with which the program says how overflow is to be treated; without them tests have their checks on.
_OWN_PROFILE: Final = ("-O", "opt-level", "debug-assertions", "overflow-checks", "debug_assertions", "overflow_checks")


@dataclass(frozen=True, slots=True)
class UiTest:
    """One file; ``outside`` says why it is none of the corpus, where it is not."""

    path: Path
    name: str
    outside: str = ""

    def source(self) -> Source:
        """The program with its entry."""
        text = self.path.read_text(encoding="utf-8", errors="replace")
        found = directives(text)
        edition = next((value for key, value in found if key == "edition"), "2015")
        flags = [flag for key, value in found if key == "compile-flags" for flag in value.split()]
        flags += [f"--cfg={value}" for key, value in found if key == "cfg"]
        if not any(own in flag for flag in flags for own in _OWN_PROFILE):
            flags.append("-Cdebug-assertions=on")
        return Source(self.name, text, entry("main", "::std::_finish(main())"), edition, tuple(flags))


def ui_tests(sources: Sources) -> Iterator[UiTest]:
    """All programs of the corpus, in the order of their paths."""
    for path in sorted(sources.ui.rglob("*.rs")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if _RUN_PASS.search(text) is not None:
            reasons = (_OUTSIDE.get(key, "") for key, _ in directives(text))
            other = (
                "links a library of C" if _LINKED.search(text) else "",
                "wants unsafe preconditions checked" if "-Zub-checks" in text else "",  # which mirgen leaves out
            )
            yield UiTest(path, str(path.relative_to(sources.ui)), next(filter(None, (*reasons, *other)), ""))


def directives(text: str) -> Sequence[tuple[str, str]]:
    """The header's keys and values."""
    pairs: list[tuple[str, str]] = []
    for line in _HEADER.findall(text):
        key, _, value = line.partition(":")
        # A revision may stand before the key, and a reason behind it: `needs-unwind the size is another one`.
        name = _KEY.match(key)
        pairs.append((name[0] if name else "", value.strip()))
    return pairs
