"""``python -m mirgen.intrinsics --table``: the table of intrinsics in Markdown."""

from __future__ import annotations

import click

from mirgen.intrinsics import core_table, device_table, heap_table
from mirgen.intrinsics.registry import Table

_WORDS = {"exact": "yes", "approximate": "last bits vary", "refused": "no"}


def markdown(title: str, table: Table) -> str:
    """One section: names in order, equal neighbours that differ in the float format only on one line."""
    lines = [f"## {title}", "", "| name | supported | notes |", "|---|---|---|"]
    grouped: dict[int, list[str]] = {}
    for name, entry in table.items():
        grouped.setdefault(id(entry), []).append(name)
    for names in sorted(grouped.values()):
        entry = table[names[0]]
        shown = ", ".join(f"`{name}`" for name in names if not name.endswith("f128"))
        lines.append(f"| {shown} | {_WORDS[entry.support]} | {entry.note} |")
    return "\n".join(lines) + "\n"


def document() -> str:
    """The whole page, as it stands in ``docs/intrinsics.md``."""
    head = (
        "# Intrinsics\n\nFunctions without a body that mirgen gives a meaning: rustc's own, which the standard library "
        "calls, the allocator's, and\nthe device crate's. \"Last bits vary\" means that the target's mathematical "
        "library decides them (libdevice on the GPU, libm\non the simulator); everything else gives the same bits "
        "everywhere.\n`python -m mirgen.intrinsics --table` prints this page.\n"
    )
    parts = {"`core::intrinsics`": core_table(), "The allocator": heap_table(), "The device crate": device_table()}
    return "\n".join((head, *(markdown(title, table) for title, table in parts.items())))


@click.command()
@click.option("--table", "show", is_flag=True, required=True, help="Print the table in Markdown.")
def main(show: bool) -> None:
    """What mirgen knows of rustc's intrinsics and of the device crate's own."""
    del show
    click.echo(document(), nl=False)


if __name__ == "__main__":
    main()
