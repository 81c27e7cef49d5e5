"""One launch in words, for the command line: ``--arg a=2.0 --arg x=@x.npy --out y=out.npy``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mirgen.runtime.abi import KernelSpec, Param
from mirgen.runtime.dims import LaunchConfig
from mirgen.runtime.errors import ArgumentTypeError, ArgumentValueError
from mirgen.runtime.literal import parse_argument
from mirgen.runtime.module import Kernel
from mirgen.runtime.npyio import write_npy


@dataclass(frozen=True, slots=True)
class RunResult:
    """``arrays`` are all array arguments after the launch, by name; ``written`` the files made."""

    arrays: dict[str, NDArray[Any]]
    written: tuple[Path, ...]


def run_kernel(
    kernel: Kernel, config: LaunchConfig, args: Mapping[str, str], out: Mapping[str, Path] | None = None,
    folder: Path | None = None,
) -> RunResult:  # fmt: skip
    """Parses ``args`` against the kernel's parameters, launches, writes the arrays named in ``out``.

    Everything is checked before the launch.  Raises :class:`InvalidInputError` for what the user wrote,
    :class:`DeviceError` for what the kernel did, :class:`OutputError` for a file that cannot be written after all.
    """
    spec, out = kernel.spec, out or {}
    params = {param.name: param for param in spec.arguments}
    for name in args:
        if name not in params:
            raise ArgumentTypeError(f"has no argument `{name}`: {spec.signature}", spec.name)
    values = {name: parse_argument(spec, params[name], text, folder) for name, text in args.items()}
    for name in out:
        _check_output(spec, params.get(name), name, values)
    kernel.launch(config, **values)
    arrays = {name: cast("NDArray[Any]", value) for name, value in values.items() if isinstance(value, np.ndarray)}
    for name, path in out.items():
        write_npy(path, arrays[name])
    return RunResult(arrays, tuple(out.values()))


def parse_assignment(text: str, what: str) -> tuple[str, str]:
    """``name=value``; raises :class:`ArgumentValueError` that shows the form of ``what``."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise ArgumentValueError(f"{text!r} is no NAME=VALUE", what)
    return name.strip(), value.strip()


def _check_output(spec: KernelSpec, param: Param | None, name: str, values: Mapping[str, object]) -> None:
    if param is None:
        raise ArgumentTypeError(f"has no argument `{name}`: {spec.signature}", spec.name)
    if param.kind in ("scalar", "aggregate"):
        raise ArgumentTypeError(f"argument `{name}: {param.shown}` is passed by value and has no result", spec.name)
    if not isinstance(values.get(name), np.ndarray):
        raise ArgumentValueError(f"output `{name}` needs an array to start from: --arg {name}=zeros(N)", spec.name)
