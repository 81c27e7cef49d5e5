"""What the pages say is so: commands run, flags exist, generated pages are up to date, links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import click
import pytest

from mirgen.cli.main import COMMANDS, cli
from mirgen.cli.reference import page as reference
from mirgen.cli.settings import KEYS
from tests.docs.console import ROOT, Command, Shell, commands, missing, steps

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])

#: Commands of the README that cost next to nothing.
CHEAP = re.compile(r"^(?:\./x --help|cargo mirgen (?:new|explain|doctor|--help)\b|cd )")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in an empty folder, with `cargo mirgen` and `python` of this environment."""
    ignored = ("MIRGEN_", "CARGO_TARGET", "NO_COLOR", "RUSTFLAGS", "PYTHONPATH")
    env = {key: value for key, value in os.environ.items() if not key.startswith(ignored)}
    env |= {"PYTHONPATH": str(ROOT), "CARGO_TERM_PROGRESS_WHEN": "never", "CARGO_TERM_COLOR": "never"}
    if "MIRGEN_RUSTC_SHIM" in os.environ:
        env["MIRGEN_RUSTC_SHIM"] = os.environ["MIRGEN_RUSTC_SHIM"]
    (tmp_path / "home").mkdir()
    return Shell(tmp_path / "home", tmp_path / "tools", env)


@pytest.mark.slow
def test_the_quick_start_works_as_it_stands(shell: Shell) -> None:
    """And the guide to tests, in the crate that it leaves."""
    todo = steps((ROOT / "docs" / "quickstart.md").read_text())
    assert len(todo) > 10
    more = steps((ROOT / "docs" / "testing.md").read_text())
    assert len(more) > 5
    for step in (*todo, *more):
        shell.run(step)


@pytest.mark.slow
def test_the_guide_to_panics_works_as_it_stands(shell: Shell) -> None:
    todo = steps((ROOT / "docs" / "panics.md").read_text())
    assert len(todo) > 8
    for step in todo:
        shell.run(step)


def test_the_readmes_cheap_commands_work(shell: Shell) -> None:
    cheap = [step for step in commands((ROOT / "README.md").read_text()) if CHEAP.match(step.text)]
    assert cheap
    for step in cheap:
        if step.text.startswith("./x"):
            step = Command(f"cd {ROOT} && {step.text}", step.code, step.expected)
        shell.run(step)


_CALL = re.compile(r"^(?:\$ |//! )?(?:\./x exec )?(cargo mirgen .*)$", re.MULTILINE)


def _mirgen_calls() -> list[tuple[str, list[str]]]:
    """Each `cargo mirgen ..` that stands in a code block of a page or on top of a new crate."""
    found: list[tuple[str, list[str]]] = []
    for path in (*PAGES, ROOT / "mirgen" / "cargo" / "template_files" / "lib.rs"):
        for line in _CALL.findall(path.read_text()):
            words = shlex.split(line, comments=True)[2:]
            if not any(word.isupper() for word in words):
                found.append((path.name, words))
    return found


def test_every_call_on_a_page_can_be_parsed() -> None:
    calls = _mirgen_calls()
    assert len(calls) > 13
    for page, words in calls:
        context = click.Context(cli, info_name="cargo mirgen", **cli.context_settings)
        if words[0] not in COMMANDS:
            assert words in (["--help"], ["--version"]), f"{page}: cargo mirgen {' '.join(words)}"
            continue
        command = cli.get_command(context, words[0])
        assert command is not None
        try:
            command.make_context(words[0], words[1:], parent=context)
        except click.UsageError as error:
            pytest.fail(f"{page}: cargo mirgen {' '.join(words)}: {error.format_message()}")


def test_the_reference_is_up_to_date() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    assert text == reference(), "python -m mirgen.cli.reference > docs/commands.md"


def test_settings_and_exit_codes_are_all_described() -> None:
    import mirgen.cli.exit as codes

    text = (ROOT / "docs" / "cli.md").read_text()
    for key, variable in KEYS.items():
        assert f"| `{key}` | `{variable}` | `--{key}` |" in text
    numbers = {value for name, value in vars(codes).items() if name.isupper() and isinstance(value, int)}
    assert set(map(int, re.findall(r"^\| (\d+) \|", text, re.MULTILINE))) == numbers


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
        assert (path.parent / target).exists(), f"{path.name}: {target}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_folders_and_files_named_exist(path: Path) -> None:
    for target in re.findall(r"`((?:mirgen|docs|tools|fixtures|schemas|tests|rustc-shim)/[\w/.-]*)`", path.read_text()):
        assert (ROOT / target).exists(), f"{path.name}: {target}"


def test_a_page_that_shows_something_else_is_found_out() -> None:
    """The comparison itself can fail."""
    assert missing(("a .. c", "d"), "a b c\nx\nd\n") is None
    assert missing(("d", "a"), "a\nd\n") == "a"
    assert missing(("a",), "ab\n") == "a"
    (command,) = commands("```console\n$ run x   # exits with 105\nerror\n```\n")
    assert command == Command("run x", 105, ("error",))
