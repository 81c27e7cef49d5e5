"""cargo's flag groups as click options, and what they say together with the settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from mirgen.cargo.options import CargoOptions
from mirgen.cli.command import cargo_arguments, option
from mirgen.cli.exit import show_warning
from mirgen.cli.previous import previous_build
from mirgen.cli.settings import DEFAULT_ARCH, read_settings, source_roots
from mirgen.diagnostics import MessageFormat
from mirgen.errors import InvalidInputError
from mirgen.link.arch import parse_archs
from mirgen.pipeline import BuildOptions, Progress

_F = TypeVar("_F", bound=Callable[..., Any])
_Flags = tuple[Callable[[Any], Any], ...]

_PACKAGE, _FEATURES, _COMPILE = "Package selection", "Feature selection", "Compilation"
_MANIFEST, _OUTPUT, _GPU = "Manifest", "Output", "GPU code"

#: Sections of the help that the compiling commands have in common.
SHARED_SECTIONS = (_GPU, _PACKAGE, _FEATURES, _COMPILE, _MANIFEST, _OUTPUT)

_CARGO_FLAGS: _Flags = (
    option(_PACKAGE, "-p", "--package", metavar="SPEC", help="Package whose kernels are meant."),
    option(_PACKAGE, "--lib", is_flag=True, help="The package's library (default)."),
    option(_PACKAGE, "--bin", "bin_", metavar="NAME", help="A binary instead of the library."),
    option(_PACKAGE, "--example", metavar="NAME", help="An example instead of the library."),
    option(_FEATURES, "-F", "--features", multiple=True, metavar="FEATURES", help="Features, separated by commas."),
    option(_FEATURES, "--all-features", is_flag=True, help="All features of the package."),
    option(_FEATURES, "--no-default-features", is_flag=True, help="Leave the `default` feature out."),
    option(_COMPILE, "-r", "--release", is_flag=True, help="With the release profile (no overflow checks)."),
    option(_COMPILE, "--profile", metavar="NAME", help="With this profile."),
    option(
        _COMPILE, "--target", type=click.Choice(["auto", "nvptx64", "host"]),
        help="What rustc compiles the crates for: nvptx64, the host, or (auto) nvptx64 where its core can be had.",
    ),
    option(
        _COMPILE, "--target-dir", type=click.Path(path_type=Path), metavar="DIRECTORY", help="Folder for all output."
    ),
    option(_MANIFEST, "--manifest-path", type=click.Path(path_type=Path), metavar="PATH", help="Path to Cargo.toml."),
    option(_MANIFEST, "--config", multiple=True, metavar="KEY=VALUE", help="Override a cargo configuration value."),
    option(_MANIFEST, "--locked", is_flag=True, help="Cargo.lock must stay as it is."),
    option(_MANIFEST, "--offline", is_flag=True, help="Without network access."),
    option(_MANIFEST, "--frozen", is_flag=True, help="As --locked and --offline."),
    option(_OUTPUT, "-v", "--verbose", count=True, help="More output (-vv: even more)."),
    option(_OUTPUT, "-q", "--quiet", is_flag=True, help="No status lines."),
    option(_OUTPUT, "--color", type=click.Choice(["auto", "always", "never"]), help="Colouring."),
    option(
        _OUTPUT, "--message-format", type=click.Choice(["human", "short", "json"]), default="human", show_default=True,
        help="How errors are shown.",
    ),
)  # fmt: skip

_BUILD_FLAGS: _Flags = (
    option(
        _GPU, "--arch", metavar="LIST", help=f"GPU architectures, e.g. sm_90,sm_100.  [default: {DEFAULT_ARCH}]"
    ),
    option(_GPU, "--codegen", type=click.Choice(["llvm", "nvvm"]), help="LLVM (default) or NVIDIA's libNVVM."),
    option(
        _GPU, "--assembler", type=click.Choice(["auto", "ptxas", "nvjitlink", "none"]),
        help="What turns PTX into a cubin; auto (default) takes what is there.",
    ),
    option(
        _GPU, "--panic", type=click.Choice(["auto", "message", "code", "trap"]),
        help="What a panic on the GPU leaves: a printed message, the number of its place, or only a trap; "
        "auto (default) is message in the dev profile, else code.",
    ),
)  # fmt: skip


def cargo_flags(function: _F) -> _F:
    """Adds cargo's flags to a command; :func:`cargo_options` reads them."""
    return _apply(function, _CARGO_FLAGS)


def build_flags(function: _F) -> _F:
    """Adds mirgen's flags and cargo's; :func:`build_options` reads them."""
    return _apply(function, (*_BUILD_FLAGS, *_CARGO_FLAGS))


def _apply(function: _F, options: _Flags) -> _F:
    for add in reversed(options):
        function = add(function)
    return function


def cargo_options(flags: dict[str, Any], settings: dict[str, str] | None = None) -> CargoOptions:
    """What the flags of :func:`cargo_flags` say.

    Raises :class:`InvalidInputError` for flags that exclude each other.
    """
    profile = flags["profile"] or ("release" if flags["release"] else "dev")
    if flags["profile"] and flags["release"]:
        raise InvalidInputError("`--release` and `--profile` exclude each other")
    if sum((flags["lib"], flags["bin_"] is not None, flags["example"] is not None)) > 1:
        raise InvalidInputError("only one of `--lib`, `--bin` and `--example` can be built at a time")
    settings = read_settings(flags) if settings is None else settings
    target: Any = settings.get("target", "auto")
    return CargoOptions(
        manifest_path=flags["manifest_path"],
        package=flags["package"],
        example=flags["example"],
        bin=flags["bin_"],
        features=tuple(flags["features"]),
        all_features=flags["all_features"],
        no_default_features=flags["no_default_features"],
        profile=profile,
        target=target,
        target_dir=flags["target_dir"],
        config=tuple(flags["config"]),
        locked=flags["locked"],
        offline=flags["offline"],
        frozen=flags["frozen"],
        quiet=flags["quiet"],
        verbose=flags["verbose"],
        color=flags["color"],
        message_format=flags["message_format"],
        extra=cargo_arguments(),
    )


def progress_of(flags: dict[str, Any]) -> Progress:
    """How the flags want to be told of what goes on; warnings are shown however quiet."""
    form: MessageFormat = flags["message_format"]
    path: Path | None = flags["manifest_path"]
    roots = source_roots(None if path is None else str(path))
    return Progress(quiet=flags["quiet"], on_warning=lambda warning: show_warning(warning, form, roots))


def build_options(flags: dict[str, Any], kernels: tuple[str, ...] = (), *, as_before: bool = False) -> BuildOptions:
    """What the flags of :func:`build_flags` say, over the environment, over Cargo.toml.

    ``as_before``: what nothing says is as in the last build of the crate.  Raises :class:`InvalidInputError` for a
    setting that makes no sense.
    """
    settings = read_settings(flags)
    if as_before and not {"arch", "codegen"} & settings.keys():
        last = previous_build(cargo_options(flags, settings))
        if last is not None and last.artifacts:
            settings["arch"] = ",".join(artifact.arch for artifact in last.artifacts)
            settings["codegen"] = last.artifacts[0].codegen
            settings.setdefault("panic", last.panic)
    codegen: Any = settings.get("codegen", "llvm")
    assembler: Any = settings.get("assembler", "auto")
    panics: Any = settings.get("panic", "auto")
    return BuildOptions(
        cargo=cargo_options(flags, settings),
        archs=tuple(arch.name for arch in parse_archs(settings.get("arch", DEFAULT_ARCH))),
        codegen=codegen,
        assembler=assembler,
        kernels=kernels,
        panics=panics,
    )
