"""`sendonce restored`: tell a store that it was restored from a backup, before anything sends from it."""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime

import click
from rich.console import Group, RenderableType
from rich.text import Text

from sendonce_cli.exits import CliError, Exit
from sendonce_cli.options import StoreChoice, output_option, store_options
from sendonce_cli.output import emit, table
from sendonce_cli.stores import open_store
from sendonce_store.restoring import Restored, restored

__all__ = ["restored_command"]

MEANING = (
    "Every pending delivery of an unfinished campaign will count as one that may have been sent: without idempotency "
    "keys it ends as uncertain. Workers that still run lose their leases."
)
LOST = "Opt-outs, suppressions and orders given after that time are lost: bring them back before anything is sent."


@click.command(
    "restored",
    epilog="""\b
Use it once, on a store that came back from a backup or lost its latest commits in a failover,
before an operator or a worker starts there. All namespaces are looked at; the login must own the
store. What was sent after the backup stands as pending in it, and would go out again:
  - with a provider that honours idempotency keys it does, with the same key, while the key window
    lasts, counted from the backup
  - all else ends as uncertain: see `sendonce resolve`; uncertainPolicy Resend sends it again

\b
Examples:
  sendonce restored --database postgresql://owner@db/sendonce --yes
  sendonce restored --point 2026-12-01T03:00:00Z --yes     something ran on the copy already
""",
)
@click.option("--point", metavar="TIME", help="When the copy was made, with offset. Default: what it knows itself.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@store_options
@output_option
def restored_command(*, point: str | None, yes: bool, store: StoreChoice, output: str) -> int:
    """Say that this store was restored from a backup, so that nothing is sent again blindly."""
    moment = None if point is None else moment_of(point)
    if not yes:
        confirm()
    done = asyncio.run(_restored(store, moment))
    emit(done, output, lambda: shown(done))
    return Exit.OK


def moment_of(text: str) -> datetime:
    """A time with offset. Raises CliError."""
    example = "write it as 2026-12-01T03:00:00Z"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CliError(f"--point: {text!r} is not a time: {example}") from None
    if moment.tzinfo is None:
        raise CliError(f"--point: {text!r} has no offset: {example}")
    return moment


def confirm() -> None:
    """Ask on a terminal; elsewhere --yes must have been given. Raises CliError."""
    if not sys.stdin.isatty():
        raise CliError(f"--yes: is needed. {MEANING}")
    click.echo(MEANING, err=True)
    click.confirm("Was this store restored?", abort=True, err=True)


def shown(done: Restored) -> RenderableType:
    """What was done, for people."""
    head = Text(f"Nothing is known of what happened after {done.point.isoformat(timespec='seconds')}. {LOST}")
    if not done.campaigns:
        return Group(head, Text("No campaign was under way."))
    rows = [
        (one.namespace, one.send_key, one.deliveries, "and those still to be imported" if one.importing else "")
        for one in done.campaigns
    ]
    return Group(head, table(["NAMESPACE", "SEND KEY", "#IN DOUBT", ""], rows))


async def _restored(store: StoreChoice, point: datetime | None) -> Restored:
    async with open_store(store) as conn:
        return await restored(conn, point)
