"""The shared pace and the shared pause of a provider.

Workers ask for a block of slots ahead of need and get the moments at which each may be used; a pause stands in the
provider's row, where every worker reads it. Times are relative seconds: the clocks of two machines never meet.
"""

from __future__ import annotations

from dataclasses import dataclass

from sendonce_store.connection import Connection
from sendonce_store.queries import load

SQL = load("pace")
# how far ahead slots are reserved, in seconds: long enough to pay one round trip per block, short enough to share
HORIZON = 0.25
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 300.0
OUTAGE_CODES = frozenset(
    {
        "connect_failed",
        "connect_timeout",
        "name_not_resolved",
        "proxy_failed",
        "proxy_refused",
        "tls_failed",
        "tls_not_trusted",
        "token_failed",
    }
)
"""Codes of a far end that can't be reached at all: no recipient is at fault, nothing was sent, nobody asked to wait."""


@dataclass(frozen=True, slots=True)
class Slots:
    """A block of slots: usable `delays[i]` seconds from now for `valid_for` seconds; empty: ask again in `retry_in`."""

    delays: list[float]
    valid_for: float
    retry_in: float


@dataclass(frozen=True, slots=True)
class Pause:
    """How long a provider stands still for everybody; 0.0: not at all."""

    seconds: float
    message: str | None
    suspended: bool


async def is_paced(conn: Connection, provider_id: int) -> bool:
    """Tell whether the provider has limits at all."""
    cursor = await conn.execute(SQL["has_limits"], {"provider": provider_id})
    row = await cursor.fetchone()
    return bool(row and row["paced"])


async def lease_slots(
    conn: Connection, provider_id: int, priority: int, wanted: int, horizon: float = HORIZON
) -> Slots:
    """Reserve up to `wanted` slots of the provider's shared pace."""
    asked = {"provider": provider_id, "priority": priority, "wanted": wanted, "horizon": horizon}
    cursor = await conn.execute(SQL["lease_slots"], asked)
    row = await cursor.fetchone()
    if row is None:
        return Slots([], 0.0, horizon)
    return Slots(row["delays"], row["valid_for"], row["retry_in"])


async def pause(conn: Connection, provider_id: int, retry_after: float | None, code: str | None, message: str) -> float:
    """Pause the provider for every worker; returns the seconds left. Without `retry_after` they grow, 1 s to 5 min."""
    asked = {"provider": provider_id, "retry_after": retry_after, "code": code, "message": message}
    cursor = await conn.execute(SQL["pause"], asked | {"first": FIRST_PAUSE, "longest": LONGEST_PAUSE})
    row = await cursor.fetchone()
    seconds = row["seconds"] if row else None
    return (await pause_left(conn, provider_id)).seconds if seconds is None else float(seconds)


async def pause_left(conn: Connection, provider_id: int) -> Pause:
    """Read how long the provider still stands still."""
    cursor = await conn.execute(SQL["pause_left"], {"provider": provider_id})
    row = await cursor.fetchone()
    if row is None:
        return Pause(0.0, None, suspended=False)
    return Pause(max(0.0, row["seconds"]), row["pause_message"], row["suspended"])
