"""Recipients' data goes, the record of the send key stays: a finished campaign in, its rows deleted in small steps.

Each step is a transaction of its own over one batch or a few thousand rows, so that nobody else waits. A deletion that
breaks off goes on when it is called again.
"""

from __future__ import annotations

from dataclasses import dataclass

from sendonce_store.connection import Connection
from sendonce_store.queries import load

SQL = load("retention")
STEP = 2000
_BY_RANGE = ("recipients", "rejects", "spool", "attempts")


class RetentionError(Exception):
    """The campaign's data can't be deleted; the message says why and what would do."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """How many rows went."""

    batches: int
    deliveries: int
    recipients: int
    rejects: int


async def due_campaigns(conn: Connection, namespace: str) -> list[int]:
    """Campaigns (at most 100 ids) that ended more than `dataRetentionDays` ago and still have data."""
    cursor = await conn.execute(SQL["due"], {"namespace": namespace})
    return [row["id"] for row in await cursor.fetchall()]


async def delete_data(conn: Connection, campaign_id: int, step: int = STEP) -> Deleted:
    """Delete recipients, deliveries, attempts, refused rows, batches, and the names in orders.

    Raises RetentionError while the campaign is unfinished.
    """
    await _mark(conn, campaign_id)
    cursor = await conn.execute(SQL["batches"], {"campaign": campaign_id})
    batches = [row["id"] for row in await cursor.fetchall()]
    deliveries = 0
    for batch in batches:
        deliveries += await _delete_batch(conn, batch)
    await _delete_inbox(conn, campaign_id, step)
    await conn.execute(SQL["forget_names"], {"campaign": campaign_id})
    rows = {name: await _delete_range(conn, name, campaign_id, step) for name in _BY_RANGE}
    return Deleted(len(batches), deliveries, rows["recipients"], rows["rejects"])


async def forget_contacts(conn: Connection, namespace: str, step: int = STEP) -> int:
    """Delete what frequency caps no longer need; returns the number of addresses."""
    gone = 0
    while True:
        cursor = await conn.execute(SQL["forget_contacts"], {"namespace": namespace, "step": step})
        gone += cursor.rowcount
        if cursor.rowcount < step:
            return gone


async def _mark(conn: Connection, campaign_id: int) -> None:
    cursor = await conn.execute(SQL["mark"], {"campaign": campaign_id})
    if await cursor.fetchone() is not None:
        return
    cursor = await conn.execute(SQL["find"], {"campaign": campaign_id})
    row = await cursor.fetchone()
    if row is None:
        message = f"there is no campaign {campaign_id}"
        raise RetentionError(message)
    if row["ended"] is None:
        message = f"campaign {row['send_key']} is not finished: cancel it, or wait for its end"
        raise RetentionError(message)


async def _delete_batch(conn: Connection, batch: int) -> int:
    here = {"batch": batch}
    async with conn.transaction():
        await conn.execute(SQL["lock_batch"], here)
        await conn.execute(SQL["delete_batch_attempts"], here)
        cursor = await conn.execute(SQL["delete_batch_deliveries"], here)
        await conn.execute(SQL["delete_batch"], here)
    return cursor.rowcount


async def _delete_inbox(conn: Connection, campaign_id: int, step: int) -> None:
    after = ""
    while True:
        asked = {"campaign": campaign_id, "after": after, "step": step}
        cursor = await conn.execute(SQL["delete_inbox"], asked)
        row = await cursor.fetchone()
        if row is None or row["upto"] is None:
            return
        after = row["upto"]


async def _delete_range(conn: Connection, name: str, campaign_id: int, step: int) -> int:
    gone, after = 0, -1
    while True:
        asked = {"campaign": campaign_id, "after": after, "step": step}
        cursor = await conn.execute(SQL[f"delete_{name}"], asked)
        row = await cursor.fetchone()
        if row is None or row["upto"] is None:
            return gone
        gone, after = gone + row["rows"], row["upto"]
