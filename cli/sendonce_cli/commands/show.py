"""`sendonce show CAMPAIGN RECIPIENT`: the answer to "I didn't get it"."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import click
from rich.console import Group, RenderableType
from rich.text import Text

from sendonce_cli.exits import Exit
from sendonce_cli.options import StoreChoice, campaign_argument, output_option, store_options
from sendonce_cli.output import emit, moment, table
from sendonce_cli.program import not_found
from sendonce_cli.stores import open_campaign
from sendonce_cli.tracing import Told, tell, trace_data
from sendonce_rendering.showing import Shown, Verdict, parts_of
from sendonce_store.connection import Connection
from sendonce_store.links import frozen_links
from sendonce_store.people import Refusal
from sendonce_store.standing import Overview
from sendonce_store.tracing import TracedDelivery, find_people, frozen, refused_rows, trace

__all__ = ["show_command"]

_EPILOG = """\b
RECIPIENT is the sender's own reference (column id), an address as it is written anywhere, or line:N.

\b
Examples:
  sendonce show spring mia@example.com
  sendonce show spring customer-4711
  sendonce show spring line:12 -o json

\b
Exit codes: 0 found, 2 wrong input, 4 no such campaign or recipient.
"""


@click.command("show", epilog=_EPILOG)
@campaign_argument
@click.argument("recipient", metavar="RECIPIENT")
@store_options
@output_option
def show_command(*, campaign: str, recipient: str, store: StoreChoice, output: str) -> int:
    """Show what became of one person: every attempt, what the far end said, and the content that went out."""
    return asyncio.run(_show(store, campaign, recipient, output))


async def _show(store: StoreChoice, name: str, who: str, output: str) -> int:
    async with open_campaign(store, name) as (conn, campaign):
        stored = await frozen(conn, campaign)
        found = await find_people(conn, campaign, [m.channel.value for m in stored.spec.messages], who)
        if not found:
            await _explain_absence(conn, campaign, who)
        links = await frozen_links(conn, campaign.id)
        traces = [tell(stored, await trace(conn, campaign, stored, person), links) for person in found]
    emit([trace_data(one) for one in traces], output, lambda: shown(traces))
    return Exit.OK


async def _explain_absence(conn: Connection, campaign: Overview, who: str) -> None:
    if campaign.data_deleted_at is not None:
        when = campaign.data_deleted_at.isoformat(timespec="seconds")
        not_found(f"the recipients' data of {campaign.send_key} was deleted at {when}; only its counts are left")
    refused = await refused_rows(conn, campaign, who)
    if refused:
        rows = "; ".join(f"line {one.line}: {one.field}: {one.reason}" for one in refused)
        not_found(f"{who} is no recipient of {campaign.send_key}: the row was refused: {rows}")
    hint = "the import is not finished" if not campaign.imported else "not by reference, address or line"
    not_found(f"{who} is no recipient of {campaign.send_key} ({hint})")


def shown(traces: Sequence[Told]) -> RenderableType:
    """For people."""
    return Group(*(line for one in traces for line in _person(one)))


def _person(told: Told) -> Iterator[RenderableType]:
    found, person = told.trace, told.trace.person
    called = f" ({person.ref})" if person.ref else ""
    yield Text(f"recipient of line {person.no}{called}", style="bold")
    for channel in found.unaddressed:
        yield Text(f"{channel}: no address")
    for one, content in zip(found.deliveries, told.contents, strict=True):
        yield Text("")
        yield from _delivery(one, person.no)
        yield from _content(content)


def _delivery(one: TracedDelivery, line: int) -> Iterator[RenderableType]:
    d = one.delivery
    why = f" ({d.reason})" if d.reason else ""
    yield Text(f"{d.channel} to {d.address} over {d.provider}: {d.state}{why}", style="bold")
    if d.line != line:
        yield Text(f"the same address stands in line {d.line}, whose message this is: nobody gets it twice")
    if d.state != "sent" and (d.code or d.error):
        yield Text(f"last error: {' '.join(filter(None, (d.code, d.error)))}")
    if d.next_attempt_at is not None:
        yield Text(f"next attempt: {moment(d.next_attempt_at)}")
    if d.maybe_accepted and d.state != "sent":
        yield Text("an earlier attempt may have reached this person", style="yellow")
    yield from (Text(_refusal(refusal), style="yellow") for refusal in one.refusals)
    if one.steps:
        rows = [(s.seq, s.at, s.told + (", late" if s.late else ""), s.code, s.message, s.worker) for s in one.steps]
        yield table(["#TRY", "WHEN", "OUTCOME", "CODE", "THE FAR END SAID", "WORKER"], rows)
    else:
        yield Text("not handed off so far")


def _refusal(refusal: Refusal) -> str:
    source = f", from {refusal.source}" if refusal.source else ""
    if refusal.kind == "suppressed":
        return f"this address is suppressed: {refusal.reason}, since {moment(refusal.created_at)}{source}"
    about = refusal.category if not refusal.topic else f"{refusal.category}, topic {refusal.topic}"
    return f"this person has opted out of {about}, since {moment(refusal.created_at)}{source}"


def _content(shown_content: Shown) -> Iterator[RenderableType]:
    verdict = shown_content.verdict
    style = {Verdict.VERIFIED: "green", Verdict.NOTHING_SENT: "dim"}.get(verdict, "bold red")
    yield Text(f"{verdict.value}: {shown_content.explanation}", style=style)
    if shown_content.content is None:
        return
    for name, value in parts_of(shown_content.content).items():
        if name in {"text", "html"}:
            yield Text(f"  {name}:")
            yield Text("\n".join(f"    {line}" for line in value.splitlines()))
        else:
            yield Text(f"  {name}: {value}")
