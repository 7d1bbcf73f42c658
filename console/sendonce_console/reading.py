"""Connections to read through: namespaces in, a connection whose transaction sees those alone out.

A few connections are kept and shared. Each request has a transaction of its own that can only read, on one snapshot;
the namespaces it may see are set for that transaction, and row-level security compares them (migration 0009). One that
the server has closed meanwhile is replaced without anybody noticing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import psycopg

from sendonce_console.web.problems import unavailable
from sendonce_store import console_scope
from sendonce_store.connection import Connection, connect
from sendonce_store.migrate import require_current

_KNOWN_SECONDS = 2.0
_PATIENCE = 5.0


class Reader:
    """The pool. Raises StoreUnavailableError, or ProblemError when all connections are busy."""

    def __init__(self, dsn: str, *, connections: int = 8, statement_seconds: float = 10.0) -> None:
        """Nothing is opened before it is needed."""
        self._dsn = dsn
        self._statement_ms = int(statement_seconds * 1000)
        self._slots = asyncio.Semaphore(connections)
        self._idle: list[Connection] = []
        self._checked = False
        self._known: tuple[float, Sequence[str]] = (0.0, ())

    @asynccontextmanager
    async def read(self, namespaces: Sequence[str]) -> AsyncIterator[Connection]:
        """A transaction that reads these namespaces."""
        await self._wait()
        try:
            conn = await self._entered(namespaces)
            try:
                yield conn
            finally:
                await self._leave(conn)
        except (psycopg.OperationalError, psycopg.InterfaceError):
            # whatever happened to this connection has happened to the others
            await self.close()
            raise
        finally:
            self._slots.release()

    async def namespaces(self) -> Sequence[str]:
        """All namespaces that have campaigns; looked up every two seconds at most."""
        read_at, known = self._known
        if time.monotonic() - read_at < _KNOWN_SECONDS:
            return known
        async with self.read(()) as conn:
            known = await console_scope.namespaces(conn)
        self._known = (time.monotonic(), known)
        return known

    async def close(self) -> None:
        """Close all connections that are not in use."""
        self._checked = False
        while self._idle:
            await self._idle.pop().close()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._slots.acquire()
        except TimeoutError:
            raise unavailable("The database", "Too many people ask at once. Try again in a moment.") from None

    async def _entered(self, namespaces: Sequence[str]) -> Connection:
        while self._idle:
            conn = self._idle.pop()
            try:
                await console_scope.begin(conn, namespaces, self._statement_ms)
            except (psycopg.OperationalError, psycopg.InterfaceError):
                await conn.close()
            else:
                return conn
        conn = await self._connect()
        try:
            await console_scope.begin(conn, namespaces, self._statement_ms)
        except BaseException:
            await conn.close()
            raise
        return conn

    async def _leave(self, conn: Connection) -> None:
        """Nothing was written, so there is nothing to commit."""
        if conn.closed:
            return
        try:
            await conn.execute("ROLLBACK")
        except BaseException:
            # also when whoever asked has gone: it is in nobody's hands then
            await conn.close()
            raise
        self._idle.append(conn)

    async def _connect(self) -> Connection:
        conn = await connect(self._dsn, application_name="sendonce console", connect_timeout=5)
        if not self._checked:
            try:
                await require_current(conn)
            except BaseException:
                await conn.close()
                raise
            self._checked = True
        return conn
