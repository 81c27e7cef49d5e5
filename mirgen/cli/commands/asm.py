"""``cargo mirgen asm``."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from mirgen.cli.command import CargoCommand, option
from mirgen.cli.flags import build_flags, build_options, progress_of
from mirgen.cli.listings import COMMENT, Listing, View, make_listing
from mirgen.cli.settings import source_roots
from mirgen.cli.summary import resources_text
from mirgen.diagnostics import Palette, SourceMap, wants_colour
from mirgen.errors import InvalidInputError
from mirgen.view import Item, choose, interleave

_SHOW = "What to show"


@click.command("asm", cls=CargoCommand)
@click.argument("kernel", required=False)
@option(_SHOW, "--ptx", "views", flag_value="ptx", multiple=True, help="PTX (default).")
@option(_SHOW, "--sass", "views", flag_value="sass", multiple=True, help="What the GPU executes, by nvdisasm.")
@option(_SHOW, "--llvm", "views", flag_value="llvm", multiple=True, help="LLVM IR, optimised.")
@option(
    _SHOW, "--llvm-input", "views", flag_value="llvm-input", multiple=True, help="LLVM IR as mirgen makes it from MIR."
)
@option(_SHOW, "--mir", "views", flag_value="mir", multiple=True, help="rustc's MIR, after its inlining.")
@option(_SHOW, "--rust", is_flag=True, help="With the Rust lines between.")
@option(_SHOW, "--everything", is_flag=True, help="The whole text, not one function.")
@build_flags
def command(kernel: str | None, views: tuple[View, ...], rust: bool, everything: bool, **flags: Any) -> None:
    """Show PTX, SASS, LLVM IR or MIR of KERNEL, with what it takes of the GPU.

    KERNEL is a name, part of a name, or a number of the list that is shown when several functions fit. Without it,
    the crate's only kernel is shown.
    """
    if len(set(views)) > 1:
        raise InvalidInputError(f"one at a time: {' or '.join(f'--{view}' for view in dict.fromkeys(views))}")
    if everything and (kernel is not None or rust):
        raise InvalidInputError(f"--everything takes no {'--rust' if rust else 'KERNEL'}")
    view: View = views[0] if views else "ptx"
    options = build_options(flags, as_before=True)
    listing = make_listing(options, view, kernel, progress_of(flags), rust=rust)
    if everything:
        sys.stdout.write(listing.text)
        return
    item = choose(listing.items, kernel)
    colours = Palette(wants_colour(sys.stdout, os.environ))
    comment = COMMENT[view]
    for line in _head(item, listing):
        click.echo(colours.strong(f"{comment} {line}"))
    sources = SourceMap(source_roots(flags["manifest_path"]))
    for text in interleave(item.lines, sources, comment, colours) if rust else (line.text for line in item.lines):
        click.echo(text)


def _head(item: Item, listing: Listing) -> list[str]:
    """What the kernel takes of the GPU."""
    if not item.kernel or not listing.arch:
        return []
    used = (listing.resources or {}).get(item.name)
    takes = "registers unknown without an assembler" if used is None else resources_text(used)
    return [f"{item.name} for {listing.arch}: {takes}"]
