"""A PostgreSQL server for runs that come one after the other, each in a database of its own.

In: a folder. Out: fresh databases, clones of one that is migrated once and has the harness's witness (audit.sql) in it.
fsync is off: what a run takes from the server are processes, never the machine, and without fsync a commit outlives
every process as long as the kernel does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, Self, cast

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from sendonce_cli.embedded import EmbeddedPostgres
from sendonce_store.connection import Connection
from sendonce_store.migrate import migrate

_TEMPLATE = "chaos_template"
_SETTINGS = {"fsync": "off", "max_connections": "200", "wal_level": "minimal", "max_wal_senders": "0"}


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens."""

    host: str
    port: int


class Lane:
    """One server, started on entry and removed on exit."""

    def __init__(self, root: Path) -> None:
        """`root`: a folder that may be made and removed."""
        self.server = EmbeddedPostgres(root, tcp=True, settings=_SETTINGS)

    async def __aenter__(self) -> Self:
        """Start the server and make the template."""
        await self.server.start()
        await self.server.create_database(_TEMPLATE)
        dsn = self.server.dsn(_TEMPLATE)
        await migrate(dsn)
        async with await psycopg.AsyncConnection.connect(dsn) as conn:
            await conn.execute((Path(__file__).parent / "audit.sql").read_bytes())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop the server and remove its folder."""
        await self.server.stop(remove=True)

    async def clone(self, name: str) -> str:
        """Make a fresh database; returns its DSN over TCP."""
        await self._admin("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
        await self._admin("CREATE DATABASE {} TEMPLATE chaos_template", name)
        return self.server.dsn(name, tcp=True)

    async def drop(self, name: str) -> None:
        """Remove a run's database."""
        await self._admin("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    async def _admin(self, statement: LiteralString, name: str) -> None:
        async with await psycopg.AsyncConnection.connect(self.server.dsn(), autocommit=True) as conn:
            await conn.execute(sql.SQL(statement).format(sql.Identifier(name)))


def address_of(dsn: str) -> Address:
    """The server's address in a DSN."""
    parts = conninfo_to_dict(dsn)
    return Address(str(parts["host"]), int(parts["port"] or 0))


async def watcher(dsn: str) -> Connection:
    """A connection of the harness itself, straight to the server."""
    return await psycopg.AsyncConnection.connect(
        dsn, autocommit=True, row_factory=cast("Any", dict_row), application_name="chaos", options="-c timezone=UTC"
    )
