"""Which tests run: the filters of ``cargo test``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from mirgen.testing.suite.marks import CrateTest

Ignored = Literal["skip", "only", "include"]


@dataclass(frozen=True, slots=True)
class Filters:
    """``names``: a test runs if one of them is part of its path with the crate (``exact``: is its path, with the crate
    or without); all where there are none.  ``skip`` are parts of those that do not run.  ``ignored`` says what happens
    to tests with ``#[ignore]``.
    """

    names: Sequence[str] = ()
    skip: Sequence[str] = ()
    exact: bool = False
    ignored: Ignored = "skip"


@dataclass(frozen=True, slots=True)
class Selection:
    """``ignored`` are those that would run but for their attribute; ``filtered_out`` is how many others there are."""

    chosen: tuple[CrateTest, ...]
    ignored: tuple[CrateTest, ...]
    filtered_out: int


def select(tests: Sequence[CrateTest], filters: Filters) -> Selection:
    """Divides ``tests`` into those that run and others."""
    named = [test for test in tests if _is_named(test, filters)]
    if filters.ignored == "only":
        chosen, ignored = [test for test in named if test.ignored is not None], []
    elif filters.ignored == "include":
        chosen, ignored = named, []
    else:
        chosen = [test for test in named if test.ignored is None]
        ignored = [test for test in named if test.ignored is not None]
    return Selection(tuple(chosen), tuple(ignored), len(tests) - len(chosen) - len(ignored))


def _is_named(test: CrateTest, filters: Filters) -> bool:
    if _fits(test, filters.skip, filters.exact):
        return False
    return not filters.names or _fits(test, filters.names, filters.exact)


def _fits(test: CrateTest, words: Iterable[str], exact: bool) -> bool:
    return any(word in (test.name, test.path) if exact else word in test.name for word in words)
