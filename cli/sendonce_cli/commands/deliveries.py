"""`sendonce recipients`, `deadletters` and `rejects`: who was and was not sent to, in lists."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from rich.console import Group, RenderableType
from rich.text import Text

from sendonce_cli.exits import CliError, Exit
from sendonce_cli.options import StoreChoice, campaign_argument, output_option, store_options
from sendonce_cli.output import emit, table
from sendonce_cli.stores import open_campaign
from sendonce_store import ledger
from sendonce_store.ledger import DEAD, DeliveryLine, Filter, Outcome
from sendonce_store.ordering import snake
from sendonce_store.spec import Channel
from sendonce_store.standing import Counts

__all__ = ["deadletters_command", "filter_options", "recipients_command", "rejects_command"]

Command = TypeVar("Command", bound=Callable[..., Any])
STATES = [*Counts.__dataclass_fields__]
_PLACE = re.compile(r"(\d+)-(\d+)")


def filter_options(command: Command) -> Command:
    """Add --reason, --code and --channel."""
    options = (
        click.option("--reason", "reasons", multiple=True, metavar="REASON", help="Such as RetriesExhausted."),
        click.option(
            "--code", "codes", multiple=True, metavar="CODE", help="The far end's code, such as 550 or 5.1.1."
        ),
        click.option("--channel", "channels", multiple=True, type=click.Choice([c.value for c in Channel])),
    )
    for option in reversed(options):
        command = option(command)
    return command


def chosen(
    states: Sequence[str],
    reasons: Sequence[str],
    codes: Sequence[str],
    channels: Sequence[str],
    search: str | None = None,
) -> Filter:
    """The filter that options give; nothing given means any."""
    return Filter(
        list(states) or None, [snake(r) for r in reasons] or None, list(codes) or None, list(channels) or None, search
    )


@click.command(
    "recipients",
    epilog="""\b
Examples:
  sendonce recipients spring --state failed
  sendonce recipients spring --search mia@example.com
  sendonce recipients spring --limit 1000 --after 12-500 -o json
  sendonce recipients spring --state unreachable
""",
)
@campaign_argument
@click.option(
    "--state", "states", multiple=True, type=click.Choice([*STATES, "unreachable"]), help="Several times: any."
)
@filter_options
@click.option("--search", metavar="TEXT", help="In the reference or the address.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True)
@click.option("--after", metavar="PLACE", help="Go on behind this place, as the list before gave it.")
@store_options
@output_option
def recipients_command(  # noqa: PLR0913 - one parameter per option
    *,
    campaign: str,
    states: tuple[str, ...],
    reasons: tuple[str, ...],
    codes: tuple[str, ...],
    channels: tuple[str, ...],
    search: str | None,
    limit: int,
    after: str | None,
    store: StoreChoice,
    output: str,
) -> int:
    """List deliveries: who, over which channel, in which state and why."""
    if "unreachable" in states:
        return asyncio.run(_unreachable(store, campaign, limit, after, output))
    wanted = chosen(states, reasons, codes, channels, search)
    return asyncio.run(_deliveries(store, campaign, wanted, (place(after), limit), output))


async def _deliveries(
    store: StoreChoice, name: str, wanted: Filter, page: tuple[tuple[int, int], int], output: str
) -> int:
    after, limit = page
    async with open_campaign(store, name) as (conn, campaign):
        found = await ledger.deliveries(conn, campaign.id, wanted, after=after, limit=limit)
    emit([{"place": f"{one.batch_id}-{one.no}", **_data(one)} for one in found], output, lambda: listing(found, limit))
    return Exit.OK


def place(text: str | None) -> tuple[int, int]:
    """`12-500` → (12, 500). Raises CliError."""
    if text is None:
        return 0, 0
    found = _PLACE.fullmatch(text)
    if found is None:
        raise CliError(f"--after: {text!r} is no place such as 12-500; take it from the list before")
    return int(found[1]), int(found[2])


def _data(one: DeliveryLine) -> dict[str, Any]:
    return {
        "line": one.line,
        "ref": one.ref,
        "channel": one.channel,
        "address": one.address,
        "state": one.state,
        "reason": one.reason,
        "code": one.code,
        "error": one.error,
        "attempts": one.attempts,
        "lastAttemptAt": one.last_attempt_at,
        "nextAttemptAt": one.next_attempt_at,
        "finishedAt": one.finished_at,
    }


def listing(found: Sequence[DeliveryLine], limit: int) -> RenderableType:
    """Deliveries for people."""
    if not found:
        return Text("none")
    rows = [
        (one.line, one.ref, one.channel, one.address, one.state, one.reason, one.code, one.attempts,
         one.next_attempt_at or one.finished_at, one.error)
        for one in found
    ]  # fmt: skip
    columns = [
        "#LINE",
        "ID",
        "CHANNEL",
        "ADDRESS",
        "STATE",
        "REASON",
        "CODE",
        "#TRIES",
        "DUE OR ENDED",
        "THE FAR END SAID",
    ]
    shown: list[RenderableType] = [table(columns, rows)]
    if len(found) == limit:
        shown.append(Text(f"there may be more: --after {found[-1].batch_id}-{found[-1].no}", style="dim"))
    return Group(*shown)


async def _unreachable(store: StoreChoice, name: str, limit: int, after: str | None, output: str) -> int:
    line = line_number(after)
    async with open_campaign(store, name) as (conn, campaign):
        found = await ledger.unreachable(conn, campaign.id, line, limit)
    data = [{"line": no, "ref": ref} for no, ref in found]
    emit(data, output, lambda: table(["#LINE", "ID"], found))
    return Exit.OK


def line_number(text: str | None) -> int:
    """A line as --after gives it. Raises CliError."""
    if text is None:
        return 0
    if not text.isdecimal():
        raise CliError(f"--after: {text!r} is no line number")
    return int(text)


@click.command(
    "deadletters",
    epilog="""\b
Examples:
  sendonce deadletters spring
  sendonce deadletters spring --list --reason Permanent
  sendonce deadletters spring -o json
""",
)
@campaign_argument
@click.option("--state", "states", multiple=True, type=click.Choice(DEAD))
@filter_options
@click.option("--list", "listed", is_flag=True, help="List each of them, instead of counting by reason and code.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="With --list.")
@click.option("--after", metavar="PLACE", help="With --list: go on behind this place.")
@store_options
@output_option
def deadletters_command(  # noqa: PLR0913 - one parameter per option
    *,
    campaign: str,
    states: tuple[str, ...],
    reasons: tuple[str, ...],
    codes: tuple[str, ...],
    channels: tuple[str, ...],
    listed: bool,
    limit: int,
    after: str | None,
    store: StoreChoice,
    output: str,
) -> int:
    """Show what will not be tried again without a person: failed and uncertain deliveries."""
    wanted = chosen(states or DEAD, reasons, codes, channels)
    if listed:
        return asyncio.run(_deliveries(store, campaign, wanted, (place(after), limit), output))
    return asyncio.run(_grouped(store, campaign, wanted, output))


async def _grouped(store: StoreChoice, name: str, wanted: Filter, output: str) -> int:
    async with open_campaign(store, name) as (conn, campaign):
        found = await ledger.outcomes(conn, campaign.id, wanted)
    emit(found, output, lambda: groups(found, campaign.send_key))
    return Exit.OK


def groups(found: Sequence[Outcome], send_key: str) -> RenderableType:
    """Dead letters by reason and code, for people."""
    if not found:
        return Text("no dead letters")
    rows = [(one.count, one.state, one.channel, one.reason, one.code, one.error) for one in found]
    shown: list[RenderableType] = [
        table(["#COUNT", "STATE", "CHANNEL", "REASON", "CODE", "THE FAR END SAID, FOR ONE OF THEM"], rows)
    ]
    if any(one.state == "failed" for one in found):
        shown.append(Text(f"failed: `sendonce retry {send_key}`", style="dim"))
    if any(one.state == "uncertain" for one in found):
        shown.append(Text(f"uncertain: `sendonce resolve {send_key} --as sent|failed|resend`", style="dim"))
    return Group(*shown)


@click.command(
    "rejects",
    epilog="""\b
Examples:
  sendonce rejects spring
  sendonce rejects spring --limit 1000 --after 4711 -o json
""",
)
@campaign_argument
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True)
@click.option("--after", metavar="LINE", help="Go on behind this line.")
@store_options
@output_option
def rejects_command(*, campaign: str, limit: int, after: str | None, store: StoreChoice, output: str) -> int:
    """List the rows of the source that were refused, with line, field and reason."""
    return asyncio.run(_rejects(store, campaign, limit, line_number(after), output))


async def _rejects(store: StoreChoice, name: str, limit: int, after: int, output: str) -> int:
    async with open_campaign(store, name) as (conn, campaign):
        found = await ledger.rejects(conn, campaign.id, after, limit)
    rows = [(one.line, one.field, one.reason, one.excerpt) for one in found]
    emit(found, output, lambda: table(["#LINE", "FIELD", "REASON", "ROW"], rows) if rows else Text("no refused rows"))
    return Exit.OK
