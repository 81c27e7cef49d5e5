"""``cargo mirgen setup``."""

from __future__ import annotations

import click

from mirgen.cargo.sysroot import build_sysroot, built_sysroot
from mirgen.cargo.toolchain import NVPTX_TARGET, find_toolchain
from mirgen.diagnostics import status_line


@click.command("setup")
def command() -> None:
    """Build core and alloc for nvptx64 from the toolchain's library sources, once per toolchain."""
    toolchain = find_toolchain()
    if built_sysroot(toolchain) is not None:
        click.echo(status_line("Fresh", f"core and alloc for {NVPTX_TARGET} (rustc {toolchain.release})"), err=True)
        return
    build_sysroot(toolchain, progress=lambda what: click.echo(status_line("Building", what), err=True))
    click.echo(status_line("Finished", f"core and alloc for {NVPTX_TARGET} (rustc {toolchain.release})"), err=True)
