"""rustc's own programs: how they are found and run; a few of that kind, on the compiler with its library's sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.cargo.toolchain import find_shim, probe
from mirgen.testing.corpora.program import DoesNotCompileError, Outcome, Program, Source, entry
from mirgen.testing.corpora.runner import Result, classes, reason_class, sample, scores
from mirgen.testing.corpora.sources import Sources
from mirgen.testing.corpora.ui import UiTest, ui_tests
from mirgen.testing.lanes import Rustc, find_rustcs

FINISH = "::std::_finish(main())"


def with_sources() -> Rustc:
    found = [rustc for rustc in find_rustcs() if rustc.has_library_sources]
    if not found:
        pytest.skip("no compiler here has its library's sources: run tools/debian-rustc .toolchains/rust-1.96")
    return found[0]


def corpus(folder: Path, **files: str) -> Sources:
    ui = Sources(folder).ui
    ui.mkdir(parents=True)
    for name, text in files.items():
        (ui / f"{name}.rs").write_text(text)
    return Sources(folder)


def test_programs_are_found_by_their_headers(tmp_path: Path) -> None:
    sources = corpus(
        tmp_path,
        plain="//@ run-pass\nfn main() {}\n",
        threads="//@ run-pass\n//@ needs-threads\nfn main() {}\n",
        fails="//@ run-fail\nfn main() {}\n",
        late="fn main() {} // run-pass\n",
    )
    found = {test.name: test.outside for test in ui_tests(sources)}
    assert found == {"plain.rs": "", "threads.rs": "has threads"}


@pytest.mark.parametrize(
    ("header", "edition", "flags"),
    [
        ("", "2015", ("-Cdebug-assertions=on",)),
        ("//@ edition:2021\n", "2021", ("-Cdebug-assertions=on",)),
        ("//@ edition: 2018\n//@ compile-flags: -O --cfg x\n", "2018", ("-O", "--cfg", "x")),
        ("//@ compile-flags:-Coverflow-checks=off\n", "2015", ("-Coverflow-checks=off",)),
    ],
)
def test_headers_say_how_a_program_is_compiled(tmp_path: Path, header: str, edition: str, flags: list[str]) -> None:
    path = tmp_path / "a.rs"
    path.write_text(f"//@ run-pass\n{header}fn main() {{}}\n")
    source = UiTest(path, "a.rs").source()
    assert (source.edition, source.flags) == (edition, flags)
    assert source.kernels == entry("main", FINISH)


def test_a_sample_is_the_same_for_a_seed() -> None:
    items = list(range(1000))
    assert sample(items, 20, 7) == sample(items, 20, 7) == sorted(sample(items, 20, 7))
    assert sample(items, 20, 7) != sample(items, 20, 8)
    assert sample(items, None, 7) == sample(items, 5000, 7) == items


def test_scores_and_classes_count_entries() -> None:
    refused = [Outcome(name, "refused", (f"MG0201: kernel `{name}` calls `f{name}`",)) for name in ("a", "b")]
    results = [Result("x", (*refused, Outcome("c", "pass"))), Result("y", (), "error: no")]
    assert scores(results) == {"pass": 1, "refused": 2, "wrong": 0, "crash": 0, "of": 3}
    assert classes(results) == {"refused: MG0201: kernel .. calls ..": 2}
    assert reason_class("layout of `T` has 12 bytes\nmore") == "layout of .. has .. bytes"


PROGRAMS = {
    "text": ("pass", 'fn main() { let v = vec![1u8, 2]; assert_eq!(format!("{v:?} {:#x}", 255), "[1, 2] 0xff"); }'),
    "local": (
        "pass",
        "fn main() { struct S(Box<u8>); impl Drop for S { fn drop(&mut self) { unsafe { N += *self.0 } } }\n"
        "static mut N: u8 = 0; drop(vec![S(Box::new(3)), S(Box::new(4))]); unsafe { assert!(N == 7) } }",
    ),
    "exits": ("refused", "fn main() { std::process::exit(0) }"),
    "panics": ("wrong", "fn main() { let x = std::hint::black_box(3); assert_eq!(x, 4); }"),
    "fails": ("wrong", 'fn main() -> Result<(), String> { Err(String::from("no")) }'),
    "assembly": ("refused", 'fn main() { unsafe { std::arch::asm!("nop") } }'),
}


def test_programs_pass_fail_and_are_refused(tmp_path: Path) -> None:
    rustc = with_sources()
    found: dict[str, str] = {}
    for name, (_, text) in PROGRAMS.items():
        source = Source(name, f"#![allow(static_mut_refs)]\n{text}\n", entry("main", FINISH))
        program = Program(source, probe(rustc.path), find_shim(), tmp_path / name)
        outcomes = program.outcome()
        assert len(outcomes) == 1
        found[name] = outcomes[0].status
        assert program.native_agrees() is (name not in ("panics", "fails"))
    assert found == {name: status for name, (status, _) in PROGRAMS.items()}


def test_what_rustc_refuses_is_no_program(tmp_path: Path) -> None:
    rustc = with_sources()
    source = Source("no", "fn main() { std::thread::spawn(|| ()); }", entry("main", FINISH))
    with pytest.raises(DoesNotCompileError, match="thread"):
        Program(source, probe(rustc.path), find_shim(), tmp_path / "no").outcome()
