"""``cargo mirgen check``."""

from __future__ import annotations

from typing import Any

import click

from mirgen.cli.flags import build_flags, build_options
from mirgen.pipeline import Progress, check


@click.command("check")
@click.argument("kernels", nargs=-1, metavar="[KERNEL]...")
@build_flags
def command(kernels: tuple[str, ...], **flags: Any) -> None:
    """Check that the kernels can be compiled: everything up to LLVM IR, no artefacts."""
    check(build_options(flags, kernels), Progress(quiet=flags["quiet"]))
