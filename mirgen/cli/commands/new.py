"""``cargo mirgen new``."""

from __future__ import annotations

from pathlib import Path

import click

from mirgen.cargo.template import new_crate
from mirgen.cargo.toolchain import find_program
from mirgen.diagnostics import status_line
from mirgen.errors import ToolError


@click.command("new")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Name of the package; by default the folder's.")
@click.option("--vcs", type=click.Choice(["git", "hg", "pijul", "fossil", "none"]), help="Version control to set up.")
@click.option("--edition", type=click.Choice(["2021", "2024"]), help="Edition; by default cargo's.")
@click.option("-q", "--quiet", is_flag=True, help="No status lines.")
def command(path: Path, name: str | None, vcs: str | None, edition: str | None, quiet: bool) -> None:
    """Make a library crate with a first kernel in PATH.

    The crate is an ordinary one: cargo check and rust-analyzer work on it as they are.
    """
    args = [word for flag, value in (("--name", name), ("--vcs", vcs), ("--edition", edition)) if value is not None
            for word in (flag, value)]  # fmt: skip
    args += ["--quiet"] if quiet else []
    try:
        new_crate(path, cargo=str(find_program("cargo", "CARGO")), args=args)
    except ToolError as error:
        if error.status:
            raise ToolError("cargo", "", command=error.command, status=error.status) from None  # cargo has said why
        raise
    if not quiet:
        click.echo(status_line("Added", "a kernel in src/lib.rs; next: `cargo mirgen build` in there"), err=True)
