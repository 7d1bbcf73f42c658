"""`sendonce suppress`: who must not be written to, at all (suppressions) or about a category or topic (opt-outs)."""

from __future__ import annotations

import asyncio
import csv
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click
from rich.text import Text

from sendonce_cli.consent_rows import OPT_OUT_COLUMNS, SUPPRESSION_COLUMNS, Entry, normalised_entry, read_entries
from sendonce_cli.exits import CliError, Exit
from sendonce_cli.options import StoreChoice, output_option, store_options
from sendonce_cli.output import emit, table
from sendonce_cli.stores import open_store
from sendonce_store import consent
from sendonce_store.connection import Connection
from sendonce_store.consent import REASONS, OptOut, Suppression, Wanted
from sendonce_store.spec import Category, Channel

__all__ = ["suppress_group"]

Command = TypeVar("Command", bound=Callable[..., Any])
CHANNELS = click.Choice([channel.value for channel in Channel])
CATEGORIES = click.Choice([category.value for category in Category])
CHUNK = 5000


@click.group("suppress")
def suppress_group() -> None:
    """Suppressions (bounced, complained, blocked) and opt-outs: add, remove, list, import, export.

    Both are looked at when a message is handed off, so they also hold for campaigns that are running.
    """


def kind_options(command: Command) -> Command:
    """Add --opt-out, --category and --topic."""
    options = (
        click.option("--opt-out", "opt_outs", is_flag=True, help="Opt-outs of a category or topic, not suppressions."),
        click.option("--category", type=CATEGORIES, help="With --opt-out."),
        click.option("--topic", metavar="TOPIC", help="With --opt-out: of one topic; default: the whole category."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def entry_of(channel: str, address: str, reason: str | None, category: str | None, topic: str | None) -> Entry:
    """The entry that the options describe, with its address normalised. Raises CliError."""
    values = {"channel": channel, "address": address}
    if reason is not None:
        values["reason"] = reason
    else:
        values |= {"category": category or "", "topic": topic or ""}
    found = normalised_entry(values, opt_out=reason is None)
    if isinstance(found, str):
        raise CliError(f"ADDRESS: {found}" if "address" in found else found)
    return found


def check_kind(*, opt_outs: bool, category: str | None, topic: str | None, reason: str | None = None) -> None:
    """Options that do not go together. Raises CliError."""
    if opt_outs and category is None:
        raise CliError("--category: is needed with --opt-out: Marketing or Transactional")
    if opt_outs and reason is not None:
        raise CliError("--reason: is for suppressions; leave it out with --opt-out")
    if not opt_outs and (category is not None or topic is not None):
        raise CliError("--category and --topic: are for opt-outs; add --opt-out")


@suppress_group.command(
    "add",
    epilog="""\b
Examples:
  sendonce suppress add Email mia@example.com --reason bounced
  sendonce suppress add SMS +15005550006 --opt-out --category Marketing
  sendonce suppress add Email mia@example.com --opt-out --category Marketing --topic newsletter
""",
)
@click.argument("channel", type=CHANNELS)
@click.argument("address")
@click.option("--reason", type=click.Choice(REASONS), help="Why; default: blocked.")
@kind_options
@store_options
def add_command(  # noqa: PLR0913 - one parameter per option
    *,
    channel: str,
    address: str,
    reason: str | None,
    opt_outs: bool,
    category: str | None,
    topic: str | None,
    store: StoreChoice,
) -> int:
    """Suppress an address, or note that a person has opted out."""
    check_kind(opt_outs=opt_outs, category=category, topic=topic, reason=reason)
    entry = entry_of(channel, address, None if opt_outs else reason or "blocked", category, topic)

    async def add() -> int:
        async with open_store(store, make=True) as conn:
            return await write(conn, store.namespace, [entry], "command line")

    click.echo("added" if asyncio.run(add()) else "it was there already")
    return Exit.OK


@suppress_group.command(
    "remove",
    epilog="""\b
Examples:
  sendonce suppress remove Email mia@example.com
  sendonce suppress remove Email mia@example.com --opt-out --category Marketing --topic newsletter

\b
Exit codes: 0 removed, 2 wrong input, 4 there was none.
""",
)
@click.argument("channel", type=CHANNELS)
@click.argument("address")
@kind_options
@store_options
def remove_command(  # noqa: PLR0913 - one parameter per option
    *, channel: str, address: str, opt_outs: bool, category: str | None, topic: str | None, store: StoreChoice
) -> int:
    """Take a suppression or an opt-out back."""
    check_kind(opt_outs=opt_outs, category=category, topic=topic)
    entry = entry_of(channel, address, None if opt_outs else "blocked", category, topic)

    async def remove() -> int:
        async with open_store(store) as conn:
            if isinstance(entry, OptOut):
                return await consent.opt_in(conn, store.namespace, [entry])
            return await consent.unsuppress(conn, store.namespace, [entry])

    if not asyncio.run(remove()):
        raise CliError(f"there is no such entry for {channel} {address}: `sendonce suppress list`", Exit.NOT_FOUND)
    click.echo("removed")
    return Exit.OK


@suppress_group.command(
    "list",
    epilog="""\b
Examples:
  sendonce suppress list --channel Email
  sendonce suppress list --opt-out --category Marketing -o json
""",
)
@click.option("--channel", type=CHANNELS)
@click.option("--address", metavar="ADDRESS", help="One address; needs --channel.")
@kind_options
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=100, show_default=True)
@store_options
@output_option
def list_command(  # noqa: PLR0913 - one parameter per option
    *,
    channel: str | None,
    address: str | None,
    opt_outs: bool,
    category: str | None,
    topic: str | None,
    limit: int,
    store: StoreChoice,
    output: str,
) -> int:
    """List suppressions, or opt-outs."""
    if address is not None:
        if channel is None:
            raise CliError("--address: needs --channel, which says what kind of address it is")
        address = entry_of(channel, address, "blocked", None, None).address
    wanted = Wanted(channel, address, category, topic)

    async def read() -> list[Entry]:
        async with open_store(store) as conn:
            return [entry async for entry in _first(entries(conn, store.namespace, wanted, opt_outs=opt_outs), limit)]

    found = asyncio.run(read())
    columns = ["CHANNEL", "ADDRESS", *(["CATEGORY", "TOPIC"] if opt_outs else ["REASON"]), "SOURCE", "SINCE"]
    emit(found, output, lambda: table(columns, map(_row, found)) if found else Text("none"))
    return Exit.OK


def _row(entry: Entry) -> tuple[object, ...]:
    what = (entry.category, entry.topic or "(all)") if isinstance(entry, OptOut) else (entry.reason,)
    return (entry.channel, entry.address, *what, entry.source, entry.created_at)


@suppress_group.command(
    "import",
    epilog="""\b
FILE is CSV in UTF-8 with a header: channel,address,reason, or with --opt-out
channel,address,category,topic. A topic that is empty or missing means the whole category.
`-` is standard input. With one bad row nothing is imported.

\b
Examples:
  sendonce suppress import bounces.csv
  sendonce suppress import opt-outs.csv --opt-out
  sendonce suppress import export.csv --skip-bad
""",
)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--opt-out", "opt_outs", is_flag=True, help="Opt-outs, not suppressions.")
@click.option("--skip-bad", is_flag=True, help="Import the good rows, and list those that are not.")
@store_options
def import_command(*, file: Path, opt_outs: bool, skip_bad: bool, store: StoreChoice) -> int:
    """Import suppressions or opt-outs from CSV; what is there already stays."""
    source = "standard input" if str(file) == "-" else file.name
    good, bad = read_entries(file, opt_out=opt_outs)
    if bad and not skip_bad:
        raise CliError(bad)

    async def load() -> int:
        async with open_store(store, make=True) as conn, conn.transaction():
            chunks = [good[start : start + CHUNK] for start in range(0, len(good), CHUNK)]
            return sum([await write(conn, store.namespace, chunk, source) for chunk in chunks])

    new = asyncio.run(load())
    click.echo(f"{len(good):,} rows read, {new:,} new or changed" + (f", {len(bad):,} skipped" if bad else ""))
    for problem in bad:
        click.echo(f"skipped: {problem}", err=True)
    return Exit.OK


@suppress_group.command(
    "export",
    epilog="""\b
Examples:
  sendonce suppress export > suppressions.csv
  sendonce suppress export opt-outs.csv --opt-out
""",
)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path), default="-")
@kind_options
@click.option("--channel", type=CHANNELS)
@store_options
def export_command(  # noqa: PLR0913 - one parameter per option
    *,
    file: Path,
    opt_outs: bool,
    category: str | None,
    topic: str | None,
    channel: str | None,
    store: StoreChoice,
) -> int:
    """Export as CSV, in the form that `import` reads."""

    async def export(stream: TextIO) -> None:
        columns = OPT_OUT_COLUMNS if opt_outs else SUPPRESSION_COLUMNS
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        async with open_store(store) as conn:
            wanted = Wanted(channel, None, category, topic)
            async for entry in entries(conn, store.namespace, wanted, opt_outs=opt_outs):
                writer.writerow([getattr(entry, column) for column in columns])

    if str(file) == "-":
        asyncio.run(export(sys.stdout))
        return Exit.OK
    with file.open("w", encoding="utf-8", newline="") as stream:
        asyncio.run(export(stream))
    return Exit.OK


async def write(conn: Connection, namespace: str, rows: list[Entry], source: str) -> int:
    """Add entries; returns how many are new or changed."""
    suppressions = [row for row in rows if isinstance(row, Suppression)]
    opt_outs = [row for row in rows if isinstance(row, OptOut)]
    changed = 0
    if suppressions:
        changed += await consent.suppress(conn, namespace, suppressions, source)
    if opt_outs:
        changed += await consent.opt_out(conn, namespace, opt_outs, source)
    return changed


async def entries(conn: Connection, namespace: str, wanted: Wanted, *, opt_outs: bool) -> AsyncIterator[Entry]:
    """The entries of one kind."""
    found: AsyncIterator[Entry] = (
        consent.opt_outs(conn, namespace, wanted) if opt_outs else consent.suppressions(conn, namespace, wanted)
    )
    async for entry in found:
        yield entry


async def _first(found: AsyncIterator[Entry], limit: int) -> AsyncIterator[Entry]:
    left = limit
    async for entry in found:
        yield entry
        left -= 1
        if not left:
            return
