"""The store's half of an import: blocks of recipients in, deliveries, batches, refused rows, counters and cursor out.

A block is committed whole, with the position behind it, under the import batch's lease and the campaign row's lock. So
an import that dies goes on at its cursor: nobody is written twice and no line is counted twice. Nobody who arrives
after a cancel can be sent to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import AsyncCursor
from psycopg.types.json import Jsonb

from sendonce_store.connection import Connection
from sendonce_store.queries import load
from sendonce_store.queue import raise_if_lease_lost
from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.rows import Batch, Holder

SQL = load("imports")
CAMPAIGN_SQL = load("campaigns")
BATCH_SIZE = 500


@dataclass(frozen=True, slots=True)
class Plan:
    """The channels of a campaign as an import needs them."""

    channels: Sequence[Mapping[str, Any]]  # channel, provider_id, after_channel, after_no_address
    store_id: str

    def reaching(self) -> list[str]:
        """Channels on which an address makes a person reachable: a fallback counts if `NoAddress` leads to it."""
        return [c["channel"] for c in self.channels if c["after_channel"] is None or c["after_no_address"]]


@dataclass(frozen=True, slots=True)
class Chunk:
    """One block of a source with the cursor behind it."""

    recipients: Sequence[Recipient]
    rejected: Sequence[Rejected]
    cursor: Mapping[str, Any]


async def prepare(conn: Connection, campaign_id: int) -> Plan:
    """Make the session's staging tables and read the campaign's channels."""
    for name in ("create_stage", "create_landed", "create_new_batches"):
        await conn.execute(SQL[name])
    cursor = await conn.execute(SQL["plan"], {"campaign": campaign_id})
    channels = await cursor.fetchall()
    cursor = await conn.execute(CAMPAIGN_SQL["store_id"])
    row = await cursor.fetchone()
    return Plan(channels, row["id"] if row else "")


async def commit_chunk(  # noqa: PLR0913 - who commits what under which lease
    conn: Connection,
    batch: Batch,
    holder: Holder,
    plan: Plan,
    chunk: Chunk,
    lease: float,
    sent: Callable[[], None] = lambda: None,
) -> None:
    """Commit one block. Raises queue.LeaseLostError; any psycopg.Error left the cursor where it was.

    `sent` is called when the server has got the bulk of the work, and this process has time for something else.
    """
    campaign = {"campaign": holder.campaign_id, "namespace": holder.namespace}
    try:
        async with conn.transaction():
            await _lock(conn, batch, holder)
            await _copy_stage(conn, chunk.recipients)
            # in one pipeline: the server works through it alone, while the next block is being parsed here
            async with conn.pipeline():
                for channel in plan.channels:
                    await _insert_channel(conn, holder, plan, channel, len(chunk.recipients))
                counted_people = await _keep_recipients(conn, campaign, plan)
                await _insert_rejects(conn, campaign, chunk.rejected)
                sent()
            kept = await _kept(counted_people)
            duplicates = len(chunk.recipients) - kept["kept"]
            counted = kept | {"duplicates": duplicates, "rejected": len(chunk.rejected)}
            await conn.execute(SQL["count_chunk"], campaign | counted)
            saved = {"batch": batch.id, "cursor": Jsonb(dict(chunk.cursor)), "lease": lease}
            await conn.execute(SQL["save_cursor"], saved)
    except psycopg.Error as error:
        raise_if_lease_lost(error)
        raise


async def _lock(conn: Connection, batch: Batch, holder: Holder) -> None:
    await conn.execute("SELECT sendonce.hold_lease(%s, %s)", [batch.id, batch.token])
    await conn.execute(SQL["lock_campaign"], {"campaign": holder.campaign_id})


async def _copy_stage(conn: Connection, recipients: Sequence[Recipient]) -> None:
    async with conn.cursor().copy(SQL["copy_stage"]) as copy:
        await copy.write("".join(map(stage_line, recipients)))


_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def stage_line(person: Recipient) -> str:
    r"""One line of COPY text format: tab-separated, `\N` for NULL (PostgreSQL manual, COPY, "Text Format")."""
    addresses = {channel: [a.original, a.normalised] for channel, a in person.addresses.items()}
    ref, zone, locale = person.ref, person.timezone, person.locale
    return (
        f"{person.line}\t{chr(92) + 'N' if ref is None else ref.translate(_ESCAPES)}"
        f"\t{_encode(addresses).translate(_ESCAPES)}\t{chr(92) + 'N' if zone is None else zone.translate(_ESCAPES)}"
        f"\t{chr(92) + 'N' if locale is None else locale.translate(_ESCAPES)}"
        f"\t{_encode(person.variables).translate(_ESCAPES)}\n"
    )


async def _insert_channel(conn: Connection, holder: Holder, plan: Plan, channel: Mapping[str, Any], rows: int) -> None:
    """Deliveries of one channel: for everybody with an address, or for those whom the channel before can't reach."""
    after = channel["after_channel"]
    if rows == 0 or (after is not None and not channel["after_no_address"]):
        return
    parameters = {
        "campaign": holder.campaign_id,
        "channel": channel["channel"],
        "provider": channel["provider_id"],
        "instead_of": after,
        "store": plan.store_id,
        "size": BATCH_SIZE,
        "rows": rows,
    }
    for name in ("number_batches", "insert_batches", "insert_deliveries", "finish_batches", "forget_batches"):
        await conn.execute(SQL[name], parameters)


async def _keep_recipients(conn: Connection, campaign: Mapping[str, Any], plan: Plan) -> AsyncCursor[dict[str, Any]]:
    return await conn.execute(SQL["insert_recipients"], {**campaign, "reaching": plan.reaching()})


async def _kept(cursor: AsyncCursor[dict[str, Any]]) -> dict[str, int]:
    row = await cursor.fetchone()
    return {"kept": row["kept"], "unreachable": row["unreachable"]} if row else {"kept": 0, "unreachable": 0}


async def _insert_rejects(conn: Connection, campaign: Mapping[str, Any], rejected: Sequence[Rejected]) -> None:
    if not rejected:
        return
    columns = {
        "lines": [row.line for row in rejected],
        "fields": [row.field for row in rejected],
        "reasons": [row.reason for row in rejected],
        "excerpts": [row.excerpt for row in rejected],
    }
    await conn.execute(SQL["insert_rejects"], {**campaign, **columns})


async def finish(conn: Connection, batch: Batch, holder: Holder, failure: str | None = None) -> None:
    """End the import: done, or failed with what a person is to be told. Raises queue.LeaseLostError."""
    campaign = {"campaign": holder.campaign_id, "message": failure}
    try:
        async with conn.transaction():
            await _lock(conn, batch, holder)
            await conn.execute(SQL["finish_import" if failure is None else "fail_import"], campaign)
            await conn.execute(SQL["end_import_batch"], {"batch": batch.id})
            await conn.execute(SQL["forget_spool"], campaign)
    except psycopg.Error as error:
        raise_if_lease_lost(error)
        raise


async def postpone(conn: Connection, batch: Batch, holder: Holder, delay: float, problem: str) -> None:
    """Give the import back for `delay` seconds, with its problem for people to see. Raises queue.LeaseLostError."""
    try:
        async with conn.transaction():
            await _lock(conn, batch, holder)
            await conn.execute(SQL["note_import_problem"], {"campaign": holder.campaign_id, "message": problem})
            await conn.execute(SQL["delay_import_batch"], {"batch": batch.id, "delay": delay})
    except psycopg.Error as error:
        raise_if_lease_lost(error)
        raise


async def give_back(conn: Connection, batch: Batch) -> None:
    """Let the import go at its cursor, for the next worker. Raises queue.LeaseLostError."""
    try:
        async with conn.transaction():
            await conn.execute("SELECT sendonce.hold_lease(%s, %s)", [batch.id, batch.token])
            await conn.execute(SQL["delay_import_batch"], {"batch": batch.id, "delay": 0})
    except psycopg.Error as error:
        raise_if_lease_lost(error)
        raise


async def spool(
    conn: Connection, batch: Batch, holder: Holder, rows: Sequence[Mapping[str, object]], first_line: int
) -> None:
    """Keep rows of a query, numbered from `first_line`. The first call of a run (line 1) clears what was left."""
    try:
        async with conn.transaction():
            await _lock(conn, batch, holder)
            if first_line == 1:
                await conn.execute(SQL["forget_spool"], {"campaign": holder.campaign_id})
            async with conn.cursor().copy(SQL["copy_spool"]) as copy:
                for line, row in enumerate(rows, first_line):
                    await copy.write_row((holder.campaign_id, line, holder.namespace, _encode(row)))
    except psycopg.Error as error:
        raise_if_lease_lost(error)
        raise


async def save_cursor(conn: Connection, batch: Batch, cursor: Mapping[str, Any], lease: float) -> None:
    """Move the import's cursor alone (the spool is complete). Raises queue.LeaseLostError."""
    try:
        async with conn.transaction():
            await conn.execute("SELECT sendonce.hold_lease(%s, %s)", [batch.id, batch.token])
            saved = {"batch": batch.id, "cursor": Jsonb(dict(cursor)), "lease": lease}
            await conn.execute(SQL["save_cursor"], saved)
    except psycopg.Error as error:
        raise_if_lease_lost(error)
        raise


async def read_spool(conn: Connection, campaign_id: int, after: int, limit: int = 5000) -> list[dict[str, Any]]:
    """The next spooled rows behind line `after`: `line`, `record`."""
    asked = {"campaign": campaign_id, "after": after, "limit": limit}
    cursor = await conn.execute(SQL["read_spool"], asked)
    return await cursor.fetchall()
