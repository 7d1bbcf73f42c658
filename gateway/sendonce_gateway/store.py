"""Connections to the store, a few of them, shared by all requests: whoever finds none free waits, but not for long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from sendonce_gateway.settings import GatewaySettings
from sendonce_store import gateway
from sendonce_store.connection import KEEPALIVES, SESSION_SETTINGS, Connection, StoreUnavailableError
from sendonce_store.migrate import newest

# a request is answered within seconds, or not at all; the latest setting counts
_SESSION = f"{SESSION_SETTINGS} -c statement_timeout=10s -c lock_timeout=5s"
# for the store, at a scrape: the other numbers are wanted above all when it is away
SCRAPE_SECONDS = 0.5


class Pool:
    """A bounded number of connections to the store."""

    def __init__(self, settings: GatewaySettings) -> None:
        """Nothing is opened before `open`."""
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            settings.dsn,
            min_size=1,
            max_size=settings.store_connections,
            timeout=settings.store_wait,
            kwargs=_how_to_connect(),
            check=AsyncConnectionPool.check_connection,
            name="store",
            open=False,
        )

    async def open(self) -> None:
        """Begin to connect, without waiting for it: the gateway is not ready until it has succeeded."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Give one connection, in autocommit. Raises StoreUnavailableError, also where it breaks inside."""
        try:
            async with self._pool.connection() as conn:
                yield conn
        except (PoolTimeout, PoolClosed) as error:
            raise StoreUnavailableError("no connection to the store is free") from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise StoreUnavailableError(f"the store: {' '.join(str(error).split())}") from error


async def problem_of_store(pool: Pool) -> str | None:
    """Why the store can't be used now; None: it can. A schema that is newer keeps the functions of an older one."""
    try:
        async with pool.connection() as conn:
            found = await gateway.schema(conn)
    except StoreUnavailableError as error:
        return str(error)
    wanted = newest()
    if found < wanted:
        return f"the schema is version {found}, this program needs {wanted}: run `sendonce migrate`"
    return None


async def answers_soon(pool: Pool) -> bool:
    """Whether the store can be used now, as far as that shows within SCRAPE_SECONDS."""
    try:
        async with asyncio.timeout(SCRAPE_SECONDS):
            return await problem_of_store(pool) is None
    except TimeoutError:
        return False


def _how_to_connect() -> dict[str, Any]:
    return {
        "autocommit": True,
        "row_factory": dict_row,
        "application_name": "sendonce-gateway",
        "connect_timeout": 10,
        "options": _SESSION,
        **KEEPALIVES,
    }
