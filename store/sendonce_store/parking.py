"""A batch that ended the life of one worker after the other, in the hands of the next: it gets its end instead.

Runs in the transaction of the claim. Rows of a batch to send become `failed`, or `uncertain` where they may have been
accepted; an import is one that can't be done, and the campaign ends with that reason.
"""

from __future__ import annotations

from sendonce_store.connection import Connection
from sendonce_store.fallbacks import add_fallbacks
from sendonce_store.queries import load
from sendonce_store.rows import Batch, Holder

SQL = load("queue")
IMPORT_SQL = load("imports")
# a batch is parked when its lease ended this often in a row without one finished attempt, or one imported block
MAX_CRASHES = 5


async def park(conn: Connection, batch: Batch, holder: Holder) -> None:
    """End what the batch has left, and the batch."""
    if batch.kind == "import":
        await _park_import(conn, batch, holder)
        return
    await conn.execute(SQL["park"], {"batch": batch.id})
    await add_fallbacks(conn, holder.campaign_id, batch.id)
    await conn.execute(SQL["release"], {"batch": batch.id, "token": batch.token})


async def _park_import(conn: Connection, batch: Batch, holder: Holder) -> None:
    campaign = {"campaign": holder.campaign_id}
    message = f"workers died on the import {batch.crashes} times in a row, and got no further"
    await conn.execute(IMPORT_SQL["lock_campaign"], campaign)
    await conn.execute(IMPORT_SQL["fail_import"], campaign | {"message": message})
    await conn.execute(IMPORT_SQL["end_import_batch"], {"batch": batch.id})
