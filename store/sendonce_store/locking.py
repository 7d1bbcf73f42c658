"""The schema's tables, for one who changes them while others work: a transaction in, all of its locks taken out.

A migration that locks table by table as it goes meets transactions that have another table already, and wait for the
first: a deadlock, which PostgreSQL ends by failing one of the two. So all are taken before anything is done, and let go
again where that takes longer than a moment, for others wait meanwhile. Within PostgreSQL's deadlock_timeout (a second)
nobody is failed; later tries take longer, so that a vacuum in the background makes way, which it does after that time.
"""

from __future__ import annotations

import asyncio
import random
import time

from psycopg.errors import DeadlockDetected, QueryCanceled

from sendonce_store.connection import Connection
from sendonce_store.queries import load

__all__ = ["SchemaBusyError", "lock_tables", "one_at_a_time"]

SQL = load("locking")
# Of who changes the schema or its logins; any constant works as long as nothing else in the database takes it.
ADVISORY_LOCK = 0x5E4D04CE
FIRST_SECONDS, GROWTH, LONGEST_SECONDS = 0.7, 1.3, 5.0
PATIENCE = 300.0


class SchemaBusyError(Exception):
    """Somebody holds a table for longer than one waits; the message says what to do."""


async def one_at_a_time(conn: Connection) -> None:
    """Wait for whoever else changes the schema or its logins, and keep others waiting until the transaction ends."""
    await conn.execute(SQL["one_at_a_time"], {"lock": ADVISORY_LOCK})


async def lock_tables(conn: Connection, patience: float = PATIENCE) -> None:
    """Take every table of the schema for the rest of the transaction. Raises SchemaBusyError after `patience` seconds.

    Afterwards the transaction has no statement_timeout.
    """
    until, seconds = time.monotonic() + patience, FIRST_SECONDS
    while not await _locked(conn, seconds):
        if time.monotonic() > until:
            message = (
                f"the tables of schema sendonce were not free for a moment in {patience:.0f} s: a transaction "
                "that runs for long holds one; end it (pg_stat_activity shows it), and try again"
            )
            raise SchemaBusyError(message)
        seconds = min(LONGEST_SECONDS, seconds * GROWTH)
        await asyncio.sleep(random.uniform(0.1, 0.5))  # noqa: S311 - so that two who want it don't keep step


async def _locked(conn: Connection, seconds: float) -> bool:
    """Whether all could be taken; if not, none is."""
    try:
        async with conn.transaction():
            await conn.execute(SQL["limit_time"], {"milliseconds": round(seconds * 1000)})
            await conn.execute(SQL["lock_tables"])
            await conn.execute(SQL["limit_time"], {"milliseconds": 0})
    except (QueryCanceled, DeadlockDetected):
        return False
    return True
