"""``mirgen.load``: from a crate or a manifest to a module of kernels."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mirgen.errors import InvalidInputError
from mirgen.runtime.abi import Facts, KernelSpec
from mirgen.runtime.errors import LaunchError, Site
from mirgen.runtime.executor import Executor
from mirgen.runtime.module import Module
from mirgen.runtime.sim.launch import SimModule, SimOptions
from mirgen.runtime.sites import sites_of
from mirgen.targets.host_abi import ENTRY

if TYPE_CHECKING:
    from mirgen.link.manifest import Manifest

#: The manifest's key of the simulator's code.
HOST_FILE = "host.ll"

_Number = TypeVar("_Number", int, float)
_Default = TypeVar("_Default")


def load(
    source: str | os.PathLike[str], *, device: str | None = None, sim: SimOptions | None = None,
    release: bool = True, features: Sequence[str] = (),
) -> Module:  # fmt: skip
    """The kernels of a crate.

    ``source`` is a crate's folder (built first, which costs nothing when nothing changed), a ``manifest.json``, or
    the folder of one.  ``device`` is ``sim`` or ``cuda:N``; by default ``MIRGEN_DEVICE``, else ``sim``.  ``sim`` sets
    the simulator's options (else ``MIRGEN_SIM_*``).  Raises :class:`MirgenError` for everything that can go wrong.
    """
    path = Path(source)
    device = device or os.environ.get("MIRGEN_DEVICE") or "sim"
    if (path / "Cargo.toml").is_file() or path.name == "Cargo.toml":
        path = _build(path if path.is_dir() else path.parent, device, release=release, features=tuple(features))
    from mirgen.link.manifest import load_manifest

    manifest = load_manifest(path)
    folder = path if path.is_dir() else path.parent
    return module_of(manifest, folder, device, sim)


def module_of(manifest: Manifest, folder: Path, device: str, sim: SimOptions | None = None) -> Module:
    """The module of a manifest whose files lie in ``folder``."""
    kernels = [KernelSpec.of(kernel, symbol=kernel.symbol, facts=Facts.of(kernel.facts)) for kernel in manifest.kernels]
    executor: Executor
    if device == "sim":
        executor = _simulated(manifest, folder, kernels, sim or options_from_environment())
    else:
        from mirgen.runtime.cuda import Cubin, CudaExecutor, device_number

        device = f"cuda:{device_number(device)}"
        cubins = [
            Cubin(artifact.arch, (folder / artifact.files["cubin"]).read_bytes())
            for artifact in manifest.artifacts
            if "cubin" in artifact.files
        ]
        sites = [Site(panic.message, str(panic.span) if panic.span else None, panic.args) for panic in manifest.panics]
        executor = CudaExecutor(device, cubins, sites if manifest.panic != "trap" else ())
    return Module(manifest.crate_name, kernels, executor, device)


def options_from_environment() -> SimOptions:
    """``MIRGEN_SIM_SCHEDULE``, ``_SEED``, ``_THREADS``, ``_TIMEOUT`` and ``_OPT_LEVEL``.

    Raises :class:`LaunchError` for a value that makes no sense.
    """
    defaults = SimOptions()
    schedule = os.environ.get("MIRGEN_SIM_SCHEDULE", defaults.schedule)
    if schedule not in ("forward", "reverse", "random"):
        raise LaunchError(f"MIRGEN_SIM_SCHEDULE is {schedule!r}, expected forward, reverse or random")
    return SimOptions(
        schedule,
        _number("MIRGEN_SIM_SEED", int, defaults.seed),
        _number("MIRGEN_SIM_THREADS", int, defaults.os_threads),
        _number("MIRGEN_SIM_TIMEOUT", float, defaults.timeout),
        _number("MIRGEN_SIM_OPT_LEVEL", int, defaults.opt_level),
    )


def _number(name: str, parse: Callable[[str], _Number], default: _Default) -> _Number | _Default:
    text = os.environ.get(name)
    if text is None:
        return default
    try:
        return parse(text)
    except ValueError:
        raise LaunchError(f"{name} is {text!r}, expected a number") from None


def _simulated(manifest: Manifest, folder: Path, kernels: Sequence[KernelSpec], options: SimOptions) -> Executor:
    from mirgen.runtime.simulated import SimExecutor

    file = manifest.files.get(HOST_FILE)
    if file is None:
        raise InvalidInputError(
            f'crate {manifest.crate_name} was built without code for the simulator: build again, or use device="cuda:0"'
        )
    names = tuple(ENTRY + kernel.name for kernel in kernels)
    text = (folder / file).read_text(encoding="utf-8")
    return SimExecutor(SimModule(text, names, sites_of(text), (folder / file).with_suffix(".o")), options)


def _build(folder: Path, device: str, *, release: bool, features: tuple[str, ...]) -> Path:
    from mirgen.runtime.build import build_crate

    return build_crate(folder, device, release=release, features=features)
