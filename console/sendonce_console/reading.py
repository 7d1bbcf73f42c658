"""Connections to read through: namespaces in, a connection whose transaction sees those alone out.

A few connections are kept and shared. Each request has a transaction of its own that can only read, on one snapshot;
the namespaces it may see are set for that transaction, and row-level security compares them (migration 0009). One that
the server has closed meanwhile is replaced without anybody noticing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import psycopg

from sendonce_console.web.problems import ProblemError, unavailable
from sendonce_store import console_scope
from sendonce_store.connection import Connection, StoreUnavailableError, connect
from sendonce_store.migrate import SchemaVersionError, require_current

_KNOWN_SECONDS = 2.0
_PATIENCE = 5.0
# a scrape is given up after ten
_LOOK_SECONDS = 3.0


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

    async def problem(self) -> str | None:
        """Why nothing can be read now, for operators; None: all is well."""
        try:
            async with asyncio.timeout(_LOOK_SECONDS), self.read(()):
                return None
        except (StoreUnavailableError, SchemaVersionError) as error:
            return str(error)
        except ProblemError as error:
            return f"{error.title}: {error.detail}"
        except psycopg.Error as error:
            return f"the store can't be read: {type(error).__name__}"
        except TimeoutError:
            return f"the store has not answered within {_LOOK_SECONDS:g} s"

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
            # one that the server has closed meanwhile makes room for the next
            with suppress(psycopg.OperationalError, psycopg.InterfaceError):
                return await self._begun(self._idle.pop(), namespaces)
        return await self._begun(await self._connect(), namespaces)

    async def _begun(self, conn: Connection, namespaces: Sequence[str]) -> Connection:
        try:
            await console_scope.begin(conn, namespaces, self._statement_ms)
        except BaseException:
            # also when whoever asked has gone: it is in nobody's hands then
            await conn.close()
            raise
        return conn

    async def _leave(self, conn: Connection) -> None:
        """Nothing was written, so there is nothing to commit, and nothing is lost with a connection that breaks now."""
        if conn.closed:
            return
        try:
            await conn.execute("ROLLBACK")
        except (psycopg.OperationalError, psycopg.InterfaceError):
            await conn.close()
            return
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
