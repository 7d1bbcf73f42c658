"""`sendonce status`: all campaigns of a namespace in a list, or one in detail."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.text import Text

from sendonce_cli.exits import Exit
from sendonce_cli.options import StoreChoice, complete, output_option, store_options
from sendonce_cli.output import as_data, emit, moment, table
from sendonce_cli.running.summary import STATES, reasons_table
from sendonce_cli.shapes import campaign_data, counts_data, top_errors
from sendonce_cli.stores import find, open_store
from sendonce_store import ledger
from sendonce_store.connection import Connection
from sendonce_store.ledger import Outcome, Retries, WorkerLine
from sendonce_store.standing import Counts, Overview, standing

__all__ = ["status_command"]

_EPILOG = """\b
CAMPAIGN is a send key, or a name (then the newest of that name).

\b
Examples:
  sendonce status
  sendonce status spring
  sendonce status spring -o json | jq .deliveries.uncertain

\b
Exit codes: 0 fine, 2 wrong input, 4 no such campaign.
"""


@click.command("status", epilog=_EPILOG)
@click.argument("campaign", required=False, shell_complete=complete)
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Campaigns in the list.")
@store_options
@output_option
def status_command(*, campaign: str | None, limit: int, store: StoreChoice, output: str) -> int:
    """Show how campaigns stand: the newest in a list, or one in detail."""
    return asyncio.run(_list(store, limit, output) if campaign is None else _detail(store, campaign, output))


async def _list(store: StoreChoice, limit: int, output: str) -> int:
    async with open_store(store) as conn:
        found = await ledger.overviews(conn, store.namespace, limit)
    emit([campaign_data(one) for one in found], output, lambda: listing(found))
    return Exit.OK


def listing(campaigns: Sequence[Overview]) -> RenderableType:
    """The list for people."""
    if not campaigns:
        return Text("no campaigns yet")
    rows = [
        (c.send_key, standing(c).reason, c.counts.total, c.counts.sent, c.counts.failed, c.counts.uncertain,
         c.counts.pending + c.counts.sending, c.created_at)
        for c in campaigns
    ]  # fmt: skip
    return table(["CAMPAIGN", "STATUS", "#TOTAL", "#SENT", "#FAILED", "#UNCERTAIN", "#PENDING", "CREATED"], rows)


@dataclass(frozen=True, slots=True)
class Detail:
    """One campaign with everything about it."""

    campaign: Overview
    channels: Mapping[str, Counts]
    retries: Retries
    workers: Sequence[WorkerLine]
    outcomes: Sequence[Outcome]

    def data(self) -> dict[str, Any]:
        """For scripts."""
        c = self.campaign
        return campaign_data(c) | {
            "channels": {channel: counts_data(counts) for channel, counts in self.channels.items()},
            "receipts": as_data(c.reports),
            "batches": {"total": c.batches, "leased": c.leased_batches, "done": c.done_batches},
            "import": {"state": c.import_state, "message": c.import_message},
            "stream": {"closed": c.closed} if c.stream else None,
            "retries": as_data(self.retries),
            "rollout": {"stage": c.rollout_stage, "since": as_data(c.rollout_since)},
            "provider": {"pausedUntil": as_data(c.provider_paused_until), "name": c.paused_provider},
            "workers": [as_data(worker) for worker in self.workers],
            "topErrors": top_errors(self.outcomes),
        }

    def shown(self) -> RenderableType:
        """For people."""
        rows = [
            (channel, counts.total, *(getattr(counts, s) for s in (*STATES, "sending")))
            for channel, counts in [*self.channels.items(), ("all", self.campaign.counts)]
        ]
        columns = ["CHANNEL", "#TOTAL", *(f"#{s.upper()}" for s in STATES), "#SENDING"]
        lines: list[RenderableType] = [facts_table(self.campaign, self.retries), Text(""), table(columns, rows)]
        if self.outcomes:
            lines += [Text(""), reasons_table(self.outcomes)]
        if self.workers:
            lines += [Text(""), workers_table(self.workers)]
        return Group(*lines)


async def _detail(store: StoreChoice, name: str, output: str) -> int:
    async with open_store(store) as conn:
        detail = await read_detail(conn, await find(conn, store.namespace, name))
    emit(detail.data(), output, detail.shown)
    return Exit.OK


async def read_detail(conn: Connection, campaign: Overview) -> Detail:
    """Read everything about one campaign."""
    return Detail(
        campaign=campaign,
        channels=await ledger.channel_counts(conn, campaign.id),
        retries=await ledger.retries(conn, campaign.id),
        workers=await ledger.workers(conn, campaign.id, limit=10),
        outcomes=await ledger.outcomes(conn, campaign.id),
    )


def facts_table(c: Overview, retries: Retries) -> RenderableType:
    """What can be said in a line each."""
    stands = standing(c)
    people = (
        f"{c.total:,} recipients, {c.duplicates:,} duplicates, {c.rejected:,} refused, {c.unreachable:,} unreachable"
    )
    facts: list[tuple[str, str]] = [
        ("campaign", f"{c.send_key}" if c.name == c.send_key else f"{c.send_key} ({c.name})"),
        ("status", stands.reason + (f": {stands.message}" if stands.message else "")),
        ("people", people),
        ("import", c.import_state + (f": {c.import_message}" if c.import_message else "")),
        ("batches", f"{c.batches:,}: {c.leased_batches:,} being sent, {c.done_batches:,} done"),
        ("started", moment(c.started_at)),
        ("ended", moment(c.completed_at)),
    ]
    if c.reports.delivered or c.reports.bounced:
        facts.append(("reported", f"{c.reports.delivered:,} delivered, {c.reports.bounced:,} bounced"))
    if retries.waiting:
        until = f"the first until {moment(retries.first)}, the last until {moment(retries.last)}"
        facts.append(("waiting", f"{retries.waiting:,} deliveries, {until}"))
    if c.rollout_stage != "none":
        counts = f"canary {c.canary_sent:,} of {c.canary_total:,} sent, {c.canary_failed:,} failed"
        facts.append(("rollout", f"{c.rollout_stage} since {moment(c.rollout_since)}; {counts}"))
    if c.provider_paused_until is not None:
        facts.append(("provider", f"{c.paused_provider} paused until {moment(c.provider_paused_until)}"))
    if c.data_deleted_at is not None:
        facts.append(("data", f"recipients' data deleted {moment(c.data_deleted_at)}; counts are kept"))
    return Group(*(Text.assemble((f"{name:10}", "bold"), value) for name, value in facts if value))


def workers_table(workers: Sequence[WorkerLine]) -> RenderableType:
    """Workers, with how long they have been silent."""
    rows = [(worker.id, _state(worker), worker.started_at, worker.heartbeat_at, worker.problem) for worker in workers]
    return table(["WORKER", "STATE", "STARTED", "HEARTBEAT", "PROBLEM"], rows)


def _state(worker: WorkerLine) -> str:
    if worker.stopped_at is not None:
        return "stopped"
    return "running" if worker.alive else f"silent for {worker.silent_seconds:,.0f} s"
