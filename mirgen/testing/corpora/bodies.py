"""rustc's ``tests/mir-opt`` and ``tests/codegen``: every body is to be read and written again, and lowered.

Each file is compiled as a library against the facade.  Its whole dump goes through the shim, mirgen's printer and the
shim again, which must give equal bodies.  Each function without type parameters is then closed and lowered for the
host, and LLVM verifies and compiles the result; nothing is run, for these programs check no results.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

from mirgen.cargo.build import CargoBuild
from mirgen.cargo.kernels import MarkedKernel
from mirgen.cargo.program import ClosedProgram, close_built
from mirgen.cargo.shim import run_shim
from mirgen.errors import UnsupportedError
from mirgen.ingest import Header, MirUnit, load_mir
from mirgen.lower import Lowered
from mirgen.mir.body import Body
from mirgen.mir.printer import format_bodies, format_body
from mirgen.pipeline import is_intrinsic
from mirgen.runtime.sim.client import default_simulator
from mirgen.runtime.sim.launch import SimModule
from mirgen.testing.corpora.program import Outcome, Program, Source, failure, verified
from mirgen.testing.corpora.sources import Sources
from mirgen.testing.corpora.ui import directives

#: What a library for this host, compiled once, cannot have.
_OUTSIDE: Final = {
    "aux-build": "needs auxiliary crates",
    "aux-crate": "needs auxiliary crates",
    "proc-macro": "needs auxiliary crates",
    "add-core-stubs": "brings its own core",
    "ignore-x86": "is for other platforms",
    "ignore-x86_64": "is for other platforms",
    "ignore-linux": "is for other platforms",
    "only-32bit": "is for other platforms",
    "only-aarch64": "is for other platforms",
    "only-apple": "is for other platforms",
    "only-msvc": "is for other platforms",
    "only-riscv64": "is for other platforms",
    "only-wasm32": "is for other platforms",
    "only-windows": "is for other platforms",
    "should-fail": "must not compile",
}
_NO_CORE: Final = re.compile(r"^#!\[(?:feature\(.*\bno_core\b.*\)|no_core)\]", re.MULTILINE)
_SANITIZER: Final = re.compile(r"needs-(?:sanitizer|xray|profiler)")
_INSTRUMENTS: Final = re.compile(r"instrument-coverage|profile-generate|profile-use")

#: Flags that say what is printed, or how code is generated from MIR: nothing that a library's MIR depends on.
_OTHER_OUTPUT: Final = re.compile(
    r"--emit\b|-o\b|-Zunpretty|-Zdump-mir|--crate-type|--crate-name|-C(?:no-prepopulate|save-temps)"
)
#: A flag whose value is a word of its own.
_VALUE: Final = re.compile(r"(?<!\S)(-[CZ]|--(?:cfg|emit|crate-type|crate-name|edition)) +")
#: Lists of generic parameters, what they declare, and what else has a name that could be a parameter's.
_GENERICS: Final = re.compile(r"\b(?:impl|(?:fn|trait|struct|enum|union|type)\s+\w+)\s*<((?:[^<>]|<[^<>]*>)*)>")
_PARAMETER: Final = re.compile(r"(?:^|,)\s*(?:const\s+)?([A-Za-z_]\w*)")
_DECLARED: Final = re.compile(r"\b(?:struct|enum|union|type|trait)\s+(\w+)")
#: How rustc prints a generic constant (with its number), an argument of type ``impl Trait``, and a trait's own type.
_OPEN: Final = r"/#\d+|(?<![<\w])impl [\w(?]|(?<![\w:])Self(?!\w)"
#: The last part of a closure's path, or of a constructor's.
_MADE: Final = re.compile(r"\{|[A-Z]")


@dataclass(frozen=True, slots=True)
class BodiesTest:
    """One file; ``outside`` says why it is none of the corpus, where it is not."""

    path: Path
    name: str
    outside: str = ""

    def source(self) -> Source:
        """The library."""
        text = self.path.read_text(encoding="utf-8", errors="replace")
        found = directives(text)
        edition = next((value for key, value in found if key == "edition"), "2015")
        flags: list[str] = [flag for key, value in found if key == "compile-flags" for flag in _words(value)]
        revision = _revision(found)
        if revision is not None:
            mine = (value for key, value in found if key.replace(" ", "") == f"[{revision}]compile-flags")
            flags += [f"--cfg={revision}", *(flag for value in mine for flag in _words(value))]
        edition = next((flag.partition("=")[2] for flag in flags if flag.startswith("--edition=")), edition)
        flags = [flag for flag in flags if not flag.startswith("--edition")]
        return Source(self.name, text, "", edition, tuple(flags), ())


def bodies_tests(sources: Sources, corpus: str) -> Iterator[BodiesTest]:
    """All files of ``mir-opt`` or ``codegen``, in the order of their paths; of revisions, the first."""
    folder = sources.ui.parent / corpus
    for path in sorted(folder.rglob("*.rs")):
        if "auxiliary" not in path.parts:
            yield BodiesTest(path, str(path.relative_to(folder)), _outside(path.read_text(errors="replace")))


def _outside(text: str) -> str:
    if _NO_CORE.search(text):
        return "brings its own core"
    found = directives(text)
    flags = [value for key, value in found if key.endswith("compile-flags")]
    if any(_SANITIZER.match(key) for key, _ in found) or any(map(_INSTRUMENTS.search, flags)):
        return "is about sanitizers and profilers"
    revision = _revision(found)
    named = [key.replace(" ", "").removeprefix(f"[{revision}]") for key, _ in found]
    if any("--target" in value for value in flags):
        return "is for other platforms"
    return next((_OUTSIDE[key] for key in named if key in _OUTSIDE), "")


def _revision(found: Sequence[tuple[str, str]]) -> str | None:
    """The first of a file's revisions, which is the one that is taken."""
    return next((value.split()[0] for key, value in found if key == "revisions" and value), None)


def _words(value: str) -> list[str]:
    """A header's flags, each with its value, but for those that say what else is to be printed."""
    joined = _VALUE.sub(lambda m: f"{m[1]}{'=' if m[1].startswith('--') else ''}", value)
    return [word for word in joined.split() if not _OTHER_OUTPUT.match(word)]


def examine_bodies(program: Program) -> list[Outcome]:
    """What becomes of each body, and of each function that may be lowered.

    Raises:
        DoesNotCompileError: rustc refused the file.
    """
    build = program.compile()
    outcomes, units = _parsed(build, build.work_dir)
    return [*outcomes, *_lowered(build, program.compile, _roots(units, program.text))]


# ---- reading and writing -----------------------------------------------------------------------------------------


def _parsed(build: CargoBuild, work: Path) -> tuple[list[Outcome], list[MirUnit]]:
    """What became of each body, and what was read."""
    index = _dump(build, work, ["--index-only"]).index
    headers = [header for header in index if header.kind != "trivial_const"]
    try:
        unit = _dump(build, work, ["--all"])
        return _again(build, work, unit), [unit]
    except Exception:
        pass  # one body does it: each by itself
    outcomes: list[Outcome] = []
    units: list[MirUnit] = []
    for name in dict.fromkeys(header.header for header in headers):
        try:
            unit = _dump(build, work, ["--function", name])
        except Exception as error:
            outcomes.append(failure(f"body {name}", error))
            continue
        outcomes += _again(build, work, unit)
        units.append(unit)
    return outcomes, units


def _dump(build: CargoBuild, work: Path, select: Sequence[str]) -> MirUnit:
    out = work / "all.json"
    args = ["dump", "--unit", str(build.root.record), "--out", str(out), "--no-side-channel", *select]
    run_shim(build.shim, args)
    return load_mir(_without_names(out))


def _again(build: CargoBuild, work: Path, unit: MirUnit) -> list[Outcome]:
    """Whether what the printer prints of the bodies is read as the same bodies."""
    text, out = work / "again.mir", work / "again.json"
    release, crate = build.toolchain.release, build.root.crate_name
    try:
        text.write_text(format_bodies(unit.bodies, unit.allocs, verbose=True), encoding="utf-8")
        args = ["parse", str(text), "--release", release, "--crate-name", crate, "--out", str(out), "--all"]
        run_shim(build.shim, args)
        again = load_mir(_without_names(out)).bodies
        if len(again) != len(unit.bodies):
            raise ValueError(f"{len(unit.bodies)} bodies were printed, {len(again)} were read again")
    except Exception as error:
        return [failure(f"body {body.header}", error) for body in unit.bodies]
    return [
        Outcome(f"body {one.header}", "pass")
        if one == other
        else Outcome(f"body {one.header}", "wrong", ("the printed body is read as another",))
        for one, other in zip(unit.bodies, again, strict=True)
    ]


def _without_names(document: Path) -> bytes:
    """A document without what only the second text tells, which a printed body does not have."""
    value = json.loads(document.read_bytes())
    todo: list[Any] = [value]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            fields = cast("dict[str, Any]", node)
            if fields.get("kind") == "downcast" and fields["variant"] is not None:
                fields["index"] = None
            todo += fields.values()
        elif isinstance(node, list):
            todo += cast("list[Any]", node)
    return json.dumps(value).encode()


# ---- lowering ----------------------------------------------------------------------------------------------------


def _lowered(build: CargoBuild, again: Callable[[], CargoBuild], names: frozenset[str]) -> list[Outcome]:
    """What becomes of each function that is named."""
    if not names:
        return []

    paths: dict[str, str] = {}

    def find(index: Iterable[Header]) -> tuple[MarkedKernel, ...]:
        wanted = [header for header in index if header.kind == "fn" and header.header in names]
        paths.update({f"fn{i}": header.header for i, header in enumerate(wanted)})
        return tuple(MarkedKernel(f"fn{i}", header.header, (header,)) for i, header in enumerate(wanted))

    refused: dict[str, UnsupportedError] = {}
    try:
        _, closed = close_built(build, again, is_intrinsic(), quiet=True, refused=refused, find=find)
    except Exception as error:
        return [failure(f"fn {name}", error) for name in sorted(names)]
    outcomes = {name: failure(f"fn {paths[name]}", error) for name, error in refused.items()}
    passing: list[str] = []
    for kernel in closed.program.kernels:
        try:
            _lower(closed, [kernel.name])
            passing.append(kernel.name)
        except Exception as error:
            outcomes[kernel.name] = failure(f"fn {closed.paths[kernel.name]}", error)
    all_compile = _compiles(closed, passing)
    outcomes |= {name: _compiled(closed, name, ok=all_compile) for name in passing}
    return list(outcomes.values())


def _compiled(closed: ClosedProgram, name: str, *, ok: bool) -> Outcome:
    """A function that lowering took, as LLVM sees it: alone where the whole file has a fault."""
    try:
        if not ok:
            _load(_lower(closed, [name]))
    except Exception as error:
        return failure(f"fn {closed.paths[name]}", error)
    return Outcome(f"fn {closed.paths[name]}", "pass")


def _compiles(closed: ClosedProgram, names: Sequence[str]) -> bool:
    try:
        _load(_lower(closed, names))
    except Exception:
        return False
    return True


def _load(lowered: Lowered) -> None:
    """LLVM verifies and compiles it."""
    default_simulator().load(SimModule(lowered.text, ()), 0)


def _lower(closed: ClosedProgram, names: Sequence[str]) -> Lowered:
    """The functions and what they reach, without entries: they may take and give anything."""
    chosen = closed.part(names)
    return verified(replace(chosen, program=replace(chosen.program, kernels=())))


def _roots(units: Sequence[MirUnit], text: str) -> frozenset[str]:
    """The functions that are written and called without generic arguments; ``text`` is the file's.

    rustc prints type parameters like types: which they are, only the file says.  rustc makes functions too, of tuple
    structs and variants.
    """
    lists = (found[1] for found in _GENERICS.finditer(text))
    names = {name[1] for found in lists for name in _PARAMETER.finditer(found)} - set(_DECLARED.findall(text))
    parameter = re.compile("|".join([_OPEN, *(rf"(?<![\w:]){re.escape(name)}(?!\w)" for name in sorted(names))]))
    bodies = (body for unit in units for body in unit.bodies if body.kind == "fn" and not body.ctfe)
    written = (body for body in bodies if not _MADE.match(body.header.rpartition("::")[2]))
    return frozenset(body.header for body in written if parameter.search(_own_text(body)) is None)


def _own_text(body: Body) -> str:
    """The body without the names of what was inlined into it, which hold those functions' parameters."""
    lines = format_body(body, verbose=True).splitlines()
    return "\n".join(line.partition(" // ")[0] for line in lines if "(inlined " not in line)
