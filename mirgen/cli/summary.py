"""What a build made, for people (cargo-like lines on stderr) and for programs (a JSON line on stdout)."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from mirgen.diagnostics import status_line
from mirgen.link.discover import CUDA_FIX
from mirgen.link.manifest import Artifact, Manifest, Resources
from mirgen.pipeline import BuildResult


def shown(path: Path) -> str:
    """``path`` relative to the current folder where it lies below it."""
    absolute = Path(os.path.normpath(path.absolute()))
    here = Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(absolute)


def resources_text(used: Resources) -> str:
    """``16 registers, 0 B shared, 0 B stack, no spills``."""
    spills = used.spill_stores + used.spill_loads
    parts = [f"{used.registers} registers", f"{used.shared} B shared", f"{used.stack} B stack"]
    return ", ".join([*parts, f"{spills} B of spills" if spills else "no spills"])


def show_build(result: BuildResult, *, quiet: bool, wants_cubin: bool) -> None:
    """Kernels with their resources, then the files."""
    if quiet:
        return
    manifest, folder = result.manifest, result.manifest_path.parent
    bare = [artifact.arch for artifact in manifest.artifacts if artifact.assembler is None]
    if bare and wants_cubin:
        _status("Warning", f"no ptxas and no nvJitLink here: PTX only, no cubin ({CUDA_FIX})")
    width = max((len(kernel.name) for kernel in manifest.kernels), default=0)
    for kernel in manifest.kernels:
        for artifact in manifest.artifacts:
            _status("Kernel", f"{kernel.name:<{width}}  {artifact.arch}: {_resources(artifact, kernel.symbol)}")
    for artifact in manifest.artifacts:
        for name in artifact.files.values():
            _status("Artefact", shown(folder / name))
    _status("Manifest", shown(result.manifest_path))


def _resources(artifact: Artifact, symbol: str) -> str:
    used = artifact.resources.get(symbol)
    return "PTX only" if used is None else resources_text(used)


def print_json(result: BuildResult) -> None:
    """One line in the manner of cargo's messages: where the manifest is, and what it lists."""
    manifest: Manifest = result.manifest
    message = {
        "reason": "mirgen-artifact",
        "manifest_path": str(result.manifest_path.absolute()),
        "kernels": [kernel.name for kernel in manifest.kernels],
        "archs": [artifact.arch for artifact in manifest.artifacts],
    }
    sys.stdout.write(json.dumps(message) + "\n")


def _status(verb: str, rest: str) -> None:
    click.echo(status_line(verb, rest), err=True)
