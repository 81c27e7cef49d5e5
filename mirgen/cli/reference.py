"""docs/commands.md out of the commands themselves: ``python -m mirgen.cli.reference`` prints it, a test compares."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

import click

from mirgen.cli.command import SectionOption
from mirgen.cli.flags import SHARED_SECTIONS
from mirgen.cli.main import COMMANDS, cli

_HEAD = """\
# Commands and flags

`cargo mirgen COMMAND` and `mirgen COMMAND` are the same. `cargo mirgen COMMAND --help` says what stands here.
Settings and exit codes are in [cli.md](cli.md). `python -m mirgen.cli.reference` prints this page.
"""

_SHARED = """\
## Shared flags

`build`, `check`, `run`, `test` and `asm` take cargo's flags, under cargo's names; what stands after `--` goes to cargo
as it is. The flags of the first table are for `build`, `run`, `test` and `asm`.
"""

_Records = dict[str, list[tuple[str, str]]]


def page() -> str:
    """The whole page."""
    context = click.Context(cli, info_name="cargo mirgen", **cli.context_settings)
    parts = [_HEAD, _table(("command", "does"), ((f"[`{name}`](#{name})", text) for name, text in COMMANDS.items()))]
    shared: _Records = {}
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        own = click.Context(command, info_name=name, parent=context)
        records = _sections(command, own)
        shared |= {title: records.pop(title) for title in SHARED_SECTIONS if title in records}
        parts.append(_command(command, own, records))
    tables = (_table((title, ""), _rows(shared[title])) for title in SHARED_SECTIONS)
    return "\n".join([*parts, _SHARED, *tables])


def _sections(command: click.Command, context: click.Context) -> _Records:
    sections: _Records = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None and "--help" not in parameter.opts:
            title = parameter.section if isinstance(parameter, SectionOption) else "Options"
            sections.setdefault(title, []).append(record)
    return sections


def _command(command: click.Command, context: click.Context, sections: _Records) -> str:
    pieces = command.collect_usage_pieces(context)
    usage = " ".join(["cargo mirgen", command.name or "", *pieces])
    words = {word for piece in pieces for word in re.findall(r"[A-Z_]+", piece)} - {"OPTIONS"}
    prose = re.sub(
        r"\b[A-Z_]+\b", lambda w: f"`{w[0]}`" if w[0] in words else w[0], inspect.cleandoc(command.help or "")
    )
    tables = [_table((title, ""), _rows(records)) for title, records in sections.items()]
    return "\n".join([f"## {command.name}\n", f"```text\n{usage}\n```\n", f"{prose}\n", *tables])


def _rows(records: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    return ((f"`{_cell(names)}`", _cell(about)) for names, about in records)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _table(head: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    lines = [f"| {head[0]} | {head[1]} |".replace("  ", " "), "|---|---|", *(f"| {a} | {b} |" for a, b in rows)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
