"""A few connections to the store, taken in turn. What breaks is thrown away; the next who asks gets a new one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import psycopg
from psycopg.pq import TransactionStatus

from sendonce_store.connection import Connection, StoreUnavailableError, connect
from sendonce_store.environment import SettingsError
from sendonce_store.migrate import SchemaVersionError, require_current

# what says that the store is away, or does not fit; all of it may be better the next time
STORE_ERRORS = (
    StoreUnavailableError,
    SchemaVersionError,
    SettingsError,
    psycopg.OperationalError,
    psycopg.InterfaceError,
)
CONNECTIONS = 8
CONNECT_SECONDS = 5
FAILED_SECONDS = 1.0


class Ledger:
    """Connections to one store."""

    def __init__(self, dsn: Callable[[], str], size: int = CONNECTIONS) -> None:
        """Nothing is opened before it is used; `dsn` is asked for each connection anew."""
        self._dsn = dsn
        self._slots = asyncio.Semaphore(size)
        self._idle: list[Connection] = []
        self._failure = (float("-inf"), "")  # when the store could not be reached last, and why

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Connection]:
        """Yield a connection of one's own. Raises one of STORE_ERRORS."""
        async with self._slots:
            conn = await self._take()
            try:
                yield conn
            finally:
                # whatever went wrong, it must not be in the middle of something
                if conn.info.transaction_status is TransactionStatus.IDLE:
                    self._idle.append(conn)
                else:
                    await conn.close()

    async def _take(self) -> Connection:
        while self._idle:
            conn = self._idle.pop()
            if not conn.closed:
                return conn
        conn = await self._connect()
        try:
            await require_current(conn)
        except BaseException:
            await conn.close()
            raise
        return conn

    async def _connect(self) -> Connection:
        """A server that does not answer costs each who asks five seconds: what is known of it holds for a moment."""
        since, why = self._failure
        if time.monotonic() - since < FAILED_SECONDS:
            raise StoreUnavailableError(why)
        try:
            return await connect(self._dsn(), application_name="sendonce-operator", connect_timeout=CONNECT_SECONDS)
        except StoreUnavailableError as error:
            self._failure = (time.monotonic(), str(error))
            raise

    async def close(self) -> None:
        """Close what is idle."""
        for conn in self._idle:
            await conn.close()
        self._idle.clear()
