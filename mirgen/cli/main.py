"""Entry points: drop cargo's repeated word, run the command, turn errors into messages and exit codes."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from mirgen import __version__
from mirgen.cli import exit as codes
from mirgen.cli.command import usage_text
from mirgen.cli.settings import source_roots
from mirgen.diagnostics import MessageFormat
from mirgen.errors import InternalError, MirgenError

#: Commands and what each does; the module of that name is imported when asked for, so that `--help` needs little.
COMMANDS = {
    "new": "Make a crate with a first kernel",
    "build": "Compile the kernels of a crate to PTX and cubin",
    "check": "Check that kernels can be compiled, without making artefacts",
    "run": "Launch one kernel, on the simulator or a GPU",
    "test": "Run the tests of a crate, on the simulator or elsewhere",
    "asm": "Show SASS, PTX, LLVM IR or MIR of a kernel",
    "explain": "Explain an error code",
    "doctor": "Say what is installed and what is missing",
    "setup": "Build core and alloc for the GPU target, once per toolchain",
    "clean": "Remove what mirgen built",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"mirgen.cli.commands.{cmd_name}")
        return module.command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:  # the reader (`| head`) has seen enough; click itself would call it a failure
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(codes.OK)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = get_close_matches(args[0], COMMANDS, 1)
            hint = f"; did you mean `{close[0]}`?" if close else ""
            raise click.UsageError(f"no such command: `{args[0]}`{hint}", error.ctx) from None


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Compiles Rust crates to NVIDIA GPUs with the rustc that is already installed.",
    epilog="Start with `cargo mirgen new PATH`.  `cargo mirgen COMMAND --help` says more about a command.",
)
@click.version_option(__version__, "-V", "--version", prog_name="mirgen", message="%(prog)s %(version)s")
def cli() -> None:
    """The root group."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and exit with one of the documented codes.  ``cargo mirgen X`` arrives here as ``cargo-mirgen mirgen X``."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    as_cargo = Path(sys.argv[0]).name.startswith("cargo-mirgen")
    if as_cargo and args[:1] == ["mirgen"]:
        args = args[1:]
    sys.exit(_run(args, "cargo mirgen" if as_cargo else "mirgen"))


def _run(args: list[str], program: str) -> int:
    """The exit code; whatever goes wrong has been shown."""
    own = args[: args.index("--")] if "--" in args else args
    color = _value(own, "--color")
    if color in ("auto", "always", "never"):
        os.environ["CARGO_TERM_COLOR"] = color  # for our own lines and for the tools that we start
    if not args:
        click.echo(cli.get_help(click.Context(cli, info_name=program, **cli.context_settings)), err=True)
        return codes.USAGE
    try:
        status = cli.main(args=args, prog_name=program, standalone_mode=False)
    except click.ClickException as error:
        click.echo(usage_text(error), err=True)
        return codes.USAGE
    except (click.Abort, KeyboardInterrupt):
        return codes.INTERRUPTED
    except MirgenError as error:
        codes.show(error, _message_format(own), source_roots(_value(own, "--manifest-path")))
        return codes.exit_code(error)
    except OSError as error:
        click.echo(f"error: {error}", err=True)
        return codes.OUTPUT
    except Exception as error:
        traceback.print_exception(error)
        codes.show(InternalError(f"{type(error).__name__}: {error}"), _message_format(own))
        return codes.INTERNAL
    return status if isinstance(status, int) else codes.OK


def _value(args: Sequence[str], name: str) -> str | None:
    """The value of option ``name`` among ``args``: errors must follow some options even when parsing has failed."""
    for i, arg in enumerate(args):
        if arg.startswith(f"{name}="):
            return arg.partition("=")[2]
        if arg == name and i + 1 < len(args):
            return args[i + 1]
    return None


def _message_format(args: Sequence[str]) -> MessageFormat:
    value = _value(args, "--message-format")
    return value if value == "json" or value == "short" else "human"
