"""A connection to the store that comes back: after an error it is closed, and the next use opens another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import psycopg

from sendonce_store.connection import Connection, StoreUnavailableError, connect

logger = logging.getLogger(__name__)
T = TypeVar("T")
STORE_ERRORS = (psycopg.Error, StoreUnavailableError)
FIRST_WAIT, LONGEST_WAIT = 0.1, 2.0


class Link:
    """One connection, used by one task at a time."""

    def __init__(self, dsn: str, name: str) -> None:
        """Nothing is opened until the first use."""
        self._dsn = dsn
        self._name = name
        self._conn: Connection | None = None
        self._lock = asyncio.Lock()

    @property
    def connected(self) -> bool:
        """Whether there is a connection that has not failed."""
        return self._conn is not None and not self._conn.broken and not self._conn.closed

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Connection]:
        """Give the connection; an error inside closes it. Raises psycopg.Error, StoreUnavailableError."""
        async with self._lock:
            if not self.connected:
                await self._drop()
                self._conn = await connect(self._dsn, application_name=self._name)
            conn = self._conn
            assert conn is not None  # noqa: S101 - set just above
            try:
                yield conn
            except BaseException:
                # a statement that was interrupted may still be under way; an error of the server's own leaves it idle
                if not _idle(conn):
                    await self._drop()
                raise

    async def insist(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Do `work` however often the store goes away; it must be safe to repeat. Other errors pass through."""
        tries = 0
        while True:
            try:
                async with self.use() as conn:
                    return await work(conn)
            except STORE_ERRORS as error:
                logger.warning("store: %s", error)
                await wait_before_reconnect(tries)
                tries += 1

    async def _drop(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            await conn.close()

    async def close(self) -> None:
        """Close it for good."""
        async with self._lock:
            await self._drop()


def _idle(conn: Connection) -> bool:
    """Whether the connection is outside a transaction, and so can be used again."""
    idle = psycopg.pq.TransactionStatus.IDLE
    return not conn.broken and not conn.closed and conn.pgconn.transaction_status == idle


async def wait_before_reconnect(tries: int) -> None:
    """Wait a growing while, 0.1 s to 2 s."""
    await asyncio.sleep(min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(tries, 10)))
