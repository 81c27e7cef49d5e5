"""``cargo mirgen build``."""

from __future__ import annotations

from typing import Any

import click

from mirgen.cli.flags import build_flags, build_options
from mirgen.pipeline import Progress, build


@click.command("build", context_settings={"ignore_unknown_options": False})
@click.argument("kernels", nargs=-1, metavar="[KERNEL]...")
@build_flags
def command(kernels: tuple[str, ...], **flags: Any) -> None:
    """Compile the kernels of a crate to PTX and cubin, with a manifest.

    Artefacts go to target/mirgen/PROFILE/CRATE; no GPU is needed.
    """
    build(build_options(flags, kernels), Progress(quiet=flags["quiet"]))
