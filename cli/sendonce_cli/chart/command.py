"""`sendonce chart test` and `sendonce chart uninstall`: the commands of the Helm chart's Pods."""

from __future__ import annotations

from contextlib import closing

import click

from sendonce_cli.chart.api import in_cluster
from sendonce_cli.chart.leaving import Leaving, Policy
from sendonce_cli.chart.proving import prove
from sendonce_cli.exits import Exit

__all__ = ["chart_group"]


@click.group("chart")
def chart_group() -> None:
    """What the Helm chart runs in Pods of its own: `helm test`, and the look before an uninstall."""


@chart_group.command(
    "test",
    epilog="""\b
Examples:
  helm test sendonce --namespace sendonce-system

\b
Exit codes: 0 proved, 2 the far end's ledger says otherwise, 6 the campaign did not end.
""",
)
@click.option("--people", type=click.IntRange(1, 10_000), default=200, show_default=True)
@click.option("--timeout", type=click.FloatRange(1), default=180.0, show_default=True, help="Seconds.")
@click.option("--host", envvar="POD_IP", required=True, show_envvar=True, help="Where workers reach this Pod.")
def test_command(*, people: int, timeout: float, host: str) -> int:
    """Send a campaign through this cluster's operator to a far end in this Pod, and prove it."""
    with closing(in_cluster()) as api:
        click.echo("\n".join(prove(api, host, people, timeout)))
    return Exit.OK


@chart_group.command(
    "uninstall",
    epilog="""\b
Examples:
  helm uninstall sendonce --namespace sendonce-system

\b
Exit codes: 0 it may go, 6 campaigns are not finished.
""",
)
@click.option("--operator", required=True, help="Name of the operator's Deployment.")
@click.option("--policy", type=click.Choice([item.value for item in Policy]), default="Refuse", show_default=True)
@click.option("--timeout", type=click.FloatRange(0), default=240.0, show_default=True, help="Seconds, with Wait.")
def uninstall_command(*, operator: str, policy: str, timeout: float) -> int:
    """Look for campaigns that are not finished, stop the operator, and release its finalizers."""
    with closing(in_cluster()) as api:
        click.echo("\n".join(Leaving(api, operator, Policy(policy), timeout).run()))
    return Exit.OK
