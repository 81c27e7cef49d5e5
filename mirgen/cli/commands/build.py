"""``cargo mirgen build``."""

from __future__ import annotations

from typing import Any

import click

from mirgen.cli.command import CargoCommand
from mirgen.cli.flags import build_flags, build_options, progress_of
from mirgen.cli.summary import print_json, show_build
from mirgen.pipeline import build


@click.command("build", cls=CargoCommand)
@click.argument("kernels", nargs=-1, metavar="[KERNEL]...")
@build_flags
def command(kernels: tuple[str, ...], **flags: Any) -> None:
    """Compile the kernels of a crate (or only those named) to PTX and cubin.

    PTX, cubins and manifest.json go to target/mirgen/PROFILE/CRATE. No GPU is needed. A second build compiles only
    what changed.
    """
    options = build_options(flags, kernels)
    result = build(options, progress_of(flags))
    show_build(result, quiet=flags["quiet"], wants_cubin=options.assembler != "none")
    if flags["message_format"] == "json":
        print_json(result)
