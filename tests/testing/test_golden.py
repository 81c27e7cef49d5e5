"""Golden programs (`tests/ui`) can fail, and say how; their headers are read strictly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mirgen.errors import InvalidInputError
from mirgen.testing.golden.bench import Source
from mirgen.testing.golden.check import check, first_difference
from mirgen.testing.golden.header import Header, Kind, PtxCheck, read_header
from mirgen.testing.plugin import bench_of

UI = Path(__file__).parents[1] / "ui"


def header(folder: Path, text: str, kind: Kind = "pass") -> Header:
    path = folder / "program.rs"
    path.write_text(text)
    return read_header(path, kind)


def test_a_header(tmp_path: Path) -> None:
    text = "//@ run\n//@ ll: area, next\n//@ ptx: bar.sync 0 count=2\n//@ ptx: atom.\n//@ arch: sm_80, sm_100\n"
    assert header(tmp_path, text + "//@ lanes: cpu-o3\n//@ edition: 2024\nfn main() {}\n") == Header(
        "pass", True, ("area", "next"), (PtxCheck("bar.sync 0", 2), PtxCheck("atom.", None)), ("sm_80", "sm_100"),
        ("cpu-o3",), edition="2024",
    )  # fmt: skip
    assert header(tmp_path, "//@ error: MG0201 MG0104\n", "refuse").errors == ("MG0104", "MG0201")
    assert header(tmp_path, "//@ panic: a\\nb: c\n", "panic").panic == "a\nb: c"


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("pass", "\n//@ rum\n", "program.rs:2: unknown directive `rum`; did you mean `run`?"),
        ("pass", "//@\n", "program.rs:1: unknown directive ``; there are run, ll"),
        ("pass", "//@ error: MG0201\n", "program.rs:1: `error` is not for programs in pass/"),
        ("pass", "fn main() {}\n", "program.rs:1: nothing is checked"),
        ("pass", "//@ run: yes\n", "program.rs:1: the form is `//@ run`"),
        ("pass", "//@ ll\n", "program.rs:1: the form is `//@ ll: ..`"),
        ("pass", "//@ run\n//@ run\n", "program.rs:2: `run` is given twice"),
        ("pass", "//@ run\n//@ lanes: cpu-o7\n", "program.rs:2: no lane `cpu-o7`; there are cpu-o0, cpu-o3"),
        ("pass", "//@ run\n//@ edition: 2018\n", "program.rs:2: no edition `2018`"),
        ("pass", "//@ run\n//@ arch: sm_1\n", "sm_1"),
        ("refuse", "fn main() {}\n", "program.rs:1: a program in refuse/ needs `//@ error: ..`"),
        ("refuse", "//@ error: E0201\n", "program.rs:1: no code `E0201`"),
        ("panic", "//@ run\n", "program.rs:1: `run` is not for programs in panic/"),
    ],
)  # fmt: skip
def test_a_wrong_header_is_an_error_with_its_line(tmp_path: Path, kind: Kind, text: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        header(tmp_path, text, kind)
    assert message in str(caught.value)


def test_the_first_lines_that_differ_are_shown() -> None:
    wanted = "".join(f"line {n}\n" for n in range(100))
    shown = list(first_difference(wanted, wanted.replace("line 50\n", "other\n")))
    assert shown[2:] == ["@@ -48,7 +48,7 @@", *(f" line {n}" for n in (47, 48, 49)), "-line 50", "+other",
                         *(f" line {n}" for n in (51, 52, 53))]  # fmt: skip
    assert list(first_difference("", wanted))[-1] == ".. and 79 more lines"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name", "changes", "failure"),
    [
        ("pass", "enums", {"kind": "refuse", "errors": ("MG0201",)}, "is not refused; expected: MG0201"),
        ("pass", "enums", {"ll": ("nowhere",)}, "//@ ll: nowhere: 0 functions have this name"),
        ("pass", "packed", {"ll": ("main",)}, "//@ ll: main: 0 functions"),
        ("pass", "barrier", {"ptx": (PtxCheck("bar.sync", 3),)}, "sm_80: `bar.sync` is 2 times in the PTX, not 3"),
        ("pass", "barrier", {"ptx": (PtxCheck("wgmma", None),)}, "sm_100: `wgmma` is not in the PTX"),
        ("panic", "overflow", {"panic": "no"}, "cpu-o0: panics with `attempt to add with overflow`, not `no`"),
        ("refuse", "foreign", {"errors": ("MG0104",)}, "refused with MG0201, not MG0104"),
    ],
)  # fmt: skip
def test_a_program_that_is_not_as_expected_fails(
    request: pytest.FixtureRequest, kind: Kind, name: str, changes: dict[str, object], failure: str
) -> None:
    path = UI / kind / f"{name}.rs"
    told = replace(read_header(path, kind), **changes)  # pyright: ignore[reportArgumentType]
    found = check(bench_of(request.config), Source(path, kind, told.edition), told, bless=False)
    assert any(failure in text for text in found.failures), found.failures
    assert kind == "refuse" or "bb0: {" in found.mir


@pytest.mark.slow
def test_what_lies_beside_a_program_is_compared(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A program is known by its place: a copy elsewhere that has no expected file, a wrong one, and a blessed one."""
    (tmp_path / "pass").mkdir()
    path = tmp_path / "pass" / "packed.rs"
    path.write_bytes((UI / "pass" / "packed.rs").read_bytes())
    (tmp_path / "rustc").write_bytes((UI / "rustc").read_bytes())
    told = replace(read_header(path, "pass"), run=False)
    bench = bench_of(request.config)
    source = Source(path, "pass", told.edition)
    release = bench.tests(source)[0].toolchain.release
    if release != (UI / "rustc").read_text().strip():
        found = check(bench, source, told, bless=False)
        assert (found.failures, found.skipped) == ([], [f"the IR, which is not of rustc {release}"])
        return
    (said,) = check(bench, source, told, bless=False).failures
    assert said == "packed.ll is missing; `--bless` writes it"
    assert not check(bench, source, told, bless=True).failures
    assert (path.with_suffix(".ll")).read_bytes() == (UI / "pass" / "packed.ll").read_bytes()
    path.with_suffix(".ll").write_text("define nothing\n")
    (said,) = check(bench, source, told, bless=False).failures
    assert said.startswith("packed.ll is not what comes out now; `--bless` rewrites it:\n--- expected\n+++ found\n")
    assert "-define nothing" in said and "+  ; _0 = copy" in said
