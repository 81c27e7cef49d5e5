"""``cargo mirgen doctor``."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby

import click

from mirgen.cli.checkup import Finding, check_up, summary
from mirgen.cli.exit import OK, RUSTC

_MARKS = {"ok": ("ok", "green"), "missing": ("MISSING", "red"), "optional": ("--", "yellow")}


@click.command("doctor")
@click.option(
    "--message-format",
    type=click.Choice(["human", "short", "json"]),
    default="human",
    show_default=True,
    help="Everything, without paths and fixes, or for programs.",
)
@click.pass_context
def command(context: click.Context, message_format: str) -> None:
    """Say what is installed, where, in which version, and how to get what is missing.

    Exits with 101 where a build is not possible.
    """
    findings = check_up()
    if message_format == "json":
        click.echo(json.dumps({"findings": [asdict(f) for f in findings], "summary": summary(findings)}, indent=1))
    else:
        _show(findings, short=message_format == "short")
    context.exit(RUSTC if any(finding.state == "missing" for finding in findings) else OK)


def _show(findings: tuple[Finding, ...], *, short: bool) -> None:
    for group, members in groupby(findings, key=lambda finding: finding.group):
        click.secho(group, bold=True)
        findings_ = list(members)
        for finding, after in zip(findings_, [*findings_[1:], None], strict=True):
            mark, color = _MARKS[finding.state]
            click.echo(f"  {click.style(f'{mark:>7}', fg=color)}  {finding.name:<14} {finding.detail}")
            if finding.path and not short:
                click.echo(f"{'':27}{finding.path}")
            # What one step brings all of is said once, after the last.
            if finding.fix and not short and (after is None or after.fix != finding.fix):
                click.echo(f"{'':27}fix: {finding.fix}")
    click.secho("What works", bold=True)
    for line in summary(findings):
        click.echo(f"  {line}")
