"""Reads and runs the ``console`` blocks of a Markdown page, in order and in one place."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```(?P<kind>\w*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"\s+# exits with (?P<code>\d+)$")
_FILE = re.compile(r"^(?:#|//) (?P<name>[\w./-]+\.(?:py|rs|toml))$")


@dataclass(frozen=True, slots=True)
class Command:
    """A line after ``$``: its text, the exit code that it should have, the lines shown below it.

    ``..`` in a line stands for anything; lines may be left out.
    """

    text: str
    code: int
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class File:
    """A block whose first line names a file: it is written before the next command."""

    name: str
    text: str


def steps(page: str) -> list[Command | File]:
    """What a reader would do, from top to bottom."""
    found: list[Command | File] = []
    for fence in _FENCE.finditer(page):
        text = fence["text"]
        name = _FILE.match(text.partition("\n")[0])
        if fence["kind"] == "console":
            found += _commands(text)
        elif name is not None:
            found.append(File(name["name"], text))
    return found


def commands(page: str) -> list[Command]:
    """The commands alone."""
    return [step for step in steps(page) if isinstance(step, Command)]


def _commands(block: str) -> list[Command]:
    found: list[Command] = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, *expected = part.rstrip("\n").split("\n")
        ending = _EXIT.search(line)
        code = int(ending["code"]) if ending is not None else 0
        found.append(Command(_EXIT.sub("", line), code, tuple(expected)))
    return found


def missing(expected: tuple[str, ...], output: str) -> str | None:
    """The first expected line that does not follow the one before it in ``output``."""
    left = iter(output.splitlines())
    for line in expected:
        pattern = re.compile(r".*".join(re.escape(piece) for piece in line.split("..")))
        if not any(pattern.fullmatch(shown.rstrip()) for shown in left):
            return line
    return None


class Shell:
    """Runs commands one after the other; ``cd`` lasts."""

    def __init__(self, folder: Path, tools: Path, env: dict[str, str]) -> None:
        self.folder = folder
        self._env = {**env, "PATH": f"{tools}:{env['PATH']}"}
        tools.mkdir()
        _script(tools / "cargo-mirgen", (ROOT / "tools/wheel-data/scripts/cargo-mirgen").read_text())
        _script(tools / "mirgen", (ROOT / "tools/wheel-data/scripts/mirgen").read_text())
        (tools / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (tools / "python").chmod(0o755)

    def run(self, step: Command | File) -> None:
        """Runs a command, and asserts its exit code and its output; or writes a file."""
        if isinstance(step, File):
            (self.folder / step.name).write_text(step.text)
            return
        script = f"{step.text}\nstatus=$?; pwd > .where; exit $status"
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=self._env, text=True, timeout=300,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == step.code, f"$ {step.text}\n{done.stdout}"
        absent = missing(step.expected, done.stdout)
        assert absent is None, f"$ {step.text}\n{done.stdout}\ndoes not show, in this order:\n{absent}"
        if step.text.startswith("cd "):
            self.folder = (self.folder / step.text.removeprefix("cd ")).resolve()
            assert self.folder.is_dir()


def _script(path: Path, text: str) -> None:
    path.write_text(text.replace("#!python", f"#!{sys.executable}", 1))
    path.chmod(0o755)
