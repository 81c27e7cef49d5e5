"""``cargo mirgen clean``."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from mirgen.cargo.build import target_directory
from mirgen.cargo.options import CargoOptions
from mirgen.cargo.toolchain import cache_dir
from mirgen.cli.summary import shown
from mirgen.diagnostics import status_line


@click.command("clean")
@click.option("--manifest-path", type=click.Path(path_type=Path), metavar="PATH", help="Path to Cargo.toml.")
@click.option("--target-dir", type=click.Path(path_type=Path), metavar="DIRECTORY", help="For all output.")
@click.option("--cache", is_flag=True, help="Also what `setup` built for all crates.")
def command(manifest_path: Path | None, target_dir: Path | None, cache: bool) -> None:
    """Remove target/mirgen; nothing else in target/ is touched."""
    folders = [target_directory(CargoOptions(manifest_path=manifest_path, target_dir=target_dir)) / "mirgen"]
    folders += [cache_dir() / "sysroots"] if cache else []
    for folder in folders:
        files = sum(1 for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0
        shutil.rmtree(folder, ignore_errors=not folder.exists())
        click.echo(status_line("Removed", f"{files} files in {shown(folder)}"), err=True)
