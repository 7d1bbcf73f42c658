"""The object of a campaign is to go: its deliveries are ended, its record stays. A campaign in, seconds to wait out.

What can still be cancelled is cancelled at once. What somebody holds is waited for, until it is given back or its lease
ends; what is then left in `sending` becomes `uncertain`. Only then may the object, and its workers with it, go.
"""

from __future__ import annotations

from sendonce_store.actions import cancel
from sendonce_store.connection import Connection
from sendonce_store.queries import load

SQL = load("deletion")
CONDUCT_SQL = load("conduct")
# a lease that was renewed in the last moment is looked at again after so many seconds
LOOK_AGAIN = 1.0


async def delete(conn: Connection, campaign_id: int) -> float | None:
    """End the campaign; returns the seconds after which to call again, or None once every row is final.

    Safe to repeat. An ended campaign, or one that the store does not have, is left as it is.
    """
    here = {"campaign": campaign_id}
    cursor = await conn.execute(SQL["find"], here)
    row = await cursor.fetchone()
    if row is None or row["ended"] is not None:
        return None
    await cancel(conn, campaign_id)
    cursor = await conn.execute(SQL["leases_left"], here)
    lease = await cursor.fetchone()
    if lease is not None and lease["seconds"] is not None:
        return float(lease["seconds"])
    if not await _settle_batches(conn, campaign_id):
        return LOOK_AGAIN
    return await _end(conn, campaign_id)


async def _settle_batches(conn: Connection, campaign_id: int) -> bool:
    """End every open row, a batch at a time; False when somebody holds a batch after all."""
    after = 0
    while True:
        cursor = await conn.execute(SQL["next_open"], {"campaign": campaign_id, "after": after})
        batch = await cursor.fetchone()
        if batch is None:
            return True
        after = batch["id"]
        if not await _settle_batch(conn, after):
            return False


async def _settle_batch(conn: Connection, batch: int) -> bool:
    here = {"batch": batch}
    async with conn.transaction():
        cursor = await conn.execute(SQL["lock_idle"], here)
        if await cursor.fetchone() is None:
            return False
        await conn.execute(SQL["settle"], here)
        await conn.execute(SQL["close"], here)
    return True


async def _end(conn: Connection, campaign_id: int) -> float | None:
    here = {"campaign": campaign_id}
    ended = {"ended": "failed", "reason": "Cancelled", "message": "the campaign was deleted"}
    async with conn.transaction():
        await conn.execute(SQL["stop_import"], here)
        cursor = await conn.execute(CONDUCT_SQL["count_open_rows"], here)
        row = await cursor.fetchone()
        if row is None or row["open"]:
            return LOOK_AGAIN
        await conn.execute(CONDUCT_SQL["end_campaign"], here | ended)
    return None
