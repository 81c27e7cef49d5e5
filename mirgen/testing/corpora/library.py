"""The tests of the standard library (``coretests``, ``alloctests``): each ``#[test]`` function is an entry.

A module's files are compiled with the tests as functions that the crate's root may call.  What does not compile under
the facade (threads, hash maps, unwinding, random numbers from other crates) is left out, function by function, and
counted with rustc's reason; which tests there are, macro-made ones included, rustc's own expansion tells.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from mirgen.cargo.toolchain import Toolchain
from mirgen.errors import ToolError
from mirgen.testing.corpora.program import Expected, Source, entry
from mirgen.testing.corpora.rust_items import (
    TEST_MARK,
    Extent,
    callable_tests,
    item_to_drop,
    offset,
    plain_functions,
    without,
    without_tests,
)
from mirgen.testing.corpora.sources import Sources

_EDITION: Final = "2024"
_FLAGS: Final = ("-Cdebug-assertions=on", "--cfg", "test")

#: How rustc's expansion tells a test: its path, whether it is ignored, whether it must panic and what it then says.
_DESCRIPTION: Final = re.compile(
    r'#\[rustc_test_marker\s*=\s*"(?P<path>[^"]+)"\].*?\bignore: (?P<ignore>true|false),.*?'
    r'should_panic:\s*test::ShouldPanic::(?P<panics>No|YesWithMessage\((?P<message>"(?:\\.|[^"\\])*")\)|Yes),',
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]+)\}|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_PLAIN_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}
_OUTLINE: Final = re.compile(r"^(?:pub(?:\([^)]*\))? )?mod (\w+);\n", re.MULTILINE)
_MAX_ROUNDS: Final = 60
#: As many tests share a program: each program reads core's index, and each entry its own bodies.
_TOGETHER: Final = 64


@dataclass(frozen=True, slots=True)
class Module:
    """Tests that are compiled together: those of ``suite`` whose paths begin with ``prefix``.

    ``root`` is the crate's root, ``files`` are the other texts by the paths that they are to have.
    """

    suite: str
    name: str
    prefix: str
    root: str
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LibraryTest:
    """One test; ``panics`` is the text that its panic must contain, ``None`` where it must not panic."""

    path: str
    panics: str | None = None

    @property
    def entry(self) -> str:
        return self.path.replace("::", "__")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A module as it compiles: its files, its tests, and how many tests were left out for each reason.

    ``bare`` are those of the files that compile without their tests, so: rustc makes bodies of all that a program's
    crate has, and a program has few of the tests.
    """

    module: Module
    root: str
    files: Mapping[str, str]
    tests: Sequence[LibraryTest]
    outside: Mapping[str, int] = field(default_factory=dict[str, int])
    bare: Mapping[str, str] = field(default_factory=dict[str, str])

    def name_of(self, tests: Sequence[LibraryTest]) -> str:
        """What the program of ``tests`` is called."""
        digest = hashlib.sha256(repr(tests).encode()).hexdigest()[:8]
        return f"{self.module.name}+{tests[0].entry}-{digest}"

    def source(self, tests: Sequence[LibraryTest]) -> Source:
        """The program whose entries are ``tests``."""
        wanted = {path for test in tests for path in _files_of(test, self.files)}
        files = {path: text if path in wanted else self.bare.get(path, text) for path, text in self.files.items()}
        return Source(
            self.name_of(tests),
            plain_functions(self.root),
            "".join(entry(test.entry, f"::std::_finish(crate::{test.path}())") for test in tests),
            _EDITION,
            _FLAGS,
            tuple(test.entry for test in tests),
            files={path: plain_functions(text) for path, text in files.items()},
            tests={test.entry: Expected(test.path, test.panics) for test in tests},
            native={"lib.rs": self.root, **self.files},
        )


CORETESTS: Final = (
    "num", "iter", "slice", "option", "result", "array", "char", "cell", "mem", "ptr", "str", "ops", "fmt",
)  # fmt: skip
ALLOCTESTS: Final = ("vec", "string", "str", "slice")


def modules(sources: Sources, suite: str) -> Iterator[Module]:
    """The modules of ``coretests`` or ``alloctests``."""
    if suite == "coretests":
        folder = sources.library / "coretests" / "tests"
        for name in CORETESTS:
            yield Module(suite, name, f"{name}::", _root(folder / "lib.rs", [name]), _texts(folder, [name]))
        return
    folder = sources.library / "alloctests" / "tests"
    helpers = _texts(sources.library / "alloctests", ["testing"], "helpers/")
    for name in ALLOCTESTS:
        names = [name, "testing"]
        root, files = _root(folder / "lib.rs", names), _texts(folder, names)
        files = {path: text.replace("../../testing/", "../helpers/testing/") for path, text in files.items()}
        yield Module(suite, name, f"{name}::", root, {**files, **helpers})
    alloc = sources.library / "alloc" / "src"
    root = (sources.library / "alloctests" / "lib.rs").read_text(encoding="utf-8").replace("../alloc/src/", "alloc/")
    files = _texts(alloc, ["collections", "raw_vec", "wtf8"], "alloc/")
    testing = {path.removeprefix("helpers/"): text for path, text in helpers.items()}
    yield Module(suite, "btree", "collections::btree::", root, {**files, **testing})


def _root(path: Path, kept: Sequence[str]) -> str:
    """A crate's root with only some of its modules."""
    text = path.read_text(encoding="utf-8")
    return _OUTLINE.sub(lambda m: m[0] if m[1] in kept else "\n", text)


def _texts(folder: Path, names: Sequence[str], under: str = "") -> dict[str, str]:
    """The files of modules, by their paths below ``folder``."""
    paths = [path for name in names for path in (folder / f"{name}.rs", *sorted((folder / name).rglob("*.rs")))]
    return {f"{under}{path.relative_to(folder)}": path.read_text(encoding="utf-8") for path in paths if path.is_file()}


def programs(tests: Sequence[LibraryTest]) -> Iterator[Sequence[LibraryTest]]:
    """Tests of one module, as many at a time as share a program."""
    for start in range(0, len(tests), _TOGETHER):
        yield tests[start : start + _TOGETHER]


def prepared(module: Module, toolchain: Toolchain, sysroot: Path) -> Prepared:
    """:func:`prepare` in a folder that is removed."""
    with tempfile.TemporaryDirectory(prefix=f"mirgen-{module.name}-") as work:
        return prepare(module, toolchain, sysroot, Path(work).resolve())


def prepare(module: Module, toolchain: Toolchain, sysroot: Path, work: Path) -> Prepared:
    """Leave out what does not compile under the facade, and find the tests in what is left.

    Raises:
        ToolError: rustc refuses what cannot be left out.
    """
    files = {"lib.rs": module.root, **module.files}
    texts = {path: callable_tests(text) for path, text in files.items()}
    outside = Counter[str]()
    errors: list[dict[str, Any]] = []
    for plain in (True, False):
        for _ in range(_MAX_ROUNDS):
            _write(work, texts, plain=plain)
            errors = _errors(toolchain, sysroot if plain else None, work)
            if not errors:
                break
            texts = _without_errors(texts, errors, work, outside)
        else:
            raise ToolError("rustc", f"{module.suite}::{module.name} does not compile: {errors[0]['message']}")
    tests = [test for test in _listed(toolchain, work) if test.path.startswith(module.prefix)]
    rest = {path: text for path, text in texts.items() if path != "lib.rs"}
    return Prepared(module, texts["lib.rs"], rest, tests, dict(outside), _bare(texts, toolchain, sysroot, work))


def _bare(texts: Mapping[str, str], toolchain: Toolchain, sysroot: Path, work: Path) -> dict[str, str]:
    """Those of the files that compile without their tests, so."""
    bare = {path: without_tests(text) for path, text in texts.items() if path != "lib.rs"}
    bare = {path: text for path, text in bare.items() if text != texts[path]}
    while bare:
        _write(work, {**texts, **bare}, plain=True)
        errors = _errors(toolchain, sysroot, work)
        if not errors:
            return bare
        # What is missing was made where it is not named: nothing but all files can be blamed then.
        at_fault = {path for error in errors for path in _paths(error, work)} & bare.keys()
        bare = {path: text for path, text in bare.items() if at_fault and path not in at_fault}
    return bare


def _paths(error: Mapping[str, Any], work: Path) -> Iterator[str]:
    """The files that an error is about, other than in what macros made of them."""
    for span in error["spans"]:
        file = work / span["file_name"]
        if file.is_relative_to(work):
            yield str(file.relative_to(work))


def _files_of(test: LibraryTest, files: Iterable[str]) -> set[str]:
    """The file that a test is in: its path goes the farthest along the test's, but for folders that only a ``#[path]``
    knows.  All files where that does not tell."""
    along = {path: _along(path, test.path.split("::")) for path in files}
    farthest = max(along.values(), default=0)
    return {path for path, length in along.items() if length == farthest}


def _along(path: str, test: Sequence[str]) -> int:
    """How many of a test's first segments are the last ones of a file's module."""
    module = path.removesuffix(".rs").removesuffix("/mod").split("/")
    lengths = range(min(len(module), len(test) - 1), 0, -1)
    return next((length for length in lengths if [*module[-length:]] == [*test[:length]]), 0)


def _write(work: Path, texts: Mapping[str, str], *, plain: bool) -> None:
    for path, text in texts.items():
        file = work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(plain_functions(text) if plain else text, encoding="utf-8")


def _command(toolchain: Toolchain, work: Path) -> list[str]:
    command = [str(toolchain.rustc), "--crate-name", "t", "--edition", _EDITION, "--cap-lints", "allow"]
    return [*command, *_FLAGS, str(work / "lib.rs")]


def _errors(toolchain: Toolchain, sysroot: Path | None, work: Path) -> list[dict[str, Any]]:
    """rustc's errors about the crate as a library under the facade, or as its own tests."""
    how = ["--test"] if sysroot is None else ["--crate-type", "lib", "-Cpanic=abort", "--sysroot", str(sysroot)]
    command = [*_command(toolchain, work), *how, "--emit=metadata", "--out-dir", str(work / "out")]
    done = _rustc([*command, "--error-format=json"])
    messages = [cast("dict[str, Any]", json.loads(line)) for line in done.stderr.splitlines() if line.startswith("{")]
    errors = [message for message in messages if message["level"].startswith("error")]
    if done.returncode and not any(error["spans"] for error in errors):
        raise ToolError("rustc", "", command=command, output=done.stderr, status=done.returncode)
    return [error for error in errors if error["spans"]]


def _rustc(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, errors="replace")


def _without_errors(
    texts: Mapping[str, str], errors: Sequence[dict[str, Any]], work: Path, outside: Counter[str]
) -> dict[str, str]:
    """The texts without the items that errors are about."""
    left = dict(texts)
    extents = {extent: error for error in reversed(errors) if (extent := _extent(error, texts, work)) is not None}
    for (path, extent), error in extents.items():
        dropped = left[path][extent.start : extent.end]
        if dropped.strip():
            left[path] = without(left[path], extent)
            if tests := len(TEST_MARK.findall(dropped)):
                outside[reason(error)] += tests
    if left == texts:
        raise ToolError("rustc", f"cannot leave out what is wrong: {errors[0]['rendered']}")
    return left


def _extent(error: Mapping[str, Any], texts: Mapping[str, str], work: Path) -> tuple[str, Extent] | None:
    """What an error is about in our own texts: a test inside a macro of theirs, else what calls the macro."""
    spans = [span for span in error["spans"] if span["is_primary"]] or error["spans"]
    own: list[tuple[str, Extent]] = []
    span: dict[str, Any] | None = spans[0]
    while span is not None:
        file = work / span["file_name"]
        if file.is_relative_to(work) and (path := str(file.relative_to(work))) in texts:
            ends = ((span[f"line_{end}"], span[f"column_{end}"]) for end in ("start", "end"))
            start, end = (offset(texts[path], *at) for at in ends)
            extent = item_to_drop(texts[path], start, end)
            if TEST_MARK.search(texts[path], extent.start, start):
                return path, extent
            own.append((path, extent))
        span = span["expansion"]["span"] if span["expansion"] else None
    return own[-1] if own else None


def reason(error: Mapping[str, Any]) -> str:
    """Why tests are left out, in rustc's words."""
    code = error["code"]["code"] if error["code"] else "error"
    return f"{code}: {error['message'].splitlines()[0]}"[:120]


def _listed(toolchain: Toolchain, work: Path) -> list[LibraryTest]:
    """The tests that rustc makes of the crate, but for ignored ones."""
    command = [*_command(toolchain, work), "--test", "-Cpanic=abort", "-Zpanic-abort-tests", "-Zunpretty=expanded"]
    done = _rustc(command)
    if done.returncode:
        raise ToolError("rustc", "", command=command, output=done.stderr, status=done.returncode)
    tests: list[LibraryTest] = []
    for found in _DESCRIPTION.finditer(done.stdout):
        if found["ignore"] == "false":
            message = found["message"]
            said = None if found["panics"] == "No" else "" if message is None else _unescaped(message[1:-1])
            tests.append(LibraryTest(found["path"], said))
    return tests


def _unescaped(literal: str) -> str:
    """A Rust string literal's value."""

    def one(match: re.Match[str]) -> str:
        number = match[1] or match[2]
        return chr(int(number, 16)) if number else _PLAIN_ESCAPES.get(match[3], match[3])

    return _ESCAPE.sub(one, literal)
