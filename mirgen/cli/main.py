"""Entry points: drop cargo's repeated word, run the command, turn errors into messages and exit codes."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence

import click

from mirgen import __version__
from mirgen.cli.exit import exit_code, show
from mirgen.diagnostics import MessageFormat
from mirgen.errors import InternalError, MirgenError

#: Commands and the module that holds each; imported when asked for, so that `--help` needs nothing installed.
_COMMANDS = {
    "new": "Make a crate with a first kernel",
    "build": "Compile the kernels of a crate to PTX and cubin",
    "check": "Check that the kernels of a crate can be compiled, without making artefacts",
    "run": "Launch one kernel, on the simulator or a GPU",
    "asm": "Show MIR, LLVM IR, PTX or SASS of a kernel",
    "explain": "Explain an error code",
    "doctor": "Say what is installed and what is missing",
    "setup": "Build core and alloc for the GPU target, once per toolchain",
    "clean": "Remove what mirgen built",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"mirgen.cli.commands.{cmd_name}")
        return module.command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            close = get_close_matches(args[0], _COMMANDS, 1)
            error.message = f"no such command: `{args[0]}`" + (f"; did you mean `{close[0]}`?" if close else "")
            raise


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Compiles Rust crates to NVIDIA GPUs with the rustc that is already installed.",
)
@click.version_option(__version__, "-V", "--version", prog_name="mirgen")
def cli() -> None:
    """The root group."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and exit with one of the documented codes.  ``cargo mirgen X`` arrives here as ``cargo-mirgen mirgen X``."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    program = os.path.basename(sys.argv[0])  # noqa: PTH119
    as_cargo = program.startswith("cargo-mirgen")
    if as_cargo and args[:1] == ["mirgen"]:
        args = args[1:]
    try:
        cli.main(args=args, prog_name="cargo mirgen" if as_cargo else "mirgen", standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        click.echo("aborted", err=True)
        sys.exit(130)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MirgenError as error:
        show(error, _message_format(args))
        sys.exit(exit_code(error))
    except OSError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(110)
    except Exception as error:
        detail = "".join(traceback.format_exception(error))
        show(InternalError(f"{type(error).__name__}: {error}", statement=detail))
        sys.exit(1)
    sys.exit(0)


def _message_format(args: Sequence[str]) -> MessageFormat:
    """The ``--message-format`` among ``args``: errors must follow it even when they come before parsing ends."""
    for i, arg in enumerate(args):
        value = arg.partition("=")[2] if arg.startswith("--message-format=") else None
        if arg == "--message-format" and i + 1 < len(args):
            value = args[i + 1]
        if value == "json":
            return "json"
        if value == "short":
            return "short"
    return "human"
