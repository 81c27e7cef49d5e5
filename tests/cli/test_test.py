"""`test`: a crate's own tests, found, chosen, run, reported."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from mirgen.errors import Diagnostic, ToolError
from mirgen.testing.suite.launching import DeviceProcess
from mirgen.testing.suite.marks import CrateTest
from mirgen.testing.suite.verdict import Ended, Panic, judge
from tests.cli.support import PRELUDE, Done, Mirgen, make_crate

pytestmark = pytest.mark.slow

SOURCE = (
    PRELUDE
    + """
#[kernel]
pub fn saxpy(a: f32, x: &[f32], mut y: Disjoint<[f32]>) {
    let i = thread::index_1d();
    if let Some(y) = y.get_mut(i) {
        *y += a * x[i.get()];
    }
}

pub fn half(x: u32) -> u32 {
    assert!(x % 2 == 0, "{x} is odd");
    x / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary() {
        assert_eq!(half(2), 1);
    }

    #[mirgen::test]
    fn halves() {
        assert_eq!(half(8), 4);
    }

    #[mirgen::test]
    #[should_panic(expected = "is odd")]
    fn odd() {
        half(7);
    }

    #[mirgen::test]
    #[should_panic]
    fn calm() {}

    #[mirgen::test]
    #[should_panic(expected = "is \\"even\\" \\u{f6}")]
    fn other_words() {
        half(9);
    }

    #[mirgen::test]
    fn wrong() {
        assert_eq!(half(8), 5, "told you");
    }

    #[mirgen::test]
    #[ignore = "takes long"]
    fn r#yield() {}

    #[mirgen::test(grid = 2, block = (2, 2))]
    fn each_thread() {
        assert_eq!((block::size_x(), block::size_y(), grid::size_x()), (2, 2, 2));
    }

    #[mirgen::test(grid = 2, block = 4)]
    fn a_kernel() {
        let mut y = [10.0; 8];
        saxpy(2.0, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], Disjoint::new(&mut y));
        let i = thread::index_1d().get();
        assert_eq!(y[i], 12.0 + 2.0 * i as f32);
    }

    #[mirgen::test(block = 64)]
    fn bounds() {
        let array = [1; 60];
        assert_eq!(array[thread::index_1d().get()], 1);
    }

    #[mirgen::test(block = 1)]
    fn forever() {
        while core::hint::black_box(1) != 0 {}
    }

    #[mirgen::test(block = 2)]
    fn wild() {
        let nowhere = core::hint::black_box(8) as *mut u32;
        unsafe { nowhere.write(1) };
    }
}

#[cfg(test)]
mod more {
    use super::*;

    #[mirgen::test(block = 1)]
    fn elsewhere() {
        extern "C" {
            fn of_c(x: u32) -> u32;
        }
        unsafe { of_c(1) };
    }

    #[mirgen::test]
    fn halves() {
        assert_eq!(half(6), 3);
    }
}
"""
)
BAD = ("calm", "other_words", "wrong", "bounds", "forever", "wild", "elsewhere")
SKIP = tuple(part for name in BAD for part in ("--skip", name))


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_crate(tmp_path_factory.mktemp("suite") / "suite", SOURCE, name="suite")


@pytest.fixture(scope="module")
def whole(mirgen: Mirgen, suite: Path) -> Done:
    """Every test, on the simulator."""
    return mirgen.build("--timeout", "2", "--junit", "out/junit.xml", cwd=suite, verb="test")


def lines(text: str) -> list[str]:
    """Status lines without times."""
    return [re.sub(r"\[ *[\d.]+s\] ", "", line.strip()) for line in text.splitlines()]


def test_all_run_whatever_some_do(whole: Done) -> None:
    assert (whole.code, whole.out) == (100, ""), whole.err
    said = lines(whole.err)
    assert "Starting 12 tests of suite on sim" in said
    for status, name in (
        ("PASS", "tests::halves"), ("PASS", "tests::odd"), ("FAIL", "tests::calm"), ("FAIL", "tests::other_words"),
        ("FAIL", "tests::wrong"), ("PASS", "tests::each_thread"), ("PASS", "tests::a_kernel"),
        ("FAIL", "tests::bounds"), ("TIMEOUT", "tests::forever"), ("FAIL", "tests::wild"), ("FAIL", "more::elsewhere"),
        ("PASS", "more::halves"),
    ):  # fmt: skip
        assert f"{status} suite::{name}" in said, name
    assert "SKIP             suite::tests::yield: ignored: takes long" in said
    assert "Summary 12 tests run: 5 passed, 7 failed (1 timed out), 1 skipped" in said
    assert said[-2:] == ["error: test run failed", "Wrote out/junit.xml"]
    assert "ordinary" not in whole.err, "Rust's own tests are cargo test's"


def test_a_failure_shows_what_and_where(whole: Done) -> None:
    line = next(number for number, text in enumerate(SOURCE.splitlines(), 1) if "told you" in text)
    assert (
        "error: assertion `left == right` failed: told you\n"
        "  left: 4\n"
        " right: 5\n"
        f"  --> src/lib.rs:{line}:9\n"
        "   |\n"
        f'{line} |         assert_eq!(half(8), 5, "told you");\n'
        "   |         ^\n"
        "   |\n"
        "   = note: in test `tests::wrong`, block (0, 0, 0), thread (0, 0, 0)\n"
    ) in whole.err
    assert "index out of bounds: the len is 60 but the index is 60\n" in whole.err
    assert "in test `tests::bounds`, block (0, 0, 0), thread (60, 0, 0)" in whole.err
    assert "error: test did not panic as expected\n = note: in test `tests::calm`\n" in whole.err
    assert "      panic message: `9 is odd`\n" in whole.err
    assert ' expected substring: `is "even" ö`\n' in whole.err
    assert "error[MG0201]: test `more::elsewhere` calls " in whole.err
    assert "test$" not in whole.err and "Traceback" not in whole.err


def test_junit(whole: Done, suite: Path) -> None:
    assert whole.code == 100
    root = ET.parse(suite / "out" / "junit.xml").getroot()
    (sim,) = root.findall("testsuite")
    assert (root.tag, sim.get("name"), sim.get("tests"), sim.get("failures"), sim.get("skipped")) == (
        "testsuites", "suite::sim", "13", "7", "1",
    )  # fmt: skip
    cases = {case.get("name"): case for case in sim.findall("testcase")}
    assert len(cases) == 13
    failure = cases["tests::wrong"].find("failure")
    assert failure is not None and failure.text is not None
    assert (failure.get("message") or "").startswith("assertion `left == right` failed: told you")
    assert "--> src/lib.rs:" in failure.text
    late = cases["tests::forever"].find("failure")
    assert late is not None and late.get("type") == "test timeout"
    skipped = cases["tests::yield"].find("skipped")
    assert skipped is not None and skipped.get("message") == "ignored: takes long"
    assert not list(cases["tests::halves"])


def test_a_list(mirgen: Mirgen, suite: Path) -> None:
    done = mirgen.build("halves", "odd", "--list", "-q", cwd=suite, verb="test")
    assert (done.code, done.err) == (0, "")
    assert done.out == "suite::more::halves: test\nsuite::tests::halves: test\nsuite::tests::odd: test\n"


def test_no_test_is_an_error_of_its_own(mirgen: Mirgen, suite: Path) -> None:
    done = mirgen.build("nothing_of_this_name", "-q", cwd=suite, verb="test")
    assert (done.code, done.err) == (4, "error: no tests to run: crate `suite` has 13 others\n")


def test_lanes(mirgen: Mirgen, suite: Path) -> None:
    """Natively as on the simulator; what a lane cannot run is skipped, never passed."""
    done = mirgen.build("tests::", *SKIP, "--include-ignored", "--lanes", "sim,native", cwd=suite, verb="test")
    assert done.code == 0, done.err
    said = lines(done.err)
    assert "Starting 5 tests of suite on native and sim" in said
    assert "PASS suite::tests::odd on native" in said and "PASS suite::tests::yield on sim" in said
    assert "SKIP             suite::tests::a_kernel on native: needs a grid" in said
    assert said[-1] == "Summary 8 tests run: 8 passed, 0 failed, 2 skipped, 8 filtered out"


@pytest.mark.cuda
def test_what_is_only_assembled_has_not_passed(mirgen: Mirgen, suite: Path) -> None:
    args = ("tests::odd", "tests::a_kernel", "--lanes", "ptx", "--arch", "sm_80,sm_100")
    done = mirgen.build(*args, cwd=suite, verb="test")
    assert done.code == 0, done.err
    said = lines(done.err)
    assert "ASSEMBLED             suite::tests::odd: llvm sm_80, llvm sm_100, nvvm sm_80, nvvm sm_100" in said
    assert said[-1] == "Summary 0 tests run: 0 passed, 0 failed, 2 assembled, 0 skipped, 11 filtered out"


def test_on_a_device_each_that_fails_takes_its_process_with_it(mirgen: Mirgen, suite: Path) -> None:
    """What a GPU stopped is of no use any more; the simulator stands for one here."""
    names = ("tests::wrong", "tests::halves", "tests::wild")
    assert mirgen.build(*names, "--exact", "--no-run", "-q", cwd=suite, verb="test").code == 0
    manifest = mirgen.target / "mirgen" / "debug" / "suite-tests" / "manifest.json"
    process = DeviceProcess(manifest, "sim", 60.0)
    try:
        ended = [process.launch(a_test(name)) for name in ("halves", "wrong", "halves", "wild", "nowhere", "halves")]
    finally:
        process.stop()
    assert [end == Ended(end.seconds) for end in ended] == [True, False, True, False, False, True]
    assert ended[1].panic is not None and (ended[1].panic.message or "").endswith("told you\n  left: 4\n right: 5")
    assert ended[3].trouble and "no kernel" in str(ended[4].error)


def a_test(name: str) -> CrateTest:
    return CrateTest("suite", f"test$tests${name}", f"tests::{name}", False, (1, 1, 1), (1, 1, 1), None, None)


def ended_in(message: str | None, location: str = "src/lib.rs:1:1") -> Ended:
    return Ended(0.1, Panic(message, location, Diagnostic("", message or "a trap")))


@pytest.mark.parametrize(
    ("should_panic", "ended", "native", "status", "why"),
    [
        (None, Ended(0.1), None, "pass", ""),
        (None, ended_in("x"), None, "fail", "x"),
        ("", ended_in("x"), None, "pass", ""),
        ("", ended_in(None), None, "pass", ""),
        ("x", ended_in(None), None, "fail", "the panic's message is not known in this lane"),
        ("y", ended_in("x"), None, "fail", "panic did not contain expected string"),
        ("", Ended(0.1), None, "fail", "test did not panic as expected"),
        ("", ended_in("x"), ended_in("x"), "pass", ""),
        ("", ended_in("x"), ended_in("y"), "fail", "this is not what the native build does"),
        ("", ended_in("x", "a.rs:1:1"), ended_in("x", "a.rs:1:2"), "fail", "this is not what the native build does"),
        ("", ended_in("is <value of type P>"), ended_in("is P(1)"), "pass", ""),
        (None, Ended(0.1), ended_in("x"), "fail", "this is not what the native build does"),
        (None, Ended(0.1), Ended(0.2), "pass", ""),
        (None, Ended(0.1, trouble=(Diagnostic("", "late"),), timed_out=True), None, "timeout", "late"),
        (None, Ended(0.1, error=ToolError("ptxas", "no")), None, "fail", "ptxas: no"),
        ("", Ended(0.1, assembled="llvm sm_90"), ended_in("x"), "assembled", "llvm sm_90"),
    ],
)  # fmt: skip
def test_verdicts(should_panic: str | None, ended: Ended, native: Ended | None, status: str, why: str) -> None:
    run = judge(replace(a_test("a"), should_panic=should_panic), "sim", ended, native)
    assert (run.status, run.why) == (status, why)


def test_messages_as_json(mirgen: Mirgen, suite: Path) -> None:
    done = mirgen.build("wrong", "--message-format", "json", "--fail-fast", "-q", cwd=suite, verb="test")
    assert done.code == 100
    ours = [json.loads(line) for line in done.out.splitlines() if line.startswith('{"$message_type"')]
    assert [message["message"].splitlines()[0] for message in ours] == ["assertion `left == right` failed: told you"]


def test_what_is_wrong_with_a_test_is_rustcs_error(mirgen: Mirgen, tmp_path: Path) -> None:
    source = PRELUDE + "#[cfg(test)]\nmod tests {\n    use super::*;\n    #[mirgen::test]\n    fn a(x: u32) {}\n}\n"
    crate = make_crate(tmp_path / "crate", source, name="suite")
    done = mirgen.build(cwd=crate, verb="test")
    assert done.code == 101
    assert "error: a test takes no argument, except `Shared<[T; N]>`\n" in done.err
    assert " --> src/lib.rs:7:10\n" in done.err
