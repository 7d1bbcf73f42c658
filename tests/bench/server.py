"""The PostgreSQL of a benchmark run, with its own defaults: an embedded one, or SENDONCE_BENCH_DSN.

In: a folder. Out: databases, made and dropped, and the CPU seconds of the whole server.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from tests.bench.processes import cpu_seconds

from sendonce_cli.embedded import EmbeddedPostgres
from sendonce_store.migrate import migrate


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; `pid` is None for one that is not ours."""

    admin: str
    pid: int | None

    def dsn(self, database: str) -> str:
        """The connection string of one database."""
        return make_conninfo(self.admin, dbname=database)

    def cpu(self) -> float:
        """CPU seconds used so far; 0.0 where they can't be seen."""
        return cpu_seconds(self.pid) if self.pid else 0.0

    async def execute(self, statement: str, database: str | None = None) -> list[Any]:
        """Run one statement outside a transaction and return its rows."""
        dsn = self.dsn(database) if database else self.admin
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
            cursor = await conn.execute(statement.encode())
            return await cursor.fetchall() if cursor.description else []

    @asynccontextmanager
    async def database(self, name: str, *, ours: bool = True, template: str = "template1") -> AsyncIterator[str]:
        """A new database, with our schema if `ours`, or a copy of another one; gone afterwards."""
        quoted, copied = sql.Identifier(name).as_string(), sql.Identifier(template).as_string()
        await self.execute(f"DROP DATABASE IF EXISTS {quoted} WITH (FORCE)")
        await self.execute(f"CREATE DATABASE {quoted} TEMPLATE {copied}")
        try:
            if ours and template == "template1":
                await migrate(self.dsn(name))
            yield self.dsn(name)
        finally:
            await self.execute(f"DROP DATABASE IF EXISTS {quoted} WITH (FORCE)")


@asynccontextmanager
async def server(folder: Path) -> AsyncIterator[Server]:
    """The server for the time of a block."""
    if dsn := os.environ.get("SENDONCE_BENCH_DSN"):
        yield Server(dsn, None)
        return
    postgres = EmbeddedPostgres(folder / "postgres")
    await postgres.start()
    try:
        yield Server(postgres.dsn(), postgres.pid)
    finally:
        await postgres.stop(remove=True)


async def version(using: Server) -> str:
    """What runs, and how durable it is."""
    rows = await using.execute(
        "SELECT current_setting('server_version'), current_setting('fsync'), "
        "current_setting('synchronous_commit'), current_setting('shared_buffers')"
    )
    number, fsync, commit, buffers = rows[0]
    return f"PostgreSQL {number}, fsync {fsync}, synchronous_commit {commit}, shared_buffers {buffers}"
