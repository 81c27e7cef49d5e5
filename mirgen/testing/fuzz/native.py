"""What rustc's own build makes of programs: the results that all lanes have to give."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from mirgen.errors import InternalError, ToolError
from mirgen.testing.fuzz.crate import write_native, write_sources


@dataclass(frozen=True, slots=True)
class Value:
    """The hash that a program gave."""

    hash: int

    def __str__(self) -> str:
        return f"{self.hash:#018x}"


@dataclass(frozen=True, slots=True)
class Panicked:
    """A panic, with its place in the program's file."""

    message: str
    line: int
    col: int

    def __str__(self) -> str:
        return f"panic at {self.line}:{self.col}: {self.message}"


Result: TypeAlias = Value | Panicked

_LINE = re.compile(r"(\d+) (\d+) (?:value (\d+)|panic (\d+) (\d+) (\".*\"))")
_IN = re.compile(r"--> \S*?p(\d+)\.rs:")
_FLAGS: Final = {
    "dev": ("-Copt-level=0", "-Coverflow-checks=on", "-Cdebug-assertions=on"),
    "release": ("-Copt-level=1", "-Coverflow-checks=off", "-Cdebug-assertions=off"),
}


class NotRustError(ToolError):
    """rustc refused programs; ``indices`` are theirs."""

    def __init__(self, indices: frozenset[int], output: str) -> None:
        super().__init__("rustc", f"refuses {len(indices)} programs", output=output)
        self.indices = indices


def run_native(
    rustc: Path, folder: Path, sources: Mapping[int, str], inputs: Mapping[int, Sequence[int]], profile: str
) -> dict[int, list[Result]]:
    """The result of every program for each of its inputs.

    Raises:
        NotRustError: some programs are no Rust.
        ToolError: rustc or the program failed otherwise.
    """
    write_sources(folder, sources)
    main, program = write_native(folder, inputs), folder.parent / f"native-{profile}"
    command = [str(rustc), "--edition=2021", *_FLAGS[profile], "-Ccodegen-units=2", "-Cdebuginfo=0"]
    command += [str(main), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        blamed = frozenset(int(index) for index in _IN.findall(done.stderr))
        if blamed:
            raise NotRustError(blamed, done.stderr)
        raise ToolError("rustc", "", command=command, output=done.stderr, status=done.returncode)
    try:
        ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired as error:
        raise ToolError(str(program), "does not end") from error
    if ran.returncode:
        raise ToolError(str(program), "", output=ran.stderr, status=ran.returncode)
    return _parsed(ran.stdout, inputs)


def _parsed(output: str, inputs: Mapping[int, Sequence[int]]) -> dict[int, list[Result]]:
    found: dict[int, list[Result]] = {index: [] for index in inputs}
    for line in output.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise InternalError(f"the native program printed {line!r}")
        program, _, value, at_line, at_col, message = match.groups()
        if value is not None:
            found[int(program)].append(Value(int(value)))
        else:
            # Rust's escapes of what programs say are Python's.
            found[int(program)].append(Panicked(str(ast.literal_eval(message)), int(at_line), int(at_col)))
    if any(len(found[index]) != len(xs) for index, xs in inputs.items()):
        raise InternalError("the native program printed too few results")
    return found
