"""The store's half of an import: blocks of recipients in, deliveries, batches, refused rows, counters and cursor out.

A block is committed whole, with the position behind it, under the import batch's lease and the campaign row's lock. So
an import that dies goes on at its cursor: nobody is written twice and no line is counted twice. Nobody who arrives
after a cancel can be sent to.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg import AsyncCursor
from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb

from sendonce_store.array_literals import texts
from sendonce_store.connection import Connection
from sendonce_store.import_rows import (
    COPY_BEGIN,
    COPY_END,
    Chunk,
    Fate,
    Plan,
    Target,
    batch_rows,
    cut,
    key_prefix,
)
from sendonce_store.queries import load
from sendonce_store.queue import raise_if_lease_lost
from sendonce_store.recipients import Rejected
from sendonce_store.rows import Batch, Holder

SQL = load("imports")
CAMPAIGN_SQL = load("campaigns")
RESTORING_SQL = load("restoring")
# the name that PostgreSQL gives to UNIQUE (campaign_id, channel, address)
NOBODY_TWICE = "deliveries_campaign_id_channel_address_key"
MOST_LOOKS = 50
# the first version whose indexes take a list of keys in one pass
FIRST_ONE_PASS = 170_000
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_Cursor = AsyncCursor[dict[str, Any]]


async def prepare(conn: Connection, campaign_id: int) -> Plan:
    """Read what an import must know of its campaign."""
    cursor = await conn.execute(CAMPAIGN_SQL["store_id"])
    store = await cursor.fetchone()
    cursor = await conn.execute(SQL["plan"], {"campaign": campaign_id})
    rows = await cursor.fetchall()
    targets = tuple(_target(row, store["id"] if store else "") for row in rows if row["channel"] is not None)
    return Plan(campaign_id, rows[0]["namespace"] if rows else "", targets, bound=bool(rows and rows[0]["bound"]))


def _target(row: Mapping[str, Any], store_id: str) -> Target:
    prefix = key_prefix(store_id, row["namespace"], row["send_key"], row["channel"])
    family = frozenset(row["family"])
    return Target(row["channel"], row["provider_id"], row["after_channel"], prefix, row["after_no_address"], family)


async def commit_chunk(conn: Connection, batch: Batch, holder: Holder, chunk: Chunk, lease: float) -> None:
    """Commit one chunk. Raises queue.LeaseLostError; any psycopg.Error left the cursor where it was.

    A fallback row may be written beside us after we looked who is there. The unique key then refuses the chunk whole,
    and the next look finds that row.
    """
    for more in reversed(range(MOST_LOOKS)):
        try:
            await _commit_once(conn, batch, holder, chunk, lease)
        except UniqueViolation as error:
            if error.diag.constraint_name != NOBODY_TWICE or not more:
                raise
        else:
            return


async def _commit_once(conn: Connection, batch: Batch, holder: Holder, chunk: Chunk, lease: float) -> None:
    async with _guarded(conn):
        async with conn.pipeline():
            campaign = await _lock(conn, batch, holder)
            looks = [await _look(conn, chunk.plan, target, rows) for target, rows in chunk.deliveries]
        new = chunk.without([{row["address"] for row in await look.fetchall()} for look in looks])
        fate = await _fate(campaign)
        batches = await _write(conn, new, fate)
        async with conn.pipeline():
            await insert_rejects(conn, chunk.plan, chunk.rejected)
            await _settle(conn, fate, batches)
            await conn.execute(SQL["count_chunk"], {"campaign": chunk.plan.campaign_id} | _counted(new))
            saved = {"batch": batch.id, "cursor": Jsonb(dict(chunk.cursor)), "lease": lease}
            await conn.execute(SQL["save_cursor"], saved)


@asynccontextmanager
async def _guarded(conn: Connection) -> AsyncIterator[None]:
    """A transaction whose first statement is to hold the lease. Raises queue.LeaseLostError."""
    try:
        async with conn.transaction():
            yield
    except psycopg.Error as error:
        raise_if_lease_lost(error)
        raise


async def _hold(conn: Connection, batch: Batch) -> None:
    await conn.execute(SQL["hold_lease"], {"batch": batch.id, "token": batch.token})


async def _lock(conn: Connection, batch: Batch, holder: Holder) -> _Cursor:
    await _hold(conn, batch)
    return await conn.execute(SQL["lock_campaign"], {"campaign": holder.campaign_id})


async def _fate(campaign: _Cursor) -> Fate:
    row = await campaign.fetchone()
    return Fate(row["cancelled"], row["now"], row["restored_to"]) if row else Fate(cancelled=True, now=0)


async def _settle(conn: Connection, fate: Fate, batches: Sequence[int]) -> None:
    """What is rare: rows that arrive as cancelled, or that may have been sent in a time that was lost (`restoring`)."""
    if fate.restored_to is not None:
        doubted = {"batches": batches, "states": ["pending", "cancelled"], "point": fate.restored_to, "people": None}
        await conn.execute(RESTORING_SQL["doubt_rows"], doubted)
    if fate.cancelled:
        await conn.execute(SQL["finish_batches"], {"batches": batches})


async def _look(conn: Connection, plan: Plan, target: Target, addresses: Iterable[str]) -> _Cursor:
    """Ask which of the addresses have a delivery already."""
    asked = {"campaign": plan.campaign_id, "channel": target.channel, "addresses": texts(addresses)}
    return await conn.execute(SQL[look_name(conn)], asked)


def look_name(conn: Connection) -> str:
    """The statement that looks addresses up, for this server."""
    return "known_addresses" if conn.info.server_version >= FIRST_ONE_PASS else "known_addresses_one_by_one"


async def _write(conn: Connection, chunk: Chunk, fate: Fate) -> list[int]:
    """Insert the batches and copy the rows; returns the batches' ids."""
    plan, ids = chunk.plan, list[int]()
    pieces: list[bytes] = []
    for target, deliveries in chunk.deliveries:
        parts = cut(deliveries.values())
        ids += (numbers := await _insert_batches(conn, plan, target, len(parts)))
        pieces += (batch_rows(plan, target, fate, *numbered) for numbered in zip(numbers, parts, strict=True))
    await _copy(conn, "deliveries", pieces, bound=plan.bound)
    people = [b"".join(part) for part in cut(chunk.people.values())]
    await _copy(conn, "recipients", people, bound=plan.bound)
    return ids


async def _insert_batches(conn: Connection, plan: Plan, target: Target, count: int) -> list[int]:
    asked = {
        "campaign": plan.campaign_id,
        "channel": target.channel,
        "provider": target.provider_id,
        "count": count,
    }
    cursor = await conn.execute(SQL["insert_batches"], asked)
    return sorted([row["id"] for row in await cursor.fetchall()])


async def _copy(conn: Connection, table: str, pieces: Sequence[bytes], *, bound: bool) -> None:
    """Copy rows into a table: straight, or where row-level security holds by way of a table of the session."""
    if not pieces:
        return
    if bound:
        await conn.execute(SQL[f"stage_{table}"])
    async with conn.cursor().copy(SQL[f"copy_staged_{table}" if bound else f"copy_{table}"]) as copy:
        for piece in (COPY_BEGIN, *pieces, COPY_END):
            await copy.write(piece)
    if bound:
        await conn.execute(SQL[f"land_{table}"])


def _counted(chunk: Chunk) -> dict[str, int]:
    return {
        "kept": len(chunk.people),
        "duplicates": chunk.taken - len(chunk.people),
        "unreachable": len(chunk.unreachable),
        "rejected": len(chunk.rejected),
    }


async def insert_rejects(conn: Connection, plan: Plan, rejected: Sequence[Rejected]) -> None:
    """Keep refused rows for people to see."""
    if not rejected:
        return
    columns = {
        "campaign": plan.campaign_id,
        "namespace": plan.namespace,
        "lines": [row.line for row in rejected],
        "fields": [row.field for row in rejected],
        "reasons": [row.reason for row in rejected],
        "excerpts": [row.excerpt for row in rejected],
    }
    await conn.execute(SQL["insert_rejects"], columns)


async def finish(conn: Connection, batch: Batch, holder: Holder, failure: str | None = None) -> None:
    """End the import: done, or failed with what a person is to be told. Raises queue.LeaseLostError."""
    campaign = {"campaign": holder.campaign_id, "message": failure}
    async with _guarded(conn):
        await _lock(conn, batch, holder)
        await conn.execute(SQL["finish_import" if failure is None else "fail_import"], campaign)
        await conn.execute(SQL["end_import_batch"], {"batch": batch.id})
        await conn.execute(SQL["forget_spool"], campaign)


async def postpone(conn: Connection, batch: Batch, holder: Holder, delay: float, problem: str) -> None:
    """Give the import back for `delay` seconds, with its problem for people to see. Raises queue.LeaseLostError."""
    async with _guarded(conn):
        await _lock(conn, batch, holder)
        await conn.execute(SQL["note_import_problem"], {"campaign": holder.campaign_id, "message": problem})
        await conn.execute(SQL["delay_import_batch"], {"batch": batch.id, "delay": delay})


async def give_back(conn: Connection, batch: Batch) -> None:
    """Let the import go at its cursor, for the next worker. Raises queue.LeaseLostError."""
    async with _guarded(conn):
        await _hold(conn, batch)
        await conn.execute(SQL["delay_import_batch"], {"batch": batch.id, "delay": 0})


async def spool(
    conn: Connection, batch: Batch, holder: Holder, rows: Sequence[Mapping[str, object]], first_line: int
) -> None:
    """Keep rows of a query, numbered from `first_line`. The first call of a run (line 1) clears what was left."""
    async with _guarded(conn):
        await _lock(conn, batch, holder)
        if first_line == 1:
            await conn.execute(SQL["forget_spool"], {"campaign": holder.campaign_id})
        columns = {"campaign": holder.campaign_id, "namespace": holder.namespace, "first": first_line}
        await conn.execute(SQL["add_to_spool"], columns | {"records": [_encode(row) for row in rows]})


async def save_cursor(conn: Connection, batch: Batch, cursor: Mapping[str, Any], lease: float) -> None:
    """Move the import's cursor alone (the spool is complete). Raises queue.LeaseLostError."""
    async with _guarded(conn):
        await _hold(conn, batch)
        await conn.execute(SQL["save_cursor"], {"batch": batch.id, "cursor": Jsonb(dict(cursor)), "lease": lease})


async def read_spool(conn: Connection, campaign_id: int, after: int, limit: int = 5000) -> list[dict[str, Any]]:
    """The next spooled rows behind line `after`: `line`, `record`."""
    asked = {"campaign": campaign_id, "after": after, "limit": limit}
    cursor = await conn.execute(SQL["read_spool"], asked)
    return await cursor.fetchall()
