"""``cargo mirgen check``."""

from __future__ import annotations

from typing import Any

import click

from mirgen.cli.command import CargoCommand
from mirgen.cli.flags import cargo_flags, cargo_options, progress_of
from mirgen.pipeline import BuildOptions, check


@click.command("check", cls=CargoCommand)
@click.argument("kernels", nargs=-1, metavar="[KERNEL]...")
@cargo_flags
def command(kernels: tuple[str, ...], **flags: Any) -> None:
    """Check that the kernels of a crate (or only those named) can be compiled.

    Does everything up to LLVM IR, for the GPU and for the simulator; makes no artefacts.
    """
    check(BuildOptions(cargo=cargo_options(flags), kernels=kernels), progress_of(flags))
