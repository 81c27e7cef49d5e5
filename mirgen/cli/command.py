"""Commands in cargo's manner: options in sections, what stands after ``--`` for cargo, errors as cargo words them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])

_EXTRA = "mirgen.cli.extra"
_LAST = "Help"


class SectionOption(click.Option):
    """An option that help lists under ``section``."""

    def __init__(self, *args: Any, section: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


def option(section: str, *names: str, **kwargs: Any) -> Callable[[_F], _F]:
    """Like :func:`click.option`, under a section of the help."""
    return click.option(*names, cls=SectionOption, section=section, **kwargs)


class CargoCommand(click.Command):
    """A command that runs cargo: arguments after ``--`` are cargo's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Sets cargo's own arguments aside."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[_EXTRA] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """With the place of cargo's arguments."""
        return [*super().collect_usage_pieces(ctx), "[-- CARGO_ARGS...]"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, section by section in the order in which sections first appear."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                section = parameter.section if isinstance(parameter, SectionOption) else _LAST
                sections.setdefault(section, []).append(record)
        sections[_LAST] = sections.pop(_LAST, [])
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def cargo_arguments() -> tuple[str, ...]:
    """What stood after ``--`` on the command line."""
    return click.get_current_context().meta.get(_EXTRA, ())


def usage_text(error: click.ClickException) -> str:
    """A wrong use of the command line, as cargo words it."""
    message = error.format_message().rstrip(".")
    lines = [f"error: {message[:1].lower()}{message[1:]}"]
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        lines += ["", context.get_usage(), "", "For more information, try '--help'."]
    return "\n".join(lines)


def joined(values: Iterable[str]) -> str:
    """``a, b or c``."""
    *first, last = values
    return f"{', '.join(first)} or {last}" if first else last
