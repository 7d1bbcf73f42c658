"""`sendonce migrate`, `purge` and `completion`: what keeps a store and a shell in order."""

from __future__ import annotations

import asyncio
import sys

import click
from click.shell_completion import get_completion_class
from rich.text import Text

from sendonce_cli.exits import CliError, Exit
from sendonce_cli.options import StoreChoice, output_option, store_options
from sendonce_cli.output import emit
from sendonce_cli.stores import Store, find, open_store
from sendonce_store import ledger
from sendonce_store.migrate import newest
from sendonce_store.receipts import forget
from sendonce_store.retention import delete_data, due_campaigns, forget_contacts

__all__ = ["completion_command", "migrate_command", "purge_command"]


@click.command(
    "migrate",
    epilog="""\b
Examples:
  sendonce migrate --database postgresql://owner@db/sendonce
  SENDONCE_DATABASE=postgresql://owner@db/sendonce sendonce migrate -o json

\b
Exit codes: 0 up to date, 2 the database can't be used, or its schema is newer than this program.
""",
)
@store_options
@output_option
def migrate_command(*, store: StoreChoice, output: str) -> int:
    """Make the schema, or bring it up to date. Programs that start at the same time wait for each other."""

    async def migrate() -> int:
        async with Store(store) as opened:
            return await opened.migrate()

    applied = asyncio.run(migrate())
    words = (
        f"schema version {newest()}, {applied} migrations applied" if applied else f"schema version {newest()} already"
    )
    emit({"version": newest(), "applied": applied}, output, lambda: Text(words))
    return Exit.OK


@click.command(
    "purge",
    epilog="""\b
Counts, send key and content hash stay for ever, so that a finished campaign is never sent again.

\b
Examples:
  sendonce purge spring --yes
  sendonce purge --due            every campaign that is older than its dataRetentionDays
""",
)
@click.argument("campaign", required=False)
@click.option("--due", is_flag=True, help="All finished campaigns that are older than their dataRetentionDays.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@store_options
@output_option
def purge_command(*, campaign: str | None, due: bool, yes: bool, store: StoreChoice, output: str) -> int:
    """Delete the recipients' data of a finished campaign, in small steps."""
    if (campaign is None) == (not due):
        raise CliError("give either CAMPAIGN or --due")
    if campaign is not None and not yes:
        if not sys.stdin.isatty():
            raise CliError(f"--yes: is needed to delete the recipients' data of {campaign}; it can't be brought back")
        click.confirm(f"Delete the recipients' data of {campaign}? It can't be brought back.", abort=True, err=True)
    done = asyncio.run(_purge(store, campaign))
    words = "\n".join(f"{one['sendKey']}: {one['deliveries']:,} deliveries deleted" for one in done) or "nothing is due"
    emit(done, output, lambda: Text(words))
    return Exit.OK


async def _purge(store: StoreChoice, name: str | None) -> list[dict[str, object]]:
    done = []
    async with open_store(store) as conn:
        if name is None:
            await forget(conn)
        ids = (
            await due_campaigns(conn, store.namespace)
            if name is None
            else [(await find(conn, store.namespace, name)).id]
        )
        if name is None:
            await forget_contacts(conn, store.namespace)
        for campaign_id in ids:
            campaign = await ledger.overview(conn, store.namespace, campaign_id)
            deleted = await delete_data(conn, campaign_id)
            done.append(
                {
                    "sendKey": campaign.send_key if campaign else "",
                    "deliveries": deleted.deliveries,
                    "recipients": deleted.recipients,
                    "batches": deleted.batches,
                    "rejects": deleted.rejects,
                }
            )
    return done


@click.command(
    "completion",
    epilog="""\b
Examples:
  sendonce completion bash > ~/.local/share/bash-completion/completions/sendonce
  sendonce completion zsh > "${fpath[1]}/_sendonce"
  sendonce completion fish > ~/.config/fish/completions/sendonce.fish
""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, *, shell: str) -> int:
    """Print the completion script for a shell: commands, options, and the names of campaigns."""
    found = get_completion_class(shell)
    if found is None:
        raise CliError(f"there is no completion for {shell}")
    click.echo(found(context.find_root().command, {}, "sendonce", "_SENDONCE_COMPLETE").source())
    return Exit.OK
