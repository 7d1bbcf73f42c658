"""Where rows go on that ended without success: over the next channel, in the transaction that ended them."""

from __future__ import annotations

from sendonce_store.connection import Connection
from sendonce_store.queries import load

SQL = load("fallbacks")


async def add_fallbacks(conn: Connection, campaign_id: int, batch: int) -> None:
    """In the transaction that ends rows of `batch`: their fallbacks. The batch's lock is held."""
    found = await conn.execute(SQL["fallback_channels"], {"campaign": campaign_id, "batch": batch})
    for channel in await found.fetchall():
        parameters = {
            "batch": batch,
            "channel": channel["channel"],
            "provider": channel["provider_id"],
            "states": channel["after_states"],
            "usual": channel["usual"],
        }
        await conn.execute(SQL["fallback_batch"], parameters)
        await conn.execute(SQL["fallback_rows"], parameters)
