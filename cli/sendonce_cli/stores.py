"""The store behind a command: a choice in, an open connection out.

An embedded server is started with the first use and left at the end; another command that uses it keeps it running.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

import psycopg
from psycopg.conninfo import conninfo_to_dict

from sendonce_cli.embedded import EmbeddedPostgres
from sendonce_cli.exits import CliError, Exit
from sendonce_cli.options import StoreChoice
from sendonce_cli.program import not_found
from sendonce_store import ledger, migrate
from sendonce_store.connection import Connection, connect
from sendonce_store.standing import Overview

__all__ = ["Store", "open_campaign", "open_store"]

_DATABASE = "sendonce"


class Store:
    """One store, not opened before it is needed."""

    def __init__(self, choice: StoreChoice) -> None:
        """Nothing is started or made here."""
        self.choice = choice
        self._embedded: EmbeddedPostgres | None = None
        self._dsn = choice.database

    async def __aenter__(self) -> Self:
        """Give the store."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """Leave the embedded server."""
        if self._embedded is not None:
            await self._embedded.stop()

    @property
    def exists(self) -> bool:
        """Whether there is something to look into: a database was named, or an embedded one has been made."""
        return self._dsn is not None or (self.choice.embedded_root / "data" / "PG_VERSION").exists()

    async def dsn(self) -> str:
        """The connection string; starts, and if need be makes, the embedded server. Raises EmbeddedPostgresError."""
        if self._dsn is None:
            self._embedded = EmbeddedPostgres(self.choice.embedded_root)
            await self._embedded.start()
            await self._embedded.create_database(_DATABASE)
            self._dsn = self._embedded.dsn(_DATABASE)
        return self._dsn

    async def migrate(self) -> int:
        """Bring the schema to this program's version; returns how many migrations ran."""
        return await migrate.migrate(await self._checked_dsn())

    async def _checked_dsn(self) -> str:
        dsn = await self.dsn()
        try:
            conninfo_to_dict(dsn)
        except psycopg.ProgrammingError:
            example = "postgresql://user@host:5432/database"
            raise CliError(f"--database: is not a connection string such as {example}") from None
        return dsn

    @asynccontextmanager
    async def connection(self, *, current: bool = True) -> AsyncIterator[Connection]:
        """Connect; unless `current` is off, the schema must be this program's. Raises StoreUnavailableError."""
        conn = await connect(await self._checked_dsn(), application_name="sendonce")
        try:
            if current:
                await migrate.require_current(conn)
            yield conn
        finally:
            await conn.close()


@asynccontextmanager
async def open_store(choice: StoreChoice, *, make: bool = False) -> AsyncIterator[Connection]:
    """Open the store for a command. An embedded one is kept up to date; `make`: it need not be there yet."""
    async with Store(choice) as store:
        if not store.exists and not make:
            hint = "`sendonce run` makes one; or name a database with --database"
            raise CliError(f"there is no store in {choice.data}: {hint}", Exit.NOT_FOUND)
        if choice.database is None:
            await store.migrate()
        async with store.connection() as conn:
            yield conn


@asynccontextmanager
async def open_campaign(choice: StoreChoice, campaign: str) -> AsyncIterator[tuple[Connection, Overview]]:
    """Open the store and find a campaign by send key or name. Raises CliError when there is none."""
    async with open_store(choice) as conn:
        yield conn, await find(conn, choice.namespace, campaign)


async def find(conn: Connection, namespace: str, campaign: str) -> Overview:
    """The campaign of this send key or name. Raises CliError when there is none."""
    campaign_id = await ledger.find_campaign(conn, namespace, campaign)
    found = None if campaign_id is None else await ledger.overview(conn, namespace, campaign_id)
    if found is None:
        not_found(f"there is no campaign {campaign} in namespace {namespace}: `sendonce status` lists those there are")
    return found
