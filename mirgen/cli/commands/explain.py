"""``cargo mirgen explain``."""

from __future__ import annotations

import click

from mirgen.diagnostics.codes import CODES, explain, similar
from mirgen.errors import InvalidInputError


@click.command("explain")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Explain an error code (MG0101, or just 101); without one, list all codes."""
    if code is None:
        for known in CODES.values():
            click.echo(f"{known.name}  {known.title}")
        return
    text = explain(code)
    if text is None:
        near = similar(code)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InvalidInputError(f"there is no error code `{code}`{hint} (`cargo mirgen explain` lists all)")
    click.echo(text, nl=False)
