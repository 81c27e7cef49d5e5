"""``cargo mirgen run``."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np
from numpy.typing import NDArray

from mirgen.cli.command import CargoCommand, option
from mirgen.cli.exit import check_writable
from mirgen.cli.flags import build_flags, build_options, progress_of
from mirgen.cli.listings import alone_if_need_be
from mirgen.cli.summary import shown
from mirgen.diagnostics import status_line
from mirgen.errors import InvalidInputError
from mirgen.pipeline import BuildOptions, Progress, build
from mirgen.runtime import Kernel, LaunchConfig, Module, SimOptions
from mirgen.runtime.loading import module_of, options_from_environment
from mirgen.runtime.runner import parse_assignment, run_kernel

_LAUNCH, _DEVICE = "Launch", "Device"

#: Elements of an array that a summary shows.
_SHOWN = 8


def _extent(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[int, ...]:
    """One to three numbers: ``4``, ``4,2`` or ``4x2x1``."""
    words = value.replace("x", ",").split(",")
    if not 1 <= len(words) <= 3 or not all(word.strip().isascii() and word.strip().isdecimal() for word in words):
        raise click.BadParameter(f"{value!r} is no extent: up to three numbers, as 4 or 4,2")
    return tuple(int(word) for word in words)


@click.command("run", cls=CargoCommand)
@click.argument("kernel", required=False)
@option(_LAUNCH, "--grid", callback=_extent, required=True, metavar="X[,Y[,Z]]", help="Blocks of the grid.")
@option(_LAUNCH, "--block", callback=_extent, required=True, metavar="X[,Y[,Z]]", help="Threads of a block.")
@option(
    _LAUNCH, "--arg", "arguments", multiple=True, metavar="NAME=VALUE",
    help="An argument: a Rust literal (2.0, 0xff_u32, true), @FILE.npy, [1, 2, 3], [0.0; 64], zeros(N), ones(N), "
    "full(N, V), arange(N) or random(N, SEED).",
)  # fmt: skip
@option(
    _LAUNCH,
    "--out",
    "outputs",
    multiple=True,
    metavar="NAME=FILE",
    help="Write an array to a .npy file afterwards. Without any --out, a summary goes to stdout.",
)
@option(
    _LAUNCH,
    "--shared",
    type=click.IntRange(min=0),
    default=0,
    metavar="BYTES",
    help="Dynamic shared memory per block.",
)
@option(_DEVICE, "--device", metavar="DEVICE", help="sim or cuda:N.  [default: MIRGEN_DEVICE, else sim]")
@option(
    _DEVICE, "--schedule", type=click.Choice(["forward", "reverse", "random"]),
    help="The simulator's order of threads and blocks.",
)  # fmt: skip
@option(_DEVICE, "--seed", type=int, help="Of --schedule random (implied).")
@build_flags
def command(
    kernel: str | None, grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[str, ...],
    outputs: tuple[str, ...], shared: int, device: str | None, schedule: Literal["forward", "reverse", "random"] | None,
    seed: int | None, **flags: Any,
) -> None:  # fmt: skip
    """Build the crate and launch KERNEL once.

    KERNEL may be left out where the crate has only one. Everything is checked against the kernel's Rust types before
    the launch. Exits with 105 where the kernel panics or does something else that stops it.
    """
    given = _assignments(arguments, "--arg")
    files = {name: Path(path) for name, path in _assignments(outputs, "--out").items()}
    for path in files.values():
        check_writable(path)
    device = device or os.environ.get("MIRGEN_DEVICE") or "sim"
    quiet: bool = flags["quiet"]
    module = _module(
        build_options(flags, as_before=True), kernel, device, _sim_options(schedule, seed), progress_of(flags)
    )
    chosen = _kernel(module, kernel)
    config = LaunchConfig(grid, block, shared=shared)
    if not quiet:
        _status("Running", f"{chosen.spec.name}[{_dims(grid)}, {_dims(block)}] on {module.device}")
    start = time.perf_counter()
    result = run_kernel(chosen, config, given, files)
    if not quiet:
        _status("Finished", f"{chosen.spec.name} in {time.perf_counter() - start:.2f} s")
        for name, path in files.items():
            _status("Wrote", f"{name} to {shown(path)}")
    if not files:
        for param in chosen.spec.arguments:
            if param.mutable and param.name in result.arrays:
                click.echo(describe_array(param.name, param.shown, result.arrays[param.name]))


def describe_array(name: str, rust_type: str, array: NDArray[Any]) -> str:
    """One array as the summary shows it: type, number of elements, and the elements (of many the first and last)."""
    flat: NDArray[Any] = array.reshape(-1)
    count = flat.size
    if count <= _SHOWN:
        values = [_value(value) for value in flat]
    else:
        values = [*map(_value, flat[: _SHOWN // 2]), "..", *map(_value, flat[-_SHOWN // 2 :])]
    return f"{name}: {rust_type}, {count} element{'s' if count != 1 else ''}\n[{', '.join(values)}]"


def _value(value: Any) -> str:
    """One element in Rust's words where it has some."""
    if isinstance(value, np.bool_):
        return "true" if value else "false"
    if isinstance(value, np.void):
        return value.tobytes().hex() if value.dtype.names is None else str(value)
    return str(value)


def _module(options: BuildOptions, kernel: str | None, device: str, sim: SimOptions, progress: Progress) -> Module:
    """The built crate on ``device``."""
    if device == "sim":
        options = replace(options, archs=())  # which any build will do for, and needs no CUDA tool
    else:
        from mirgen.runtime.cuda import architecture

        options = replace(options, archs=(architecture(device),))
    result = alone_if_need_be(lambda some: build(some, progress), options, kernel, progress)
    return module_of(result.manifest, result.manifest_path.parent, device, sim)


def _sim_options(schedule: Literal["forward", "reverse", "random"] | None, seed: int | None) -> SimOptions:
    options = options_from_environment()
    if seed is not None:
        options = replace(options, seed=seed, schedule="random")
    return options if schedule is None else replace(options, schedule=schedule)


def _kernel(module: Module, name: str | None) -> Kernel:
    if name is not None:
        return module[name]
    kernels = list(module.kernels.values())
    if len(kernels) == 1:
        return kernels[0]
    listed = "\n".join(f"  {kernel.spec.signature}" for kernel in kernels)
    raise InvalidInputError(f"which kernel? The crate has:\n{listed}")


def _assignments(words: tuple[str, ...], flag: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, value = parse_assignment(word, flag)
        if name in found:
            raise InvalidInputError(f"`{name}` is given twice", flag)
        found[name] = value
    return found


def _dims(extent: tuple[int, ...]) -> str:
    return str(extent[0]) if len(extent) == 1 else f"({', '.join(map(str, extent))})"


def _status(verb: str, rest: str) -> None:
    click.echo(status_line(verb, rest), err=True)
