"""From a statement to the user's own source."""

from __future__ import annotations

from dataclasses import replace

from mirgen.diagnostics import frames, is_users_own, short_file, user_location
from mirgen.mir import body as m
from mirgen.mir.builder import BodyBuilder, TypeMaker
from mirgen.mir.origin import inline_notes
from mirgen.mir.statement import SourceInfo, Span

CORE = "/rustc/e50aa6fba4e63ab34c72bf9acfd2c307c1155d1a/library/core/src/slice/index.rs"
REGISTRY = "/home/u/.cargo/registry/src/index.crates.io-6f17d22bba15001f/sha2-0.10.8/src/lib.rs"


def _span(file: str, line: int) -> Span:
    return Span(file, line, 9, line, 20)


def _body() -> m.Body:
    b = BodyBuilder("k", ret=TypeMaker().unit)
    b.return_()
    scopes = (
        m.Scope(None, None, False, None),
        m.Scope(0, None, False, None),
        m.Scope(1, "helper", False, _span("src/lib.rs", 10)),
        m.Scope(2, "<[u32] as core::ops::Index<usize>>::index::<'{erased}>", True, _span("src/lib.rs", 20)),
        m.Scope(3, None, False, None),
    )
    return replace(b.build(), scopes=scopes)


def test_chain_goes_outward_through_call_sites() -> None:
    chain = frames(_body(), SourceInfo(_span(CORE, 30), 4))
    assert [(f.span.line if f.span else 0, f.function[:6]) for f in chain] == [
        (30, "<[u32]"),
        (20, "helper"),
        (10, "k"),
    ]


def test_points_at_the_innermost_place_of_the_users_own() -> None:
    at = user_location(_body(), SourceInfo(_span(CORE, 30), 4))
    assert at is not None and (at.file, at.line) == ("src/lib.rs", 20)
    assert inline_notes(_body(), SourceInfo(_span(CORE, 30), 4)) == (
        "inlined from `<[u32] as core::ops::Index<usize>>::index` at core/src/slice/index.rs:30:9",
    )


def test_own_code_has_no_notes() -> None:
    at = user_location(_body(), SourceInfo(_span("src/lib.rs", 33), 1))
    assert at is not None and at.line == 33
    assert inline_notes(_body(), SourceInfo(_span("src/lib.rs", 33), 1)) == ()


def test_dependency_without_a_place_of_the_users_own_points_outermost() -> None:
    body = replace(_body(), scopes=(m.Scope(None, None, False, None), m.Scope(0, "f", False, _span(REGISTRY, 5))))
    at = user_location(body, SourceInfo(_span(CORE, 30), 1))
    assert at is not None and (at.file, at.line) == (REGISTRY, 5)


def test_without_spans() -> None:
    body = _body()
    assert user_location(body, SourceInfo(None, None)) is None
    at = user_location(replace(body, span=_span("a.rs", 2)), SourceInfo(None, 99))
    assert at is not None and at.line == 2


def test_whose_source() -> None:
    assert is_users_own("src/lib.rs") and is_users_own("/home/u/project/library/src/lib.rs")
    assert not is_users_own(CORE) and not is_users_own("/usr/src/rustc-1.96.0/library/alloc/src/vec/mod.rs")
    assert not is_users_own("/home/u/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/lib.rs")
    assert not is_users_own("library/core/src/option.rs")
    assert not is_users_own(REGISTRY) and not is_users_own("/home/u/.cargo/git/checkouts/x/src/lib.rs")
    assert not is_users_own("/venv/lib/python3.11/site-packages/mirgen/_crates/device/src/disjoint.rs")
    assert short_file(CORE) == "core/src/slice/index.rs"
    assert short_file(REGISTRY) == "sha2-0.10.8/src/lib.rs"
    assert short_file("src/lib.rs") == "src/lib.rs"
