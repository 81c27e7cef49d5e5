"""cargo's flag groups as click options, and the settings below them.

Settings come from ``[package.metadata.mirgen]`` in Cargo.toml, then ``MIRGEN_*``, then flags; the last one wins.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from mirgen.cargo.options import CargoOptions
from mirgen.errors import InvalidInputError
from mirgen.link.arch import parse_archs
from mirgen.pipeline import BuildOptions

_F = TypeVar("_F", bound=Callable[..., Any])

_CARGO_FLAGS: tuple[Callable[[Any], Any], ...] = (
    click.option("-p", "--package", metavar="SPEC", help="Package whose kernels are meant."),
    click.option("--lib", is_flag=True, help="The package's library (default)."),
    click.option("--bin", "bin_", metavar="NAME", help="A binary instead of the library."),
    click.option("--example", metavar="NAME", help="An example instead of the library."),
    click.option("-F", "--features", multiple=True, metavar="FEATURES", help="Features, separated by commas."),
    click.option("--all-features", is_flag=True, help="All features of the package."),
    click.option("--no-default-features", is_flag=True, help="Leave the `default` feature out."),
    click.option("-r", "--release", is_flag=True, help="With the release profile."),
    click.option("--profile", metavar="NAME", help="With this profile."),
    click.option("--target-dir", type=click.Path(path_type=Path), metavar="DIRECTORY", help="For all output."),
    click.option(
        "--manifest-path", type=click.Path(path_type=Path), metavar="PATH", help="Path to Cargo.toml."
    ),
    click.option("--config", "config", multiple=True, metavar="KEY=VALUE", help="Override a cargo configuration value."),
    click.option("--locked", is_flag=True, help="Cargo.lock must stay as it is."),
    click.option("--offline", is_flag=True, help="Without network access."),
    click.option("--frozen", is_flag=True, help="As --locked and --offline."),
    click.option("-v", "--verbose", count=True, help="More output (-vv: even more)."),
    click.option("-q", "--quiet", is_flag=True, help="No status lines."),
    click.option("--color", type=click.Choice(["auto", "always", "never"]), help="Colouring."),
    click.option(
        "--message-format", type=click.Choice(["human", "short", "json"]), default="human", show_default=True,
        help="How errors are shown.",
    ),
    click.option(
        "--target", type=click.Choice(["auto", "nvptx64", "host"]), envvar="MIRGEN_TARGET_KIND",
        help="What rustc compiles the crates for: nvptx64 where its core can be had, else the host.",
    ),
)  # fmt: skip

_BUILD_FLAGS: tuple[Callable[[Any], Any], ...] = (
    click.option("--arch", metavar="LIST", help="GPU architectures, e.g. sm_90,sm_100."),
    click.option("--codegen", type=click.Choice(["llvm", "nvvm"]), help="LLVM's NVPTX (default) or libNVVM."),
    click.option(
        "--assembler", type=click.Choice(["auto", "ptxas", "nvjitlink", "none"]),
        help="What turns PTX into a cubin.",
    ),
)  # fmt: skip

_KEYS = {
    "arch": "MIRGEN_ARCH",
    "codegen": "MIRGEN_CODEGEN",
    "assembler": "MIRGEN_ASSEMBLER",
    "target": "MIRGEN_TARGET_KIND",
}


def cargo_flags(function: _F) -> _F:
    """Adds cargo's flags to a command; :func:`cargo_options` reads them."""
    return _apply(function, _CARGO_FLAGS)


def build_flags(function: _F) -> _F:
    """Adds cargo's flags and mirgen's own; :func:`build_options` reads them."""
    return _apply(function, (*_CARGO_FLAGS, *_BUILD_FLAGS))


def _apply(function: _F, options: tuple[Callable[[Any], Any], ...]) -> _F:
    for option in reversed(options):
        function = option(function)
    return function


def cargo_options(flags: dict[str, Any], extra: tuple[str, ...] = ()) -> CargoOptions:
    """What the flags of :func:`cargo_flags` say; ``extra`` goes to cargo as it is."""
    profile = flags["profile"] or ("release" if flags["release"] else "dev")
    if flags["profile"] and flags["release"]:
        raise InvalidInputError("`--release` and `--profile` exclude each other")
    settings = _settings(flags)
    return CargoOptions(
        manifest_path=flags["manifest_path"],
        package=flags["package"],
        example=flags["example"],
        bin=flags["bin_"],
        features=tuple(flags["features"]),
        all_features=flags["all_features"],
        no_default_features=flags["no_default_features"],
        profile=profile,
        target=settings.get("target") or "auto",
        target_dir=flags["target_dir"],
        config=tuple(flags["config"]),
        locked=flags["locked"],
        offline=flags["offline"],
        frozen=flags["frozen"],
        quiet=flags["quiet"],
        verbose=flags["verbose"],
        color=flags["color"],
        message_format=flags["message_format"],
        extra=extra,
    )


def build_options(flags: dict[str, Any], kernels: tuple[str, ...] = (), extra: tuple[str, ...] = ()) -> BuildOptions:
    """What the flags of :func:`build_flags` say, over the environment, over Cargo.toml."""
    settings = _settings(flags)
    archs = settings.get("arch") or "sm_90"
    return BuildOptions(
        cargo=cargo_options(flags, extra),
        archs=tuple(arch.name for arch in parse_archs(archs)),
        codegen=settings.get("codegen") or "llvm",
        assembler=settings.get("assembler") or "auto",
        kernels=kernels,
    )


def _settings(flags: dict[str, Any]) -> dict[str, Any]:
    """``[package.metadata.mirgen]`` < ``MIRGEN_*`` < flags."""
    settings = _manifest_settings(flags["manifest_path"])
    settings |= {key: os.environ[name] for key, name in _KEYS.items() if os.environ.get(name)}
    return settings | {key: flags[key] for key in _KEYS if flags.get(key)}


def _manifest_settings(manifest: Path | None) -> dict[str, Any]:
    path = manifest or Path("Cargo.toml")
    if not path.is_file():
        return {}
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}  # cargo itself says what is wrong with it
    table = data.get("package", {}).get("metadata", {}).get("mirgen", {})
    for key, value in table.items():
        if key not in _KEYS:
            close = difflib.get_close_matches(key, _KEYS, 1)
            hint = f"; did you mean `{close[0]}`?" if close else f"; known are {', '.join(_KEYS)}"
            raise InvalidInputError(f"unknown key `{key}` in [package.metadata.mirgen]{hint}", str(path))
        if isinstance(value, list):
            table = {**table, key: ",".join(map(str, value))}
    return dict(table)
