"""rustc's own programs: how they are found and run; a few of that kind, on the compiler with its library's sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.cargo.toolchain import find_shim, probe
from mirgen.testing.corpora.bodies import BodiesTest, bodies_tests, examine_bodies
from mirgen.testing.corpora.facade import build_facade
from mirgen.testing.corpora.library import LibraryTest, Module, Prepared, prepare, programs
from mirgen.testing.corpora.program import DoesNotCompileError, Outcome, Program, Source, entry
from mirgen.testing.corpora.runner import Result, classes, reason_class, sample, scores, scores_by
from mirgen.testing.corpora.rust_items import (
    callable_tests,
    item_to_drop,
    masked,
    plain_functions,
    without,
    without_tests,
)
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
    assert scores_by(results, lambda _, outcome: outcome.status)["pass"]["of"] == 1
    assert reason_class('MG0334: no (asm!("nop", options()) -> bb1)') == "MG0334: no .."
    assert reason_class("layout of `T` has 12 bytes\nmore") == "layout of .. has .. bytes"


LONGER = Path(__file__).parent / "programs"
PROGRAMS = {
    "vector": ("pass", "fn main() { let mut v = vec![1u8, 2]; v.push(3); assert_eq!(v.len(), 3); }"),
    "chains": (
        "pass",
        "fn main() { let k = 3; let v: Vec<u32> = (0..9u32).map(|x| x * k).filter(|x| x % 2 == 0).collect();\n"
        "let r: Result<Vec<u32>, u8> = v.iter().map(|x| if *x > 20 { Err(7) } else { Ok(*x) }).collect();\n"
        "assert!(v.len() == 5 && v[4] == 24 && r == Err(7));\n"
        'assert_eq!(("a b c".split_whitespace().count(), vec!["x", "y"].join("-")), (3, String::from("x-y"))); }',
    ),
    "local": (
        "pass",
        "fn main() { struct S(Box<u8>); impl Drop for S { fn drop(&mut self) { unsafe { N += *self.0 } } }\n"
        "static mut N: u8 = 0; drop(vec![S(Box::new(3)), S(Box::new(4))]); unsafe { assert!(N == 7) } }",
    ),
    "sorted": (
        "pass",
        "fn main() { let mut v: Vec<u32> = (0..90).map(|i| (i * 7919u32) % 101).collect();\n"
        "let mut w: Vec<(u32, u8)> = v.iter().enumerate().map(|(i, x)| (x % 7, i as u8)).collect();\n"
        "v.sort_unstable_by(|a, b| b.cmp(a)); w.sort_by_key(|x| x.0);\n"
        "assert!(v.windows(2).all(|p| p[0] >= p[1]) && w.windows(2).all(|p| p[0] < p[1]));\n"
        "let mut t: std::collections::BTreeMap<u32, u8> = w.into_iter().collect(); t.retain(|k, _| k % 2 == 0);\n"
        "assert_eq!((t.len(), t.values().map(|x| *x as u32).sum::<u32>()), (4, 344)); }",
    ),
    "closures": (  # one calls another behind a reference to a reference
        "pass",
        "fn main() { let mut i = vec![[1u8, 2], [3, 4]].into_iter().flatten(); let _ = i.next();\n"
        "let v: Vec<u8> = i.clone().collect(); assert_eq!(v, [2, 3, 4]); }",
    ),
    "projections": (
        "pass",
        "#![feature(string_remove_matches)]\n"
        'fn main() { let mut s = String::from("Hello, world!"); s.replace_range(7..12, "there");\n'
        "let mut v = vec![1u32, 2, 3, 4]; let out: Vec<u32> = v.splice(1..3, [7u32, 8, 9]).collect();\n"
        "s.remove_matches('l'); assert!(s == \"Heo, there!\" && out == [2, 3] && v == [1, 7, 8, 9, 4]); }",
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
        assert program.failing_natively(["main"]) == ({"main"} if name in ("panics", "fails") else set())
    assert found == {name: status for name, (status, _) in PROGRAMS.items()}


@pytest.mark.parametrize("path", sorted(LONGER.glob("*.rs")), ids=lambda path: path.stem)
def test_longer_programs_mean_what_they_do_natively(path: Path, tmp_path: Path) -> None:
    """Programs of a file each: what is refused or wrong in one is a kind of thing that a corpus found."""
    program = Program(UiTest(path, path.name).source(), probe(with_sources().path), find_shim(), tmp_path / path.stem)
    outcomes = program.outcome()
    assert [(each.name, each.status) for each in outcomes] == [("main", "pass")], outcomes
    assert not program.failing_natively(["main"])


def test_what_rustc_refuses_is_no_program(tmp_path: Path) -> None:
    rustc = with_sources()
    source = Source("no", "fn main() { std::thread::spawn(|| ()); }", entry("main", FINISH))
    with pytest.raises(DoesNotCompileError, match="thread"):
        Program(source, probe(rustc.path), find_shim(), tmp_path / "no").outcome()


ITEMS = """\
use std::{a::B, c::D};
macro_rules! m { ($n:ident) => { #[test] fn $n() { let s = "}"; } } }
mod inner {
    // fn not_this() {
    #[test]
    #[should_panic]
    fn first() { fn helper() { bad() } helper() }

    struct S { x: Bad }
    impl S { fn f(&self) {} }
}
"""


@pytest.mark.parametrize(
    ("at", "dropped"),
    [
        ("B, c", "B,"),
        ("bad()", "#[test]\n    #[should_panic]\n    fn first() { fn helper() { bad() } helper() }"),
        ("let s", '#[test] fn $n() { let s = "}"; }'),
        ("Bad", "struct S { x: Bad }"),
        ("&self", "fn f(&self) {}"),
    ],
)
def test_the_item_around_an_error_is_left_out(at: str, dropped: str) -> None:
    where = ITEMS.index(at)
    extent = item_to_drop(ITEMS, where, where + 1)
    assert masked(ITEMS)[extent.start : extent.end].strip() == masked(dropped).strip()
    left = without(ITEMS, extent)
    assert left.count("\n") == ITEMS.count("\n") and dropped not in left


def test_tests_are_functions_that_the_root_may_call() -> None:
    text = callable_tests(ITEMS)
    assert text.count("pub(crate) fn") == 2 and text.count("pub(crate) mod") == 1
    assert "#[test]" not in plain_functions(text) and len(plain_functions(text)) == len(text)
    made = (
        "macro_rules! m { ($(#[$a:meta])*) => { #[test]\n$( $( #[$a] )+ )?\nfn f() {} #[test] $(#[$a])* fn g() {} } }"
    )
    assert callable_tests(made).count("pub(crate) fn") == 2
    modules = "mod a;\npub(super) mod b;\npub(in crate::m) mod c { mod d {} }\npub mod e;\npub(crate) mod f;\n"
    opened = (
        "pub(crate) mod {0};\npub(crate) mod {1};\npub(crate) mod {2} {{ mod d {{}} }}\npub mod e;\npub(crate) mod f;\n"
    )
    assert callable_tests(modules) == opened.format("a", "b", "c")


def test_what_stays_of_a_file_without_its_tests() -> None:
    text = f"{ITEMS}pub fn helper() {{}}\n#[cfg(x)]\ncrate::m! {{ made }}\nother!(a, b);\nfn calls() {{ m!(c) }}\n"
    left = without_tests(text)
    assert left.count("\n") == text.count("\n") and left.count("#[test]") == 1, "inside a macro"
    gone = ("first", "made", "other", "cfg", "should_panic")
    assert all(word not in left for word in gone)
    assert all(word in left for word in ("struct S", "fn f(&self)", "pub fn helper", "m!(c)", "macro_rules"))


def test_a_program_has_the_files_of_its_own_tests_whole(tmp_path: Path) -> None:
    """A file stays whole where others name what it has only with its tests."""
    files = {
        "name/mod.rs": "mod a; mod b; mod c;\n#[test] fn own() {}\n",
        "name/a.rs": "#[test] fn t() { super::b::helper() }\n",
        "name/b.rs": "pub fn helper() {}\nmod inner { #[test] fn u() {} }\n",
        "name/c.rs": "macro_rules! make { ($n:ident) => { pub fn $n() {} } }\nmake! { made }\n"
        "pub fn calls() { made() }\n#[test] fn v() {}\n",
    }
    toolchain = probe(with_sources().path)
    facade = build_facade(toolchain, find_shim())
    prepared = prepare(Module("s", "name", "name::", "mod name;\n", files), toolchain, facade.sysroot, tmp_path)
    assert {test.path for test in prepared.tests} == {f"name::{n}" for n in ("own", "a::t", "b::inner::u", "c::v")}
    assert prepared.bare.keys() == {"name/mod.rs", "name/a.rs", "name/b.rs"}
    texts = prepared.source([LibraryTest("name::b::inner::u")]).files
    held = {path: [name for name in ("own", "t", "u", "v") if f"fn {name}(" in text] for path, text in texts.items()}
    assert held == {"name/mod.rs": [], "name/a.rs": [], "name/b.rs": ["u"], "name/c.rs": ["v"]}
    assert prepared.source(prepared.tests).files == {path: plain_functions(t) for path, t in prepared.files.items()}


def test_files_that_lie_elsewhere_than_their_modules_are_found() -> None:
    paths: list[str] = ["alloc/a/mod.rs", "alloc/a/b.rs", "alloc/a/b/tests.rs", "help/mod.rs"]
    files = dict.fromkeys(paths, "#[test] fn t() {}")
    prepared = Prepared(Module("s", "a", "a::", "", files), "", files, (), {}, dict.fromkeys(paths, ""))
    for path, wanted in {
        "a::b::tests::t": {"alloc/a/b/tests.rs"},
        "a::b::others::t": {"alloc/a/b.rs"},
        "a::t": {"alloc/a/mod.rs"},
        "c::t": set(files),
    }.items():
        assert {path for path, text in prepared.source([LibraryTest(path)]).files.items() if text} == wanted


TESTS = """\
macro_rules! made { ($($name:ident)*) => { $(#[test] fn $name() { assert_eq!(stringify!($name).len(), 3); })* } }
made! { one two three }
#[test] #[should_panic(expected = "a \\"quoted\\" word")] fn panics() { panic!("{} \\"quoted\\" word", "a") }
#[test] #[should_panic] fn does_not_panic() {}
#[test] #[should_panic(expected = "other")] fn panics_otherwise() { panic!("no such words") }
#[test] fn assembly() { unsafe { std::arch::asm!("nop") } }
#[test] fn threads() { std::thread::spawn(|| ()); }
#[test] #[ignore] fn ignored() {}
#[test] fn result() -> Result<(), ()> { Ok(()) }
"""

OUTCOMES = {
    "one": "pass", "two": "pass", "panics": "pass", "result": "pass", "assembly": "refused",
    "does_not_panic": "wrong", "panics_otherwise": "wrong", "three": "wrong",
}  # fmt: skip


def test_tests_of_a_library_are_run_where_they_compile(tmp_path: Path) -> None:
    toolchain = probe(with_sources().path)
    module = Module("suite", "name", "name::", "mod name;\n", {"name.rs": TESTS})
    facade = build_facade(toolchain, find_shim())
    prepared = prepare(module, toolchain, facade.sysroot, tmp_path / "prepare")
    assert LibraryTest("name::panics", 'a "quoted" word') in prepared.tests
    assert LibraryTest("name::one") in prepared.tests
    assert list(prepared.outside.values()) == [1] and "thread" in next(iter(prepared.outside))
    (group,) = programs(prepared.tests)
    program = Program(prepared.source(group), toolchain, find_shim(), tmp_path / "run")
    found = {outcome.name.removeprefix("name__"): outcome.status for outcome in program.outcome()}
    assert found == OUTCOMES
    wrong = [f"name__{name}" for name, status in OUTCOMES.items() if status == "wrong"]
    assert program.failing_natively(["name__one", *wrong]) == set(wrong)


def test_groups_of_tests_have_names_of_their_own(tmp_path: Path) -> None:
    tests = [LibraryTest(f"m::t{i}") for i in range(100)]
    assert [len(group) for group in programs(tests)] == [64, 36] and list(programs([])) == []


FILE = """\
//@ revisions: a b
//@ compile-flags: -C opt-level=1 --emit=llvm-ir
//@[a] compile-flags: --cfg wanted
//@[b] compile-flags: -Copt-level=3
#[cfg(wanted)] pub fn add(a: u32, b: (u8, i64)) -> Option<u32> { a.checked_add(b.0 as u32) }
pub fn generic<const N: usize>() -> [u8; N] { [3; N] }
pub fn shared(n: usize) -> std::rc::Rc<[std::mem::MaybeUninit<u64>]> { std::rc::Rc::new_uninit_slice(n) }
extern "C" { fn foreign() -> u8; }
pub fn calls() -> u8 { unsafe { foreign() } }
pub struct Tuple(pub u8);
pub fn typed<T: Copy>(x: T) { typed::<T>(x) }
"""


def test_bodies_are_read_printed_and_lowered(tmp_path: Path) -> None:
    path = tmp_path / "file.rs"
    path.write_text(FILE)
    source = BodiesTest(path, "file.rs").source()
    assert source.flags == ("-Copt-level=1", "--cfg=a", "--cfg=wanted")
    outcomes = examine_bodies(Program(source, probe(with_sources().path), find_shim(), tmp_path / "work"))
    found = {outcome.name: outcome.status for outcome in outcomes}
    assert found == {
        **{f"body {name}": "pass" for name in ("add", "generic", "shared", "calls", "Tuple", "typed")},
        "fn add": "pass", "fn shared": "pass", "fn calls": "refused",
    }  # fmt: skip


def test_files_for_other_machines_are_left_out(tmp_path: Path) -> None:
    folder = Sources(tmp_path).ui.parent / "codegen"
    folder.mkdir(parents=True)
    files = {
        "plain": "fn f() {}", "core": "#![feature(no_core)]\n#![no_core]", "arm": "//@ only-aarch64",
        "other": "//@ revisions: x y\n//@[x] compile-flags: --target=armv7",
        "second": "//@ revisions: x y\n//@[y] only-msvc",
    }  # fmt: skip
    for name, text in files.items():
        (folder / f"{name}.rs").write_text(f"{text}\n")
    found = {test.name: test.outside for test in bodies_tests(Sources(tmp_path), "codegen")}
    assert found == {
        "plain.rs": "", "core.rs": "brings its own core", "arm.rs": "is for other platforms",
        "other.rs": "is for other platforms", "second.rs": "",
    }  # fmt: skip
